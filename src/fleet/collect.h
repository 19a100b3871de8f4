// SPDX-License-Identifier: Apache-2.0
// collect: the end of a task: its records into the ledger, its state, its cost.
#ifndef FARE_FLEET_COLLECT_H
#define FARE_FLEET_COLLECT_H

#include "fleet/target.h"
#include "ledger/ledger.h"

// Fills task->now from a report of REPORT_ENDED and sets it done or failed. Its runs are added to
// the ledger, unless they are there already: as many as a task makes, with the label of the
// dispatch. Other records, and one that the ledger refuses, make the task fail. Fails itself only
// for reasons of this machine. `*again`: it was interrupted and saved, and is to be started again.
int collect_end(const struct dispatch *dispatch, struct task *task, const struct place *place,
                const struct task_report *report, struct ledger *ledger, bool *again,
                struct err *err) MUST_USE;

// The cost of a place for that long, by its price an hour, in nano-USD; -1: unknown.
int64_t collect_cost(const struct place *place, double run_s);

// The sums of a dispatch, for tables. Amounts are nano-USD; -1: unknown.
struct collect_bill {
    int64_t so_far;    // of the tasks that ended
    int64_t projected; // with those to come, at the mean time of those that ended
};
void collect_bill(const struct dispatch *dispatch, const struct places *places,
                  struct collect_bill *bill);

#endif
