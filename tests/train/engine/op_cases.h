// SPDX-License-Identifier: Apache-2.0
// Nets of one operation each, over sizes that fit no vector, for every engine's test against the
// reference. The bounds are the cpu engine's, in single precision: a few times 6e-8 per rounding,
// growing with the square root of the length of a sum, and more where the terms of a sum nearly
// cancel. Winograd's convolutions lose up to two digits more.
#ifndef FARE_TESTS_ENGINE_OP_CASES_H
#define FARE_TESTS_ENGINE_OP_CASES_H

#include "pair_cases.h"

struct size {
    int batch, channels, height, width, units;
};

struct op_case {
    const char *name;
    void (*build)(struct net *net, const struct size *size);
    double bound;
    const struct size *sizes; // ends with a batch of 0
    double tf32, bf16;        // the cuda engine's bounds
};

static const struct size image_sizes[] = {
    {1, 1, 1, 1, 1},
    {1, 1, 7, 5, 3},
    {3, 5, 9, 11, 7},
    {2, 17, 13, 5, 33},
    {4, 32, 12, 10, 16},
    {7, 48, 5, 7, 31},
    {0},
};

// For windows of 3 × 3 and more without padding.
static const struct size window_sizes[] = {
    {1, 1, 7, 5, 3},     {3, 5, 9, 11, 7},  {2, 17, 13, 7, 33},
    {4, 32, 12, 10, 16}, {7, 48, 7, 9, 31}, {0},
};

// Enough pixels behind a pool that no batch norm has a handful of numbers only.
static const struct size normed_sizes[] = {
    {3, 5, 11, 13, 7}, {2, 17, 15, 11, 33}, {4, 32, 12, 11, 16}, {7, 48, 10, 9, 31}, {0},
};

static const struct size vector_sizes[] = {
    {1, 1, 1, 1, 1},    {1, 1, 1, 7, 2},      {3, 1, 1, 13, 5},  {17, 1, 1, 31, 16},
    {32, 1, 1, 64, 48}, {127, 1, 1, 101, 67}, {5, 1, 1, 257, 1}, {0},
};

// batch, -, time, vocabulary, units
static const struct size sequence_sizes[] = {
    {1, 1, 1, 1, 1},
    {1, 1, 3, 5, 2},
    {3, 1, 7, 11, 5},
    {5, 1, 4, 17, 16},
    {13, 1, 9, 23, 19},
    {32, 1, 12, 57, 32},
    {0},
};

// ---- the nets ----

static int head(struct net *net, int x)
{
    return net_dense(net, x, 5, false, "head");
}

static int image(struct net *net, const struct size *s)
{
    return net_image(net, s->channels, s->height, s->width);
}

// A convolution of 1 × 1, so that something before the operation learns.
static int first(struct net *net, const struct size *s, int filters, bool relu)
{
    struct net_conv conv = {.filters = filters, .kernel_h = 1, .kernel_w = 1, .relu = relu};
    return net_conv(net, image(net, s), conv, "first");
}

// Before a batch norm a bias does nothing: its gradient is rounding errors and nothing else.
static int first_without_bias(struct net *net, const struct size *s)
{
    struct net_conv conv = {.filters = s->units, .kernel_h = 1, .kernel_w = 1, .no_bias = true};
    return net_conv(net, image(net, s), conv, "first");
}

static void dense(struct net *net, const struct size *s)
{
    head(net, net_dense(net, image(net, s), s->units, false, "dense"));
}

static void dense_relu(struct net *net, const struct size *s)
{
    int x = net_dense(net, image(net, s), s->units, true, "dense");
    head(net, net_dense(net, x, s->units + 1, true, "second"));
}

// Layers of whole panels: 64 units and more, 32, 16, behind any number of inputs.
static void dense_owned(struct net *net, const struct size *s)
{
    int x = net_dense(net, image(net, s), 192, true, "wide");
    x = net_dense(net, net_dense(net, x, s->units, true, "odd"), 96, false, "plain");
    x = net_dense(net, net_dropout(net, net_dense(net, x, 48, true, "small"), 0.25f), 64, true,
                  "last");
    head(net, x);
}

static void dense_relu_last(struct net *net, const struct size *s)
{
    net_dense(net, image(net, s), s->units + 1, true, "dense");
}

