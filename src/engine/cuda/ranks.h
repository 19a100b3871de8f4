// SPDX-License-Identifier: Apache-2.0
// ranks: a GPU that trains with those of other ranks (engine/group.h): its sums in streams and
// graphs, and waiting for the GPU where another rank may have failed.
//
// Sums have a stream of their own beside the kernels'. In a graph a sum is a child graph, captured
// once, since NCCL queues more than one kernel for it.
#ifndef FARE_ENGINE_CUDA_RANKS_H
#define FARE_ENGINE_CUDA_RANKS_H

#include "engine/cuda/driver.h"
#include "engine/group.h"

// The samples of a batch that a rank has, at most; and its place, for planners. For tests,
// FARE_NCCL_ALONE=1 has a process alone sum over itself; with 0 it makes the same launches, but for
// the sums, which change nothing.
int64_t cuda_rank_batch(const struct group *group, int64_t batch);
void cuda_rank_device(const struct group *group, struct device *device);

// Connects the GPU with those of the other ranks; until cuda_close(). Null: with none, for tests.
int cuda_join(struct cuda *cuda, struct group *group, struct err *err) MUST_USE;
void cuda_leave(struct cuda *cuda); // for cuda_close()
// After a failure: sums under way end.
void cuda_abandon(struct cuda *cuda);

// A launch of a sum, in streams: a forked one beside the kernels. cuda_sums_end() has later kernels
// wait for those.
int cuda_sum(struct cuda *cuda, const struct launch *launch, struct err *err) MUST_USE;
int cuda_sums_end(struct cuda *cuda, struct err *err) MUST_USE;
// The same as a graph, which the caller destroys. Also makes the sum once, with what is there: NCCL
// connects GPUs at the first sum of a size, which cannot be captured.
int cuda_sum_capture(struct cuda *cuda, const struct launch *launch, void **graph,
                     struct err *err) MUST_USE;

// Waits for a stream, or an event if there is one. With other ranks it looks after them meanwhile.
int cuda_wait(struct cuda *cuda, void *stream, void *event, struct err *err) MUST_USE;

#endif
