// SPDX-License-Identifier: Apache-2.0
// imdb: is a film review good or bad, with an LSTM that reads it both ways (the
// imdb_bidirectional_lstm example of Keras).
#include "workload/workload.h"

static void build(struct net *net, const struct data_pair *data,
                  const struct workload_options *options)
{
    int x = net_tokens(net, data->train.time, data->train.vocabulary);
    x = net_embedding(net, x, 128, "e");
    x = net_lstm(net, x, 64, true, "l");
    if (options->hard_gates)
        net_set_hard_gates(net, x);
    x = net_dropout(net, x, 0.5F);
    net_dense(net, x, 1, false, "d");
    net_set_loss(net, NET_SIGMOID);
}

#define BOTH_WAYS                                                                                  \
    {                                                                                              \
        .optimizer = OPTIMIZER_ADAM, .rho = 0.9F, .beta2 = 0.999F, .epsilon = 1e-8F, .batch = 32,  \
        .epochs = 4, .stages = {{.rate = 0.001F}}, .stage_count = 1                                \
    }

const struct workload workload_imdb = {
    .name = "imdb",
    .summary = "film reviews: embedding, bidirectional LSTM",
    .origin = "Keras imdb_bidirectional_lstm",
    .data = "imdb",
    .recipe = BOTH_WAYS,
    .metric = WORKLOAD_ACCURACY,
    .reach = 0.825,
    .made_train = 25000,
    .made_test = 25000,
    .takes = {.hard_gates = true},
    .build = build,
};

// The same net on 1.6 million tweets, whose vocabulary makes it thirteen times as large.
const struct workload workload_tweets = {
    .name = "tweets",
    .summary = "tweets: the same net with a vocabulary of 275,000 words",
    .origin = "six GPU providers compared on 1.6 million tweets, 2018",
    .data = "tweets",
    .recipe = BOTH_WAYS,
    .metric = WORKLOAD_ACCURACY,
    .reach = 0.822,
    .made_train = 100000,
    .made_test = 10000,
    .takes = {.hard_gates = true},
    .build = build,
};
