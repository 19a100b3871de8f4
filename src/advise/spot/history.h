// SPDX-License-Identifier: Apache-2.0
// history: the spot price of a machine over time, zone by zone.
//
// A series is a step function: each price holds from its change until the next one. Where the book
// has every change (imported with its time), the series has them; otherwise it has the book's daily
// prices, each from midnight UTC of its first day on.
#ifndef FARE_ADVISE_SPOT_HISTORY_H
#define FARE_ADVISE_SPOT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bill/market.h"
#include "record/offer.h"

struct spot_change {
    int64_t at_s;     // POSIX time
    int64_t nano_usd; // of one machine an hour, from then on until the next change; above 0
};

// A stretch in which nobody looked at the price. It is carried on there, but counts as unknown.
struct spot_gap {
    int64_t from_s, to_s;
};

struct spot_series {
    char *zone;                  // "us-east-1a"; a region where the price is the region's; ""
    struct spot_change *changes; // at_s ascends, the price differs from the one before
    size_t count;                // at least 1
    int64_t until_s;             // it was seen until before then; after the last change
    // Beyond the prices themselves:
    struct spot_gap *gaps; // within the series, ascending, apart
    size_t gap_count;
    bool daily; // the book has one price a day here, not every change
};

struct spot_history {
    struct spot_series *series; // by zone
    size_t count;               // 0: the book knows none
    char *source;               // where the prices are from; null with no series
};

// Reads every zone of the offer's provider and name that the book knows: those of its region, or of
// all regions if `offer->region` is "". The offer's own zone and kind do not matter. Prices in
// other currencies are converted at the rate of their day; without a rate they are left out.
int spot_history_read(struct market *market, const struct offer *offer, struct spot_history *out,
                      struct err *err) MUST_USE;
void spot_history_release(struct spot_history *history); // a zeroed struct is fine

// history_figures: what a spot price did: quantiles over time, changes, steadiness, and the price
// to count on. Pure functions of a series; gaps count as unknown, and every share is of the time
// seen.

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

// history_record: the figures of a spot price's history as a record.

struct spot_view {
    const char *place; // (optional) only this region or zone
    int day;           // as seen up to the end of this day; 0: all of it
    int64_t under;     // nano-USD an hour; -1: the on-demand price, or the lowest median of a zone
    size_t plot;       // points of each zone's plot; 0: none
};

// Fills a zeroed record, which stays empty if the book has no spot price of the offer's machine in
// these places on that day. The caller releases it.
int spot_describe(struct market *market, const struct offer *offer, const struct spot_view *ask,
                  struct spot_prices *out, struct err *err) MUST_USE;

#endif
