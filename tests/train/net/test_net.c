// SPDX-License-Identifier: Apache-2.0
#include "train/net/net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "train/workload/workload.h"

// ---- the nets of the workloads, layer by layer as their definitions say ----

static void build_mlp(struct net *net)
{
    net_init(net, "mlp");
    int at = net_image(net, 1, 28, 28);
    at = net_dropout(net, net_dense(net, at, 512, true, "fc1"), 0.2f);
    at = net_dropout(net, net_dense(net, at, 512, true, "fc2"), 0.2f);
    net_dense(net, at, 10, false, "fc3");
}

static int conv3(struct net *net, int from, int filters, enum net_padding padding, const char *name)
{
    struct net_conv conv = {
        .filters = filters, .kernel_h = 3, .kernel_w = 3, .padding = padding, .relu = true};
    return net_conv(net, from, conv, name);
}

static void build_cnn(struct net *net)
{
    net_init(net, "cnn");
    int at = net_image(net, 1, 28, 28);
    at = conv3(net, at, 32, NET_VALID, "conv1");
    at = conv3(net, at, 64, NET_VALID, "conv2");
    at = net_dropout(net, net_max_pool(net, at, 2, 2, NET_VALID), 0.25f);
    at = net_dropout(net, net_dense(net, at, 128, true, "fc1"), 0.5f);
    net_dense(net, at, 10, false, "fc2");
}

static void build_cifar(struct net *net)
{
    net_init(net, "cifar");
    int at = net_image(net, 3, 32, 32);
    for (int block = 0; block < 2; block++) {
        static const char *const names[2][2] = {{"conv1", "conv2"}, {"conv3", "conv4"}};
        at = conv3(net, at, block == 0 ? 32 : 64, NET_SAME, names[block][0]);
        at = conv3(net, at, block == 0 ? 32 : 64, NET_VALID, names[block][1]);
        at = net_dropout(net, net_max_pool(net, at, 2, 2, NET_VALID), 0.25f);
    }
    at = net_dropout(net, net_dense(net, at, 512, true, "fc1"), 0.5f);
    net_dense(net, at, 10, false, "fc2");
}

static void build_imdb(struct net *net)
{
    net_init(net, "imdb");
    int at = net_embedding(net, net_tokens(net, 100, 20000), 128, "embedding");
    at = net_dropout(net, net_lstm(net, at, 64, true, "lstm"), 0.5f);
    net_dense(net, at, 1, false, "fc");
    net_set_loss(net, NET_SIGMOID);
}

static void build_textgen(struct net *net)
{
    net_init(net, "textgen");
    int at = net_lstm(net, net_one_hot(net, net_tokens(net, 40, 57)), 128, false, "lstm");
    net_dense(net, at, 57, false, "fc");
}

// ---- Inception v4: kernels as "height x width filters", one branch per text ----

static int branch(struct net *net, int at, const char *steps)
{
    // Steps are separated by commas: "3x3 96 s2V", "1x7 64", "max", "avg".
    while (*steps) {
        int kernel_h = 0, kernel_w = 0, filters = 0, used = 0;
        if (strncmp(steps, "max", 3) == 0) {
            at = net_max_pool(net, at, 3, 2, NET_VALID);
            used = 3;
        } else if (strncmp(steps, "avg", 3) == 0) {
            at = net_average_pool(net, at, 3, 1, NET_SAME);
            used = 3;
        } else {
            assert_int_equal(sscanf(steps, "%dx%d %d%n", &kernel_h, &kernel_w, &filters, &used), 3);
            struct net_conv conv = {.filters = filters,
                                    .kernel_h = kernel_h,
                                    .kernel_w = kernel_w,
                                    .padding = NET_SAME,
                                    .no_bias = true};
            for (; steps[used] && steps[used] != ','; used++) {
                conv.stride = steps[used] == '2' ? 2 : conv.stride;
                conv.padding = steps[used] == 'V' ? NET_VALID : conv.padding;
            }
            char name[32];
            snprintf(name, sizeof name, "conv_%d", net->layer_count);
            at = net_conv(net, at, conv, name);
            snprintf(name, sizeof name, "bn_%d", net->layer_count);
            at = net_batch_norm(net, at, 0.9997f, 0.001f, true, name);
        }
        steps += used;
        steps += *steps == ',' ? 2 : 0;
    }
    return at;
}

static int join2(struct net *net, int a, int b)
{
    return net_concat(net, (int[]){a, b}, 2);
}

static int fork3(struct net *net, int at, const char *a, const char *b, const char *c)
{
    int to[] = {branch(net, at, a), branch(net, at, b), branch(net, at, c)};
    return net_concat(net, to, 3);
}

