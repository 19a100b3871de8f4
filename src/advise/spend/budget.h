// SPDX-License-Identifier: Apache-2.0
// budget: how much of a team's budgets (ledger/spend.h) is spent.
//
// A budget is for the runs that start in its period: a calendar month, a week from Monday, a day
// (all UTC), or always. What is spent is their cost by the providers' rules (use.h). Budgets warn;
// they stop nothing.
#ifndef FARE_ADVISE_SPEND_BUDGET_H
#define FARE_ADVISE_SPEND_BUDGET_H

#include "ledger/spend.h"
#include "bill/market.h"
#include "record/spending.h"

#define BUDGET_LOW 0.8 // share from which people are told

// "project=300/month", "project:bert=300EUR/month", "user:ann=50/week", "all=1000/month": the words
// of --budget. Without a name it is for each project (user, host) that has none of its own. A word
// that is no kind is the name of a project: "bert=300/month". Without a period it is a month.
// "none" as the amount removes. `currency` (optional) is that of an amount without one.
struct budget_word {
    struct ledger_budget budget; // its texts point into `texts` and `currency`
    bool removes;
    const char *period; // as given; null: none was
    char texts[512];
};
int budget_parse(const char *text, const char *currency, struct budget_word *out,
                 struct err *err) MUST_USE;

// Whose budgets; all null: every budget in the ledger. A budget for each one then has a state for
// every name that spent something in its period, largest first.
struct budget_whose {
    const char *project, *user, *host; // as recorded
};

// `out` is zeroed before and released by the caller.
int budget_states(struct ledger *ledger, struct market *market, const struct budget_whose *whose,
                  struct budgets *out, struct err *err) MUST_USE;

// "budget of project bert: 212.40 of 300.00 USD spent this month (71 %), 87.60 left"
void budget_words(const struct budget_state *state, struct buf *out);

// The amount left, in nano-USD at today's rate; below 0 if it is exceeded.
int budget_left_usd(const struct budget_state *state, struct market *market, int64_t *nano_usd,
                    struct err *err) MUST_USE;

#endif
