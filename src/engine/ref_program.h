// SPDX-License-Identifier: Apache-2.0
// ref_program: the state of the reference engine between calls.
//
// All memory of a program is allocated here: layers' outputs and gradients for a whole batch,
// parameters and their states.
#ifndef FARE_ENGINE_REF_PROGRAM_H
#define FARE_ENGINE_REF_PROGRAM_H

#include "engine/engine.h"
#include "engine/ref_ops.h"

struct ref_layer { // one layer's memory for a whole batch; null if the layer does not need it
    double *out;
    double *grad;
    int32_t *chosen;        // maximum pool
    struct ref_norm norm;   // batch norm
    struct ref_lstm way[2]; // LSTM, one per direction
    struct ref_attention attention;
};

struct ref_param {
    float *value;
    double *grad;    // null if it is not trained
    float *state[2]; // likewise
};

struct engine_program {
    struct net_layer *layers; // copies: the caller may release its net
    struct net_param *params;
    int layer_count, param_count;
    enum net_loss loss;
    struct recipe recipe;
    uint64_t seed;
    int stage;
    int64_t iteration;
    struct ref_layer *buffers;        // (layer_count)
    struct ref_param *values;         // (param_count)
    bool *trains;                     // (param_count) in the current stage
    const struct engine_batch *batch; // while a call runs
};

// Checks net and recipe; parameters start from the seed, states at zero.
int ref_program_new(const struct net *net, const struct recipe *recipe, uint64_t seed,
                    struct engine_program **program, struct err *err) MUST_USE;
void ref_program_free(struct engine_program *program);

static inline const struct net_layer *ref_input(const struct engine_program *program,
                                                const struct net_layer *layer, int number)
{
    return &program->layers[layer->inputs[number]];
}

#endif
