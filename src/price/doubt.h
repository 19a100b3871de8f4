// SPDX-License-Identifier: Apache-2.0
// doubt: why an offer's price is not to be believed, or nobody can pay it.
#ifndef FARE_PRICE_DOUBT_H
#define FARE_PRICE_DOUBT_H

#include <stdbool.h>

#include "price/device.h"
#include "price/offer.h"

// Whether the electricity of the offer's GPUs under load costs more than `hour`, its price of an
// hour in nano-USD, even at DOUBT_LEAST_KWH: such a price cannot be. Never for a monthly price.
#define DOUBT_LEAST_KWH INT64_C(50000000) // nano-USD; no table of 2025 has less
bool doubt_power(const struct devices *devices, const struct offer *offer, int64_t hour);

extern const char doubt_power_words[]; // its reason, as doubt_of() gives it

// The reason, a constant: "the lowest bid of an auction: one pays that or more"; null: none. `hour`
// is its price of an hour in nano-USD; -1: unknown. A user's own rate is never asked about.
const char *doubt_of(const struct devices *devices, const struct offer *offer, int64_t hour);

#endif
