// SPDX-License-Identifier: Apache-2.0
// Small nets, data and helpers for the tests of whole programs. Sizes are odd on purpose.
#ifndef FARE_TESTS_ENGINE_REF_CASES_H
#define FARE_TESTS_ENGINE_REF_CASES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine/engine.h"
#include "test.h"

// Gradients are read off Adam with beta 1 = 0, whose first state is then the gradient itself; with
// a rate of 0 nothing moves but the running averages of a batch norm.
static const struct recipe see_gradients = {.optimizer = OPTIMIZER_ADAM,
                                            .rho = 0,
                                            .beta2 = 0.5f,
                                            .epsilon = 1e-7f,
                                            .batch = 5,
                                            .stages = {{.rate = 0}},
                                            .stage_count = 1};

static inline struct engine_program *compile(const struct net *net, const struct recipe *recipe,
                                             int64_t batch, uint64_t seed)
{
    struct err err = {0};
    struct recipe mine = *recipe;
    struct engine_program *program;
    mine.batch = batch;
    assert_ok(
        engine_ref.compile(net, &mine, &(struct engine_options){.seed = seed}, &program, &err),
        &err);
    return program;
}

static inline void step(struct engine_program *program, const struct engine_batch *batch,
                        struct engine_score *score)
{
    struct err err = {0};
    assert_ok(engine_ref.step(program, batch, score, &err), &err);
}

static inline int find(const struct engine_program *program, const char *name,
                       struct engine_tensor *tensor)
{
    for (int i = 0; i < engine_ref.tensor_count(program); i++) {
        engine_ref.tensor(program, i, tensor);
        if (strcmp(tensor->name, name) == 0)
            return i;
    }
    fail_msg("there is no '%s'", name);
    return -1;
}

// A tensor's values, to be freed.
static inline float *values_of(struct engine_program *program, int index, int64_t *count)
{
    struct err err = {0};
    struct engine_tensor tensor;
    engine_ref.tensor(program, index, &tensor);
    float *values = calloc((size_t)tensor.count, sizeof *values);
    assert_non_null(values);
    assert_ok(engine_ref.read(program, index, values, &err), &err);
    *count = tensor.count;
    return values;
}

static inline void put(struct engine_program *program, int index, const float *values)
{
    struct err err = {0};
    assert_ok(engine_ref.write(program, index, values, &err), &err);
}

static inline void assert_same_tensors(struct engine_program *a, struct engine_program *b)
{
    assert_int_equal(engine_ref.tensor_count(a), engine_ref.tensor_count(b));
    for (int i = 0; i < engine_ref.tensor_count(a); i++) {
        int64_t count;
        float *x = values_of(a, i, &count), *y = values_of(b, i, &count);
        assert_memory_equal(x, y, (size_t)count * sizeof *x);
        free(x);
        free(y);
    }
}

// ---- nets ----

// Branches, every padding, both pools; one layer is read three times.
static inline void build_images(struct net *net)
{
    net_init(net, "images");
    struct net_conv c1 = {3, 3, 3, 2, NET_SAME, true, false};
    struct net_conv c2 = {2, 1, 3, 1, NET_SAME, false, true};
    struct net_conv c3 = {4, 2, 3, 1, NET_VALID, true, false};
    int first = net_conv(net, net_image(net, 2, 7, 6), c1, "c1");
    int most = net_max_pool(net, first, 3, 1, NET_SAME);
    int at = net_conv(net, net_average_pool(net, first, 2, 1, NET_SAME), c2, "c2");
    at = net_batch_norm(net, at, 0.9f, 0.001f, true, "bn");
    at = net_concat(net, (int[]){most, at, first}, 3);
    at = net_global_average(net, net_conv(net, at, c3, "c3"));
    at = net_dense(net, at, 5, true, "fc1");
    net_dense(net, at, 3, false, "fc2");
}

static inline void build_words(struct net *net)
{
    net_init(net, "words");
    int at = net_embedding(net, net_tokens(net, 6, 11), 5, "embedding");
    at = net_lstm(net, at, 3, true, "lstm");
    net_dense(net, at, 1, false, "fc");
    net_set_loss(net, NET_SIGMOID);
}

static inline void build_letters(struct net *net)
{
    net_init(net, "letters");
    int at = net_lstm(net, net_one_hot(net, net_tokens(net, 5, 7)), 2, false, "lstm");
    net_dense(net, at, 4, false, "fc");
}

static inline void build_dropped(struct net *net)
{
    net_init(net, "dropped");
    struct net_conv conv = {3, 3, 3, 1, NET_SAME, false, true};
    int at = net_conv(net, net_image(net, 2, 7, 6), conv, "conv");
    at = net_batch_norm(net, at, 0.9f, 0.01f, true, "bn");
    at = net_dropout(net, net_max_pool(net, at, 2, 2, NET_VALID), 0.25f);
    at = net_dropout(net, net_dense(net, at, 7, true, "fc1"), 0.5f);
    net_dense(net, at, 3, false, "fc2");
}

#define BATCH 5
static float image[BATCH * 2 * 7 * 6];
static int32_t tokens[BATCH * 6], labels[BATCH];

static inline struct engine_batch data(int64_t count, int classes, int vocabulary)
{
    for (int k = 0; k < BATCH * 2 * 7 * 6; k++)
        image[k] = (float)((k * 29 + 7) % 61 - 30) / 32;
    for (int k = 0; k < BATCH * 6; k++)
        tokens[k] = (k * 5 + k / 7 + 3) % vocabulary;
    for (int k = 0; k < BATCH; k++)
        labels[k] = k % classes;
    return (struct engine_batch){
        .count = count, .image = image, .tokens = tokens, .labels = labels};
}

// Parameter number p gets ((37 k + 11 p + 5) mod 101 - 50) / 128; a variance its size and a half.
static inline void set_params(struct engine_program *program, const struct net *net)
{
    float values[256];
    for (int p = 0; p < net->param_count; p++) {
        assert_true(net->params[p].count <= 256);
        for (int k = 0; k < net->params[p].count; k++) {
            values[k] = (float)((k * 37 + 11 * p + 5) % 101 - 50) / 128;
            if (strstr(net->params[p].name, "running_var"))
                values[k] = fabsf(values[k]) + 0.5f;
        }
        put(program, p, values);
    }
}

#endif
