// SPDX-License-Identifier: Apache-2.0
// steady: finds out whether step times have settled, from which step on, and the step time then.
//
// run/changes.h finds the levels in medians of stretches, with the machine's drift divided out if
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
#ifndef FARE_RUN_STEADY_H
#define FARE_RUN_STEADY_H

#include "record/run.h"
#include "run/calibrate.h"
#include "run/series.h"

#define STEADY_TOLERANCE 0.05

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

#endif
