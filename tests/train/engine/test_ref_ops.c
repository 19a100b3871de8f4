// SPDX-License-Identifier: Apache-2.0
// Each operation's backward function against central differences of its forward function, over odd
// sizes. What is differentiated is sum(c × y) with fixed c, whose gradient is what the backward
// function gives for dy = c. Inputs are double, so their differences are good to 1e-9; weights are
// single and set to multiples of 1/64, so that a step of 2^-11 either way is exact.
#include "train/engine/ref_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "train/engine/dropout_keeps.h"
#include "test.h"

#define PARAMS 4

// The last layer of a net, with its surroundings. What the net's other layers do is left out.
struct bench {
    struct net net;
    const struct net_layer *layer;
    struct net_shape in;
    int64_t n, in_count, out_count; // for all samples
    int32_t *tokens;
    double *x, *c, *y, *dx;
    float *w[PARAMS]; // batch norm: the running averages too
    double *dw[PARAMS];
    int32_t *chosen;
    struct ref_norm norm;
    struct ref_lstm lstm;
    bool reverse;
};

static void *zeros(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);
    assert_non_null(memory);
    return memory;
}

static void bench_init(struct bench *b, int64_t n)
{
    struct rng rng;
    rng_init(&rng, 42);
    b->layer = &b->net.layers[b->net.layer_count - 1];
    b->in = b->net.layers[b->layer->inputs[0]].out;
    b->n = n;
    b->in_count = n * net_shape_count(&b->in);
    b->out_count = n * net_shape_count(&b->layer->out);
    b->x = zeros(b->in_count, sizeof *b->x);
    b->dx = zeros(b->in_count, sizeof *b->dx);
    b->c = zeros(b->out_count, sizeof *b->c);
    b->y = zeros(b->out_count, sizeof *b->y);
    b->chosen = zeros(b->out_count, sizeof *b->chosen);
    b->tokens = zeros(b->in_count, sizeof *b->tokens);
    for (int64_t i = 0; i < b->in_count; i++) {
        b->x[i] = rng_double(&rng) * 2 - 1;
        b->tokens[i] = b->layer->vocabulary ? (int32_t)rng_below(&rng, b->layer->vocabulary) : 0;
    }
    for (int64_t i = 0; i < b->out_count; i++)
        b->c[i] = rng_double(&rng) * 2 - 1;
    for (int p = 0; p < b->layer->param_count && p < PARAMS; p++) {
        int64_t count = b->net.params[b->layer->first_param + p].count;
        b->w[p] = zeros(count, sizeof *b->w[p]);
        b->dw[p] = zeros(count, sizeof *b->dw[p]);
        for (int64_t i = 0; i < count; i++)
            b->w[p][i] = ((float)rng_below(&rng, 128) - 64) / 64;
    }
    b->norm.mean = zeros(b->layer->out.dim[0], sizeof(double));
    b->norm.inverse = zeros(b->layer->out.dim[0], sizeof(double));
    if (b->layer->op == NET_LSTM) {
        int64_t units = b->layer->units, states = n * b->in.dim[0] * units;
        b->lstm = (struct ref_lstm){.time = b->in.dim[0],
                                    .in = b->in.dim[1],
                                    .units = units,
                                    .row = units,
                                    .reverse = b->reverse,
                                    .hard_gates = b->layer->hard_gates,
                                    .w_in = b->w[0],
                                    .w_state = b->w[1],
                                    .bias = b->w[2],
                                    .gates = zeros(4 * states, sizeof(double)),
                                    .cell = zeros(states, sizeof(double)),
                                    .state = zeros(states, sizeof(double)),
                                    .scratch = zeros(REF_LSTM_SCRATCH * units, sizeof(double))};
    }
}

