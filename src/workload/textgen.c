// SPDX-License-Identifier: Apache-2.0
// textgen: which character comes next in Nietzsche, with an LSTM (the lstm_text_generation example
// of Keras).
#include "workload/workload.h"

static void build(struct net *net, const struct data_pair *data,
                  const struct workload_options *options)
{
    int x = net_tokens(net, data->train.time, data->train.vocabulary);
    x = net_one_hot(net, x);
    x = net_lstm(net, x, 128, false, "l");
    if (options->hard_gates)
        net_set_hard_gates(net, x);
    net_dense(net, x, data->train.vocabulary, false, "d");
    net_set_loss(net, NET_SOFTMAX);
}

const struct workload workload_textgen = {
    .name = "textgen",
    .summary = "the next character of a text: LSTM of 128",
    .origin = "Keras lstm_text_generation",
    .data = "nietzsche",
    .recipe = {.optimizer = OPTIMIZER_RMSPROP,
               .rho = 0.9F,
               .epsilon = 1e-8F,
               .batch = 128,
               .epochs = 10,
               .stages = {{.rate = 0.01F}},
               .stage_count = 1},
    .metric = WORKLOAD_LOSS,
    .reach = 1.44,
    .made_train = 200285,
    .made_test = 0,
    .takes = {.hard_gates = true},
    .temperature = 0.5,
    .build = build,
};
