// SPDX-License-Identifier: Apache-2.0
// saving: a run whose job is saved and resumed (--save; save/guard.h): its identity, the folder of
// its checkpoints, what the job is told and how, and the starts in its record.
//
// A command finds the checkpoint to resume from in FARE_RESUME and in place of {resume} in its
// arguments, the folder for checkpoints in FARE_CHECKPOINTS and {checkpoints}. Where nothing is to
// be resumed, an argument with {resume} is left out, and so is the option before it. FARE_NOTICE
// names a file that tells a job when to write a checkpoint: {"save": 3, "end": true, "left_s":
// 110}. The same stands behind "notice" in a line that fare appends to FARE_EVENTS.
#ifndef FARE_MEASURE_SAVING_H
#define FARE_MEASURE_SAVING_H

#include <sys/types.h>

#include "measure/measure.h"

struct saving;

#define SAVING_VARIABLES 3 // at most, of the environment

// Before the run; the session has its record, options and price. `price` (optional).
int saving_open(struct saving **out, struct session *session, const struct measure_price *price,
                struct err *err) MUST_USE;
void saving_free(struct saving *saving); // null is fine

bool saving_done(const struct saving *saving);          // the job was finished before
const char *saving_folder(const struct saving *saving); // for checkpoints

// A command: its arguments, and entries "NAME=value" for its environment, added behind `count`.
char *const *saving_command(const struct saving *saving);
size_t saving_environment(const struct saving *saving, char **own, size_t count);

// The job starts.
int saving_start(struct saving *saving, struct err *err) MUST_USE;

// While it runs: enum guard_wish; writes FARE_NOTICE by itself. `says` gets lines to show at once.
unsigned saving_look(struct saving *saving, struct buf *says);
bool saving_signal(struct saving *saving, int number); // true: a notice, not for the job as it is
void saving_event(struct saving *saving, const char *line); // of FARE_EVENTS: {"saved": PATH}

// With GUARD_SAVE, GUARD_TELL and GUARD_RECALL: the line for FARE_EVENTS.
void saving_line(const struct saving *saving, char *out, size_t size);

// With GUARD_TELL: the signal to send to the job; 0: none. Starts the user's command if there is
// one; `pid` is the job's.
int saving_tell(struct saving *saving, pid_t pid);
bool saving_told(const struct saving *saving);      // a notice is in force
const char *saving_by(const struct saving *saving); // what ended it: "notice", "lease"; null: none

// After it: saves the rest and fills run->saving. A job that was told of a notice and has ended is
// interrupted, whatever its exit code.
int saving_finish(struct saving *saving, struct session *session, struct err *err) MUST_USE;

// ---- resumed: the time of a whole training from a run that made only its rest. Pure: no clock.
//
// A start that resumes from a checkpoint measures the steps after it. Its own time is not that of
// the training, and must not be quoted as such: it becomes a projection.

// For a run that resumed, with `saving` filled and its own start the last of the attempts. Adds the
// earlier steps to the projection, at the pace of this run; where its steps are unknown, the time
// that earlier starts took for what they saved. A run that finished gets a projection and is no
// full one any more. Nothing is changed if nothing is known of the time before.
void resumed_project(struct run *run);

#endif
