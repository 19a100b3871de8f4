// SPDX-License-Identifier: Apache-2.0
// training: what `fare run` and bare `fare` share: a workload trained with the user's options, as
// a record, and the table of several.
#ifndef FARE_CMD_TRAINING_H
#define FARE_CMD_TRAINING_H

#include <signal.h>

#include "cmd/cmd.h"
#include "record/run.h"
#include "workload/workload.h"

struct training_options {
    bool full;
    bool resume;
    const char *data;      // a folder, or null
    const char *engine;    // null: cpu
    const char *precision; // null: f32
    const char *checkpoint;
    const char *from;
    int64_t seed;
    int64_t threads; // 0: all
    int64_t epochs;  // 0: the definition's
    int64_t steps;   // 0: the workload's sample
    int64_t checkpoint_every;
    int64_t generate;  // textgen: characters to print at the end
    int64_t n, m, dim; // l1
};

// Set by Ctrl-C while a training runs; training_catch() arms it, a second Ctrl-C ends the program.
extern volatile sig_atomic_t training_stop;
void training_catch(void);

// Trains and fills the record. Progress goes to the terminal's stderr. Texts that the training
// wants to say (what was resumed, generated text) are appended to `says`.
int training_run(const struct workload *workload, const struct training_options *options,
                 struct run *run, struct buf *says, struct err *err) MUST_USE;

// The folder with the workload's data: DIR/NAME or DIR of --data, or what 'fare workloads data get'
// fetched. 1 where there is one, 0 where there is none.
int training_data_dir(const struct workload *workload, const struct training_options *options,
                      struct buf *dir, struct err *err) MUST_USE;

// One row each: data, samples/s, ms per step, epoch time, loss or accuracy.
void training_table(struct out *out, const struct run *runs, size_t count);

#endif
