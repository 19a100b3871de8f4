// SPDX-License-Identifier: Apache-2.0
// queue: steps over samples of a data set on the GPU, done without waiting for the host.
//
// Each step gets a row in a table: the sample numbers of its batch, and everything else that
// changes from step to step. A launched graph takes the next rows. Scores are fetched while later
// steps run.
#ifndef FARE_ENGINE_CUDA_QUEUE_H
#define FARE_ENGINE_CUDA_QUEUE_H

#include "engine/cuda/program.h"

// Slots of engine/engine.h.
int64_t cuda_free_bytes(struct engine_program *program);
int cuda_load(struct engine_program *program, const struct engine_set *from, bool held_out,
              struct err *err) MUST_USE;
int cuda_collect(struct engine_program *program, int64_t leave, struct engine_score *score,
                 int64_t *steps, struct err *err) MUST_USE;

// Queues a batch of sample numbers, to train on or to evaluate.
int cuda_queue(struct engine_program *program, const struct engine_batch *batch, bool training,
               struct err *err) MUST_USE;
// Waits until at most `leave` queued steps are left to do, and adds up the scores of the others.
int64_t cuda_labels(const struct engine_program *program); // of a sample
int cuda_drain(struct engine_program *program, int64_t leave, struct err *err) MUST_USE;

// The numbers that change from step to step; for batches that are not queued, too.
void cuda_fill_now(const struct engine_program *program, const struct engine_batch *batch,
                   bool training, struct cuda_now *now);

// Notes the samples of the step that is queued next.
void cuda_fill_counts(struct engine_program *program, const struct engine_batch *batch,
                      bool training);

// Lazy rows of an embedding count steps by iteration. Before the iteration jumps, bring all rows up
// to date with the first; then tell them the new count with the second.
int cuda_update_lazy_rows(struct engine_program *program, struct err *err) MUST_USE;
int cuda_set_ages(struct engine_program *program, int64_t age, struct err *err) MUST_USE;

#endif
