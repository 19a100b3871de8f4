// SPDX-License-Identifier: Apache-2.0
// cifar: small photographs in ten classes (the cifar10_cnn example of Keras, with its
// augmentation).
#include "workload/workload.h"

// Two convolutions, the first as wide as the image, a pool and dropout.
static int block(struct net *net, int x, int filters, const char *first, const char *second)
{
    struct net_conv conv = {
        .filters = filters, .kernel_h = 3, .kernel_w = 3, .padding = NET_SAME, .relu = true};
    x = net_conv(net, x, conv, first);
    conv.padding = NET_VALID;
    x = net_conv(net, x, conv, second);
    x = net_max_pool(net, x, 2, 2, NET_VALID);
    return net_dropout(net, x, 0.25F);
}

static void build(struct net *net, const struct data_pair *data,
                  const struct workload_options *options)
{
    (void)options;
    const struct dataset *d = &data->train;
    int x = net_image(net, d->channels, d->height, d->width);
    x = block(net, x, 32, "n.0", "n.2");
    x = block(net, x, 64, "n.6", "n.8");
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
    .build = build,
};
