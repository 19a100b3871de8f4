// SPDX-License-Identifier: Apache-2.0
// history: the prices of a spot offer over time, zone by zone.
#ifndef FARE_SPOT_HISTORY_H
#define FARE_SPOT_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "market/market.h"

struct spot_change { // POSIX time; the price of one machine an hour from then on
    int64_t at_s;
    int64_t nano_usd;
};

struct spot_series {
    char *zone;
    struct spot_change *changes;
    size_t count;
    int64_t until_s; // the last price is known to hold until then
};

struct spot_history {
    struct spot_series *series;
    size_t count;
    char *source;
};

// An offer without a history has none: no error.
int spot_history_read(struct market *market, const struct offer *offer, struct spot_history *out,
                      struct err *err) MUST_USE;
void spot_history_release(struct spot_history *history);

#endif
