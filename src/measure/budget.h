// SPDX-License-Identifier: Apache-2.0
// budget: what is left of the team's budgets (advise/spend/budget.h) when a run starts and when it
// ends.
//
// Budgets warn. The ledger is asked in a child process that is killed after two seconds: a database
// that is down, locked or slow neither stops nor delays a run. Without an answer nothing is said.
#ifndef FARE_MEASURE_BUDGET_H
#define FARE_MEASURE_BUDGET_H

#include "ledger/ledger.h"
#include "bill/market.h"
#include "record/spending.h"

// The budgets that `run` counts towards, by its project, user and host. `says` gets what opening
// the ledger had to say; it is not connected afterwards.
int measure_budget_read(struct ledger *ledger, struct market *market, const struct run *run,
                        struct budgets *out, struct buf *says, struct err *err) MUST_USE;

// The least that is left of them, in nano-USD; false: there is none, or a rate is missing. Below 0:
// one is exceeded.
bool measure_budget_left(const struct budgets *budgets, struct market *market, int64_t *nano_usd);

// At the start, a line each: what is left, and how long that lasts at `hour` (nano-USD; 0:
// unknown).
void measure_budget_say(const struct budgets *budgets, struct market *market, int64_t hour,
                        struct buf *says);

// At the end, a line for each that is nearly spent, or will be at this rate.
void measure_budget_warn(const struct budgets *budgets, struct buf *says);

#endif