static void bench_release(struct bench *b)
{
    free(b->x);
    free(b->dx);
    free(b->c);
    free(b->y);
    free(b->chosen);
    free(b->tokens);
    for (int p = 0; p < PARAMS; p++) {
        free(b->w[p]);
        free(b->dw[p]);
    }
    free(b->norm.mean);
    free(b->norm.inverse);
    free(b->lstm.gates);
    free(b->lstm.cell);
    free(b->lstm.state);
    free(b->lstm.scratch);
    net_release(&b->net);
}

static double forward(struct bench *b)
{
    const struct net_layer *layer = b->layer;
    float mean[64] = {0}, variance[64] = {0};
    switch (layer->op) {
    case NET_DENSE:
        ref_dense(b->n, net_shape_count(&b->in), layer->units, b->x, b->w[0], b->w[1], b->y);
        break;
    case NET_CONV:
        ref_conv(layer, &b->in, b->n, b->x, b->w[0], layer->bias ? b->w[1] : NULL, b->y);
        break;
    case NET_BATCH_NORM:
        ref_norm_train(layer, b->n, b->x, mean, variance, &b->norm);
        ref_batch_norm(layer, b->n, b->x, &b->norm, b->w[0], b->w[1], b->y);
        break;
    case NET_MAX_POOL:
        ref_max_pool(layer, &b->in, b->n, b->x, b->y, b->chosen);
        break;
    case NET_AVERAGE_POOL:
        ref_average_pool(layer, &b->in, b->n, b->x, b->y);
        break;
    case NET_GLOBAL_AVERAGE:
        ref_global_average(&b->in, b->n, b->x, b->y);
        break;
    case NET_LSTM:
        ref_lstm(&b->lstm, b->n, b->x, b->y);
        break;
    case NET_EMBEDDING:
        ref_embedding(b->n * b->in.dim[0], layer->units, b->tokens, b->w[0], b->y);
        break;
    default:
        fail();
    }
    if (layer->relu)
        ref_relu(b->out_count, b->y);
    double sum = 0;
    for (int64_t i = 0; i < b->out_count; i++)
        sum += b->c[i] * b->y[i];
    return sum;
}

// Null dx where `dx` is: it is not wanted.
static void backward(struct bench *b, double *dx)
{
    const struct net_layer *layer = b->layer;
    double *dy = zeros(b->out_count, sizeof *dy);
    memcpy(dy, b->c, (size_t)b->out_count * sizeof *dy);
    forward(b);
    if (layer->relu)
        ref_relu_back(b->out_count, b->y, dy);
    switch (layer->op) {
    case NET_DENSE:
        ref_dense_back(b->n, net_shape_count(&b->in), layer->units, b->x, b->w[0], dy, dx, b->dw[0],
                       b->dw[1]);
        break;
    case NET_CONV:
        ref_conv_back(layer, &b->in, b->n, b->x, b->w[0], dy, dx, b->dw[0],
                      layer->bias ? b->dw[1] : NULL);
        break;
    case NET_BATCH_NORM:
        ref_batch_norm_back(layer, b->n, b->x, &b->norm, b->w[0], dy, dx, b->dw[0], b->dw[1]);
        break;
    case NET_MAX_POOL:
        ref_max_pool_back(layer, &b->in, b->n, b->chosen, dy, b->dx);
        break;
    case NET_AVERAGE_POOL:
        ref_average_pool_back(layer, &b->in, b->n, dy, b->dx);
        break;
    case NET_GLOBAL_AVERAGE:
        ref_global_average_back(&b->in, b->n, dy, b->dx);
        break;
    case NET_LSTM:
        ref_lstm_back(&b->lstm, b->n, b->x, dy, dx, b->dw[0], b->dw[1], b->dw[2]);
        break;
    case NET_EMBEDDING:
        ref_embedding_back(b->n * b->in.dim[0], layer->units, b->tokens, dy, b->dw[0]);
        break;
    default:
        fail();
    }
    free(dy);
}

static void assert_near(const struct bench *b, const char *what, int64_t index, double got,
                        double expected, double bound)
{
    if (!(fabs(got - expected) <= bound * (1 + fabs(expected))))
        fail_msg("%s of '%s'[%lld]: %.12g, by differences %.12g", what, b->layer->name,
                 (long long)index, got, expected);
}

