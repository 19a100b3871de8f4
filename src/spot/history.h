// SPDX-License-Identifier: Apache-2.0
// history: the spot price of a machine over time, zone by zone.
//
// A series is a step function: each price holds from its change until the next one. Where the book
// has every change (imported with its time), the series has them; otherwise it has the book's daily
// prices, each from midnight UTC of its first day on.
#ifndef FARE_SPOT_HISTORY_H
#define FARE_SPOT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "market/market.h"

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

#endif