static void dense_on_image(struct net *net, const struct size *s)
{
    head(net, first(net, s, s->units, false));
}

static void sigmoid(struct net *net, const struct size *s)
{
    int x = net_dense(net, image(net, s), s->units, true, "dense");
    net_dense(net, x, 1, false, "head");
    net_set_loss(net, NET_SIGMOID);
}

static void convolve(struct net *net, const struct size *s, int h, int w, int stride,
                     enum net_padding padding, bool relu)
{
    struct net_conv conv = {.filters = s->units,
                            .kernel_h = h,
                            .kernel_w = w,
                            .stride = stride,
                            .padding = padding,
                            .relu = relu};
    int x = net_conv(net, first(net, s, s->channels, false), conv, "conv");
    head(net, net_global_average(net, x));
}

static void conv_1x1(struct net *net, const struct size *s)
{
    convolve(net, s, 1, 1, 1, NET_VALID, false);
}

static void conv_1x7(struct net *net, const struct size *s)
{
    convolve(net, s, 1, 7, 1, NET_SAME, true);
}

static void conv_7x1(struct net *net, const struct size *s)
{
    convolve(net, s, 7, 1, 1, NET_SAME, false);
}

static void conv_5x5(struct net *net, const struct size *s)
{
    convolve(net, s, 5, 5, 1, NET_SAME, true);
}

static void conv_stride(struct net *net, const struct size *s)
{
    convolve(net, s, 3, 3, 2, NET_VALID, true);
}

static void conv_stride_same(struct net *net, const struct size *s)
{
    convolve(net, s, 3, 3, 2, NET_SAME, false);
}

static void conv_3x3(struct net *net, const struct size *s)
{
    convolve(net, s, 3, 3, 1, NET_VALID, true);
}

static void conv_3x3_same(struct net *net, const struct size *s)
{
    convolve(net, s, 3, 3, 1, NET_SAME, true);
}

// Reads the image itself, as the first layer of the real nets does.
static void conv_first(struct net *net, const struct size *s)
{
    struct net_conv conv = {
        .filters = s->units, .kernel_h = 3, .kernel_w = 3, .padding = NET_SAME, .relu = true};
    head(net, net_conv(net, image(net, s), conv, "conv"));
}

static void norm(struct net *net, const struct size *s, bool relu)
{
    int x = first_without_bias(net, s);
    x = net_batch_norm(net, x, 0.9f, 0.001f, relu, "norm");
    head(net, x);
}

static void norm_plain(struct net *net, const struct size *s)
{
    norm(net, s, false);
}

static void norm_relu(struct net *net, const struct size *s)
{
    norm(net, s, true);
}

// The input of the norm has another reader, so that nothing can happen in place.
static void norm_shared(struct net *net, const struct size *s)
{
    int x = first(net, s, s->units, true);
    int both[2] = {net_batch_norm(net, x, 0.9f, 0.001f, true, "norm"), x};
    head(net, net_concat(net, both, 2));
}

static void max_pool_2(struct net *net, const struct size *s)
{
    head(net, net_max_pool(net, first(net, s, s->units, true), 2, 2, NET_VALID));
}

// Of numbers that relu left, and of others.
static void max_pool_dropout(struct net *net, const struct size *s)
{
    int x =
        net_dropout(net, net_max_pool(net, first(net, s, s->units, true), 2, 2, NET_VALID), 0.25f);
    head(net, x);
}

static void max_pool_dropout_signed(struct net *net, const struct size *s)
{
    int x =
        net_dropout(net, net_max_pool(net, first(net, s, s->units, false), 2, 2, NET_VALID), 0.5f);
    head(net, x);
}

static void max_pool_3(struct net *net, const struct size *s)
{
    head(net, net_max_pool(net, first(net, s, s->units, false), 3, 2, NET_VALID));
}

static void max_pool_same(struct net *net, const struct size *s)
{
    head(net, net_max_pool(net, first(net, s, s->units, true), 3, 1, NET_SAME));
}

static void average_pool_3(struct net *net, const struct size *s)
{
    head(net, net_average_pool(net, first(net, s, s->units, true), 3, 1, NET_SAME));
}

static void average_pool_valid(struct net *net, const struct size *s)
{
    head(net, net_average_pool(net, first(net, s, s->units, false), 3, 2, NET_VALID));
}