// Ends the bench. `takes_x` is false for tokens, which have no gradient.
static void check_gradients(struct bench *b, bool takes_x)
{
    backward(b, b->dx);
    for (int64_t i = 0; takes_x && i < b->in_count; i++) {
        const double step = 1e-5;
        double x = b->x[i];
        b->x[i] = x + step;
        double above = forward(b);
        b->x[i] = x - step;
        double below = forward(b);
        b->x[i] = x;
        assert_near(b, "dx", i, b->dx[i], (above - below) / (2 * step), 1e-7);
    }
    for (int p = 0; p < b->layer->param_count && p < PARAMS; p++) {
        const struct net_param *param = &b->net.params[b->layer->first_param + p];
        for (int64_t i = 0; param->trained && i < param->count; i++) {
            const float step = 0x1p-11f;
            float w = b->w[p][i];
            b->w[p][i] = w + step;
            double above = forward(b);
            b->w[p][i] = w - step;
            double below = forward(b);
            b->w[p][i] = w;
            assert_near(b, param->name, i, b->dw[p][i], (above - below) / (2 * (double)step), 1e-6);
        }
    }
    // Again: gradients are added, and without dx the others are the same.
    double *first = zeros(b->in_count, sizeof *first);
    memcpy(first, b->dx, (size_t)b->in_count * sizeof *first);
    double weight = b->dw[0] ? b->dw[0][0] : 0;
    backward(b, NULL);
    if (b->dw[0]) {
        assert_memory_equal(b->dx, first, (size_t)b->in_count * sizeof *first);
        assert_near(b, "twice", 0, b->dw[0][0], 2 * weight, 1e-12);
    }
    free(first);
    bench_release(b);
}

TEST(test_dense)
{
    static const int rows[][3] = {{1, 1, 1}, {3, 13, 7}, {2, 1, 5}, {5, 7, 1}, {2, 31, 17}};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const int *row = rows[i / 2];
        struct bench b = {0};
        net_init(&b.net, "dense");
        net_dense(&b.net, net_image(&b.net, 1, 1, row[1]), row[2], i % 2, "fc");
        bench_init(&b, row[0]);
        check_gradients(&b, true);
    }
}

TEST(test_conv)
{
    static const struct {
        int n, channels, height, width;
        struct net_conv conv;
    } rows[] = {
        {1, 1, 1, 1, {1, 1, 1, 1, NET_VALID, false, false}},
        {2, 3, 7, 5, {4, 3, 3, 1, NET_SAME, true, false}},
        {2, 3, 7, 5, {2, 3, 3, 1, NET_VALID, false, true}},
        {1, 2, 7, 6, {3, 3, 3, 2, NET_SAME, false, false}}, // one side padded more than the other
        {3, 2, 8, 7, {2, 3, 3, 2, NET_VALID, true, false}}, // a row and a column left over
        {1, 3, 5, 9, {5, 1, 7, 1, NET_SAME, false, true}},
        {1, 3, 9, 5, {5, 7, 1, 1, NET_SAME, false, true}},
        {2, 5, 1, 1, {3, 3, 3, 1, NET_SAME, false, false}}, // the kernel larger than the image
        {1, 1, 11, 13, {1, 2, 5, 3, NET_SAME, false, false}},
        {1, 7, 3, 2, {11, 3, 2, 1, NET_VALID, false, false}},
        {1, 1, 5, 5, {2, 1, 1, 3, NET_SAME, false, false}}, // strides over cells
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench b = {0};
        net_init(&b.net, "conv");
        int image = net_image(&b.net, rows[i].channels, rows[i].height, rows[i].width);
        assert_int_equal(net_conv(&b.net, image, rows[i].conv, "conv"), 1);
        bench_init(&b, rows[i].n);
        check_gradients(&b, true);
    }
}

