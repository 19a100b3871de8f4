// SPDX-License-Identifier: Apache-2.0
// use: the uses of machines in a ledger (ledger/spend.h), each with its cost.
//
// The cost is what the run's record has. Records of an earlier fare and imported logs have none:
// theirs is computed from the offer or the price in them, at the prices of their day, as `fare
// compare` does. If neither is known the cost is unknown, never 0. A cost or price that no run has
// (over AMOUNT_MOST_USD), as ledgers of an earlier fare may hold, is unknown too, and told apart.
#ifndef FARE_ADVISE_SPEND_USE_H
#define FARE_ADVISE_SPEND_USE_H

#include "ledger/spend.h"
#include "bill/market.h"

struct use {
    const struct ledger_spend *row;
    int64_t start_s;  // 0: unknown
    int64_t nano_usd; // below 0: unknown
    bool failed;      // or killed
    bool beyond;      // the cost is unknown because it, or the price, is out of range
};

typedef int use_fn(void *arg, const struct use *use, struct err *err);

// Visits the uses that the filter selects.
int use_each(struct ledger *ledger, struct market *market, const struct ledger_filter *filter,
             use_fn *visit, void *arg, struct err *err) MUST_USE;

// The day of a use, in days since 1970, for exchange rates; 0: today.
int use_day(const struct use *use);

// The runs behind a sum that may be wrong; zeroed to begin with.
struct suspects {
    int64_t beyond; // uses that are `beyond`
    bool at_least;  // the sum does not fit
    int64_t nano;   // of the run to look at; MONEY_MOST: one that is beyond
    char run[128];  // its id
};

void suspects_note(struct suspects *s, const struct use *use);
void suspects_join(struct suspects *to, const struct suspects *more);

// Sets the members that records have for it; nothing if there is none.
int suspects_tell(const struct suspects *s, struct maybe_int *out_of_range,
                  struct maybe_bool *at_least, char **suspect, struct err *err) MUST_USE;

// Appends what they mean: "the cost of 1 run is out of range and not in the sum: look at run ID".
void suspects_words(struct maybe_int out_of_range, struct maybe_bool at_least, const char *suspect,
                    struct buf *out);

#endif
