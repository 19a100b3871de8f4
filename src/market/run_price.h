// SPDX-License-Identifier: Apache-2.0
// run_price: what the machine of a run costs.
//
// The price is, in this order: the one the user gave for it, the offer the user named, the label an
// import kept (price_per_hour_usd), the run's own provider and instance type in the book on the
// run's date. Otherwise it is unknown, never 0.
#ifndef FARE_MARKET_RUN_PRICE_H
#define FARE_MARKET_RUN_PRICE_H

#include "market/price.h"
#include "record/run.h"

struct run_price {
    bool known;
    struct priced priced; // with `known`
    struct wishes wishes; // its date, and whether it is prorated
    int64_t hour;         // list price, nano-USD
    char provider[64];    // who charges it; empty: unknown
    char from[160];       // "--price k80", "label of the run"; where it is unknown: why, or empty
    char note[600];       // "OLD price: last seen 40 days before"; mostly empty
};

struct run_price_said { // by the user; all zero: nothing
    const char *price;  // "--price k80", where `hour` was given
    int64_t hour;       // nano-USD
    const char *offer;
};

struct run_prices; // looks each offer and rule up once, for many runs

// `date_s`: of prices and rules, where `dated`; else each run's own.
int run_prices_new(struct run_prices **out, struct market *market, bool prorated, bool dated,
                   int64_t date_s, struct err *err) MUST_USE;
void run_prices_free(struct run_prices *prices); // null is fine; the market stays open

// ERR_MISSING with names that are alike where `said->offer` is in the book on no date.
int run_price(struct run_prices *prices, const struct run *run, const struct run_price_said *said,
              struct run_price *out, struct err *err) MUST_USE;

// One use of the machine for so long, in nano-USD.
int run_price_cost(const struct run_price *price, int64_t length_ns, int64_t *nano_usd,
                   struct err *err) MUST_USE;

#endif
