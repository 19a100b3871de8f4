// SPDX-License-Identifier: Apache-2.0
// state: a dispatch on disk, so that a dispatcher that was killed can be replaced by another.
//
// Each has a folder of its own, DATA/fare/fleet/ID, for the user alone: `plan.json` (record/
// dispatch.h) is written whole before anything starts; `log.jsonl` gets one line (struct task_now)
// for each change of a task, and a line that was cut off does not count. A lock keeps a second
// dispatcher out and ends with its process.
#ifndef FARE_FLEET_STATE_H
#define FARE_FLEET_STATE_H

#include "fleet/task.h"

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

#endif
