// SPDX-License-Identifier: Apache-2.0
// plan: a net as lists of kernel launches, one per direction. docs/cuda-step.md is the tour.
//
// The planner knows no driver: it needs the facts of a GPU and memory on it (device.h), and writes
// launches as data (device.h), which any driver can run. The files in this folder include nothing
// else of the engine than kernels.h; scripts/lint checks that.
//
// Every layer's output and gradient has its own memory, so lists can be launched again and again,
// alone or as a graph. Products do bias, relu and dropout in their epilogue, and on the way back
// relu's mask. Products for weights' gradients do not depend on each other: they come last, many in
// one launch.
#ifndef FARE_TRAIN_ENGINE_CUDA_PLAN_PLAN_H
#define FARE_TRAIN_ENGINE_CUDA_PLAN_PLAN_H

#include <math.h>

#include "train/engine/cuda/kernels.h"
#include "train/engine/cuda/plan/device.h"
#include "train/engine/shared.h"
#include "train/net/net.h"

// ---- params.c: where parameters and optimizer state lie on the GPU, in the kernels' layout ----
//
// All parameters are in one arena, their states in others of the same layout, so that one kernel
// can update all of them. A block is what one gradient covers: a layer's weights, then its bias.
// Gradients may come in parts, which the optimizer sums in order. An embedding's table is a block
// whose rows may be lazy: updated when they are next used (sequences.c).

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

// ---- plan.c ----

struct gpu_value {
    device_ptr out, grad;
    int rows;           // of a sample: pixels or time steps
    int pitch, columns; // numbers of a row, with and without padding
    int readers;
    int drop;     // dropout layer whose output this is as well, or -1
    bool masked;  // its reader applies relu's mask on the way back
    bool in_head; // dropout: the head, which reads it, applies it
    int previous; // images: the value whose gradient used this one's memory before, or -1
};

// Double buffering: a step's input, and the lists that read it. With two, the next step's samples
// are gathered while a step runs. There is one if a step has more launches than PLAN_SMALL, since
// its graphs have one step (queue.c), or if images are in bf16, which are large and quick to
// gather. There is one for several ranks: all must launch the same graphs (queue.c).
#define PLAN_BUFFERS 2
#define PLAN_SMALL   128
struct plan_buffer {
    device_ptr tokens, labels, now, image;       // image: the first layer's output
    struct launches forward;                     // with dropout
    struct launches backward[RECIPE_STAGES_MAX]; // and the optimizer
};

struct reused_memory { // used by gradients of images one after the other
    device_ptr at;
    int64_t bytes;
    int user, until; // the last one, and the layer that reads it last
};

struct text_memory { // of a transformer (text.c)
    int64_t micro;   // samples of a part of the batch; the caller's wish, or 0
    int64_t chunk;   // rows of logits at a time
    device_ptr logits, picked, token_scores;
    device_ptr added;            // what a linear layer adds to the residual path
    device_ptr d_sum;            // the gradient of the residual path
    device_ptr d_narrow, d_wide; // gradients of other values, one after the other
    device_ptr delta, sums, zeros, order;
};

struct gpu_plan {
    struct gpu_device device;
    const struct net_layer *layers;
    int layer_count;
    enum net_loss loss;
    bool images;  // in bf16 (images.c)
    bool is_text; // a transformer (text.c)
    struct text_memory text;
    int64_t batch;
    struct gpu_params *params;
    struct gpu_value *values; // (layers)
    struct reused_memory *reused;
    int reused_count;
    device_ptr *extra;              // (layers, 4): kept by a layer for the way back
    device_ptr tokens, labels, now; // of the first buffer, as is the first layer's output
    device_ptr next_step;           // counter: the step whose row is taken next
    device_ptr scores, probabilities;
    device_ptr workspace; // of split-K forward products
    int64_t workspace_size;
    device_ptr ages, rates;         // of an embedding's rows
    device_ptr order;               // (3, positions): of an embedding's tokens
    int embedding;                  // its layer, or -1
    int head;                       // the last layer, if one kernel does it and the loss; or -1
    int drop_slots[CUDA_DROPS_MAX]; // layers
    int drop_count;
    int ring_rows; // of the step table and of the scores
    struct plan_buffer buffers[PLAN_BUFFERS];
    int buffer_count;
    struct launches evaluate, predict; // without dropout; also without labels
    struct launches catch_up;          // all rows of an embedding
    // Several ranks (ranks.c).
    device_ptr sums;      // gradients that are summed, then loss and right of the step's score
    device_ptr totals;    // (ring): struct cuda_total
    device_ptr waited;    // and when gradients were ready (struct cuda_totals)
    int64_t bucket_bytes; // gradients summed at once, at least; 0: RANKS_BUCKET
};

// The caller sets device, layers, layer_count, loss, batch and params, and may set text.micro
// and bucket_bytes; layers, params and the device's driver must outlive the plan.
int gpu_plan_new(struct gpu_plan *plan, int ring_rows, struct err *err) MUST_USE;
void gpu_plan_free(struct gpu_plan *plan);

// Launches of a training step in a stage of the recipe, including the gather.
int gpu_plan_launches(const struct gpu_plan *plan, int stage);

// All lists of a plan, those of unused buffers and stages being empty; for drivers to bind.
#define PLAN_LISTS (PLAN_BUFFERS * (1 + RECIPE_STAGES_MAX) + 3)
void gpu_plan_lists(struct gpu_plan *plan, struct launches *lists[PLAN_LISTS]);

// A data set on the GPU, as far as it has these (struct engine_set).
struct gpu_set {
    device_ptr pixels, scale, tokens, starts, labels;
};
// Single launches outside the lists: gathers a batch by the next row of the step table; sets the
// age of all rows of a lazy embedding.
void gpu_gather(const struct gpu_plan *plan, int buffer, const struct engine_set *from,
                const struct gpu_set *set, device_ptr table, int64_t row_bytes, struct launch *out);
void gpu_set_ages(const struct gpu_plan *plan, int64_t age, struct launch *out);

// Whether the net is a transformer: one that ends in a head tied to its embedding.
bool text_net(const struct net_layer *layers, int count);

// One product by itself, for its rate: y = a × b^T, all of them size × size.
void gpu_product(const struct gpu_device *device, device_ptr a, device_ptr b, device_ptr y,
                 int size, struct launch *out);
// For checks: the same convolution for older GPUs; false if the launch is none of Hopper's.
bool image_conv_portable(const struct launch *from, struct launch *out);

#endif
