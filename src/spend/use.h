// SPDX-License-Identifier: Apache-2.0
// use: the uses of machines in a ledger (ledger/spend.h), each with its cost.
//
// The cost is what the run's record has. Records of an earlier fare and imported logs have none:
// theirs is computed from the offer or the price in them, at the prices of their day, as `fare
// compare` does. If neither is known the cost is unknown, never 0.
#ifndef FARE_SPEND_USE_H
#define FARE_SPEND_USE_H

#include "ledger/spend.h"
#include "market/market.h"

struct use {
    const struct ledger_spend *row;
    int64_t start_s;  // 0: unknown
    int64_t nano_usd; // below 0: unknown
    bool failed;      // or killed
};

typedef int use_fn(void *arg, const struct use *use, struct err *err);

// Visits the uses that the filter selects. `market` is opened if it is needed, and then the
// caller's to close; `*market` may be null.
int use_each(struct ledger *ledger, const struct ledger_filter *filter, struct market **market,
             use_fn *visit, void *arg, struct err *err) MUST_USE;

// The day of a use, in days since 1970, for exchange rates; 0: today.
int use_day(const struct use *use);

#endif