static void pools_on_input(struct net *net, const struct size *s)
{
    int x = image(net, s);
    int both[2] = {net_max_pool(net, x, 3, 1, NET_SAME), net_average_pool(net, x, 3, 1, NET_SAME)};
    head(net, net_concat(net, both, 2));
}

static void global_average(struct net *net, const struct size *s)
{
    head(net, net_global_average(net, first(net, s, s->units, true)));
}

static void dropout_rows(struct net *net, const struct size *s)
{
    int x = net_dense(net, image(net, s), s->units, true, "dense");
    x = net_dropout(net, x, 0.3f);
    x = net_dense(net, x, s->units, false, "second"); // no relu before this one
    head(net, net_dropout(net, x, 0.5f));
}

static void dropout_image(struct net *net, const struct size *s)
{
    int x = net_dropout(net, first(net, s, s->units, true), 0.25f);
    struct net_conv conv = {.filters = 3, .kernel_h = 1, .kernel_w = 1};
    x = net_conv(net, x, conv, "second");
    head(net, net_dropout(net, x, 0.5f));
}

static void dropout_shared(struct net *net, const struct size *s)
{
    int x = first(net, s, s->units, true);
    int both[2] = {net_dropout(net, x, 0.25f), x};
    head(net, net_concat(net, both, 2));
}

static void dropout_on_input(struct net *net, const struct size *s)
{
    head(net, net_dropout(net, image(net, s), 0.25f));
}

// Three readers of one image; slices that begin at a block and others; one inside another.
static void concat(struct net *net, const struct size *s)
{
    struct net_conv conv = {.filters = s->units, .kernel_h = 1, .kernel_w = 1, .relu = true};
    int x = first(net, s, s->units, true);
    int a = net_conv(net, x, conv, "a");
    conv.relu = false;
    conv.no_bias = true;
    int b = net_batch_norm(net, net_conv(net, x, conv, "b.c"), 0.9f, 0.001f, true, "b.n");
    int c = net_average_pool(net, x, 3, 1, NET_SAME);
    int inner[2] = {b, c}, outer[3] = {a, net_concat(net, inner, 2), x};
    head(net, net_concat(net, outer, 3));
}

static void concat_twice(struct net *net, const struct size *s)
{
    int x = first(net, s, s->units, true);
    head(net, net_concat(net, (int[3]){x, x, x}, 3));
}

static void slices(struct net *net, const struct size *s)
{
    struct net_conv conv = {.filters = 16, .kernel_h = 1, .kernel_w = 1, .no_bias = true};
    int x = first(net, s, s->units, true);
    int a = net_batch_norm(net, net_conv(net, x, conv, "a.c"), 0.9f, 0.001f, true, "a.n");
    conv.filters = 32;
    int b = net_batch_norm(net, net_conv(net, x, conv, "b.c"), 0.9f, 0.001f, true, "b.n");
    conv.filters = s->units;
    int c = net_batch_norm(net, net_conv(net, x, conv, "c.c"), 0.9f, 0.001f, true, "c.n");
    int y = net_concat(net, (int[2]){b, c}, 2);
    y = net_concat(net, (int[2]){a, y}, 2);
    conv.filters = 5;
    y = net_dropout(net, y, 0.2f);
    head(net, net_conv(net, y, conv, "last"));
}

// As in Inception: convolutions that batch norm follows, and nothing else between the input and the
// global average.
static int normed(struct net *net, int x, const struct size *s, int h, int w, int stride,
                  enum net_padding padding, const char *name)
{
    char norm_name[32];
    snprintf(norm_name, sizeof norm_name, "%s.n", name);
    struct net_conv conv = {.filters = s->units,
                            .kernel_h = h,
                            .kernel_w = w,
                            .stride = stride,
                            .padding = padding,
                            .no_bias = true};
    return net_batch_norm(net, net_conv(net, x, conv, name), 0.9f, 0.001f, true, norm_name);
}

static void normed_chain(struct net *net, const struct size *s)
{
    int x = normed(net, image(net, s), s, 3, 3, 2, NET_VALID, "a");
    x = normed(net, x, s, 1, 3, 1, NET_SAME, "b");
    head(net, net_global_average(net, normed(net, x, s, 1, 1, 1, NET_SAME, "c")));
}