static int fork4(struct net *net, int at, const char *a, const char *b, const char *c,
                 const char *d)
{
    int to[] = {branch(net, at, a), branch(net, at, b), branch(net, at, c), branch(net, at, d)};
    return net_concat(net, to, 4);
}

static int block_c(struct net *net, int at)
{
    int one = branch(net, at, "1x1 384"), two = branch(net, at, "1x1 384, 3x1 448, 1x3 512");
    int to[] = {branch(net, at, "1x1 256"),
                join2(net, branch(net, one, "1x3 256"), branch(net, one, "3x1 256")),
                join2(net, branch(net, two, "1x3 256"), branch(net, two, "3x1 256")),
                branch(net, at, "avg, 1x1 256")};
    return net_concat(net, to, 4);
}

static void build_inception(struct net *net, int classes, int outputs[6])
{
    net_init(net, "inception");
    int at = branch(net, net_image(net, 3, 299, 299), "3x3 32 s2V, 3x3 32 V, 3x3 64");
    at = join2(net, branch(net, at, "max"), branch(net, at, "3x3 96 s2V"));
    at = join2(net, branch(net, at, "1x1 64, 3x3 96 V"),
               branch(net, at, "1x1 64, 1x7 64, 7x1 64, 3x3 96 V"));
    at = join2(net, branch(net, at, "3x3 192 s2V"), branch(net, at, "max"));
    outputs[0] = at;
    for (int i = 0; i < 4; i++)
        at = fork4(net, at, "1x1 96", "1x1 64, 3x3 96", "1x1 64, 3x3 96, 3x3 96", "avg, 1x1 96");
    outputs[1] = at;
    at = fork3(net, at, "3x3 384 s2V", "1x1 192, 3x3 224, 3x3 256 s2V", "max");
    outputs[2] = at;
    for (int i = 0; i < 7; i++)
        at = fork4(net, at, "1x1 384", "1x1 192, 1x7 224, 7x1 256",
                   "1x1 192, 7x1 192, 1x7 224, 7x1 224, 1x7 256", "avg, 1x1 128");
    outputs[3] = at;
    at = fork3(net, at, "1x1 192, 3x3 192 s2V", "1x1 256, 1x7 256, 7x1 320, 3x3 320 s2V", "max");
    outputs[4] = at;
    for (int i = 0; i < 3; i++)
        at = block_c(net, at);
    outputs[5] = at;
    at = net_dropout(net, net_global_average(net, at), 0.2f);
    net_dense(net, at, classes, false, "logits");
}

// ---- tests ----

TEST(test_parameter_counts)
{
    // Keras prints these for its examples of the same nets (mnist_mlp, mnist_cnn, cifar10_cnn,
    // imdb_bidirectional_lstm, lstm_text_generation with 57 characters).
    static const struct {
        void (*build)(struct net *net);
        int64_t parameters;
    } rows[] = {{build_mlp, 669706},
                {build_cnn, 1199882},
                {build_cifar, 1250858},
                {build_imdb, 2658945},
                {build_textgen, 102585}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct net net;
        struct net_cost cost;
        struct err err = {0};
        rows[i].build(&net);
        assert_ok(net_check(&net, &err), &err);
        net_cost(&net, 1, &cost);
        assert_int_equal(cost.parameters, rows[i].parameters);
        net_release(&net);
    }
}

static void assert_shape(const struct net *net, int layer, int channels, int height, int width)
{
    const struct net_shape *out = &net->layers[layer].out;
    assert_int_equal(out->rank, 3);
    assert_int_equal(out->dim[0], channels);
    assert_int_equal(out->dim[1], height);
    assert_int_equal(out->dim[2], width);
}

// Shapes after each block are those of Szegedy et al. 2016 (figures 3 to 9). 42.68 M parameters
// and 12.25 GMAC are what is published for the net; the exact number is 42,679,816 for 1000
// classes (the count of the public PyTorch ports) and 1,537 for one class more.
TEST(test_inception)
{
    struct net net;
    struct err err = {0};
    int outputs[6];
    build_inception(&net, 1001, outputs);
    assert_ok(net_check(&net, &err), &err);
    static const int shapes[6][2] = {{384, 35},  {384, 35}, {1024, 17},
                                     {1024, 17}, {1536, 8}, {1536, 8}};
    for (int i = 0; i < 6; i++)
        assert_shape(&net, outputs[i], shapes[i][0], shapes[i][1], shapes[i][1]);

    int convolutions = 0, averages = 0;
    for (int i = 0; i < net.layer_count; i++)
        convolutions += net.layers[i].op == NET_CONV;
    for (int i = 0; i < net.param_count; i++)
        averages += !net.params[i].trained;
    assert_int_equal(convolutions, 149);
    assert_int_equal(averages, 2 * 149);

    struct net_cost cost;
    net_cost(&net, 1, &cost);
    assert_int_equal(cost.parameters, 42679816 + 1537);
    assert_true(fabs(cost.forward_flops / 2e9 - 12.25) < 0.005);
    // 2.35 TFLOP is what a step on 32 images takes: three times the forward pass, of which only
    // the gradient of the first layer's input is not needed.
    net_cost(&net, 32, &cost);
    double step = cost.forward_flops + cost.backward_flops;
    assert_true(step > 2.345e12 && step < 2.355e12);
    net_release(&net);
}

