// SPDX-License-Identifier: Apache-2.0
// history_figures: what a spot price did: quantiles over time, changes, steadiness, and the price
// to count on. Pure functions of a series; gaps count as unknown, and every share is of the time
// seen.
#ifndef FARE_SPOT_HISTORY_FIGURES_H
#define FARE_SPOT_HISTORY_FIGURES_H

#include "spot/history.h"

// A stretch of the series. `seen_s` is 0 if nobody looked at the price in it; then nothing else is
// set.
struct spot_figures {
    int64_t from_s, until_s; // first and last moment seen
    int64_t seen_s;          // without gaps
    size_t changes;          // between two prices that were both seen; the first price is none
    double changes_a_day;    // of the time seen
    int64_t last;            // the price at `until_s`; prices are nano-USD an hour
    int64_t steady_from_s;   // it has not changed since
    bool always;             // it was the same from the start
    // A quantile is the lowest price p for which the price was at or below p for that share of the
    // time.
    int64_t low, p10, p50, p90, high;
    int64_t mean; // over time, rounded half up
};
int spot_figures(const struct spot_series *series, int64_t from_s, int64_t until_s,
                 struct spot_figures *out, struct err *err) MUST_USE;

// Time at or below a price.
struct spot_under {
    int64_t seen_s, under_s;
    int64_t longest_s, longest_from_s; // the longest stretch; a gap ends it. 0: never
};
void spot_under(const struct spot_series *series, int64_t from_s, int64_t until_s, int64_t nano_usd,
                struct spot_under *out);

// The price to count on: the 90 % quantile of all the time seen. The evidence is what the same rule
// would have told from the first half of the history, held against the second half.
struct spot_steady {
    int64_t price;                 // nano-USD an hour
    bool tested;                   // both halves have at least a week of prices
    int64_t then;                  // the price that the first half says
    double held;                   // share of the second half at or below it
    int64_t later;                 // what the same rule says from the second half alone
    int64_t highest;               // in the second half
    int64_t from_s, at_s, until_s; // the halves meet at `at_s`
};
#define SPOT_HALF_S (INT64_C(7) * 86400)
int spot_steady(const struct spot_series *series, int64_t from_s, int64_t until_s,
                struct spot_steady *out, struct err *err) MUST_USE;

// The mean price of a stretch, over the time seen; 0: nobody looked.
int64_t spot_mean(const struct spot_series *series, int64_t from_s, int64_t until_s);

#endif
