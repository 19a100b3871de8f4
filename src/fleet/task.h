// SPDX-License-Identifier: Apache-2.0
// task: one measurement that is to be made elsewhere, and how far it is (record/dispatch.h).
//
//     waiting ──> starting ──> running ──> done
//        ^           │            ├──────> failed
//        └───────────┴────────────┘        cancelled
//
// `starting` is on disk before the start is asked for, so after a crash it means: perhaps started.
// A task in `starting` or `running` belongs to its place. It goes back to waiting only when that
// place has said that it does not run there, so that none is measured twice.
#ifndef FARE_FLEET_TASK_H
#define FARE_FLEET_TASK_H

#include "record/dispatch.h"

enum task_state {
    TASK_WAITING,
    TASK_STARTING,
    TASK_RUNNING,
    TASK_DONE,   // its records are in the ledger
    TASK_FAILED, // now.problem says why; there may be a record (of a command that failed)
    TASK_CANCELLED,
};
extern const char *const task_states[]; // their names, null-terminated

enum task_state task_state(const struct task *task); // unknown words count as waiting
bool task_over(const struct task *task);             // done, failed or cancelled
bool task_begun(const struct task *task);            // starting or running
bool task_unsettled(const struct task *task);        // given up while it may still run there
bool task_left(const struct task *task);             // over, and its folder is still there

int task_set_state(struct task *task, enum task_state state, struct err *err) MUST_USE;

// The name that the task has elsewhere, unique for each dispatch and start: "7k3m9q2x-12-1". Only
// letters, digits and dashes: it fits into a path, a job's name and a label of Kubernetes.
#define TASK_KEY_BYTES 48
void task_key(const struct dispatch *dispatch, const struct task *task, char out[TASK_KEY_BYTES]);

// Words of a command line keep every byte on disk, though records hold clean text only: bytes other
// than printable ASCII, '%', and spaces at either end are written as %0A; an empty word is "%".
int task_word_add(void *texts, const char *word, struct err *err) MUST_USE;
int task_word_set(char **member, const char *word, struct err *err) MUST_USE;
void task_word(const char *written, struct buf *out); // appends the word itself

#endif