// By hand: a 2 × 2 kernel with SAME padding looks to the right and down, where there is nothing
// beyond the edge.
TEST(test_conv_at_the_edge)
{
    struct net net;
    net_init(&net, "edge");
    struct net_conv conv = {1, 2, 2, 1, NET_SAME, false, true};
    int at = net_conv(&net, net_image(&net, 1, 2, 2), conv, "conv");
    static const double x[4] = {1, 2, 3, 4}, expected[4] = {4321, 402, 43, 4};
    static const float w[4] = {1, 10, 100, 1000};
    double y[4];
    ref_conv(&net.layers[at], &net.layers[0].out, 1, x, w, NULL, y);
    assert_memory_equal(y, expected, sizeof y);
    net_release(&net);
}

TEST(test_batch_norm)
{
    static const int rows[][4] = {{2, 1, 1, 1}, {3, 5, 2, 3}, {1, 2, 7, 5}, {7, 3, 1, 1}};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const int *row = rows[i / 2];
        struct bench b = {0};
        net_init(&b.net, "norm");
        int image = net_image(&b.net, row[1], row[2], row[3]);
        net_batch_norm(&b.net, image, 0.9f, 0.01f, i % 2, "bn");
        bench_init(&b, row[0]);
        check_gradients(&b, true);
    }
}

TEST(test_pools)
{
    static const struct {
        int n, channels, height, width, size, stride;
        enum net_padding padding;
    } rows[] = {
        {1, 1, 1, 1, 1, 1, NET_VALID}, {2, 3, 7, 5, 2, 2, NET_VALID}, {1, 2, 9, 8, 3, 2, NET_VALID},
        {1, 2, 5, 7, 3, 1, NET_SAME},  {1, 1, 6, 7, 2, 1, NET_SAME},  {1, 3, 3, 2, 5, 1, NET_SAME},
        {1, 1, 7, 8, 3, 2, NET_SAME},  {2, 2, 5, 5, 1, 2, NET_SAME},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        size_t r = i / 2;
        struct bench b = {0};
        net_init(&b.net, "pool");
        int image = net_image(&b.net, rows[r].channels, rows[r].height, rows[r].width);
        if (i % 2)
            net_max_pool(&b.net, image, rows[r].size, rows[r].stride, rows[r].padding);
        else
            net_average_pool(&b.net, image, rows[r].size, rows[r].stride, rows[r].padding);
        bench_init(&b, rows[r].n);
        check_gradients(&b, true);
    }
    struct bench b = {0};
    net_init(&b.net, "pool");
    net_global_average(&b.net, net_image(&b.net, 3, 5, 7));
    bench_init(&b, 2);
    check_gradients(&b, true);
}

// By hand: of a 2 × 2 image under a 2 × 2 window with SAME padding, which adds a row below and a
// column to the right, only cells inside count.
TEST(test_pools_at_the_edge)
{
    struct net net;
    net_init(&net, "edge");
    int image = net_image(&net, 1, 2, 2);
    int average = net_average_pool(&net, image, 2, 1, NET_SAME);
    int most = net_max_pool(&net, image, 2, 1, NET_SAME);
    static const double x[4] = {-1, -2, -3, -6};
    double y[4];
    int32_t chosen[4];
    ref_average_pool(&net.layers[average], &net.layers[image].out, 1, x, y);
    static const double averages[4] = {-3, -4, -4.5, -6};
    assert_memory_equal(y, averages, sizeof y);
    ref_max_pool(&net.layers[most], &net.layers[image].out, 1, x, y, chosen);
    static const double largest[4] = {-1, -2, -3, -6}; // not the padding's 0
    assert_memory_equal(y, largest, sizeof y);
    // Of equals the first is chosen.
    static const double equal[4] = {5, 5, 5, 5};
    ref_max_pool(&net.layers[most], &net.layers[image].out, 1, equal, y, chosen);
    static const int32_t firsts[4] = {0, 1, 2, 3};
    assert_memory_equal(chosen, firsts, sizeof chosen);
    net_release(&net);
}

