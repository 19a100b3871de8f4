// SPDX-License-Identifier: Apache-2.0
// params: where parameters and optimizer state lie on the GPU, in the kernels' layout.
//
// All parameters are in one arena, their states in others of the same layout, so that one kernel
// can update all of them. A block is what one gradient covers: a layer's weights, then its bias.
// Gradients may come in parts, which the optimizer sums in order. An embedding's table is a block
// whose rows may be lazy: updated when they are next used (sequences.c).
#ifndef FARE_TRAIN_ENGINE_CUDA_PLAN_PARAMS_H
#define FARE_TRAIN_ENGINE_CUDA_PLAN_PARAMS_H

#include <math.h>

#include "train/engine/cuda/plan/device.h"
#include "train/engine/shared.h"
#include "train/net/net.h"

struct gpu_block {
    int layer;
    int64_t at, size; // numbers in the arena
    int64_t bias_at;  // start of the part without weight decay; at + size if there is none
    int parts;        // of the gradient
    device_ptr grad;  // (parts, size)
    bool trained, decayed, lazy;
    bool product; // a product of matrices makes its gradient
    // Several ranks: where its gradient is summed over them (gpu_plan.sums), or -1 if it already is
    // (a norm's). One in one part lies there.
    int64_t sum_at;
};

struct gpu_slot { // a parameter of the net
    struct net_param param;
    int64_t at;        // in the arena
    int64_t stride[4]; // of its dimensions
    int64_t column[3]; // dense weights on an image: channels, pixels, pitch; else 0
    int gates;         // an LSTM's rows: units of a gate; else 0
};

struct gpu_params {
    struct recipe recipe;
    struct tensors tensors;
    int states;
    struct gpu_slot *slots;
    int count;
    struct gpu_block *blocks;
    int block_count;
    int64_t size; // of the arena, in numbers
    int64_t sums; // numbers of all gradients that are summed over ranks; 0: there is one rank
    device_ptr values, state[2];
    device_ptr rounded; // the values as bf16, for images in bf16 (images.c) and text; or 0
    int pad;            // multiple that the channels of an image are padded to
};

static inline int pad4(int n)
{
    return (n + 3) / 4 * 4;
}

// An image that only dense layers read is one row of numbers, in the net's order.
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

// The optimizer takes a gradient in one part from the product's epilogue; it is never stored,
// unless it is summed over ranks.
static inline bool gpu_is_fused(const struct gpu_block *block)
{
    return block->parts == 1 && block->product && block->sum_at < 0;
}

// Adam's rate, where p1 and p2 are the powers of its two betas after this step.
static inline double adam_rate(float rate, double p1, double p2)
{
    return (double)rate * sqrt(1 - p2) / (1 - p1);
}

int gpu_params_new(struct gpu_params *params, const struct net *net, const struct recipe *recipe,
                   const struct gpu_device *device, struct err *err) MUST_USE;
void gpu_params_free(struct gpu_params *params); // memory on the GPU is the driver's

// The block of a layer: number `which` of its blocks (an LSTM has two: 0 from the input, 1 from the
// state).
struct gpu_block *gpu_params_block(const struct gpu_params *params, int layer, int which);
device_ptr gpu_params_at(const struct gpu_params *params, int64_t at);

// Where a tensor of the net, or a state of one, lies on the GPU.
struct gpu_tensor {
    const struct gpu_slot *slot;
    device_ptr at;
    int64_t count; // numbers from its first to its last, with padding
    bool rounded;  // has a copy in bf16, which gpu_params_round() makes
};
struct gpu_tensor gpu_params_find(const struct gpu_params *params, int index);
void gpu_params_round(const struct gpu_params *params, const struct gpu_tensor *tensor,
                      struct launch *out);
// Copies a tensor between the net's layout and the GPU's, on the host. Padding stays as it is.
void gpu_params_convert(const struct gpu_slot *slot, float *arena, float *values, bool to_net);

#endif
