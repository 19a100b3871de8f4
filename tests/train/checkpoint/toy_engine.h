// SPDX-License-Identifier: Apache-2.0
// An engine of three parameters and two tensors of state, for the tests of checkpoints. Its rule is
// chaotic on purpose: the slightest thing lost between two steps shows in the numbers.
#ifndef FARE_TESTS_CHECKPOINT_TOY_ENGINE_H
#define FARE_TESTS_CHECKPOINT_TOY_ENGINE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "train/checkpoint/checkpoint.h"

#define TOY_TENSORS 5
#define TOY_STAGE_1 50 // the iteration at which phase 1 begins

struct engine_program {
    int stage;
    int64_t iteration;
    float values[TOY_TENSORS][6];
};

static const struct engine_tensor toy_table[TOY_TENSORS] = {
    {"body.weight", ENGINE_PARAMETER, 2, {3, 2}, 6},
    {"head.weight", ENGINE_PARAMETER, 1, {4}, 4},
    {"rnn.bias_ih_l0", ENGINE_PARAMETER, 1, {4}, 4},
    {"body.weight.state0", ENGINE_STATE, 2, {3, 2}, 6},
    {"head.weight.state0", ENGINE_STATE, 1, {4}, 4},
};
static int toy_tensors = TOY_TENSORS; // fewer: an engine that keeps less
static bool toy_broken;               // reading and writing fail

static inline int64_t toy_count(int index)
{
    return toy_table[index].count;
}

static inline void toy_start(struct engine_program *p)
{
    memset(p, 0, sizeof *p);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < toy_count(t); i++)
            p->values[t][i] = 0.1F + 0.01F * (float)(t * 7 + i);
}

static inline int toy_set_stage(struct engine_program *p, int stage, struct err *err)
{
    (void)err;
    p->stage = stage;
    memset(p->values[3], 0, sizeof p->values[3]);
    memset(p->values[4], 0, sizeof p->values[4]);
    return 0;
}

static inline void toy_set_iteration(struct engine_program *p, int64_t iteration)
{
    p->iteration = iteration;
}

static inline void toy_step(struct engine_program *p)
{
    float rate = 3.7F + 0.1F * (float)p->stage + 0.001F * (float)(p->iteration % 7);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < toy_count(t); i++) {
            float *state = &p->values[t == 0 ? 3 : 4][i], *value = &p->values[t][i];
            *state = 0.9F * *state + 0.1F * *value;
            *value = rate * *value * (1 - *value) * (0.9F + 0.1F * *state); // the logistic map
        }
    p->iteration++;
}

// From iteration `from` up to `to`, changing the phase where it is due.
static inline void toy_train(struct engine_program *p, int64_t from, int64_t to)
{
    toy_set_iteration(p, from);
    while (p->iteration < to) {
        if (p->iteration == TOY_STAGE_1)
            toy_set_stage(p, 1, NULL);
        toy_step(p);
    }
}

static inline int toy_tensor_count(const struct engine_program *p)
{
    (void)p;
    return toy_tensors;
}

static inline void toy_tensor(const struct engine_program *p, int index, struct engine_tensor *out)
{
    (void)p;
    *out = toy_table[index];
}

static inline int toy_read(struct engine_program *p, int index, float *values, struct err *err)
{
    if (toy_broken)
        return err_set(err, ERR_IO, "the toy is broken");
    memcpy(values, p->values[index], (size_t)toy_count(index) * sizeof *values);
    return 0;
}

static inline int toy_write(struct engine_program *p, int index, const float *values,
                            struct err *err)
{
    if (toy_broken)
        return err_set(err, ERR_IO, "the toy is broken");
    memcpy(p->values[index], values, (size_t)toy_count(index) * sizeof *values);
    return 0;
}

static const struct engine toy_engine = {
    .name = "toy",
    .set_stage = toy_set_stage,
    .set_iteration = toy_set_iteration,
    .tensor_count = toy_tensor_count,
    .tensor = toy_tensor,
    .read = toy_read,
    .write = toy_write,
};

static struct net_layer toy_layers[] = {
    {.name = "input", .op = NET_IMAGE, .out = {1, {2}}},
    {.name = "body", .op = NET_DENSE, .input_count = 1, .out = {1, {3}}, .units = 3, .relu = true},
    {.name = "drop",
     .op = NET_DROPOUT,
     .inputs = {1},
     .input_count = 1,
     .out = {1, {3}},
     .rate = 0.5F},
    {.name = "head", .op = NET_DENSE, .inputs = {2}, .input_count = 1, .out = {1, {4}}, .units = 4},
};
static struct net_param toy_params[] = {
    {.name = "body.weight", .layer = 1, .rank = 2, .dim = {3, 2}, .count = 6},
    {.name = "head.weight", .layer = 3, .rank = 1, .dim = {4}, .count = 4},
    {.name = "rnn.bias_ih_l0", .layer = 1, .rank = 1, .dim = {4}, .count = 4},
};
static const struct net toy_net = {.name = "toy",
                                   .layers = toy_layers,
                                   .layer_count = 4,
                                   .params = toy_params,
                                   .param_count = 3,
                                   .loss = NET_SOFTMAX};

static const struct recipe toy_recipe = {
    .optimizer = OPTIMIZER_RMSPROP,
    .rho = 0.9F,
    .epsilon = 1e-8F,
    .batch = 128,
    .epochs = 20,
    .stages = {{.steps = TOY_STAGE_1, .rate = 1e-3F}, {.rate = 1e-4F, .only = "head"}},
    .stage_count = 2,
};

static const struct checkpoint_subject toy_subject = {
    .workload = "mlp",
    .data = "mnist",
    .data_identity = "b18c33f0",
    .net = &toy_net,
    .recipe = &toy_recipe,
    .engine = &toy_engine,
    .options = {.threads = 2, .precision = ENGINE_F32, .seed = UINT64_MAX},
};

#endif
