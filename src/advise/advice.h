// SPDX-License-Identifier: Apache-2.0
// advice: a quote in sentences: the cheapest offer, the best one under a deadline, for a budget or
// for steady use, rent or buy.
#ifndef FARE_ADVISE_ADVICE_H
#define FARE_ADVISE_ADVICE_H

#include "advise/verdict.h"
#include "bill/own.h"
#include "bill/power.h"

struct advice_wishes {
    struct maybe_int deadline_ns;
    struct maybe_int budget; // nano-USD
    int64_t use_ns_a_month;  // on the machine of the run that was asked for; 0: not asked for
    int64_t runs;            // experiments of the same kind; 0: not asked for
    int64_t idle_ns_a_day;   // that the machine has no work; 0: not asked for
    bool buy;
    struct own_machine own; // with `buy`; without it only its power counts
    struct power power;     // of the machine of the run asked for
};

const char *advice_machine(const struct quote_ask *ask); // of the first run; null: unknown

// Appends sentences to quote->advice; the first names the cheapest offer, or says that there is
// none. `ask` is the one the quote was made from.
int advice_make(const struct quote_ask *ask, const struct advice_wishes *wishes,
                struct quote *quote, struct err *err) MUST_USE;

// "another, run published-2026-h200-mlp (batch 128, mnist)": the run whose time was
// billed; "another" if it is not the one asked for.
void advice_whose(const struct quote *quote, const struct bill *bill, struct buf *out);

// The answer to a deadline alone: the cheapest offer that meets it, or the fastest of all.
void advice_deadline(const struct quote_ask *ask, int64_t deadline_ns, const struct quote *quote,
                     struct buf *out);

// The rent that buying is held against: the cheapest machine to rent with a run; null: none.
const struct bill *advice_rent(const struct quote *quote);

// The use after which a bought machine, on which the training takes `own_s`, has cost no more than
// `rent`: in seconds, and in tenths of days since the purchase. `*use_s` -1: never.
int advice_break_even(const struct quote_ask *ask, const struct own_machine *own,
                      const struct bill *rent, double own_s, int64_t *use_s, int64_t *tenths,
                      struct err *err) MUST_USE;

#endif
