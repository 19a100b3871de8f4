// SPDX-License-Identifier: Apache-2.0
// advice: a quote in sentences: what is cheapest, what under a deadline or a budget, what for how
// much use, rent or buy.
#ifndef FARE_ADVISE_ADVICE_H
#define FARE_ADVISE_ADVICE_H

#include "advise/quote.h"
#include "bill/own.h"

struct advice_wishes {
    struct maybe_int deadline_ns;
    struct maybe_int budget; // nano-USD
    int64_t use_ns_a_month;  // on the machine of the run that was asked for; 0: not asked for
    int64_t runs;            // experiments of the same kind; 0: not asked for
    bool buy;
    struct own_machine own; // with `buy`
};

// Appends sentences to quote->advice; the first is about the cheapest, or says that there is none.
// `ask` is the one the quote was made from.
int advice_make(const struct quote_ask *ask, const struct advice_wishes *wishes,
                struct quote *quote, struct err *err) MUST_USE;

// "another, run published-2026-h200-mlp (batch 128, mnist)": whose time the bill is about;
// "another" where a run was asked for, and it is not that one.
void advice_whose(const struct quote *quote, const struct bill *bill, struct buf *out);

// The answer to a deadline alone: the cheapest that is done within it, or the fastest of all.
void advice_deadline(const struct quote_ask *ask, int64_t deadline_ns, const struct quote *quote,
                     struct buf *out);

// Whether nothing that is cheaper is as fast. Asked of each in turn, the cheapest first; `*best_s`
// is 0 before.
bool advice_on_frontier(double *best_s, double time_s);

// After how much use a machine that was bought, on which the training takes `own_s`, has cost no
// more than `rent`, and in tenths of days since the purchase. `*use_s` -1: never.
int advice_break_even(const struct quote_ask *ask, const struct own_machine *own,
                      const struct bill *rent, double own_s, int64_t *use_s, int64_t *tenths,
                      struct err *err) MUST_USE;

#endif