TEST(test_cost)
{
    struct net net;
    struct net_cost cost;
    // By hand: multiply-adds of a sample, and of them those whose input needs no gradient.
    static const struct {
        void (*build)(struct net *net);
        double forward, first;
    } rows[] = {
        {build_mlp, 784 * 512 + 512 * 512 + 512 * 10, 784 * 512},
        {build_cnn, 26 * 26 * 32 * 9 + 24 * 24 * 64 * 32 * 9 + 9216 * 128 + 128 * 10,
         26 * 26 * 32 * 9},
        {build_imdb, 2 * 100 * 4 * 64 * (128 + 64) + 128, 0},
        {build_textgen, 40 * 4 * 128 * 128 + 128 * 57, 0}, // a one-hot input chooses rows
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rows[i].build(&net);
        net_cost(&net, 7, &cost);
        assert_true(cost.forward_flops == 2 * 7 * rows[i].forward);
        assert_true(cost.backward_flops == 2 * 7 * (2 * rows[i].forward - rows[i].first));
        net_release(&net);
    }
    // Five samples of 2 numbers → 3: image 10 written; 10 read, 15 written; back 15 and 10 read;
    // nine parameters read twice, their gradients written and read, updated.
    net_init(&net, "small");
    net_dense(&net, net_image(&net, 1, 1, 2), 3, false, "fc");
    net_cost(&net, 5, &cost);
    assert_true(cost.bytes == 4 * (10 + 10 + 15 + 15 + 10 + 9 * 6));
    net_release(&net);
}

// The embedding's rows that are not looked up do not move.
TEST(test_cost_of_embedding)
{
    double bytes[2];
    for (int i = 0; i < 2; i++) {
        struct net net;
        struct net_cost cost;
        net_init(&net, "words");
        int at = net_embedding(&net, net_tokens(&net, 5, i == 0 ? 1000 : 100000), 8, "embedding");
        net_dense(&net, at, 2, false, "fc");
        net_cost(&net, 4, &cost);
        bytes[i] = cost.bytes;
        net_release(&net);
    }
    assert_true(bytes[0] == bytes[1]);
}

