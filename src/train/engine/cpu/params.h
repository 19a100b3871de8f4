// SPDX-License-Identifier: Apache-2.0
// params: the parameters of a program, with their gradients and optimizer states.
//
// Each has a slot with a layout that the engine chose, the same for value, gradient and states, so
// that an optimizer can walk through all of them at once; reading and writing convert from and to
// the net's layout. Padding is zero and stays zero. An embedding's table is in its own module
// (embedding.h), which its slot points to.
//
// Order: params_init(), layouts while the first plan is made, params_allocate(), params_start().
#ifndef FARE_TRAIN_ENGINE_CPU_PARAMS_H
#define FARE_TRAIN_ENGINE_CPU_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "train/engine/cpu/dnnl.h"
#include "train/engine/cpu/embedding.h"
#include "train/engine/cpu/passes.h"
#include "train/engine/shared.h"
#include "train/net/net.h"

// ---- where the numbers of a batch of images lie in the engine's blocked layout ----
//
// (sample, block of channels, height × width, channel in the block): `block` channels of one pixel
// lie together, as vectors and oneDNN's convolutions need. If the channels do not fill the last
// block, the rest is zero. An image may be a slice of the channels of a larger one; then only
// sample_stride differs.

struct image_layout {
    int channels, height, width;
    int block, blocks;
    int64_t sample_stride; // numbers
};

static inline struct image_layout image_of(int channels, int height, int width, int block)
{
    int blocks = (channels + block - 1) / block;
    return (struct image_layout){.channels = channels,
                                 .height = height,
                                 .width = width,
                                 .block = block,
                                 .blocks = blocks,
                                 .sample_stride = (int64_t)blocks * block * height * width};
}

static inline int64_t image_pixels(const struct image_layout *image)
{
    return (int64_t)image->height * image->width;
}

// Numbers of a plane: one block of channels of one sample.
static inline int64_t image_plane(const struct image_layout *image)
{
    return image_pixels(image) * image->block;
}

static inline int64_t image_at(const struct image_layout *image, int64_t sample, int channel,
                               int64_t pixel)
{
    return sample * image->sample_stride + channel / image->block * image_plane(image) +
           pixel * image->block + channel % image->block;
}

// ---- parameters ----

struct slot {
    struct net_param param;
    int64_t numbers;                // in the engine's layout, with padding
    bool chosen;                    // a plan has set the layout `md`
    dnnl_memory_desc_t md;          // if chosen
    int64_t *places;                // if chosen: offset of each index of each dimension
    int64_t at;                     // in the common arrays
    int64_t grain;                  // numbers that one thread owns together (owned.c); 0: any
    float *value, *grad, *state[2]; // grad and states are null if it is not trained
    struct embedding *embedding;    // instead of all this; owned
};

struct params {
    struct slot *slots;
    int count;
    int states;      // per parameter: 1 or 2
    int64_t version; // goes up with every change of the values
    int64_t trained; // numbers of trained parameters in the common arrays
    float *values;   // (trained); then the averages of batch norms
    float *grads;    // (trained)
    float *state[2]; // (trained)
    void *blocks[4]; // for free()
    struct recipe recipe;
    struct tensors tensors;
};

int params_init(struct params *params, const struct net *net, const struct recipe *recipe,
                struct err *err) MUST_USE;
void params_release(struct params *params);

// Layouts; without one of these a parameter lies as in the net.
int params_choose(struct params *params, int index, const dnnl_memory_desc_t *md,
                  const struct image_layout *columns,
                  struct err *err) MUST_USE; // columns: of a dense
                                             // layer's weights, or null: as in the net
void params_pad(struct params *params, int index, int64_t numbers);

int params_allocate(struct params *params, struct err *err) MUST_USE;

// Values as they start from the seed; states as the optimizer's start.
int params_start(struct params *params, uint64_t seed, struct err *err) MUST_USE;
void params_reset_states(struct params *params);

// A tensor, by its number in `tensors`.
void params_read(struct params *params, int index, float *values);
void params_write(struct params *params, int index, const float *values);

// ---- the optimizer: one step over all parameters, on all threads ----
//
// Value, gradient and states of all parameters lie in common arrays, so a step is a
// walk through them in pieces of whole cache lines, whatever the layers. Each parameter is split
// among the threads, as its layer splits it if it does. Embeddings have their own optimizer.

struct optimizer_piece { // numbers [from, to) of the common arrays, treated alike
    int64_t from, to;
    int64_t grain; // split at multiples of this
    float weight_decay;
};

struct optimizer_walk {
    const struct passes *passes;
    struct params *params;
    float rate;
    struct optimizer_piece *pieces;
    int count;
    double *squares; // (threads) for clipping
};

int optimizer_init(struct optimizer_walk *walk, struct params *params, const struct passes *passes,
                   struct err *err) MUST_USE;
void optimizer_release(struct optimizer_walk *walk);

// The rate, and the layers to train (`trains`, by number), from now on.
void optimizer_select(struct optimizer_walk *walk, float rate, const bool *trains);

void optimizer_step(struct optimizer_walk *walk, int64_t iteration);

// A step's numbers, with the stage's rate of this iteration, and its loop.
struct pass_rule optimizer_rule(const struct recipe *recipe, double rate, int64_t iteration);
pass_optimizer *optimizer_pass(const struct passes *passes, enum optimizer optimizer);

#endif
