// SPDX-License-Identifier: Apache-2.0
// listing: the offers that match a filter, sorted by price per GPU-hour (machines without GPUs: per
// vCPU-hour); doubtful prices come last. Lists each machine once, in its cheapest place, unless
// `all` is set.
#ifndef FARE_PRICE_LISTING_H
#define FARE_PRICE_LISTING_H

#include "price/book.h"

#define LISTING_STALE_DAYS 730 // prices not seen for this long are not listed

// An offer with the price of an hour in nano-USD, converted if needed; -1 if there is no rate for
// its currency.
struct listing_line {
    struct offer offer;
    int64_t usd_hour;
    const char *doubt; // why the price is not to be believed (doubt.h), or that it is retired:
                       // listed last; null: nothing speaks against it
};

struct currencies;
struct devices;
struct listing {
    // set by the caller
    int64_t max_rate;              // nano-USD per hour; -1: any
    bool all;                      // list every place of each machine
    int oldest;                    // prices last seen before this day are counted, not listed
    const struct devices *devices; // (optional) without them nothing is doubted
    // the result
    struct listing_line *items;
    size_t count;
    size_t seen, stale;
    const char *rate; // source of the first exchange rate used; null: none
    // internal
    size_t cap, group;
    int day;
    struct currencies *currencies;
};

// The strings in the lines belong to the book. The caller releases the list, also on failure.
int listing_make(struct listing *list, const struct book *book, const struct book_filter *filter,
                 struct err *err) MUST_USE;
void listing_release(struct listing *list);

// What `doubt` of a line is, on that day (0: today).
const char *listing_doubt(const struct devices *devices, const struct listing_line *line, int day);

#endif
