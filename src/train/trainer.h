// SPDX-License-Identifier: Apache-2.0
// trainer: trains a workload on an engine, epoch by epoch.
//
// The same seed, engine and threads give the same losses, to the bit, also after a resume from a
// checkpoint. A meter (train/meter.h) gets the time, phase by phase; the step time includes
// fetching the batch, augmentation and deferred work. Nothing is allocated between the first and
// the last step, except by projections of the meter.
//
// A sample ends by its plan. It begins like the full training, and if the recipe has several stages
// it spends some steps in each. Early on it evaluates a few batches, since the projection needs the
// cost of an evaluation.
//
// In a group (engine_options.group) every rank calls trainer_run(). Rank 0 decides for all, now and
// then, what depends on time or signals; it alone reads and writes checkpoints. After an error of
// any rank all of them end.
#ifndef FARE_TRAIN_TRAINER_H
#define FARE_TRAIN_TRAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "train/workload/workload.h"

struct trainer_result;

// Progress, after each step.
struct trainer_progress {
    int64_t step, steps;   // of the whole run; what is left of a resumed one included
    int64_t epoch, epochs; // from 0
    double loss;           // mean over the epoch so far
    double accuracy;       // likewise; 0 to 1
    double samples_per_s;  // over the epoch so far
    bool evaluating;
    const struct trainer_result *result; // so far: losses are in `losses`, an epoch that is being
    const struct losses *losses;         // trained has no steps yet
};

struct trainer_options {
    const struct engine *engine;
    struct engine_options engine_options;
    const struct data_pair *data;
    struct workload_options workload_options;
    struct meter *meter;
    const struct run_plan *plan;
    int64_t epochs;     // 0: the recipe's
    int64_t batch;      // 0: the recipe's
    int64_t max_test;   // 0: all; else evaluate this many samples, except at the training's end
    const char *dir;    // (optional) folder for checkpoints
    bool alone;         // nothing but this run uses the folder: other files may go there
    int64_t save_every; // steps between checkpoints; 0: at the end of each epoch
    bool resume;        // continue from the newest checkpoint in `dir`
    const char *from;   // (optional) safetensors file to take matching parameters from
    void (*progress)(void *context, const struct trainer_progress *progress);
    void *context;
    // (optional) called at the end with the trained program, before it is released.
    int (*finished)(void *context, struct engine_program *program, struct err *err);
};

struct trainer_result {
    struct run_epoch *epochs; // train_ns and test_ns of the steps made here
    int64_t epoch_count;
    int64_t steps; // made here
    int64_t samples;
    int64_t data_wait_ns; // of the steps' time: waiting for batches
    // In a group, of the steps' time, as a mean over the ranks: waiting for the slowest one, and
    // for data that was not exchanged beside the calculation.
    bool has_times;
    struct group_times times;
    int64_t steps_per_epoch;
    int64_t total_steps; // of the full training
    int64_t total_epochs;
    double first_loss, last_loss; // means over the first and last tenth of the steps made here
    bool stopped;                 // by a signal, or the budget was spent
    bool timed_out;               // a sample ended at its time limit
    bool finished;                // the whole training is done, here or before
    char net[SHA256_HEX_BYTES];   // identity of its layers and shapes
    struct net_cost cost;         // of a step
    struct buf recipe;            // in words
    struct buf notes;             // a line each: resumed, not loaded
};

int trainer_run(const struct workload *workload, const struct trainer_options *options,
                struct trainer_result *result, struct err *err) MUST_USE;
void trainer_result_release(struct trainer_result *result);

// A set in the form for engines. `pixels`: its own or decoded ones; null: they come with each
// batch.
void trainer_set(const struct dataset *from, const uint8_t *pixels,
                 const struct batcher_options *batches, struct engine_set *set);

#endif