TEST(test_lstm)
{
    static const int rows[][4] = {{1, 1, 1, 1}, {2, 5, 3, 2}, {1, 7, 5, 3}, {3, 2, 1, 5}};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const int *row = rows[i / 2];
        struct bench b = {.reverse = i % 2};
        net_init(&b.net, "lstm");
        int words = net_one_hot(&b.net, net_tokens(&b.net, row[1], row[2]));
        net_lstm(&b.net, words, row[3], false, "lstm");
        bench_init(&b, row[0]);
        check_gradients(&b, true);
    }
}

// Gates around 0 and ± 6, so that some are open, some closed and some between, and none is so near
// a corner at ± 2.5 that a difference reaches over it.
TEST(test_lstm_with_hard_gates)
{
    static const int rows[][4] = {{1, 1, 1, 1}, {2, 5, 3, 2}, {1, 7, 2, 3}, {3, 2, 1, 5}};
    int between = 0, ends = 0;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const int *row = rows[i / 2];
        struct bench b = {.reverse = i % 2};
        net_init(&b.net, "lstm");
        int words = net_one_hot(&b.net, net_tokens(&b.net, row[1], row[2]));
        net_set_hard_gates(&b.net, net_lstm(&b.net, words, row[3], false, "lstm"));
        bench_init(&b, row[0]);
        for (int k = 0; k < 4 * row[3]; k++)
            b.w[2][k] = b.w[2][k] / 2 + (float)((k + (int)i) % 3 - 1) * 6;
        forward(&b);
        for (int k = 0; k < row[0] * row[1] * 4 * row[3]; k++) {
            double gate = b.lstm.gates[k];
            if (k / row[3] % 4 == 2)
                continue;
            assert_true(gate == 0 || gate == 1 || (gate > 0.01 && gate < 0.99));
            between += gate > 0 && gate < 1;
            ends += gate == 0 || gate == 1;
        }
        check_gradients(&b, true);
    }
    assert_true(between > 50 && ends > 50);
}

