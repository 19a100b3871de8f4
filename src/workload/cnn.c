// SPDX-License-Identifier: Apache-2.0
// cnn: handwritten digits with two convolutions (the mnist_cnn example of Keras).
#include "workload/workload.h"

static void build(struct net *net, const struct data_pair *data,
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
    .build = build,
};
