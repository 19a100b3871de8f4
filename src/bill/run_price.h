// SPDX-License-Identifier: Apache-2.0
// run_price: the price of the machine of a run.
//
// It comes from the first of these: the user's price, the offer the user named, the label of an
// imported run (price_per_hour_usd, unless another kind of price is asked for), the run's provider
// and instance type in the book on the run's date. Otherwise it is unknown, never 0.
#ifndef FARE_BILL_RUN_PRICE_H
#define FARE_BILL_RUN_PRICE_H

#include "bill/market.h"
#include "record/run.h"

struct run_price {
    bool known;
    struct priced priced; // with `known`
    struct wishes wishes; // date, and whether prorated
    int64_t hour;         // list price, nano-USD
    char provider[64];    // empty: unknown
    char from[160];       // "--price k80", "label of the run"; if unknown, the reason, or empty
    char note[600];       // "OLD price: last seen 40 days before"; mostly empty
};

struct run_price_said { // by the user; all zero: nothing
    const char *price;  // "--price k80", if `hour` was given
    int64_t hour;       // nano-USD
    const char *offer;
    const enum offer_kind *kind; // of the price, unless `offer` names one; null: as the run has it
};

struct run_prices; // looks up each offer and rule once, for many runs

// With `dated`, prices and rules are those of `date_s`; otherwise those of each run's date.
int run_prices_new(struct run_prices **out, struct market *market, bool prorated, bool dated,
                   int64_t date_s, struct err *err) MUST_USE;
void run_prices_free(struct run_prices *prices); // null is fine; the market stays open

// ERR_MISSING, with similar names, if `said->offer` is in the book on no date.
int run_price(struct run_prices *prices, const struct run *run, const struct run_price_said *said,
              struct run_price *out, struct err *err) MUST_USE;

// Whether costs at this price are lower bounds: it is a spot price, with which the run was not
// trained to its end, so interruptions are not in its time.
bool run_price_is_bound(const struct run_price *price, const struct run *run);

// The cost of a run of `wall_ns`, in nano-USD: of priced_use_ns(), with the boot of a machine that
// fare ordered for it (run_ordered_ns()).
int run_price_cost(const struct run_price *price, int64_t ordered_ns, int64_t wall_ns,
                   int64_t *nano_usd, struct err *err) MUST_USE;

// The same as comparisons print it: the time in the provider's units, without fees; of machines
// that are rented by the month, the run's share of it.
int run_price_printed(const struct run_price *price, int64_t wall_ns, int64_t *nano_usd,
                      struct err *err) MUST_USE;

// The cost of a run computed again, for records whose cost was false (record/run.h).
//
// Nano-USD by the price in the record, or else as run_price() finds it, and the provider's rule on
// the run's date; below 0 if that is unknown. Opens a market of its own at the first call, and
// keeps it. Any thread may call it.
int run_cost_again(const struct run *run, int64_t *nano, struct err *err) MUST_USE;

#endif
