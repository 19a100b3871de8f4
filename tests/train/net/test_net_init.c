// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/net/net.h"
#include "test.h"

static struct net_param param_of(const char *name, enum net_init init, const int64_t dim[4])
{
    struct net_param param = {.init = init, .trained = true, .count = 1};
    snprintf(param.name, sizeof param.name, "%s", name);
    for (; param.rank < 4 && dim[param.rank] > 0; param.rank++) {
        param.dim[param.rank] = dim[param.rank];
        param.count *= dim[param.rank];
    }
    return param;
}

static float *start(const struct net_param *param, uint64_t seed)
{
    struct err err = {0};
    float *values = malloc((size_t)param->count * sizeof *values);
    assert_non_null(values);
    memset(values, 0xff, (size_t)param->count * sizeof *values);
    assert_ok(net_init_param(param, seed, values, &err), &err);
    return values;
}

// Of a uniform distribution: all inside, close to both ends, mean 0, variance bound² / 3.
static void assert_uniform(const float *values, int64_t count, double bound)
{
    double low = 0, high = 0, sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) {
        double x = (double)values[i];
        low = x < low ? x : low;
        high = x > high ? x : high;
        sum += x;
        squares += x * x;
    }
    double n = (double)count;
    assert_true(low >= -bound * (1 + 1e-6) && high <= bound * (1 + 1e-6));
    assert_true(low < -bound * 0.99 && high > bound * 0.99);
    assert_true(fabs(sum / n) < 5 * bound / sqrt(3 * n)); // five standard deviations
    // The squares' own variance is bound⁴ × 4/45.
    assert_true(fabs(squares / n - bound * bound / 3) < 5 * bound * bound * sqrt(4 / (45 * n)));
}

// Bounds by Glorot and Bengio 2010 (equation 16), fans as Keras counts them.
TEST(test_glorot)
{
    static const struct {
        int64_t dim[4];
        double fan_in, fan_out;
    } rows[] = {
        {{512, 784}, 784, 512},             // dense, out × in
        {{256, 128}, 128, 256},             // LSTM: the four gates' kernel as one
        {{32, 16, 3, 3}, 16 * 9, 32 * 9},   // convolution
        {{224, 64, 1, 7}, 64 * 7, 224 * 7}, // not square
        {{10007, 1}, 1, 10007},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct net_param param = param_of("x.weight", NET_GLOROT, rows[i].dim);
        float *values = start(&param, 1);
        assert_uniform(values, param.count, sqrt(6 / (rows[i].fan_in + rows[i].fan_out)));
        free(values);
    }
}

TEST(test_embedding)
{
    struct net_param param = param_of("embedding.weight", NET_UNIFORM_005, (int64_t[4]){997, 31});
    float *values = start(&param, 2);
    assert_uniform(values, param.count, 0.05);
    free(values);
}

TEST(test_constants)
{
    struct net_param param = param_of("bias", NET_ZERO, (int64_t[4]){13});
    for (int one = 0; one < 2; one++) {
        param.init = one ? NET_ONE : NET_ZERO;
        float *values = start(&param, 3);
        for (int i = 0; i < 13; i++)
            assert_true(values[i] == (float)one);
        free(values);
    }
    param = param_of("lstm.bias_ih_l0", NET_LSTM_BIAS, (int64_t[4]){4 * 7});
    float *values = start(&param, 3);
    for (int i = 0; i < 4 * 7; i++) // gates i f g o
        assert_true(values[i] == (i / 7 == 1 ? 1.0f : 0.0f));
    free(values);
}

static void assert_orthogonal(const float *block, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++)
                sum += (double)block[i * n + k] * (double)block[j * n + k];
            assert_true(fabs(sum - (i == j)) < 1e-6);
        }
}

TEST(test_orthogonal)
{
    static const int64_t sizes[] = {1, 2, 7, 64, 128};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s];
        struct net_param param =
            param_of("lstm.weight_hh_l0", NET_ORTHOGONAL, (int64_t[4]){4 * n, n});
        float *values = start(&param, 4);
        for (int64_t gate = 0; gate < 4; gate++)
            assert_orthogonal(values + gate * n * n, n);
        if (n > 2) // the blocks are drawn one by one
            assert_true(fabsf(values[0] - values[n * n]) > 1e-6f);
        free(values);
    }
}

