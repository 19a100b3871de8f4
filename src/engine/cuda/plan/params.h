// SPDX-License-Identifier: Apache-2.0
// params: a program's parameters and optimizer state on the GPU, in the kernels' layout.
//
// All of them lie in one piece of memory, their states in others of the same layout, so that one
// kernel steps through everything. A block is what one gradient covers: the weights of a layer and
// behind them its bias. Gradients may come in parts, which the optimizer sums in their order.
// An embedding's table is a block whose rows may wait for their steps (kernels.h).
#ifndef FARE_ENGINE_CUDA_PLAN_PARAMS_H
#define FARE_ENGINE_CUDA_PLAN_PARAMS_H

#include <math.h>

#include "engine/cuda/driver.h"
#include "net/net.h"
#include "net/recipe.h"

struct block {
    int layer;
    int64_t at, room; // numbers in the arena
    int64_t bias_at;  // where the part without weight decay begins; at + room where there is none
    int parts;        // of the gradient
    device_ptr grad;  // (parts, room)
    bool trained, decayed, lazy;
    bool product; // a product of matrices makes its gradient
};

struct slot { // a parameter of the net
    struct net_param param;
    int64_t at;        // in the arena
    int64_t stride[4]; // of its dimensions
    int64_t column[3]; // dense weights on an image: channels, pixels, pitch; else 0
    int gates;         // an LSTM's rows: units of a gate; else 0
};

struct gpu_params {
    struct recipe recipe;
    int states;
    struct slot *slots;
    int count;
    struct block *blocks;
    int block_count;
    int64_t room;
    device_ptr values, state[2];
    device_ptr rounded; // the values as bf16, where images are (images.h); or 0
    int pad;            // what the channels of an image are rounded up to
};

static inline int pad4(int n)
{
    return (n + 3) / 4 * 4;
}

// An image that dense layers alone read is a row of numbers, as the net counts them.
static inline bool image_is_flat(const struct net_layer *layers, int count, int image)
{
    if (layers[image].op != NET_IMAGE)
        return false;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < layers[i].input_count; k++)
            if (layers[i].inputs[k] == image && layers[i].op != NET_DENSE)
                return false;
    return true;
}

// Adam's rate where the powers of its two betas are p1 and p2 after this step.
static inline double adam_rate(float rate, double p1, double p2)
{
    return (double)rate * sqrt(1 - p2) / (1 - p1);
}

int gpu_params_new(struct gpu_params *params, const struct net *net, const struct recipe *recipe,
                   struct cuda *cuda, struct err *err) MUST_USE;
void gpu_params_free(struct gpu_params *params); // the GPU's memory goes with the GPU

// The block of a layer: number `which` of its blocks (an LSTM has two: 0 from the input, 1 from the
// state).
struct block *gpu_params_block(const struct gpu_params *params, int layer, int which);
device_ptr gpu_params_at(const struct gpu_params *params, int64_t at);

int gpu_params_start(struct gpu_params *params, struct cuda *cuda, uint64_t seed,
                     struct err *err) MUST_USE;
int gpu_params_reset_states(struct gpu_params *params, struct cuda *cuda, struct err *err) MUST_USE;

int gpu_params_tensor_count(const struct gpu_params *params);
void gpu_params_tensor(const struct gpu_params *params, int index, struct engine_tensor *tensor);
int gpu_params_read(const struct gpu_params *params, struct cuda *cuda, int index, float *values,
                    struct err *err) MUST_USE;
int gpu_params_write(const struct gpu_params *params, struct cuda *cuda, int index,
                     const float *values, struct err *err) MUST_USE;

#endif
