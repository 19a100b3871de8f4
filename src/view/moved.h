// SPDX-License-Identifier: Apache-2.0
// moved: prices that changed lately: of each GPU model and kind the offer with the lowest price
// before or now, if the book has both.
#ifndef FARE_VIEW_MOVED_H
#define FARE_VIEW_MOVED_H

#include "bill/market.h"

#define MOVED_DAYS 30

enum { MOVED_MOST = 8 };

struct moved_price {
    struct offer offer;  // at its price of today
    int64_t before, now; // of a GPU-hour, nano-USD
    int seen;            // the day on which it last had the price before
};

struct moved {
    struct moved_price items[MOVED_MOST]; // those that changed most first
    size_t count;
};

// The offers' texts live as long as the market. Changes under a percent are left out, and those of
// more than ten times, which are errors of a catalogue.
int moved_find(struct market *market, struct moved *out, struct err *err) MUST_USE;

// A table; nothing without any. `gpu_link` and `offer_link` are put before names, escaped for
// addresses: "/gpu?name=".
void html_moved(struct buf *out, const struct moved *moved, const char *gpu_link,
                const char *offer_link);

#endif
