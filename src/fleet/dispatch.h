// SPDX-License-Identifier: Apache-2.0
// state: a dispatch on disk, so that a dispatcher that was killed can be replaced by another.
//
// Each has a folder of its own, DATA/fare/fleet/ID, for the user alone: `plan.json` (record/
// dispatch.h) is written whole before anything starts; `log.jsonl` gets one line (struct task_now)
// for each change of a task, and a line that was cut off does not count. A lock keeps a second
// dispatcher out and ends with its process.
#ifndef FARE_FLEET_DISPATCH_H
#define FARE_FLEET_DISPATCH_H

#include "fleet/target.h"
#include "ledger/ledger.h"

struct state {
    struct dispatch dispatch;
    char *folder;
    int lock, log;      // only meaningful while `folder` is set
    struct buf pending; // lines for the log
};

// Makes a folder and an id; the caller fills state->dispatch, then calls state_plan().
int state_new(struct state *state, struct err *err) MUST_USE;
int state_plan(struct state *state, struct err *err) MUST_USE;

// Opens the one with this id, or the beginning of one; null: the newest with unfinished tasks, or
// failing that the newest. ERR_MISSING if there is none. With `lock`, ERR_USAGE while another
// process has it.
int state_open(struct state *state, const char *id, bool lock, struct err *err) MUST_USE;

void state_close(struct state *state); // a zeroed one is fine

// Notes a task's state now; state_flush() forces the lines to the disk.
int state_note(struct state *state, const struct task *task, struct err *err) MUST_USE;
int state_flush(struct state *state, struct err *err) MUST_USE;

// Removes a folder that never began, or is of no more use.
void state_remove(struct state *state);

// Appends the folder of all dispatches.
int state_home(struct buf *out, struct err *err) MUST_USE;

// How many tasks are in each state.
struct state_counts {
    size_t of[TASK_CANCELLED + 1];
    size_t all, unsettled;
};
void state_count(const struct dispatch *dispatch, struct state_counts *counts);

// Whether nothing waits, runs, may run, or is left anywhere.
bool state_ended(const struct dispatch *dispatch);

// Applies one line of a log; a line that is not one changes nothing.
int state_apply(struct dispatch *dispatch, const char *line, size_t len, struct err *err) MUST_USE;

// ==== dispatch ====
// Brings the tasks of a dispatch to its places and their records into the ledger.
//
// One thread, one loop: each place has at most one program at work for it (target.h), and what that
// one answers decides what is next. A place that does not answer is asked again after 1, 2, 4 ...
// 60 s until the dispatch's patience is over (a tenth of it, if it never answered); the others do
// not wait for it. Every change is on disk (dispatch.h) before it is acted on, so the loop can be
// killed at any point and begun again.
//
// Each task ends as done (its records are in the ledger), failed (with the reason) or cancelled.

#define DISPATCH_JOBS        64
#define DISPATCH_PATIENCE_NS (INT64_C(600) * 1000000000)

struct dispatcher;

struct dispatch_options {
    bool cancel; // end every task instead, and collect nothing
    void *arg;
    // (optional) A line for people: what has become of a task or a place.
    void (*says)(void *arg, const char *line);
    // (optional) About twice a second.
    void (*draw)(void *arg, const struct dispatcher *dispatcher);
};

// 0 once every task is over; `*interrupted` if SIGINT, SIGTERM or SIGHUP ended it before. The
// `places` are those of the plan, in its order; `ledger` is open for writing. Errors are those of
// this machine: the ledger or the disk.
int dispatch_run(struct state *state, struct places *places, struct ledger *ledger,
                 const struct dispatch_options *options, bool *interrupted,
                 struct err *err) MUST_USE;

// ---- for drawing

struct site_view {
    const struct place *place;
    const struct task *task; // the first of those that are there; null: none
    size_t here;             // how many are there
    int64_t since_ns;        // of the first one's start; 0: none
    const char *doing;   // "checking", "copying fare", "running", "no answer", "idle", "left out"
    const char *problem; // the last one, while it lasts; or null
};
size_t dispatcher_sites(const struct dispatcher *dispatcher);
void dispatcher_site(const struct dispatcher *dispatcher, size_t i, struct site_view *view);
const struct dispatch *dispatcher_dispatch(const struct dispatcher *dispatcher);

// ==== collect ====
// The end of a task: its records into the ledger, its state, its cost.

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