// One inside another, pools on both sides, readers of one image that are many.
static void normed_block(struct net *net, const struct size *s)
{
    struct size wide = *s;
    wide.units = (s->units + 7) / 8 * 8;
    int x = normed(net, image(net, s), &wide, 3, 3, 1, NET_SAME, "a");
    int both[2] = {net_max_pool(net, x, 3, 2, NET_VALID),
                   normed(net, x, &wide, 3, 3, 2, NET_VALID, "b")};
    x = net_concat(net, both, 2);
    int y = net_average_pool(net, x, 3, 1, NET_SAME);
    int inner[2] = {normed(net, x, &wide, 1, 3, 1, NET_SAME, "c"),
                    normed(net, x, &wide, 3, 1, 1, NET_SAME, "d")};
    int outer[3] = {normed(net, y, &wide, 1, 1, 1, NET_SAME, "e"), net_concat(net, inner, 2),
                    normed(net, x, &wide, 3, 3, 1, NET_SAME, "f")};
    head(net, net_global_average(net, net_concat(net, outer, 3)));
}

// As in Inception: the other head branches off on the way, over a pool of 5 × 5.
static void auxiliary(struct net *net, const struct size *s)
{
    int x = first(net, s, s->units, true);
    int other = net_average_pool(net, x, 5, 3, NET_VALID);
    other = net_dense(net, net_dense(net, other, 7, true, "aux.a"), 5, false, "aux.d");
    net_aux(net, head(net, net_global_average(net, x)), other, 0.4f);
}

// The other head reads the net's own outputs, which so have two readers.
static void auxiliary_shared(struct net *net, const struct size *s)
{
    int x = net_dense(net, net_dense(net, image(net, s), s->units, true, "dense"), 5, true, "own");
    net_aux(net, x, net_dropout(net, net_dense(net, x, 5, true, "aux.d"), 0.25f), 2.5f);
}

static void sequence(struct net *net, const struct size *s, bool one_hot, bool both_ways)
{
    int x = net_tokens(net, s->height, s->width);
    x = one_hot ? net_one_hot(net, x) : net_embedding(net, x, s->units + 1, "embedding");
    x = net_lstm(net, x, s->units, both_ways, "lstm");
    head(net, x);
}

static void lstm_one_hot(struct net *net, const struct size *s)
{
    sequence(net, s, true, false);
}

static void lstm_embedding(struct net *net, const struct size *s)
{
    sequence(net, s, false, false);
}

static void lstm_both_ways(struct net *net, const struct size *s)
{
    sequence(net, s, false, true);
}

static void lstm_hard(struct net *net, const struct size *s)
{
    int x = net_embedding(net, net_tokens(net, s->height, s->width), s->units + 1, "embedding");
    x = net_lstm(net, x, s->units, true, "lstm");
    net_set_hard_gates(net, x);
    head(net, x);
}

static void lstm_on_dropout(struct net *net, const struct size *s)
{
    int x = net_embedding(net, net_tokens(net, s->height, s->width), s->units, "embedding");
    x = net_lstm(net, net_dropout(net, x, 0.25f), s->units, true, "lstm");
    head(net, net_dropout(net, x, 0.5f));
}

static void embedding_dense(struct net *net, const struct size *s)
{
    int x = net_embedding(net, net_tokens(net, s->height, s->width), s->units, "embedding");
    head(net, x);
}

static void one_hot_dense(struct net *net, const struct size *s)
{
    head(net, net_one_hot(net, net_tokens(net, s->height, s->width)));
}

