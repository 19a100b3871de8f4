// SPDX-License-Identifier: Apache-2.0
// budget: amounts that a team means to spend, kept in its ledger.
#ifndef FARE_LEDGER_BUDGET_H
#define FARE_LEDGER_BUDGET_H

#include "ledger/ledger.h"

struct ledger_budget {
    const char *kind;     // "project", "user", "host", or "all"
    const char *name;     // of the project ...; "": each one without a budget of its own
    const char *period;   // "month", "week", "day", "total"
    const char *currency; // "USD"
    int64_t nano;         // the amount
};

// Replaces the budget with the same kind, name and period.
int ledger_budget_set(struct ledger *ledger, const struct ledger_budget *budget,
                      struct err *err) MUST_USE;

// Removes the budgets of that kind and name; `period` null: all periods. `*removed`: how many.
int ledger_budget_remove(struct ledger *ledger, const char *kind, const char *name,
                         const char *period, int64_t *removed, struct err *err) MUST_USE;

// Visits all of them, sorted by kind, name and period.
typedef int ledger_budget_fn(void *arg, const struct ledger_budget *budget, struct err *err);
int ledger_budget_each(struct ledger *ledger, ledger_budget_fn *visit, void *arg,
                       struct err *err) MUST_USE;

#endif
