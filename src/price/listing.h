// SPDX-License-Identifier: Apache-2.0
// listing: what fits a filter, cheapest per GPU-hour first (machines without GPUs per vCPU-hour),
// and of each machine the cheapest place only, unless all are asked for.
#ifndef FARE_PRICE_LISTING_H
#define FARE_PRICE_LISTING_H

#include "price/book.h"

#define LISTING_STALE_DAYS 730 // prices that were not seen since are history

// An offer with its hour in nano-USD, converted where that is not its currency; -1 where there is
// no rate for it.
struct listing_line {
    struct offer offer;
    int64_t usd_hour;
};

struct currencies;
struct listing {
    // asked for
    int64_t max_rate; // nano-USD an hour; -1: any
    bool all;         // not the cheapest of each name and kind alone
    int oldest;       // prices last seen before this day are counted, not listed
    // found
    struct listing_line *items;
    size_t count;
    size_t seen, stale;
    const char *rate; // what the first price in another currency was converted by; null: none
    // its own
    size_t room, group;
    int day;
    struct currencies *currencies;
};

// The lines' texts are the book's. Released by the caller, also on failure.
int listing_make(struct listing *list, const struct book *book, const struct book_filter *filter,
                 struct err *err) MUST_USE;
void listing_release(struct listing *list);

#endif
