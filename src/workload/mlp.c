// SPDX-License-Identifier: Apache-2.0
// mlp: handwritten digits with two dense layers (the mnist_mlp example of Keras).
#include "workload/workload.h"

static void build(struct net *net, const struct data_pair *data,
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
    .build = build,
};