// By hand: one unit, one step, with the input gate's sum in its bias. Of c = i tanh(g) and
// h = o tanh(c), o = 0.5, the slope of i is 0.5 (1 - tanh²(c)) tanh(1) × 0.2 between the corners.
TEST(test_corners_of_hard_gates)
{
    static const struct {
        float z;
        double gate, slope;
    } rows[] = {{-3, 0, 0},         {-2.5f, 0, 0}, {-2.25f, 0.05, 0.2}, {0, 0.5, 0.2},
                {2.25f, 0.95, 0.2}, {2.5f, 1, 0},  {40, 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const float w[4] = {0}, bias[4] = {rows[i].z, 0, 1, 0};
        double gates[4], cell, state_now, scratch[REF_LSTM_SCRATCH], y;
        struct ref_lstm lstm = {.time = 1,
                                .in = 1,
                                .units = 1,
                                .row = 1,
                                .hard_gates = true,
                                .w_in = w,
                                .w_state = w,
                                .bias = bias,
                                .gates = gates,
                                .cell = &cell,
                                .state = &state_now,
                                .scratch = scratch};
        const double x = 0, dy = 1;
        double dw_in[4] = {0}, dw_state[4] = {0}, dbias[4] = {0};
        ref_lstm(&lstm, 1, &x, &y);
        ref_lstm_back(&lstm, 1, &x, &dy, NULL, dw_in, dw_state, dbias);
        double c = rows[i].gate * tanh(1), t = tanh(c);
        assert_true(fabs(gates[0] - rows[i].gate) < 1e-15 && fabs(y - 0.5 * t) < 1e-15);
        assert_true(fabs(dbias[0] - 0.5 * (1 - t * t) * tanh(1) * rows[i].slope) < 1e-15);
        assert_true(fabs(dbias[3] - t * 0.2) < 1e-15);
    }
}

TEST(test_embedding)
{
    struct bench b = {0};
    net_init(&b.net, "words");
    net_embedding(&b.net, net_tokens(&b.net, 7, 5), 3, "embedding"); // tokens come twice and more
    bench_init(&b, 3);
    check_gradients(&b, false);
}

TEST(test_one_hot)
{
    double y[6] = {9, 9, 9, 9, 9, 9};
    ref_one_hot(2, 3, (int32_t[]){2, 0}, y);
    static const double expected[6] = {0, 0, 1, 1, 0, 0};
    assert_memory_equal(y, expected, sizeof y);
}

TEST(test_concat)
{
    static const double a[4] = {1, 2, 3, 4}, b[2] = {5, 6}; // two samples of 2 and of 1
    double y[6], da[4] = {10, 10, 10, 10};
    ref_concat(2, 2, 0, 3, a, y);
    ref_concat(2, 1, 2, 3, b, y);
    static const double joined[6] = {1, 2, 5, 3, 4, 6};
    assert_memory_equal(y, joined, sizeof y);
    ref_concat_back(2, 2, 0, 3, y, da);
    static const double parted[4] = {11, 12, 13, 14};
    assert_memory_equal(da, parted, sizeof da);
}

TEST(test_dropout)
{
    enum { COUNT = 10007 }; // more than the buffer inside
    static double x[COUNT], y[COUNT], dx[COUNT];
    struct dropout dropout;
    dropout_init(&dropout, 1, 1, 1, 0.2f);
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = 1;
    ref_dropout(&dropout, COUNT, x, y);
    ref_dropout_back(&dropout, COUNT, x, dx);
    for (int i = 0; i < COUNT; i++) {
        bool keeps = dropout_keeps(&dropout, (uint64_t)i);
        assert_true(y[i] == (keeps ? (double)(1 / (1 - 0.2f)) : 0));
        assert_true(dx[i] == y[i]);
        sum += y[i];
    }
    // The mean stays: five standard deviations of COUNT numbers that are 0 or 1.25.
    assert_true(fabs(sum / COUNT - 1) < 5 * 1.25 * sqrt(0.2 * 0.8 / COUNT));
}

TEST(test_relu)
{
    double y[4] = {-1, 0, 2, nan("")}, dy[4] = {5, 5, 5, 5};
    ref_relu(4, y);
    assert_true(y[0] == 0 && y[1] == 0 && y[2] == 2 && isnan(y[3]));
    ref_relu_back(3, y, dy);
    assert_true(dy[0] == 0 && dy[1] == 0 && dy[2] == 5);
}

// Running averages by hand: numbers 1 2 3 6 have mean 3, biased variance 3.5, unbiased 14/3.
TEST(test_running_averages)
{
    struct net net;
    net_init(&net, "norm");
    int at = net_batch_norm(&net, net_image(&net, 1, 1, 2), 0.75f, 0.5f, false, "bn");
    const struct net_layer *layer = &net.layers[at];
    static const double x[4] = {1, 2, 3, 6};
    double mean, inverse;
    struct ref_norm norm = {&mean, &inverse};
    float running_mean = 1, running_var = 2;
    ref_norm_train(layer, 2, x, &running_mean, &running_var, &norm);
    assert_true(mean == 3 && inverse == 0.5); // 1 / sqrt(3.5 + 0.5)
    assert_true(running_mean == 1.5f);
    assert_true(fabsf(running_var - (float)(1.5 + 0.25 * 14 / 3)) < 1e-6f);
    // One number has no unbiased variance: it counts as 0.
    net.layers[0].out = net.layers[at].out = (struct net_shape){3, {1, 1, 1}};
    ref_norm_train(layer, 1, x, &running_mean, &running_var, &norm);
    assert_true(mean == 1 && running_mean == 1.375f && isfinite(running_var));

    running_mean = 7;
    running_var = 15.5f;
    ref_norm_evaluate(layer, &running_mean, &running_var, &norm);
    assert_true(mean == 7 && inverse == 0.25);
    net_release(&net);
}
