// SPDX-License-Identifier: Apache-2.0
// Text from a trained net, token by token.
#include "workload/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define PROMPT 32 // tokens from the data, for a net with one label per token

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

struct writer {
    const struct data_pair *data;
    int32_t *tokens; // (batch, time): the first sample is the text so far
    float *odds;     // (batch, classes)
    double *weights; // (classes)
    int filled;      // tokens of the text
    struct rng rng;
};

static void start(struct writer *w, uint64_t seed)
{
    const struct dataset *set = &w->data->train;
    rng_init(&w->rng, seed);
    dataset_tokens(set, (int64_t)rng_below(&w->rng, (uint64_t)set->count), w->tokens);
    w->filled = set->stream && set->time > PROMPT ? PROMPT : set->time;
}

// The text moves on by one where there is no more space behind it.
static void append(struct writer *w, int32_t token)
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
    struct writer w = {.data = data};
    w.tokens = calloc(samples * (size_t)set->time, sizeof *w.tokens);
    w.odds = calloc(samples * (size_t)set->classes, sizeof *w.odds);
    w.weights = calloc((size_t)set->classes, sizeof *w.weights);
    int rc = w.tokens && w.odds && w.weights ? 0 : err_memory(err);
    if (rc == 0) {
        start(&w, text->seed);
        for (int i = 0; i < w.filled; i++)
            add_token(out, data, w.tokens[i]);
    }
    for (int64_t i = 0; i < text->count && rc == 0; i++) {
        const struct engine_batch sample = {
            .count = 1, .tokens = w.tokens, .position = set->stream ? w.filled - 1 : 0};
        rc = engine->predict(program, &sample, w.odds, err);
        if (rc != 0)
            break;
        int32_t next = draw(&w.rng, w.odds, set->classes, text->temperature, w.weights);
        add_token(out, data, next);
        append(&w, next);
    }
    if (rc == 0)
        rc = buf_check(out, err);
    free(w.tokens);
    free(w.odds);
    free(w.weights);
    return rc;
}
