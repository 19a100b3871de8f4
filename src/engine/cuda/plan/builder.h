// SPDX-License-Identifier: Apache-2.0
// plan_parts: what those who build parts of a plan share: the builder, and launches added to it.
#ifndef FARE_ENGINE_CUDA_PLAN_BUILDER_H
#define FARE_ENGINE_CUDA_PLAN_BUILDER_H

#include "engine/cuda/plan/plan.h"

#define TAPS_MAX 32 // cells of a convolution's kernel

// What is being built, and the launch that goes wrong first.
struct builder {
    struct gpu_plan *plan;
    struct launches *to;
    struct cuda_gemms weights[3]; // jobs that wait for a common launch
    int weight_blocks[3];
    bool training;
    bool *reaches, *written; // (layers): wants a gradient; has one
    int reader; // aside, a launch of this list that reads what the optimizer changes; or -1
    int *made,
        *read; // (layers): the launch of this list that wrote it last, or read its gradient; or -1
    int rc;
    struct err *err;
};

void gpu_plan_add(struct builder *b, const char *kernel, int64_t x, int64_t y, unsigned threads,
                  unsigned shared, const void *args, size_t size);
// One thread per number.
void gpu_plan_each(struct builder *b, const char *kernel, int64_t numbers, const void *args,
                   size_t size);
// Memory on the GPU; zeros where what pads it is read but never written (driver.h).
device_ptr gpu_plan_room(struct builder *b, int64_t bytes);
device_ptr gpu_plan_zeros(struct builder *b, int64_t bytes);

// The launch that was added last is not waited for by those that follow; or waits for such ones.
void gpu_plan_aside(const struct builder *b);
void gpu_plan_join(const struct builder *b);

struct cuda_drop gpu_plan_drop(const struct builder *b, int layer); // a layer of -1: none
struct cuda_optimizer gpu_plan_optimizer(const struct gpu_plan *plan);

static inline void *on_gpu(device_ptr ptr)
{
    return (void *)(uintptr_t)ptr; // kernels alone follow it
}

// From now on who adds to this gradient finds one there.
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
