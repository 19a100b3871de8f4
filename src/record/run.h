// SPDX-License-Identifier: Apache-2.0
// The record of a run: workload, machine, speed, quality and projection. Plain data; src/follow/
// and src/cmd/ fill it, the ledger stores it. The fields' descriptions say which figures are
// measured, derived or estimated.
#ifndef FARE_RECORD_RUN_H
#define FARE_RECORD_RUN_H

#include "base/buf.h"
#include "record/bill.h"
#include "record/field.h"
#include "record/machine.h"
#include "record/run.def"

static inline void run_release(struct run *record)
{
    record_release(run_fields, record);
}

static inline void runs_release(struct runs *record)
{
    record_release(runs_fields, record);
}

#define RUN_SCHEMA    "fare.run/2"
#define RUN_SCHEMA_1  "fare.run/1" // boot_ns meant something else (correct.h)
#define RUNS_SCHEMA   "fare.runs/1"
#define REPORT_SCHEMA "fare.report/1"

// Id and `ended` of a stand-in for a run: its time was given by the user. Never stored.
#define RUN_GIVEN "given"

// Bounds (field.h): epochs, and the arguments of a command, which Linux limits to 2 MiB in all. A
// record from elsewhere has at most RUN_BYTES_MOST bytes, RUN_HEAD_BYTES_MOST of them without its
// longest lists: lists of runs hold that much of each.
enum {
    RUN_EPOCHS_MOST = 10000,
    RUN_ARGUMENTS_MOST = 100000,
    RUN_ARGUMENTS_BYTES_MOST = 2 << 20,
    RUN_BYTES_MOST = 4 << 20,
    RUN_HEAD_BYTES_MOST = 256 << 10,
};

// boot_from where fare ordered the machine for the run (--on sky): the only boot that is charged.
#define RUN_BOOT_ORDERED "fare"

// The boot that a run is charged for beside its own time; 0: none.
int64_t run_ordered_ns(const struct run *run);

// How a run may have ended; null-terminated.
extern const char *const run_ends[];

// Sets id (from `date_s` and random bytes), started and schema.
int run_begin_record(struct run *run, int64_t date_s, struct err *err) MUST_USE;

// Copies the parts of a machine's record that a run keeps.
int run_set_machine(struct run *run, const struct machine *machine, struct err *err) MUST_USE;

// A host's or user's name as records have it by default: "sha256:" and 16 digits, the same for the
// same name.
#define RUN_HASHED_BYTES 24
void run_hashed_name(const char *name, char out[RUN_HASHED_BYTES]);

// The label that has the machine's price.
#define RUN_PRICE_LABEL "price_per_hour_usd"

// The value of a label; null if missing.
const char *run_label(const struct run *run, const char *key);

// The speed relative to that of the run in the label relative_to; 0: none, or nonsense.
double run_relative_speed(const struct run *run);

// The GPU's name without vendor words; null if none.
const char *run_gpu_name(const struct run *run);

// The machine's display name: the first known of its name, GPU (if used), instance type and
// processor. Null if none is known.
const char *run_place(const struct run *run);

// The first metric of its quality that is no accuracy; null: none.
const struct run_quality *run_score(const struct run *run);

// The quality reached: "98.20 %" of an accuracy, else "box AP 0.378, mask AP 0.34"; "" if unknown.
#define RUN_QUALITY_BYTES 96
void run_quality_words(const struct run *run, char out[RUN_QUALITY_BYTES]);

// Whether it ended early: "failed", or "stopped" by the user or "killed". Its figures are kept, but
// do not count as a repetition of a run that was not cut off.
bool run_failed(const struct run *run);
bool run_stopped(const struct run *run);

// Whether a taint says that a GPU was throttled: "GPU 0 was throttled by ...".
#define RUN_THROTTLED " was throttled by "
bool run_throttled(const struct run *run);

// A result that ships with fare, also where it was imported again; a name that such a one has.
#define RUN_SHIPPED "published-"
bool run_shipped_name(const char *id); // null is fine
bool run_shipped(const struct run *run);

// An imported run of which neither GPU nor processor is known: not one without a GPU.
bool run_unknown_device(const struct run *run);

// A stand-in: see RUN_GIVEN.
bool run_given(const struct run *run);

// Computes derived members: operations per second, joules per step.
// What a million tokens cost where the whole training costs `nano`; false if its tokens are
// unknown.
bool run_million_tokens(const struct run *run, int64_t nano, int64_t *each);

void run_derive(struct run *run);

// Adds a taint, unless it is already there.
int run_taint(struct run *run, const char *text, struct err *err) MUST_USE;

// ---- correct ----
//
// correct: puts right the figures of earlier builds that are known to be false, when a record is
// read. The ledger keeps records as they came; what it hands out and what its columns hold has
// passed here: lists and single runs (ledger/list.c), and spooled, imported and
// pushed records (ledger/row.c).
//
// A corrected record has today's schema, and its `corrected` names what was put right. To correct
// another fault, add a row to `faults` in run.c: a function that tells whether a record has it,
// from a few members that are read fast, and one that mends its JSON.
//
// - boot, cost: up to fare.run/1, phases.boot_ns was the time from the machine's start to whenever
//   somebody first ran fare there, and it was charged. It becomes idle_before_ns, and the
//   cost is computed again without it; it is absent if that cannot be done.
// - interval: a sample that took longer than its own projection ended its interval before it began
//   it, and readers refused it. The whole takes at least as long as the sample. And the
//   lower end of a short sample was less than its steps could take: it is what they take at least.
// - account: the GPU's account of a step was that of the recorded steps alone (record/reconcile.h).
// - samples: rows of MLPerf logs that count samples had these as their epochs.

// Appends the corrected record to `out`, nothing if there is nothing to correct. `text` is a record
// as JSON of `len` bytes; one that cannot be read stays as it is, for its reader to refuse.
int run_correct(const char *text, size_t len, struct buf *out, struct err *err) MUST_USE;

// Appends the record with `what` added to its `corrected`; nothing if it cannot be read.
int run_note(const char *text, size_t len, const char *what, struct buf *out,
             struct err *err) MUST_USE;

// Who computes costs again: bill/run_price.h, set once by main() since it is upstairs. `cost` gets
// a corrected record and sets nano-USD, below 0 if it is unknown; it fails only if memory runs out,
// and any thread may call it.
typedef int run_cost_fn(const struct run *run, int64_t *nano, struct err *err);
void run_correct_costs(run_cost_fn *cost);

// Whether that was put right in this record: "boot", "cost", "interval", "account", "samples".
bool run_corrected(const struct run *run, const char *what);

#endif
