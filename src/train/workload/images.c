// SPDX-License-Identifier: Apache-2.0
// mlp: handwritten digits with two dense layers (the mnist_mlp example of Keras).
#include <stdio.h>

#include "train/workload/workload.h"

static void mlp_build(struct net *net, const struct data_pair *data,
                      const struct workload_options *options)
{
    (void)options;
    const struct dataset *d = &data->train;
    int x = net_image(net, d->channels, d->height, d->width);
    x = net_dense(net, x, 512, true, "n.0");
    x = net_dropout(net, x, 0.2F);
    x = net_dense(net, x, 512, true, "n.3");
    x = net_dropout(net, x, 0.2F);
    net_dense(net, x, d->classes, false, "n.6");
    net_set_loss(net, NET_SOFTMAX);
}

const struct workload workload_mlp = {
    .name = "mlp",
    .summary = "digits: 784-512-512-10 dense, dropout",
    .origin = "Keras mnist_mlp",
    .data = "mnist",
    .recipe = {.optimizer = OPTIMIZER_RMSPROP,
               .rho = 0.9F,
               .epsilon = 1e-8F,
               .batch = 128,
               .epochs = 20,
               .stages = {{.rate = 0.001F}},
               .stage_count = 1},
    .metric = WORKLOAD_ACCURACY,
    .reach = 0.980,
    .made_train = 60000,
    .made_test = 10000,
    .build = mlp_build,
};

// ==== cnn ====
// Handwritten digits with two convolutions (the mnist_cnn example of Keras).

static void cnn_build(struct net *net, const struct data_pair *data,
                      const struct workload_options *options)
{
    (void)options;
    const struct dataset *d = &data->train;
    int x = net_image(net, d->channels, d->height, d->width);
    x = net_conv(net, x,
                 (struct net_conv){.filters = 32, .kernel_h = 3, .kernel_w = 3, .relu = true},
                 "n.0");
    x = net_conv(net, x,
                 (struct net_conv){.filters = 64, .kernel_h = 3, .kernel_w = 3, .relu = true},
                 "n.2");
    x = net_max_pool(net, x, 2, 2, NET_VALID);
    x = net_dropout(net, x, 0.25F);
    x = net_dense(net, x, 128, true, "n.7");
    x = net_dropout(net, x, 0.5F);
    net_dense(net, x, d->classes, false, "n.10");
    net_set_loss(net, NET_SOFTMAX);
}

const struct workload workload_cnn = {
    .name = "cnn",
    .summary = "digits: two 3x3 convolutions, dense, dropout",
    .origin = "Keras mnist_cnn",
    .data = "mnist",
    .recipe = {.optimizer = OPTIMIZER_ADADELTA,
               .rho = 0.95F,
               .epsilon = 1e-8F,
               .batch = 128,
               .epochs = 12,
               .stages = {{.rate = 1.0F}},
               .stage_count = 1},
    .metric = WORKLOAD_ACCURACY,
    .reach = 0.989,
    .made_train = 60000,
    .made_test = 10000,
    .build = cnn_build,
};

// ==== cifar ====
// Small photographs in ten classes (the cifar10_cnn example of Keras, with its
// augmentation).

// Two convolutions, the first as wide as the image, a pool and dropout.
static int cifar_block(struct net *net, int x, int filters, const char *first, const char *second)
{
    struct net_conv conv = {
        .filters = filters, .kernel_h = 3, .kernel_w = 3, .padding = NET_SAME, .relu = true};
    x = net_conv(net, x, conv, first);
    conv.padding = NET_VALID;
    x = net_conv(net, x, conv, second);
    x = net_max_pool(net, x, 2, 2, NET_VALID);
    return net_dropout(net, x, 0.25F);
}

static void cifar_build(struct net *net, const struct data_pair *data,
                        const struct workload_options *options)
{
    (void)options;
    const struct dataset *d = &data->train;
    int x = net_image(net, d->channels, d->height, d->width);
    x = cifar_block(net, x, 32, "n.0", "n.2");
    x = cifar_block(net, x, 64, "n.6", "n.8");
    x = net_dense(net, x, 512, true, "n.13");
    x = net_dropout(net, x, 0.5F);
    net_dense(net, x, d->classes, false, "n.16");
    net_set_loss(net, NET_SOFTMAX);
}

const struct workload workload_cifar = {
    .name = "cifar",
    .summary = "32x32 photographs: four convolutions, shifts and flips",
    .origin = "Keras cifar10_cnn",
    .data = "cifar10",
    .recipe = {.optimizer = OPTIMIZER_RMSPROP,
               .rho = 0.9F,
               .epsilon = 1e-8F,
               .decay = 1e-6F,
               .batch = 32,
               .epochs = 20,
               .stages = {{.rate = 1e-4F}},
               .stage_count = 1},
    .shift_flip = true,
    .metric = WORKLOAD_ACCURACY,
    .reach = 0.73,
    .made_train = 50000,
    .made_test = 10000,
    .build = cifar_build,
};

