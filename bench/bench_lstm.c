// SPDX-License-Identifier: Apache-2.0
// The LSTM and embedding of one training step, at the shapes of imdb, tweets and textgen:
//     bench_lstm [THREADS]
// Tokens are drawn evenly from the whole vocabulary (every one different: the worst case) and as
// words are in a text (Zipf's law, with the padding of the workload). Median and best of many
// steps.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/lstm.h"
#include "engine/cpu/team.h"

enum { BATCHES = 64, STEPS = 200 };

struct shape {
    const char *name;
    int batch, time, in, units, vocabulary; // no vocabulary: one-hot
    bool both_ways;
    double used; // share of the positions that are not padding, for words
};

static const struct shape shapes[] = {
    {"imdb", 32, 100, 128, 64, 20000, true, 0.95},
    {"tweets", 32, 50, 128, 64, 274562, true, 0.35},
    {"textgen", 128, 40, 57, 128, 0, false, 1},
};

static int32_t draw(struct rng *rng, int vocabulary, bool words)
{
    if (!words)
        return (int32_t)rng_below(rng, (uint64_t)vocabulary);
    return (int32_t)exp(rng_double(rng) * log((double)vocabulary - 1)); // rank r: as 1 / r
}

static void fill_tokens(const struct shape *s, bool words, int32_t *tokens)
{
    struct rng rng;
    rng_init(&rng, 1);
    int vocabulary = s->vocabulary ? s->vocabulary : s->in;
    for (int sample = 0; sample < BATCHES * s->batch; sample++) {
        double length = words ? s->time * s->used * (0.5 + rng_double(&rng)) : s->time;
        for (int t = 0; t < s->time; t++)
            *tokens++ = t < length ? draw(&rng, vocabulary, words) : 0;
    }
}

static int by_size(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

enum { LOOK, FORWARD, BACKWARD, STEP, PACK, ALL, PARTS };
static const char *const parts[PARTS] = {"look", "forward", "backward", "step", "pack", "all"};

static void report(const struct shape *s, bool words, double times[PARTS][STEPS], double distinct)
{
    double positions = (double)s->batch * s->time, h = s->units, ways = s->both_ways ? 2 : 1;
    double flops = 3 * 2 * positions * ways * 4 * h * h;
    if (s->vocabulary) // as if every position had an input of its own
        flops += 3 * 2 * positions * ways * 4 * h * s->in;
    printf("%-8s %-6s", s->name, words ? "words" : "even");
    for (int i = 0; i < PARTS; i++) {
        qsort(times[i], STEPS, sizeof times[i][0], by_size);
        printf(" %s %.2f", parts[i], times[i][STEPS / 2]);
    }
    printf(" (best %.2f) ms, %.0f different, %.0f GFLOP/s\n", times[ALL][0], distinct,
           flops / times[ALL][STEPS / 2] * 1e-6);
}

static int bench(const struct shape *s, bool words, struct err *err)
{
    static double times[PARTS][STEPS];
    const struct recipe recipe = {.optimizer = OPTIMIZER_ADAM,
                                  .rho = 0.9F,
                                  .beta2 = 0.999F,
                                  .epsilon = 1e-8F,
                                  .phases = {{.rate = 0.001F}}};
    const size_t positions = (size_t)s->batch * (size_t)s->time;
    const size_t ih = (size_t)(4 * s->units * s->in), hh = (size_t)(4 * s->units * s->units);
    const size_t weights_all = 2 * (ih + hh + (size_t)(4 * s->units));
    struct embedding *embedding = NULL;
    struct lstm *lstm = NULL;
    int32_t *tokens = malloc(BATCHES * positions * sizeof *tokens);
    float *values = malloc(2 * weights_all * sizeof *values);
    float *out = malloc((size_t)(2 * s->batch * s->units) * sizeof *out);
    int rc = tokens && values && out ? 0 : err_memory(err);
    struct embedding_spec espec = {.vocabulary = s->vocabulary,
                                   .units = s->in,
                                   .positions = (int64_t)positions,
                                   .recipe = &recipe};
    if (rc == 0 && s->vocabulary)
        rc = embedding_new(&espec, &embedding, err);
    struct lstm_spec lspec = {.batch = s->batch,
                              .time = s->time,
                              .in = s->in,
                              .units = s->units,
                              .both_ways = s->both_ways,
                              .training = true,
                              .input = embedding ? LSTM_EMBEDDING : LSTM_ONE_HOT,
                              .embedding = embedding};
    if (rc == 0)
        rc = lstm_new(&lspec, &lstm, err);
    if (rc != 0)
        goto out;
    fill_tokens(s, words, tokens);
    struct rng rng;
    rng_init(&rng, 2);
    for (size_t i = 0; i < 2 * weights_all; i++)
        values[i] = (rng_float(&rng) - 0.5F) * 0.2F;
    struct lstm_weights weights[2];
    struct lstm_grads grads[2];
    for (size_t w = 0; w < 2; w++) {
        float *at = values + w * weights_all / 2, *grad = at + weights_all;
        weights[w] = (struct lstm_weights){at, at + ih, at + ih + hh};
        grads[w] = (struct lstm_grads){grad, grad + ih, grad + ih + hh};
    }
    if (embedding) {
        float *table = embedding_table(embedding);
        for (int64_t i = 0; i < (int64_t)s->vocabulary * s->in; i++)
            table[i] = (rng_float(&rng) - 0.5F) * 0.1F;
    }
    lstm_pack(lstm, weights);
    double distinct = 0;
    for (int step = -2 * BATCHES; step < STEPS; step++) { // the first ones fill Adam's means
        const int32_t *batch = tokens + (size_t)(step + 2 * BATCHES) % BATCHES * positions;
        int64_t at[PARTS];
        at[0] = clock_now_ns();
        if (embedding)
            embedding_look(embedding, batch, (int64_t)positions);
        at[1] = clock_now_ns();
        lstm_forward(lstm, NULL, batch, s->batch, out);
        at[2] = clock_now_ns();
        lstm_backward(lstm, out, grads, NULL);
        at[3] = clock_now_ns();
        if (embedding)
            embedding_step(embedding, step + 2 * BATCHES);
        at[4] = clock_now_ns();
        lstm_pack(lstm, weights);
        at[5] = clock_now_ns();
        for (int i = 0; step >= 0 && i < ALL; i++)
            times[i][step] = (double)(at[i + 1] - at[i]) * 1e-6;
        if (step >= 0) {
            times[ALL][step] = (double)(at[5] - at[0]) * 1e-6;
            distinct += embedding ? (double)embedding_groups(embedding)->distinct / STEPS : 0;
        }
    }
    report(s, words, times, distinct);
out:
    lstm_free(lstm);
    embedding_free(embedding);
    free(tokens);
    free(values);
    free(out);
    return rc;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    int threads = team_set(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0);
    printf("%s, %d threads\n", kernels()->name, threads);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int words = 0; words < 2; words++)
            if (bench(&shapes[i], words, &err) != 0) {
                fprintf(stderr, "%s\n", err.text);
                return 1;
            }
    return 0;
}
