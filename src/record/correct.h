// SPDX-License-Identifier: Apache-2.0
// correct: puts right the figures of earlier builds that are known to be false, when a record is
// read. The ledger keeps records as they came; what it hands out and what its columns hold has
// passed here: lists and single runs (ledger/list.c, ledger/list.c), and spooled, imported and
// pushed records (ledger/row.c).
//
// A corrected record has today's schema, and its `corrected` names what was put right. To correct
// another fault, add a row to `faults` in correct.c: a function that tells whether a record has it,
// from a few members that are read fast, and one that mends its JSON.
//
// - boot, cost: up to fare.run/1, phases.boot_ns was the time from the machine's start to whenever
//   somebody first ran fare there, and it was charged. It becomes idle_before_ns, and the
//   cost is computed again without it; it is absent if that cannot be done.
// - interval: a sample that took longer than its own projection ended its interval before it began
//   it, and whoever read that refused it. The whole takes at least as long as the sample. And the
//   lower end of a short sample was less than its steps could take: it is what they take at least.
// - account: the GPU's account of a step was that of the recorded steps alone (record/reconcile.h).
// - samples: rows of MLPerf logs that count samples had these as their epochs.
#ifndef FARE_RECORD_CORRECT_H
#define FARE_RECORD_CORRECT_H

#include "base/buf.h"
#include "record/run.h"

// Appends the corrected record to `out`, nothing if there is nothing to correct. `text` is a record
// as JSON of `len` bytes; one that cannot be read stays as it is, for its reader to refuse.
int run_correct(const char *text, size_t len, struct buf *out, struct err *err) MUST_USE;

// Appends the record with `what` added to its `corrected`; nothing if it cannot be read.
int run_note(const char *text, size_t len, const char *what, struct buf *out,
             struct err *err) MUST_USE;

// Who computes costs again: bill/again.h, set once by main() since it is upstairs. `cost` gets a
// corrected record and sets nano-USD, below 0 if it is unknown; it fails only if memory runs out,
// and any thread may call it.
typedef int run_cost_fn(const struct run *run, int64_t *nano, struct err *err);
void run_correct_costs(run_cost_fn *cost);

// Whether that was put right in this record: "boot", "cost", "interval", "account", "samples".
bool run_corrected(const struct run *run, const char *what);

#endif
