// SPDX-License-Identifier: Apache-2.0
// ranks: launches that only several ranks need, each with a GPU and its part of the batch: sums
// over all of them (struct launch). With one rank these functions do nothing.
//
// Gradients that are summed lie in one piece of memory in the order of the layers. The way back
// goes from the last layer to the first, so what is complete grows from the end. Whenever there is
// enough of it, a bucket, a launch sums it beside the rest of the way back. The step's score lies
// behind the gradients and is summed with the first bucket, as is what each rank waited in the step
// before.
//
// One sum follows the other, in the same order at all ranks, as NCCL demands.
#ifndef FARE_ENGINE_CUDA_PLAN_RANKS_H
#define FARE_ENGINE_CUDA_PLAN_RANKS_H

#include "engine/cuda/plan/builder.h"

#define RANKS_BUCKET (16 << 20) // bytes

void ranks_memory(struct builder *b);
// Memory for a block's gradient, after its number of parts is known.
void ranks_gradient(struct builder *b, struct gpu_block *block);

// The score of the step: sums it up here; without a way back, over all ranks.
void ranks_score(struct builder *b);

// The way back begins; has a layer's gradients complete; ends: what follows waits for all sums. In
// between go two stamps of the clock, the time that sums took beyond the way back.
void ranks_begin(struct builder *b);
void ranks_ready(struct builder *b, int layer);
void ranks_end(struct builder *b);

// Sums numbers of f64 over the ranks, and later launches wait for it.
void ranks_sum_reals(struct builder *b, device_ptr at, int64_t count);

#endif