// ==== inception ====
// Inception v4, fine-tuned on flowers: first the new head alone, then everything. The
// layers' names are those of the PyTorch version: f.N is the Nth block, b.I its Ith branch, c and b
// a convolution and its batch norm.

#define DECAY   0.9997F
#define EPSILON 0.001F

#define AUXILIARY_WEIGHT 0.4F

// Convolution, batch norm, relu: `path` is its name in the PyTorch version.
static int conv(struct net *net, int x, int filters, int h, int w, int stride,
                enum net_padding padding, const char *path)
{
    char name[NET_NAME_BYTES];
    snprintf(name, sizeof name, "%s.c", path);
    x = net_conv(net, x,
                 (struct net_conv){.filters = filters,
                                   .kernel_h = h,
                                   .kernel_w = w,
                                   .stride = stride,
                                   .padding = padding,
                                   .no_bias = true},
                 name);
    snprintf(name, sizeof name, "%s.b", path);
    return net_batch_norm(net, x, DECAY, EPSILON, true, name);
}

// A branch's convolutions in a row, as text: "64 1x1, 96 3x3, 96 3x3s2V". Each is filters, size,
// an optional stride 2, and V for no padding. `branch` is its place: "f.6.b.2".
static int chain(struct net *net, int x, const char *branch, const char *text, bool alone)
{
    int place = 0;
    while (*text) {
        int filters, h, w, used = 0;
        if (sscanf(text, " %d %dx%d%n", &filters, &h, &w, &used) != 3)
            return -1;
        text += used;
        int stride = 1;
        enum net_padding padding = NET_SAME;
        if (text[0] == 's' && text[1] == '2') {
            stride = 2;
            text += 2;
        }
        if (*text == 'V') {
            padding = NET_VALID;
            text++;
        }
        if (*text == ',')
            text++;
        char path[NET_NAME_BYTES - 4];
        if (alone && place == 0 && *text == '\0')
            snprintf(path, sizeof path, "%s", branch);
        else
            snprintf(path, sizeof path, "%s.%d", branch, place);
        x = conv(net, x, filters, h, w, stride, padding, path);
        place++;
    }
    return x;
}

// The name of branch `i` of block `block`.
struct branch_name {
    char s[32];
};
static struct branch_name name_branch(int block, int branch)
{
    struct branch_name p;
    snprintf(p.s, sizeof p.s, "f.%d.b.%d", block, branch);
    return p;
}

// A branch that is an average pool and a convolution: the pool is its member 0.
static int pooled(struct net *net, int x, int block, int branch, int filters)
{
    char path[48];
    snprintf(path, sizeof path, "%s.1", name_branch(block, branch).s);
    x = net_average_pool(net, x, 3, 1, NET_SAME);
    return conv(net, x, filters, 1, 1, 1, NET_SAME, path);
}

static int stem(struct net *net, int x)
{
    x = conv(net, x, 32, 3, 3, 2, NET_VALID, "f.0");
    x = conv(net, x, 32, 3, 3, 1, NET_VALID, "f.1");
    x = conv(net, x, 64, 3, 3, 1, NET_SAME, "f.2");
    int a[2] = {net_max_pool(net, x, 3, 2, NET_VALID),
                chain(net, x, name_branch(3, 1).s, "96 3x3s2V", true)};
    x = net_concat(net, a, 2);
    int b[2] = {chain(net, x, name_branch(4, 0).s, "64 1x1, 96 3x3V", false),
                chain(net, x, name_branch(4, 1).s, "64 1x1, 64 1x7, 64 7x1, 96 3x3V", false)};
    x = net_concat(net, b, 2);
    int c[2] = {chain(net, x, name_branch(5, 0).s, "192 3x3s2V", true),
                net_max_pool(net, x, 3, 2, NET_VALID)};
    return net_concat(net, c, 2);
}

static int block_a(struct net *net, int x, int n)
{
    int b[4] = {chain(net, x, name_branch(n, 0).s, "96 1x1", true),
                chain(net, x, name_branch(n, 1).s, "64 1x1, 96 3x3", false),
                chain(net, x, name_branch(n, 2).s, "64 1x1, 96 3x3, 96 3x3", false),
                pooled(net, x, n, 3, 96)};
    return net_concat(net, b, 4);
}

