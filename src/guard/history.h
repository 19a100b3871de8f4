// SPDX-License-Identifier: Apache-2.0
// history: all starts of a job, on all machines, in its store: history/EEEEEEEEEE, one object for
// each epoch (lease.h), written only by its holder.
#ifndef FARE_GUARD_HISTORY_H
#define FARE_GUARD_HISTORY_H

#include "base/err.h"
#include "guard/store.h"
#include "record/run.h"

// Appends the starts before `epoch` to saving->attempts, the oldest first; those of other jobs and
// unreadable ones are left out. One that still says "running" was killed: its last word counts.
int history_read(struct store *store, const char *job, int64_t epoch, struct run_saving *saving,
                 int64_t deadline_ns, struct err *err) MUST_USE;

int history_write(struct store *store, const struct run_attempt *attempt, int64_t deadline_ns,
                  struct err *err) MUST_USE;

// Work lost by a start with the figures it has.
void history_lost(struct run_attempt *attempt);

// Fills the totals from the starts.
int history_total(struct run_saving *saving, struct err *err) MUST_USE;

#endif
