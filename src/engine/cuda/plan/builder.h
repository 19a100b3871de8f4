// SPDX-License-Identifier: Apache-2.0
// builder: a plan under construction, for the files that add launches to it.
#ifndef FARE_ENGINE_CUDA_PLAN_BUILDER_H
#define FARE_ENGINE_CUDA_PLAN_BUILDER_H

#include "engine/cuda/plan/plan.h"

#define TAPS_MAX 32 // cells of a convolution's kernel

// The first failure sticks in `rc`; further calls do nothing.
struct builder {
    struct gpu_plan *plan;
    struct launches *to;
    struct cuda_gemms weights[3]; // jobs that will share a launch
    int weight_blocks[3];
    bool training;
    bool *reaches, *written; // (layers): wants a gradient; has one
    int last_sum;            // over ranks, a launch, or -1
    int64_t unsummed;        // numbers of gradients from the first one that no launch sums yet
    int64_t ready;           // numbers from which on gradients are complete
    int lazy_reader;         // forked launch that reads what the optimizer changes, or -1
    int *writer, *reader;    // (layers): last launch that wrote it, that read its gradient; or -1
    bool forked_weights;     // launches that the optimizer must wait for
    int rc;
    struct err *err;
};

void gpu_plan_add(struct builder *b, const char *kernel, int64_t x, int64_t y, unsigned threads,
                  unsigned shared, const void *args, size_t size);
// One thread per number, 256 per block.
void gpu_plan_each(struct builder *b, const char *kernel, int64_t numbers, const void *args,
                   size_t size);
// Memory on the GPU, uninitialised; zeroed for padding that is read but never written.
device_ptr gpu_plan_alloc(struct builder *b, int64_t bytes);
device_ptr gpu_plan_alloc_zeros(struct builder *b, int64_t bytes);
void gpu_plan_upload(struct builder *b, device_ptr to, const void *from, int64_t bytes);
// A tensor map, on the GPU.
void *gpu_plan_map(struct builder *b, const struct mapped_tensor *tensor);

// Makes the last launch a fork, which later launches do not wait for; or a join of all forks.
void gpu_plan_fork(const struct builder *b);
void gpu_plan_join(const struct builder *b);

bool gpu_is_joined(const struct gpu_plan *plan, int layer);         // a concatenation reads it
struct cuda_drop gpu_plan_drop(const struct builder *b, int layer); // a layer of -1: none
struct cuda_optimizer gpu_plan_optimizer(const struct gpu_plan *plan);

static inline void *on_gpu(device_ptr ptr)
{
    return (void *)(uintptr_t)ptr; // only kernels dereference it
}

// From now on the gradient has a value: later writers add to it.
static inline void wrote(const struct builder *b, int layer, bool back)
{
    if (back)
        b->written[layer] = true;
}

static inline bool has_relu(const struct net_layer *layer)
{
    return (layer->op == NET_DENSE || layer->op == NET_CONV) && layer->relu;
}

static inline int64_t tiles(int64_t n, int size)
{
    return (n + size - 1) / size;
}

#endif
