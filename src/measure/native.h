// SPDX-License-Identifier: Apache-2.0
// native: measures a workload that fare trains itself, from the data to the record.
#ifndef FARE_RUN_NATIVE_H
#define FARE_RUN_NATIVE_H

#include <signal.h>

#include "base/buf.h"
#include "ledger/journal.h"
#include "record/run.h"
#include "measure/live.h"
#include "run/trainer.h"
#include "workload/workload.h"

struct native_options {
    bool full;             // to the end; else a sample
    const char *data;      // a folder, or null: what was fetched, or a set that is made
    const char *engine;    // null: cuda where there is a GPU, else cpu
    const char *precision; // null: tf32 on a GPU that has it, else f32
    struct workload_options variant;
    const char *checkpoint;
    const char *from;
    bool resume;
    int64_t seed;
    int64_t threads; // 0: all
    int64_t epochs;  // 0: the definition's
    int64_t batch;   // 0: the definition's
    int64_t steps;   // sample: 0, or just so many
    double within;   // sample: see run/meter.h
    double max_s;
    int64_t until_ns; // by clock_now_ns(): end then, whatever is known, as if stopped; 0: never
    int64_t checkpoint_every;
    int64_t generate;               // textgen: characters to print at the end
    int64_t n, m, dim;              // l1
    int64_t start_ns;               // the run's start, by clock_now_ns(); 0: now
    struct journal *journal;        // (optional) for what is known so far, see run/partial.h
    const struct live_price *price; // (optional) of this machine
    const volatile sig_atomic_t *stop;
    // (optional) How far it is, about ten times a second, outside of what is timed.
    void (*progress)(void *context, const struct trainer_progress *progress,
                     const struct live *live);
    void *context;
};

// Trains and fills the record, whose id and machine are the caller's to set. What the training
// wants to say to a person (what was resumed, generated text) is appended to `says`. After a
// failure the record holds what was known until then, with `ended` and `problem` set.
// Whether a GPU is there and cannot be used, and why; 0 where it can, or there is none.
int native_check_gpu(struct err *err) MUST_USE;

// What l1 calculates, as its recipe: whoever does it, runs of other sizes are others.
int native_describe_l1(const struct native_options *options, struct run *run,
                       struct err *err) MUST_USE;

int native_run(const struct workload *workload, const struct native_options *options,
               struct run *run, struct buf *says, struct err *err) MUST_USE;

// The folder with a workload's data: 1 and `dir`, 0 where there is none, or an error. `data` is the
// user's --data, or null.
int native_data_dir(const struct workload *workload, const char *data, struct buf *dir,
                    struct err *err) MUST_USE;

// The set in that folder; null: the one that is made for this workload.
int native_data_open(const struct workload *workload, const char *dir, int threads,
                     struct data_pair *data, struct err *err) MUST_USE;

// What the record says of it: run->data.
int native_describe_data(const struct data_pair *data, struct run *run, struct err *err) MUST_USE;

#endif
