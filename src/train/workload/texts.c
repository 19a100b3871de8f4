// SPDX-License-Identifier: Apache-2.0
// imdb: is a film review good or bad, with an LSTM that reads it both ways (the
// imdb_bidirectional_lstm example of Keras).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "train/workload/workload.h"

static void imdb_build(struct net *net, const struct data_pair *data,
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
    .build = imdb_build,
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
    .build = imdb_build,
};

// ==== textgen ====
// Which character comes next in Nietzsche, with an LSTM (the lstm_text_generation example
// of Keras).

static void textgen_build(struct net *net, const struct data_pair *data,
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
    .build = textgen_build,
};

// ==== generate ====
// Text from a trained net, token by token.

#define PROMPT 32 // tokens from the data, for a net with one label per token

// One of the classes, by its odds raised to 1 / temperature.
static int32_t draw_token(struct rng *rng, const float *odds, int count, double temperature,
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

// Without a text for it a token is its number.
static void add_token(struct buf *out, const struct data_pair *data, int32_t token)
{
    if (token >= 0 && token < data->word_count && data->words[token])
        buf_adds(out, data->words[token]);
    else if (data->words)
        buf_printf(out, "<%d>", token);
    else
        buf_printf(out, "%d ", token);
}

struct text_writer {
    const struct data_pair *data;
    int32_t *tokens; // (batch, time): the first sample is the text so far
    float *odds;     // (batch, classes)
    double *weights; // (classes)
    int filled;      // tokens of the text
    struct rng rng;
};

static void start_text(struct text_writer *w, uint64_t seed)
{
    const struct dataset *set = &w->data->train;
    rng_init(&w->rng, seed);
    dataset_tokens(set, (int64_t)rng_below(&w->rng, (uint64_t)set->count), w->tokens);
    w->filled = set->stream && set->time > PROMPT ? PROMPT : set->time;
}

// The text moves on by one where there is no more space behind it.
static void append_token(struct text_writer *w, int32_t token)
{
    int time = w->data->train.time;
    if (w->filled == time) {
        memmove(w->tokens, w->tokens + 1, (size_t)(time - 1) * sizeof *w->tokens);
        w->filled--;
    }
    w->tokens[w->filled++] = token;
}

int workload_generate(const struct engine *engine, struct engine_program *program,
                      const struct data_pair *data, const struct workload_text *text,
                      struct buf *out, struct err *err)
{
    const struct dataset *set = &data->train;
    size_t samples = (size_t)text->batch;
    struct text_writer w = {.data = data};
    w.tokens = calloc(samples * (size_t)set->time, sizeof *w.tokens);
    w.odds = calloc(samples * (size_t)set->classes, sizeof *w.odds);
    w.weights = calloc((size_t)set->classes, sizeof *w.weights);
    int rc = w.tokens && w.odds && w.weights ? 0 : err_memory(err);
    if (rc == 0) {
        start_text(&w, text->seed);
        for (int i = 0; i < w.filled; i++)
            add_token(out, data, w.tokens[i]);
    }
    for (int64_t i = 0; i < text->count && rc == 0; i++) {
        const struct engine_batch sample = {
            .count = 1, .tokens = w.tokens, .position = set->stream ? w.filled - 1 : 0};
        rc = engine->predict(program, &sample, w.odds, err);
        if (rc != 0)
            break;
        int32_t next = draw_token(&w.rng, w.odds, set->classes, text->temperature, w.weights);
        add_token(out, data, next);
        append_token(&w, next);
    }
    if (rc == 0)
        rc = buf_check(out, err);
    free(w.tokens);
    free(w.odds);
    free(w.weights);
    return rc;
}

// ==== gpt2 ====
// The next token of a text, with the transformer of GPT-2 (Radford et al. 2019) in its four
// sizes. Layers and tensors have the names and layouts of the transformers library's
// GPT2LMHeadModel.

#define EPSILON 1e-5F

const struct gpt2_size gpt2_sizes[] = {
    {"3m", 2, 1, 64},       {"124m", 12, 12, 768},   {"350m", 24, 16, 1024},
    {"774m", 36, 20, 1280}, {"1558m", 48, 25, 1600}, {NULL, 0, 0, 0},
};

const char *gpt2_size_name(size_t i)
{
    return gpt2_sizes[i].name;
}

// "transformer.h.3.attn.c_attn"
static const char *name_in(char *name, size_t size, int block, const char *part)
{
    snprintf(name, size, "transformer.h.%d.%s", block, part);
    return name;
}

static int gpt2_block(struct net *net, int x, int block, const struct gpt2_size *size)
{
    char name[NET_NAME_BYTES];
    float end = NET_DEVIATION / sqrtf(2 * (float)size->layers); // of what the residual path adds
#define NAME(part) name_in(name, sizeof name, block, part)
    int y = net_layer_norm(net, x, EPSILON, NAME("ln_1"));
    y = net_linear(net, y, 3 * size->width, NET_DEVIATION, NAME("attn.c_attn"));
    y = net_attention(net, y, size->heads, NAME("attn"));
    y = net_linear(net, y, size->width, end, NAME("attn.c_proj"));
    x = net_add(net, x, y, NAME("sum_1"));
    y = net_layer_norm(net, x, EPSILON, NAME("ln_2"));
    y = net_linear(net, y, 4 * size->width, NET_DEVIATION, NAME("mlp.c_fc"));
    y = net_gelu(net, y, NAME("mlp.act"));
    y = net_linear(net, y, size->width, end, NAME("mlp.c_proj"));
    return net_add(net, x, y, NAME("sum_2"));
#undef NAME
}

void gpt2_build(struct net *net, const struct gpt2_size *size, int context, int vocabulary)
{
    int rows = context > GPT2_CONTEXT ? context : GPT2_CONTEXT;
    int tokens = net_tokens(net, context, vocabulary);
    int words = net_embedding(net, tokens, size->width, "transformer.wte");
    int x = net_position(net, words, rows, "transformer.wpe");
    for (int i = 0; i < size->layers; i++)
        x = gpt2_block(net, x, i, size);
    x = net_layer_norm(net, x, EPSILON, "transformer.ln_f");
    net_tied_head(net, x, words, "lm_head");
    net_set_loss(net, NET_SOFTMAX);
}

static void gpt2_workload_build(struct net *net, const struct data_pair *data,
                                const struct workload_options *options)
{
    const char *name = options->size ? options->size : GPT2_SIZE;
    const struct gpt2_size *size = gpt2_sizes;
    while (size->name && strcmp(size->name, name) != 0)
        size++;
    if (size->name)
        gpt2_build(net, size, data->train.time, data->train.vocabulary);
    else
        err_set(&net->problem, ERR_USAGE, "gpt2 has no size '%s'", name);
}

const struct workload workload_gpt2 = {
    .name = "gpt2",
    .summary = "the next token of a text: GPT-2, a transformer of 124 million parameters",
    .origin = "Radford et al. 2019, as nanoGPT and llm.c train it",
    .data = "tokens",
    .recipe = {.optimizer = OPTIMIZER_ADAMW,
               .rho = 0.9F,
               .beta2 = 0.95F,
               .epsilon = 1e-8F,
               .weight_decay = 0.1F,
               .clip = 1,
               .warmup = 100,
               .floor = 0.1F,
               .batch = 32,
               .stages = {{.steps = 1000, .rate = 6e-4F}},
               .stage_count = 1},
    .metric = WORKLOAD_FALLS,
    .made_train = 32000,
    .made_test = 64,
    .bf16_on_gpu = true,
    .heavy = true,
    .takes = {.size = GPT2_SIZE, .context = GPT2_CONTEXT},
    .temperature = 0.8,
    .build = gpt2_workload_build,
};