static const struct op_case op_cases[] = {
    {"dense", dense, 3e-6, vector_sizes, 4e-3, 2e-2},
    {"dense with relu", dense_relu, 3e-6, vector_sizes, 0.1, 0.2},
    {"dense, units of one's own", dense_owned, 1e-5, vector_sizes, 0.2, 0.4},
    {"dense with relu, last", dense_relu_last, 3e-6, vector_sizes, 3e-3, 8e-3},
    {"dense on an image", dense_on_image, 3e-6, image_sizes, 4e-3, 2e-2},
    {"sigmoid", sigmoid, 1e-5, vector_sizes, 4e-3, 2e-2},
    {"convolution 1x1", conv_1x1, 2e-5, image_sizes, 8e-3, 4e-2},
    {"convolution 1x7", conv_1x7, 2e-5, image_sizes, 6e-2, 0.2},
    {"convolution 7x1", conv_7x1, 2e-5, image_sizes, 2e-2, 8e-2},
    {"convolution 5x5", conv_5x5, 2e-5, image_sizes, 0.2, 0.2},
    {"convolution 3x3, stride 2", conv_stride, 5e-6, window_sizes, 0.25, 0.3},
    {"convolution 3x3, stride 2, same", conv_stride_same, 5e-6, image_sizes, 5e-3, 2e-2},
    {"convolution 3x3 (Winograd)", conv_3x3, 5e-5, window_sizes, 0.2, 0.2},
    {"convolution 3x3, same (Winograd)", conv_3x3_same, 5e-5, image_sizes, 0.2, 0.2},
    {"convolution of the input", conv_first, 5e-5, image_sizes, 3e-3, 3e-2},
    {"batch norm", norm_plain, 2e-5, image_sizes, 2e-2, 0.1},
    {"batch norm with relu", norm_relu, 2e-5, image_sizes, 2e-2, 0.2},
    {"batch norm, input shared", norm_shared, 2e-5, image_sizes, 9e-3, 4e-2},
    {"maximum pool 2x2", max_pool_2, 5e-6, window_sizes, 4e-3, 2e-2},
    {"maximum pool 2x2, dropout", max_pool_dropout, 5e-6, window_sizes, 4e-3, 2e-2},
    {"maximum pool 2x2, dropout, signed", max_pool_dropout_signed, 5e-6, window_sizes, 4e-3, 2e-2},
    {"maximum pool 3x3, stride 2", max_pool_3, 5e-6, window_sizes, 3e-3, 2e-2},
    {"maximum pool 3x3, same", max_pool_same, 5e-6, image_sizes, 4e-3, 3e-2},
    {"average pool 3x3, same", average_pool_3, 5e-6, image_sizes, 3e-3, 2e-2},
    {"average pool 3x3, stride 2", average_pool_valid, 5e-6, window_sizes, 4e-3, 2e-2},
    {"pools of the input", pools_on_input, 5e-6, image_sizes, 2e-3, 2e-2},
    {"global average", global_average, 5e-6, image_sizes, 4e-3, 2e-2},
    {"dropout of rows", dropout_rows, 5e-6, vector_sizes, 6e-3, 3e-2},
    {"dropout of images", dropout_image, 5e-6, image_sizes, 5e-3, 2e-2},
    {"dropout, input shared", dropout_shared, 5e-6, image_sizes, 3e-3, 2e-2},
    {"dropout of the input", dropout_on_input, 5e-6, image_sizes, 4e-3, 2e-2},
    {"concatenation", concat, 2e-5, image_sizes, 0.2, 0.3},
    {"concatenation of the same", concat_twice, 5e-6, image_sizes, 3e-3, 2e-2},
    {"concatenation of slices", slices, 2e-5, image_sizes, 0.25, 0.4},
    {"normed convolutions", normed_chain, 2e-5, normed_sizes, 0.25, 0.5},
    {"normed convolutions, branches", normed_block, 5e-5, normed_sizes, 0.25, 0.5},
    {"auxiliary loss", auxiliary, 5e-6, window_sizes, 5e-3, 3e-2},
    {"auxiliary loss, input shared", auxiliary_shared, 3e-6, vector_sizes, 0.2, 0.2},
    {"LSTM of one-hot vectors", lstm_one_hot, 4e-5, sequence_sizes, 4e-3, 2e-2},
    {"LSTM of an embedding", lstm_embedding, 4e-5, sequence_sizes, 4e-3, 2e-2},
    {"LSTM both ways", lstm_both_ways, 4e-5, sequence_sizes, 4e-3, 2e-2},
    {"LSTM with hard gates", lstm_hard, 4e-5, sequence_sizes, 3e-3, 2e-2},
    {"LSTM of dropout", lstm_on_dropout, 4e-5, sequence_sizes, 5e-3, 3e-2},
    {"embedding", embedding_dense, 5e-6, sequence_sizes, 3e-3, 2e-2},
    {"one-hot", one_hot_dense, 5e-6, sequence_sizes, 3e-3, 1e-2},
};

#endif
