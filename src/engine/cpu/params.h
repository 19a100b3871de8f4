// SPDX-License-Identifier: Apache-2.0
// params: the parameters of a program, with their gradients and optimizer states.
//
// Each has a slot with a layout that the engine chose, the same for value, gradient and states, so
// that an optimizer can walk through all of them at once; reading and writing convert from and to
// the net's layout. Padding is zero and stays zero. An embedding's table is in its own module
// (embedding.h), which its slot points to.
//
// Order: params_init(), layouts while the first plan is made, params_allocate(), params_start().
#ifndef FARE_ENGINE_CPU_PARAMS_H
#define FARE_ENGINE_CPU_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/cpu/dnnl.h"
#include "engine/cpu/embedding.h"
#include "engine/cpu/image.h"
#include "engine/engine.h"
#include "net/net.h"

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
};

int params_init(struct params *params, const struct net *net, const struct recipe *recipe,
                struct err *err) MUST_USE;
void params_release(struct params *params);

// Layouts; without one of these a parameter lies as in the net.
int params_choose(struct params *params, int index, const dnnl_memory_desc_t *md,
                  const struct image *columns,
                  struct err *err) MUST_USE; // columns: of a dense
                                             // layer's weights, or null: as in the net
void params_pad(struct params *params, int index, int64_t numbers);

int params_allocate(struct params *params, struct err *err) MUST_USE;

// Values as they start from the seed; states as the optimizer's start.
int params_start(struct params *params, uint64_t seed, struct err *err) MUST_USE;
void params_reset_states(struct params *params);

// As in engine.h: the parameters in their order, then for each trained one its states.
int params_tensor_count(const struct params *params);
void params_tensor(const struct params *params, int index, struct engine_tensor *tensor);
void params_read(struct params *params, int index, float *values);
void params_write(struct params *params, int index, const float *values);

#endif
