// SPDX-License-Identifier: Apache-2.0
// steady: finds out whether step times have settled, from which step on, and the step time then.
//
// changes_find() finds the levels in medians of stretches, with the machine's drift divided out if
// the steps follow it. Levels within STEADY_TOLERANCE of each other count as one. The kinds follow
// Barrett et al. (OOPSLA 2017): flat; warm-up (settles at a faster level); slow-down (settles at a
// slower one); unsteady (no level lasts for the last quarter, or it alternates), which has no
// single step time. A passing disturbance in the middle is part of a flat series and of its mean.
//
// After a short warm-up the forecast is the mean of the steady part. A level that starts later may
// end again (on rented machines the host moves virtual CPUs, which changes the step time for
// seconds at a time). Then all steps but the first ones count, and the difference between the
// levels widens the error.
//
// A trend is a step time that grows or falls all along, as with growing sequence lengths: a line,
// perhaps after a flat beginning, fits the sample better than two levels do. It makes the series
// unsteady, like a level that is a fifth slower than the one before: the next change may come.
// fare's own trainings, beside which the calibration loop runs, have none: there it is the machine
// that changes.
#ifndef FARE_TRAIN_STEADY_H
#define FARE_TRAIN_STEADY_H

#include <stddef.h>

#include "train/series.h"

enum steady_kind { STEADY_SHORT, STEADY_FLAT, STEADY_WARM_UP, STEADY_SLOW_DOWN, STEADY_UNSTEADY };

struct steady {
    enum steady_kind kind;
    int64_t first;         // entry of the series
    double before_ns;      // time of the steps before it
    double mean_ns;        // forecast of the step time
    double relative_error; // of the forecast: one standard deviation
    bool follows;          // the steps follow the processor's drift
    double scatter;        // of the stretches around their median, as a share
    double fastest_ns;     // mean step time of the fastest sixteenth: no forecast is below it
    double growth;         // of the step time over the series, at the rate of its end; 0: none
    double lean;           // the same of a growth too small to be a trend: only the high end has it
    double last_ns;        // the step time at its end, if it grows
    double level_ns;       // the level before the last, if it grows by levels; 0: by a line
    bool changes;          // on the way: unsteady, a trend, or another level
};

// The straight line through the step times: how much they grow over all entries, as a share of
// their mean, and the standard error of that. False: too few entries.
bool steady_slope(const struct series *series, double *growth, double *error);

// The series needs at least one entry. Takes about a millisecond.
void steady_judge(const struct series *series, const struct calibrate *calibrate,
                  struct steady *out);

int steady_fill(const struct steady *steady, const struct series *series, struct run_steady *out,
                struct err *err) MUST_USE;

// ---- changes: where a series of step times moves to another level, and stays there for a while.
//
// The levels and the places between which they change are those that fit the series best, each
// change costing a penalty. A value further from its level than a few times the noise costs no
// more than one just that far (the biweight loss of Fearnhead and Rigaill, JASA 2019), so single
// slow steps, at either end too, are outliers and not levels. It takes about three to five values
// to make a level at an end of the series and twice as many in between; a series that jumps to
// and fro faster than that is taken as a noisy one. The optimum is exact, by their functional
// pruning: about 1 µs per value, 0.1 s for 100 000. A series that never stays at a level (a ramp)
// would take far longer; it is looked at in blocks of 2, 4, 8, ... values instead, so that it too
// is done in seconds, and its changes then lie at multiples of the block.
//
// Nothing has to be known about the noise. Its size comes from the differences between
// neighbours, how often there are outliers from the same, and noise in which neighbours resemble
// each other (machines drift) raises the penalty (Chakar et al., Bernoulli 2017). Of series of
// independent noise about 1 in 100 shows a change that is none; where each value takes over 0.6 of
// the one before, up to 15.
//
// What the changes mean (warm-up, slow-down, no steady state) is for the caller to say.

// All zero, or a null pointer: everything is estimated.
struct changes_options {
    double noise;   // standard deviation of the values about their level, in their unit; where it
                    // is given, values further off than three times that are outliers and
                    // neighbours are taken to be independent
    double penalty; // of a change, in squares of the noise; 0: 3 ln n, at least 20. Larger ones
                    // find less and take longer
};

struct changes {
    size_t *at; // ascending; x[at[i]] is the first value at a new level, so never 0
    size_t count;
    double noise; // the standard deviation that was used; 0 where all values are the same
    double cost; // of the fit, in squares of the noise, penalties included; near n where it is good
};

// Fewer than six values show no change. An empty list, and values that are not finite, are errors.
// `out` need not be set before, and holds nothing after an error.
int changes_find(const double *x, size_t n, const struct changes_options *options,
                 struct changes *out, struct err *err) MUST_USE;
void changes_release(struct changes *changes);

#endif
