// SPDX-License-Identifier: Apache-2.0
// queue: steps over samples of a set that the GPU has, done without waiting for the host.
//
// A row of a table gets the numbers of a batch's samples and what else changes from step to step,
// and a graph is launched that takes the next rows. What they scored is fetched while others run.
#ifndef FARE_ENGINE_CUDA_QUEUE_H
#define FARE_ENGINE_CUDA_QUEUE_H

#include "engine/cuda/program.h"

// Of engine/engine.h.
int64_t cuda_room(struct engine_program *program);
int cuda_load(struct engine_program *program, const struct engine_set *from, bool held_out,
              struct err *err) MUST_USE;
int cuda_collect(struct engine_program *program, int64_t leave, struct engine_score *score,
                 int64_t *steps, struct err *err) MUST_USE;

// A batch that names its samples, to train on or to evaluate.
int cuda_queue(struct engine_program *program, const struct engine_batch *batch, bool training,
               struct err *err) MUST_USE;
// Waits until at most `leave` of what is queued is left to do, and adds up what the rest scored.
int cuda_drain(struct engine_program *program, int64_t leave, struct err *err) MUST_USE;

// What a step is told. For batches that are not queued, too.
void cuda_fill_now(const struct engine_program *program, const struct engine_batch *batch,
                   bool training, struct cuda_now *now);

// Rows of an embedding that wait know steps by their iteration. Where that does not simply go on,
// all of them are brought up to date first (settle), and then told how many they have seen.
int cuda_settle(struct engine_program *program, struct err *err) MUST_USE;
int cuda_set_ages(struct engine_program *program, int64_t age, struct err *err) MUST_USE;

#endif
