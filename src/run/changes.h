// SPDX-License-Identifier: Apache-2.0
// changes: where a series of step times moves to another level, and stays there for a while.
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
#ifndef FARE_RUN_CHANGES_H
#define FARE_RUN_CHANGES_H

#include <stddef.h>

#include "base/err.h"

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