// Every orthogonal matrix is as likely: a corner of a 2 × 2 one is the cosine of a uniform angle,
// so its mean is 0 and its square's 1/2; and half of the matrices are reflections.
TEST(test_orthogonal_is_fair)
{
    struct net_param param = param_of("w", NET_ORTHOGONAL, (int64_t[4]){8000, 2});
    float *values = start(&param, 5);
    double sum = 0, squares = 0, reflections = 0, n = 4000;
    for (int i = 0; i < 4000; i++) {
        const float *m = values + (size_t)i * 4;
        sum += (double)m[0];
        squares += (double)m[0] * (double)m[0];
        reflections += m[0] * m[3] - m[1] * m[2] < 0;
    }
    assert_true(fabs(sum / n) < 5 * sqrt(0.5 / n));
    assert_true(fabs(squares / n - 0.5) < 5 * sqrt(0.125 / n));
    assert_true(fabs(reflections / n - 0.5) < 5 * sqrt(0.25 / n));
    free(values);
}

// The first numbers as a program of its own computes them (Philox and the splits of base/rng.h
// written again in Python): seed 11, split "start", split "fc1.weight"; 2u - 1 times the bound.
TEST(test_stream)
{
    static const float expected[] = {-0.052501224f,  0.0603044182f, -0.00642386405f,
                                     -0.0186427422f, -0.047233358f, 0.00314443093f};
    struct net_param param = param_of("fc1.weight", NET_GLOROT, (int64_t[4]){512, 784});
    float *values = start(&param, 11);
    assert_memory_equal(values, expected, sizeof expected);
    free(values);
}

// What a parameter starts with does not depend on its place in the net, only on name and seed.
TEST(test_streams_are_apart)
{
    struct net one, two;
    net_init(&one, "one");
    net_dense(&one, net_dense(&one, net_image(&one, 1, 3, 3), 9, true, "a"), 9, false, "b");
    net_init(&two, "two");
    net_dense(&two, net_dense(&two, net_image(&two, 1, 3, 3), 9, true, "b"), 9, false, "a");
    float *a1 = start(&one.params[0], 6), *b1 = start(&one.params[2], 6);
    float *b2 = start(&two.params[0], 6), *a2 = start(&two.params[2], 6);
    float *other_seed = start(&one.params[0], 7);
    size_t size = 81 * sizeof *a1;
    assert_memory_equal(a1, a2, size);
    assert_memory_equal(b1, b2, size);
    assert_memory_not_equal(a1, b1, size);
    assert_memory_not_equal(a1, other_seed, size);
    free(a1);
    free(b1);
    free(a2);
    free(b2);
    free(other_seed);
    net_release(&one);
    net_release(&two);
}

// ==== recipe ====

TEST(a_stage_trains_the_layers_it_names)
{
    static const struct {
        const char *only, *layer;
        bool trains;
    } rows[] = {
        {NULL, "d", true},        {NULL, "f.3.c", true},      {"d", "d", true},
        {"d", "aux.d", true},     {"d", "a.b.d", true},       {"d", "ad", false},
        {"d", "d.aux", false},    {"d", "", false},           {"aux.d", "d", false},
        {"aux.d", "aux.d", true}, {"aux.d", "xaux.d", false}, {"dd", "d", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct recipe_stage stage = {.only = rows[i].only};
        struct net_layer layer = {.param_count = 2};
        snprintf(layer.name, sizeof layer.name, "%s", rows[i].layer);
        assert_int_equal(recipe_trains(&stage, &layer), rows[i].trains);
        layer.param_count = 0; // nothing to train
        assert_false(recipe_trains(&stage, &layer));
    }
}

TEST(a_recipe_that_fits_no_net_is_refused)
{
    struct net net;
    struct recipe good = {.batch = 3, .stages = {{.only = "d"}, {.rate = 1}}, .stage_count = 2};
    net_init(&net, "small");
    net_dense(&net, net_dropout(&net, net_image(&net, 1, 2, 2), 0.5f), 2, false, "a.d");
    struct err err = {0};
    assert_ok(recipe_check(&good, &net, &err), &err);
    struct recipe bad = good;
    bad.stages[1].only = "dropout1"; // is there, but has nothing to train
    assert_int_equal(recipe_check(&bad, &net, &err), ERR_FAIL);
    assert_string_equal(err.text, "net 'small': there is no layer 'dropout1' to train");
    static const struct {
        int64_t batch;
        int stages;
    } rows[] = {{0, 1}, {-1, 1}, {(int64_t)INT32_MAX + 1, 1}, {1, 0}, {1, RECIPE_STAGES_MAX + 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bad = good;
        bad.batch = rows[i].batch;
        bad.stage_count = rows[i].stages;
        assert_int_equal(recipe_check(&bad, &net, NULL), ERR_FAIL);
    }
    net_release(&net);
}