// TensorFlow's rule for SAME: ceil(in / stride) outputs, an odd cell of padding at the end.
TEST(test_same_padding)
{
    static const struct {
        int in, kernel, stride, out, before, after;
    } rows[] = {
        {224, 3, 2, 112, 0, 1}, // the well-known case where PyTorch's padding = 1 differs
        {224, 7, 2, 112, 2, 3}, // ResNet's first layer
        {299, 3, 2, 150, 1, 1}, {7, 2, 1, 7, 0, 1}, {7, 2, 2, 4, 0, 1},  {1, 1, 1, 1, 0, 0},
        {1, 7, 1, 1, 3, 3},     {1, 4, 3, 1, 1, 2}, {13, 5, 3, 5, 2, 2}, {5, 1, 2, 3, 0, 0},
        {5, 2, 4, 2, 0, 1},     {6, 1, 4, 2, 0, 0}, {8, 3, 3, 3, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct net net;
        net_init(&net, "same");
        struct net_conv conv = {.filters = 1,
                                .kernel_h = rows[i].kernel,
                                .kernel_w = 1,
                                .stride = rows[i].stride,
                                .padding = NET_SAME};
        int at = net_conv(&net, net_image(&net, 1, rows[i].in, 1), conv, "conv");
        assert_int_equal(at, 1);
        assert_int_equal(net.layers[at].out.dim[1], rows[i].out);
        assert_int_equal(net.layers[at].pad_top, rows[i].before);
        assert_int_equal(net.layers[at].pad_bottom, rows[i].after);
        assert_int_equal(net.layers[at].out.dim[2], 1);
        assert_int_equal(net.layers[at].pad_left, 0);
        assert_int_equal(net.layers[at].pad_right, 0);
        net_release(&net);
    }
}

// What PyTorch says of the same modules' parameters: names, shapes, order.
TEST(test_parameters)
{
    struct net net;
    struct err err = {0};
    net_init(&net, "all");
    int image = net_image(&net, 3, 8, 9);
    int at = net_conv(&net, image, (struct net_conv){4, 3, 2, 1, NET_SAME, false, true}, "a.conv");
    at = net_batch_norm(&net, at, 0.9f, 0.001f, true, "a.bn");
    at = net_conv(&net, at, (struct net_conv){.filters = 5, .kernel_h = 1, .kernel_w = 1}, "b");
    net_dense(&net, at, 6, false, "fc");
    assert_ok(net_check(&net, &err), &err);
    static const struct {
        const char *name;
        int rank;
        int64_t dim[4], count;
        enum net_init init;
        bool trained, decayed;
    } rows[] = {
        {"a.conv.weight", 4, {4, 3, 3, 2}, 72, NET_GLOROT, true, true},
        {"a.bn.weight", 1, {4}, 4, NET_ONE, true, false},
        {"a.bn.bias", 1, {4}, 4, NET_ZERO, true, false},
        {"a.bn.running_mean", 1, {4}, 4, NET_ZERO, false, false},
        {"a.bn.running_var", 1, {4}, 4, NET_ONE, false, false},
        {"b.weight", 4, {5, 4, 1, 1}, 20, NET_GLOROT, true, true},
        {"b.bias", 1, {5}, 5, NET_ZERO, true, false},
        {"fc.weight", 2, {6, 360}, 2160, NET_GLOROT, true, true},
        {"fc.bias", 1, {6}, 6, NET_ZERO, true, false},
    };
    assert_int_equal(net.param_count, sizeof rows / sizeof *rows);
    for (int i = 0; i < net.param_count; i++) {
        const struct net_param *param = &net.params[i];
        assert_string_equal(param->name, rows[i].name);
        assert_int_equal(param->rank, rows[i].rank);
        assert_memory_equal(param->dim, rows[i].dim, sizeof param->dim);
        assert_int_equal(param->count, rows[i].count);
        assert_int_equal(param->init, rows[i].init);
        assert_int_equal(param->trained, rows[i].trained);
        assert_int_equal(param->decayed, rows[i].decayed);
        const struct net_layer *layer = &net.layers[param->layer];
        assert_true(i >= layer->first_param && i < layer->first_param + layer->param_count);
    }
    assert_false(net.layers[image].learns);
    assert_true(net.layers[image + 1].learns);
    net_release(&net);
}

TEST(test_lstm_parameters)
{
    struct net net;
    build_imdb(&net);
    static const struct {
        const char *name;
        int64_t dim[4];
        enum net_init init;
    } rows[] = {{"embedding.weight", {20000, 128}, NET_UNIFORM_005},
                {"lstm.weight_ih_l0", {256, 128}, NET_GLOROT},
                {"lstm.weight_hh_l0", {256, 64}, NET_ORTHOGONAL},
                {"lstm.bias_ih_l0", {256}, NET_LSTM_BIAS},
                {"lstm.weight_ih_l0_reverse", {256, 128}, NET_GLOROT},
                {"lstm.weight_hh_l0_reverse", {256, 64}, NET_ORTHOGONAL},
                {"lstm.bias_ih_l0_reverse", {256}, NET_LSTM_BIAS}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(net.params[i].name, rows[i].name);
        assert_memory_equal(net.params[i].dim, rows[i].dim, sizeof rows[i].dim);
        assert_int_equal(net.params[i].init, rows[i].init);
        assert_true(net.params[i].trained);
        assert_false(net.params[i].decayed);
    }
    assert_int_equal(net.layers[2].out.rank, 1);
    assert_int_equal(net.layers[2].out.dim[0], 128);
    net_release(&net);
}

// ---- mistakes ----

static void kernel_too_large(struct net *net)
{
    int at = net_max_pool(net, net_image(net, 1, 5, 4), 2, 2, NET_VALID);
    net_dense(net, conv3(net, at, 8, NET_VALID, "conv2"), 2, false, "fc");
}
static void conv_on_vector(struct net *net)
{
    conv3(net, net_dense(net, net_image(net, 1, 5, 4), 7, true, "fc"), 8, NET_SAME, "conv");
}
static void lstm_on_image(struct net *net)
{
    net_lstm(net, net_image(net, 1, 5, 4), 8, false, "lstm");
}
static void dense_on_tokens(struct net *net)
{
    net_dense(net, net_tokens(net, 5, 10), 8, false, "fc");
}
static void embedding_on_image(struct net *net)
{
    net_embedding(net, net_image(net, 1, 2, 2), 8, "embedding");
}
static void no_units(struct net *net)
{
    net_dense(net, net_image(net, 1, 2, 2), 0, false, "fc");
}
static void negative_stride(struct net *net)
{
    net_max_pool(net, net_image(net, 1, 2, 2), 2, -1, NET_SAME);
}
static void no_channels(struct net *net)
{
    net_image(net, 0, 2, 2);
}
static void two_images(struct net *net)
{
    net_image(net, 1, 2, 2);
    net_image(net, 1, 2, 2);
}
static void dropout_of_all(struct net *net)
{
    net_dropout(net, net_image(net, 1, 2, 2), 1.0f);
}
static void dropout_not_a_number(struct net *net)
{
    net_dropout(net, net_image(net, 1, 2, 2), NAN);
}
static void no_epsilon(struct net *net)
{
    net_batch_norm(net, net_image(net, 1, 2, 2), 0.9f, 0, false, "bn");
}
static void concat_of_sizes(struct net *net)
{
    int image = net_image(net, 3, 8, 8);
    join2(net, image, net_max_pool(net, image, 2, 2, NET_VALID));
}
static void concat_of_five(struct net *net)
{
    int image = net_image(net, 3, 8, 8);
    net_concat(net, (int[]){image, image, image, image, image}, 5);
}
static void same_name(struct net *net)
{
    int image = net_image(net, 3, 8, 8);
    net_dense(net, net_dense(net, image, 3, true, "fc"), 2, false, "fc");
}
static void long_name(struct net *net)
{
    net_dense(net, net_image(net, 3, 8, 8), 2, false,
              "a name that is much, much, much, much, much too long to be kept whole");
}
static void from_nowhere(struct net *net)
{
    net_dense(net, net_image(net, 3, 8, 8) + 5, 2, false, "fc");
}
static void unread(struct net *net)
{
    int image = net_image(net, 3, 8, 8);
    conv3(net, image, 8, NET_SAME, "lost");
    net_dense(net, image, 2, false, "fc");
}
static void image_at_the_end(struct net *net)
{
    conv3(net, net_image(net, 3, 8, 8), 8, NET_SAME, "conv");
}
static void nothing_to_learn(struct net *net)
{
    net_global_average(net, net_image(net, 3, 8, 8));
}
static void wide_sigmoid(struct net *net)
{
    net_dense(net, net_image(net, 3, 8, 8), 2, false, "fc");
    net_set_loss(net, NET_SIGMOID);
}
static void aux_of_lengths(struct net *net)
{
    int image = net_image(net, 3, 8, 8), own = net_dense(net, image, 2, false, "fc");
    net_aux(net, own, net_dense(net, image, 3, false, "aux.fc"), 0.4f);
}
static void aux_of_image(struct net *net)
{
    int image = net_image(net, 2, 1, 1);
    net_aux(net, net_dense(net, image, 2, false, "fc"), image, 0.4f);
}
static void aux_of_the_same(struct net *net)
{
    int own = net_dense(net, net_image(net, 3, 8, 8), 2, false, "fc");
    net_aux(net, own, own, 0.4f);
}
static int two_heads(struct net *net, float weight)
{
    int image = net_image(net, 3, 8, 8), own = net_dense(net, image, 1, false, "fc");
    return net_aux(net, own, net_dense(net, image, 1, false, "aux.fc"), weight);
}
static void aux_without_weight(struct net *net)
{
    two_heads(net, 0);
}
static void aux_on_the_way(struct net *net)
{
    net_dense(net, two_heads(net, 0.4f), 2, false, "fc2");
}
static void aux_of_sigmoid(struct net *net)
{
    two_heads(net, 0.4f);
    net_set_loss(net, NET_SIGMOID);
}
static void huge_image(struct net *net)
{
    net_image(net, 65536, 65536, 65536);
}
static void huge_weight(struct net *net)
{
    int at = net_image(net, 1 << 30, 1, 1);
    struct net_conv conv = {
        .filters = 1 << 30, .kernel_h = 1 << 30, .kernel_w = 1 << 30, .padding = NET_SAME};
    net_conv(net, at, conv, "conv");
}
static void huge_lstm(struct net *net)
{
    net_lstm(net, net_one_hot(net, net_tokens(net, 3, 5)), 1 << 30, true, "lstm");
}
static void empty(struct net *net)
{
    (void)net;
}

TEST(test_mistakes)
{
    static const struct {
        void (*build)(struct net *net);
        const char *text;
    } rows[] = {
        {kernel_too_large, "net 'bad', layer 'conv2': a kernel of 3 × 3 does not fit into "
                           "'max_pool1', which is 2 × 2"},
        {conv_on_vector, "layer 'conv': needs an image, but 'fc' gives a vector of 7"},
        {lstm_on_image, "layer 'lstm': needs a sequence, but 'image0' gives an image of 1 × 5 × 4"},
        {dense_on_tokens, "layer 'fc': cannot read tokens"},
        {embedding_on_image, "layer 'embedding': needs tokens, but reads 'image0'"},
        {no_units, "layer 'fc': its width must be at least 1, not 0"},
        {negative_stride, "layer 'max_pool1': its stride must be at least 1, not -1"},
        {no_channels, "layer 'image0': its channels must be at least 1, not 0"},
        {two_images, "layer 'image1': there is such an input already: 'image0'"},
        {dropout_of_all, "layer 'dropout1': the rate must be at least 0 and below 1, not 1"},
        {dropout_not_a_number, "layer 'dropout1': the rate must be at least 0 and below 1"},
        {no_epsilon, "layer 'bn': a decay of 0.9 and an epsilon of 0"},
        {concat_of_sizes, "layer 'concat2': 'image0' gives an image of 3 × 8 × 8 and 'max_pool1' "
                          "gives an image of 3 × 4 × 4"},
        {concat_of_five, "layer 'concat1': joins 1 to 4 layers, not 5"},
        {same_name, "layer 'fc': there is another layer of this name"},
        {long_name, "its name is too long"},
        {from_nowhere, "layer 'fc': reads layer 5, which is not there"},
        {unread, "layer 'lost': no other layer reads it"},
        {image_at_the_end, "layer 'conv': the last layer must be a vector"},
        {nothing_to_learn, "layer 'global_average1': the last layer must be a vector that"},
        {wide_sigmoid, "layer 'fc': a sigmoid needs one unit, not 2"},
        {aux_of_lengths,
         "layer 'aux3': needs two vectors of one length, but 'fc' gives a vector of "
         "2 and 'aux.fc' a vector of 3"},
        {aux_of_image, "layer 'aux2': needs two vectors of one length, but 'fc' gives a vector of "
                       "2 and 'image0' an image of 2 × 1 × 1"},
        {aux_of_the_same, "layer 'aux2': needs two layers, but reads 'fc' twice"},
        {aux_without_weight, "layer 'aux3': a weight of 0 makes no sense"},
        {aux_on_the_way, "layer 'aux3': it must be the last layer"},
        {aux_of_sigmoid, "layer 'aux3': an auxiliary loss needs a softmax"},
        {huge_image, "layer 'image0': its output is too large"},
        {huge_weight, "layer 'conv': its weight is too large"},
        {huge_lstm, "layer 'lstm': 1073741824 units are too many"},
        {empty, "net 'bad' has no layers"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct net net;
        struct err err = {0};
        net_init(&net, "bad");
        rows[i].build(&net);
        assert_int_equal(net_check(&net, &err), ERR_FAIL);
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s' is not in '%s'", rows[i].text, err.text);
        net_release(&net);
    }
}

// The first mistake is told, whatever is built on top of it.
TEST(test_mistake_sticks)
{
    struct net net;
    struct err err = {0};
    net_init(&net, "bad");
    int at = conv3(&net, net_image(&net, 1, 2, 2), 8, NET_VALID, "conv1");
    assert_int_equal(at, -1);
    at = net_max_pool(&net, at, 2, 2, NET_SAME);
    assert_int_equal(at, -1);
    assert_int_equal(net_dense(&net, 0, 3, false, "fc"), -1);
    assert_int_not_equal(net_check(&net, &err), 0);
    assert_non_null(strstr(err.text, "'conv1'"));
    net_release(&net);
    net_release(&net); // a released net can be released
}

TEST(test_shape_count)
{
    assert_int_equal(net_shape_count(&(struct net_shape){1, {7}}), 7);
    assert_int_equal(net_shape_count(&(struct net_shape){2, {7, 5}}), 35);
    assert_int_equal(net_shape_count(&(struct net_shape){3, {2000, 1000, 1000}}), 2000000000);
}

// ==== net_sequence ====
// The layers of transformers: shapes, parameters, costs, initial values, mistakes.

static const struct gpt2_size *size_of(const char *name)
{
    const struct gpt2_size *size = gpt2_sizes;
    while (size->name && strcmp(size->name, name) != 0)
        size++;
    assert_non_null(size->name);
    return size;
}

// The parameters that the transformers library counts for gpt2, gpt2-medium, gpt2-large and
// gpt2-xl (model.num_parameters()); operations by the customary formula.
TEST(the_sizes_have_the_published_parameters)
{
    static const struct {
        const char *size;
        int64_t parameters;
        double layers, width;
    } rows[] = {{"124m", 124439808, 12, 768},
                {"350m", 354823168, 24, 1024},
                {"774m", 774030080, 36, 1280},
                {"1558m", 1557611200, 48, 1600}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int context = 1024; context > 200; context -= 768) {
            struct net net;
            struct net_cost cost;
            struct err err = {0};
            net_init(&net, "gpt2");
            gpt2_build(&net, size_of(rows[i].size), context, GPT2_VOCABULARY);
            assert_ok(net_check(&net, &err), &err);
            net_cost(&net, 3, &cost);
            assert_int_equal(cost.parameters, rows[i].parameters);
            double each =
                6 * (double)rows[i].parameters + 12 * rows[i].layers * rows[i].width * context;
            assert_true(fabs((cost.forward_flops + cost.backward_flops) / (3 * context * each) -
                             1) < 1e-12);
            assert_int_equal(net_labels(&net.layers[net.layer_count - 1]), context);
            assert_int_equal(net_classes(&net.layers[net.layer_count - 1]), GPT2_VOCABULARY);
            net_release(&net);
        }
}

// Names, shapes and order of GPT2LMHeadModel's state_dict() with one layer and width 6; the
// usual start of GPT-2, decay on matrices only.
TEST(parameters_are_those_of_transformers)
{
    static const struct {
        const char *name;
        int rank;
        int64_t dim[2];
        float deviation; // 0: zeros; -1: ones
    } rows[] = {
        {"transformer.wte.weight", 2, {11, 6}, 0.02F},
        {"transformer.wpe.weight", 2, {1024, 6}, 0.02F},
        {"transformer.h.0.ln_1.weight", 1, {6}, -1},
        {"transformer.h.0.ln_1.bias", 1, {6}, 0},
        {"transformer.h.0.attn.c_attn.weight", 2, {6, 18}, 0.02F},
        {"transformer.h.0.attn.c_attn.bias", 1, {18}, 0},
        {"transformer.h.0.attn.c_proj.weight", 2, {6, 6}, 0.0141421356F},
        {"transformer.h.0.attn.c_proj.bias", 1, {6}, 0},
        {"transformer.h.0.ln_2.weight", 1, {6}, -1},
        {"transformer.h.0.ln_2.bias", 1, {6}, 0},
        {"transformer.h.0.mlp.c_fc.weight", 2, {6, 24}, 0.02F},
        {"transformer.h.0.mlp.c_fc.bias", 1, {24}, 0},
        {"transformer.h.0.mlp.c_proj.weight", 2, {24, 6}, 0.0141421356F},
        {"transformer.h.0.mlp.c_proj.bias", 1, {6}, 0},
        {"transformer.ln_f.weight", 1, {6}, -1},
        {"transformer.ln_f.bias", 1, {6}, 0},
    };
    struct net net;
    struct err err = {0};
    net_init(&net, "gpt2");
    gpt2_build(&net, &(struct gpt2_size){"small", 1, 3, 6}, 5, 11);
    assert_ok(net_check(&net, &err), &err);
    assert_int_equal(net.param_count, sizeof rows / sizeof *rows);
    for (int i = 0; i < net.param_count; i++) {
        const struct net_param *p = &net.params[i];
        assert_string_equal(p->name, rows[i].name);
        assert_int_equal(p->rank, rows[i].rank);
        for (int d = 0; d < p->rank; d++)
            assert_int_equal(p->dim[d], rows[i].dim[d]);
        assert_true(p->trained);
        assert_int_equal(p->decayed, p->rank == 2);
        assert_int_equal(p->init, p->rank == 2             ? NET_NORMAL
                                  : rows[i].deviation == 0 ? NET_ZERO
                                                           : NET_ONE);
        assert_true(p->rank == 1 || fabsf(p->deviation - rows[i].deviation) < 1e-8F);
    }
    net_release(&net);
}

TEST(weights_start_normal)
{
    struct net_param param = {
        .name = "w", .rank = 2, .dim = {500, 200}, .count = 100000, .init = NET_NORMAL};
    param.deviation = 0.02F;
    float *values = malloc((size_t)param.count * sizeof *values);
    assert_non_null(values);
    struct err err = {0};
    assert_ok(net_init_param(&param, 5, values, &err), &err);
    double sum = 0, squares = 0;
    int beyond[2] = {0}; // one and two deviations
    for (int64_t i = 0; i < param.count; i++) {
        double z = (double)values[i] / 0.02;
        sum += z;
        squares += z * z;
        beyond[0] += fabs(z) > 1;
        beyond[1] += fabs(z) > 2;
    }
    double n = (double)param.count;
    assert_true(fabs(sum / n) < 5 / sqrt(n));
    assert_true(fabs(squares / n - 1) < 5 * sqrt(2 / n));
    assert_true(fabs(beyond[0] / n - 0.31731) < 5 * sqrt(0.2166 / n)); // tables of the normal
    assert_true(fabs(beyond[1] / n - 0.04550) < 5 * sqrt(0.0434 / n)); // distribution
    free(values);
}

// ---- mistakes ----

static int embedded(struct net *net)
{
    return net_embedding(net, net_tokens(net, 4, 10), 6, "words");
}

static void norm_of_an_image(struct net *net)
{
    net_layer_norm(net, net_image(net, 1, 2, 2), 1e-5F, "norm");
}
static void too_few_positions(struct net *net)
{
    net_position(net, embedded(net), 3, "wpe");
}
static void heads_that_do_not_divide(struct net *net)
{
    int x = net_linear(net, embedded(net), 18, 0.02F, "qkv");
    net_attention(net, x, 4, "attn");
}
static void sum_of_other_shapes(struct net *net)
{
    int x = embedded(net);
    net_add(net, x, net_linear(net, x, 5, 0.02F, "fc"), "sum");
}
static void sum_with_itself(struct net *net)
{
    int x = embedded(net);
    net_add(net, x, x, "sum");
}
static void head_of_no_embedding(struct net *net)
{
    int x = net_linear(net, embedded(net), 5, 0.02F, "fc");
    net_tied_head(net, x, x, "head");
}
static void head_of_another_width(struct net *net)
{
    int words = embedded(net);
    net_tied_head(net, net_linear(net, words, 5, 0.02F, "fc"), words, "head");
}
static void head_that_is_read(struct net *net)
{
    int words = embedded(net);
    net_dense(net, net_tied_head(net, words, words, "head"), 2, false, "out");
}
static void no_deviation(struct net *net)
{
    net_linear(net, embedded(net), 5, 0, "fc");
}
static void net_sequence_no_epsilon(struct net *net)
{
    net_layer_norm(net, embedded(net), 0, "norm");
}
static void a_sequence_at_the_end(struct net *net)
{
    net_gelu(net, embedded(net), "act");
}
static void a_sigmoid_over_words(struct net *net)
{
    int words = embedded(net);
    net_tied_head(net, words, words, "head");
    net_set_loss(net, NET_SIGMOID);
}
static void tokens_as_numbers(struct net *net)
{
    net_gelu(net, net_tokens(net, 4, 10), "act");
}

TEST(mistakes_name_the_layer)
{
    static const struct {
        void (*build)(struct net *net);
        const char *text;
    } rows[] = {
        {norm_of_an_image,
         "layer 'norm': needs a sequence, but 'image0' gives an image of 1 × 2 × 2"},
        {too_few_positions, "layer 'wpe': has 3 positions, but 'words' has 4 time steps"},
        {heads_that_do_not_divide,
         "layer 'attn': reads q, k and v of 4 heads side by side, but 'qkv' has 18 features, which "
         "is no multiple of 12"},
        {sum_of_other_shapes, "layer 'sum': cannot add: 'words' gives a sequence of 4 × 6 and 'fc' "
                              "gives a sequence of 4 × 5"},
        {sum_with_itself, "layer 'sum': needs two layers, but reads 'words' twice"},
        {head_of_no_embedding, "layer 'head': needs an embedding to share, and layer 2 is none"},
        {head_of_another_width, "layer 'head': 'fc' gives 5 features, but 'words' has 6"},
        {head_that_is_read, "layer 'head': it must be the last layer"},
        {no_deviation, "layer 'fc': a deviation of 0 makes no sense"},
        {net_sequence_no_epsilon, "layer 'norm': an epsilon of 0 makes no sense"},
        {a_sequence_at_the_end,
         "layer 'act': the last layer must be a vector that is learned, or a tied head"},
        {a_sigmoid_over_words, "layer 'head': a tied head needs a softmax"},
        {tokens_as_numbers,
         "layer 'act': cannot read tokens; embed them or make them one-hot first"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct net net;
        struct err err = {0};
        net_init(&net, "n");
        rows[i].build(&net);
        assert_int_equal(net_check(&net, &err), ERR_FAIL);
        char whole[300];
        snprintf(whole, sizeof whole, "net 'n', %s", rows[i].text);
        assert_string_equal(err.text, whole);
        net_release(&net);
    }
}

// ---- the schedule ----

// Written out by hand: a tenth after half the circle, the mean of both ends in the middle.
TEST(the_rate_rises_and_falls)
{
    const struct recipe recipe = {.warmup = 100,
                                  .floor = 0.1F,
                                  .batch = 1,
                                  .stages = {{.rate = 6e-4F, .steps = 1000}},
                                  .stage_count = 1};
    static const struct {
        int64_t t;
        double rate;
    } rows[] = {{0, 6e-6},
                {49, 3e-4},
                {99, 6e-4},
                {100, 6e-4},
                {325, 6e-5 + 5.4e-4 * 0.5 * (1 + 0.70710678118654752)},
                {550, 3.3e-4},
                {1000, 6e-5},
                {5000, 6e-5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(fabs(recipe_rate(&recipe, 0, rows[i].t) / rows[i].rate - 1) < 1e-6);
    const struct recipe plain = {.stages = {{.rate = 0.5F}, {.rate = 0.25F}}, .stage_count = 2};
    assert_true(recipe_rate(&plain, 1, 77) == 0.25);
}
