// SPDX-License-Identifier: Apache-2.0
// textgen: which character comes next in Nietzsche, with an LSTM (the lstm_text_generation example
// of Keras); and text from the trained net.
#include "workload/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

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
    .build = build,
};

// One of the classes, by its odds raised to 1 / temperature.
static int32_t draw(struct rng *rng, const float *odds, int count, double temperature,
                    double *weights)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        weights[i] = pow((double)odds[i], 1 / temperature);
        sum += weights[i];
    }
    double at = rng_double(rng) * sum;
    for (int i = 0; i < count; i++) {
        at -= weights[i];
        if (at < 0)
            return i;
    }
    return count - 1;
}

static void add_token(struct buf *out, const struct data_pair *data, int32_t token)
{
    if (token >= 0 && token < data->word_count && data->words[token])
        buf_adds(out, data->words[token]);
}

int textgen_write(const struct engine *engine, struct engine_program *program,
                  const struct data_pair *data, int64_t batch, uint64_t seed, double temperature,
                  int64_t count, struct buf *out, struct err *err)
{
    const struct dataset *set = &data->train;
    int classes = set->vocabulary, time = set->time;
    int32_t *tokens = calloc((size_t)(batch * time), sizeof *tokens);
    int32_t *labels = calloc((size_t)batch, sizeof *labels);
    float *odds = calloc((size_t)(batch * classes), sizeof *odds);
    double *weights = calloc((size_t)classes, sizeof *weights);
    int rc = 0;
    if (!tokens || !labels || !odds || !weights) {
        rc = err_memory(err);
        goto out;
    }
    struct rng rng;
    rng_init(&rng, seed);
    int64_t start = (int64_t)rng_below(&rng, (uint64_t)set->count);
    dataset_tokens(set, start, tokens);
    for (int i = 0; i < time; i++)
        add_token(out, data, tokens[i]);
    const struct engine_batch sample = {.count = 1, .tokens = tokens, .labels = labels};
    for (int64_t i = 0; i < count && rc == 0; i++) {
        rc = engine->predict(program, &sample, odds, err);
        if (rc != 0)
            break;
        int32_t next = draw(&rng, odds, classes, temperature, weights);
        add_token(out, data, next);
        memmove(tokens, tokens + 1, (size_t)(time - 1) * sizeof *tokens);
        tokens[time - 1] = next;
    }
    if (rc == 0)
        rc = buf_check(out, err);
out:
    free(tokens);
    free(labels);
    free(odds);
    free(weights);
    return rc;
}
