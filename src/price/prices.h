// SPDX-License-Identifier: Apache-2.0
// prices: the price history of one offer under construction; for stock_build.c.
#ifndef FARE_PRICE_PRICES_H
#define FARE_PRICE_PRICES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "price/image.h"

struct prices {
    struct image_price *items; // by date; each `seen` is before the next `since`
    size_t count, cap;
};

void prices_release(struct prices *prices);
int prices_append(struct prices *prices, const struct image_price *price, struct err *err) MUST_USE;

// The price was seen from `seen->since` to `seen->seen`. `*changed`: a row was added.
int prices_observe(struct prices *prices, const struct image_price *seen, bool *changed,
                   struct err *err) MUST_USE;

// The row valid on that day (0: the newest); null if there is none yet.
const struct image_price *prices_on(const struct image_price *items, size_t count, int day);

bool price_same(const struct image_price *a, const struct image_price *b);

#endif