static int reduction_a(struct net *net, int x, int n)
{
    int b[3] = {chain(net, x, name_branch(n, 0).s, "384 3x3s2V", true),
                chain(net, x, name_branch(n, 1).s, "192 1x1, 224 3x3, 256 3x3s2V", false),
                net_max_pool(net, x, 3, 2, NET_VALID)};
    return net_concat(net, b, 3);
}

static int block_b(struct net *net, int x, int n)
{
    int b[4] = {
        chain(net, x, name_branch(n, 0).s, "384 1x1", true),
        chain(net, x, name_branch(n, 1).s, "192 1x1, 224 1x7, 256 7x1", false),
        chain(net, x, name_branch(n, 2).s, "192 1x1, 192 7x1, 224 1x7, 224 7x1, 256 1x7", false),
        pooled(net, x, n, 3, 128)};
    return net_concat(net, b, 4);
}

static int reduction_b(struct net *net, int x, int n)
{
    int b[3] = {chain(net, x, name_branch(n, 0).s, "192 1x1, 192 3x3s2V", false),
                chain(net, x, name_branch(n, 1).s, "256 1x1, 256 1x7, 320 7x1, 320 3x3s2V", false),
                net_max_pool(net, x, 3, 2, NET_VALID)};
    return net_concat(net, b, 3);
}

// Two branches that end in a fork of 1×3 and 3×1.
static int fork_of(struct net *net, int x, int n, int branch, const char *text, int member)
{
    char path[64];
    x = chain(net, x, name_branch(n, branch).s, text, false);
    snprintf(path, sizeof path, "%s.%d.b.0", name_branch(n, branch).s, member);
    int wide = conv(net, x, 256, 1, 3, 1, NET_SAME, path);
    snprintf(path, sizeof path, "%s.%d.b.1", name_branch(n, branch).s, member);
    int tall = conv(net, x, 256, 3, 1, 1, NET_SAME, path);
    return net_concat(net, (int[2]){wide, tall}, 2);
}

static int block_c(struct net *net, int x, int n)
{
    int b[4] = {chain(net, x, name_branch(n, 0).s, "256 1x1", true),
                fork_of(net, x, n, 1, "384 1x1", 1),
                fork_of(net, x, n, 2, "384 1x1, 448 3x1, 512 1x3", 3), pooled(net, x, n, 3, 256)};
    return net_concat(net, b, 4);
}

// The second head, on the last block B; its dense layer is trained with the other head's.
static int auxiliary_head(struct net *net, int x, int classes)
{
    x = net_average_pool(net, x, 5, 3, NET_VALID);
    x = conv(net, x, 128, 1, 1, 1, NET_SAME, "aux.0");
    x = conv(net, x, 768, 5, 5, 1, NET_VALID, "aux.1");
    return net_dense(net, x, classes, false, "aux.d");
}

void inception_build(struct net *net, int classes, bool auxiliary)
{
    int x = stem(net, net_image(net, 3, 299, 299));
    int n = 6;
    for (int i = 0; i < 4; i++)
        x = block_a(net, x, n++);
    x = reduction_a(net, x, n++);
    for (int i = 0; i < 7; i++)
        x = block_b(net, x, n++);
    int head = auxiliary ? auxiliary_head(net, x, classes) : -1;
    x = reduction_b(net, x, n++);
    for (int i = 0; i < 3; i++)
        x = block_c(net, x, n++);
    x = net_global_average(net, x);
    x = net_dropout(net, x, 0.2F);
    x = net_dense(net, x, classes, false, "d");
    if (auxiliary)
        net_aux(net, x, head, AUXILIARY_WEIGHT);
    net_set_loss(net, NET_SOFTMAX);
}

static void inception_workload_build(struct net *net, const struct data_pair *data,
                                     const struct workload_options *options)
{
    inception_build(net, data->train.classes, options->auxiliary);
}

const struct workload workload_inception = {
    .name = "inception",
    .summary = "Inception v4 on flowers: the head, then everything",
    .origin = "Inception v4 fine-tuned on rented GPUs, 2017",
    .data = "flowers",
    .recipe = {.optimizer = OPTIMIZER_RMSPROP_MOMENTUM,
               .rho = 0.9F,
               .epsilon = 1.0F,
               .momentum = 0.9F,
               .weight_decay = 4e-5F,
               .batch = 32,
               .stages = {{.steps = 1000, .rate = 0.01F, .only = "d"},
                          {.steps = 500, .rate = 0.0001F}},
               .stage_count = 2},
    .flip = true,
    .centre_unit = true,
    .metric = WORKLOAD_FALLS,
    .made_train = 320,
    .made_test = 64,
    .heavy = true,
    .takes = {.auxiliary = true},
    .build = inception_workload_build,
};
