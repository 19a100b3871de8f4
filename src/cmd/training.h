// SPDX-License-Identifier: Apache-2.0
// training: what `fare run` and bare `fare` share: a workload trained with the user's options, as
// a record, and the table of several.
#ifndef FARE_CMD_TRAINING_H
#define FARE_CMD_TRAINING_H

#include <signal.h>

#include "cmd/cmd.h"
#include "record/run.h"
#include "measure/native.h"

// Set by Ctrl-C while a training runs; training_catch() arms it, a second Ctrl-C ends the program.
extern volatile sig_atomic_t training_stop;
void training_catch(void);

// Nothing more is begun: it was set, or `until_ns` has come.
bool training_over(const struct native_options *options);

// Trains and fills the record (run/native.h), with progress on the terminal's stderr and Ctrl-C.
int training_run(const struct workload *workload, const struct native_options *options,
                 struct run *run, struct buf *says, struct err *err) MUST_USE;

// The same in a child process of its own, for --repeat. Nothing is shown meanwhile but that it
// runs.
int training_run_apart(const struct workload *workload, const struct native_options *options,
                       struct run *run, struct err *err) MUST_USE;

// One row each: data, samples/s, ms per step, epoch time, loss or accuracy.
void training_table(struct out *out, const struct run *runs, size_t count);

// Below it: what may have spoiled a run, what repeated ones say together.
void training_notes(struct out *out, const struct runs *runs);

#endif
