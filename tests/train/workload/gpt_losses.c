// SPDX-License-Identifier: Apache-2.0
// Trains a GPT-2 of any size on given tokens and prints the loss of each step, for comparison with
// another implementation.
//
//     gpt_losses ENGINE[:PRECISION] LAYERS HEADS WIDTH CONTEXT VOCABULARY BATCH STEPS TOKENS START
//         [STOP]
//
// TOKENS holds uint16: consecutive windows of context + 1 tokens, batch × windows in a step, used
// again from the beginning when they end. START is written: the initial parameters (safetensors).
// STEPS is the length of the schedule, STOP that of the run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint/safetensors.h"
#include "train/workload/workload.h"

static int fail(const struct err *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

static int write_start(const char *path, const struct net *net, struct err *err)
{
    struct safetensors_writer w;
    struct safetensors_entry entries[1024];
    for (int i = 0; i < net->param_count; i++)
        entries[i] = (struct safetensors_entry){net->params[i].name, net->params[i].rank,
                                                net->params[i].dim};
    TRY(safetensors_begin(&w, path, NULL, 0, entries, net->param_count, err));
    for (int i = 0; i < net->param_count; i++) {
        float *values = malloc((size_t)net->params[i].count * sizeof *values);
        int rc = values ? net_init_param(&net->params[i], 1, values, err) : err_memory(err);
        if (rc == 0)
            rc = safetensors_add(&w, values, net->params[i].count, err);
        free(values);
        TRY(rc);
    }
    return safetensors_commit(&w, err);
}

// A batch of windows from window `first` on.
static void take(const uint16_t *tokens, int64_t windows, int64_t first, int batch, int context,
                 int32_t *x, int32_t *y)
{
    for (int i = 0; i < batch; i++) {
        const uint16_t *window = tokens + (first + i) % windows * (context + 1);
        for (int t = 0; t < context; t++) {
            x[i * context + t] = window[t];
            y[i * context + t] = window[t + 1];
        }
    }
}

int main(int argc, char **argv)
{
    int n[8] = {0};
    if (argc != 11 && argc != 12)
        return 2;
    for (int i = 2; i < 9; i++)
        n[i - 2] = (int)strtol(argv[i], NULL, 10);
    const int context = n[3], vocabulary = n[4], batch = n[5], steps = n[6];
    const struct gpt2_size size = {"any", n[0], n[1], n[2]};
    FILE *f = fopen(argv[9], "rb");
    static uint16_t tokens[1 << 22];
    int64_t windows = f ? (int64_t)fread(tokens, 2, sizeof tokens / 2, f) / (context + 1) : 0;
    if (windows < 1)
        return 2;
    fclose(f);

    struct err err = {0};
    struct engine_options options = {.seed = 1, .threads = 2};
    const struct engine *engine;
    struct engine_program *program;
    struct net net;
    struct recipe recipe = workload_gpt2.recipe;
    recipe.batch = batch;
    recipe.stages[0].steps = steps;
    recipe.warmup = steps / 10;
    char *precision = strchr(argv[1], ':');
    if (precision)
        *precision++ = '\0';
    net_init(&net, "gpt2");
    gpt2_build(&net, &size, context, vocabulary);
    if (net_check(&net, &err) != 0 || write_start(argv[10], &net, &err) != 0 ||
        engine_choose(argv[1], precision ? precision : "f32", &options, &engine, &err) != 0 ||
        engine->compile(&net, &recipe, &options, &program, &err) != 0)
        return fail(&err);
    int32_t *x = malloc((size_t)batch * (size_t)context * sizeof *x);
    int32_t *y = malloc((size_t)batch * (size_t)context * sizeof *y);
    if (!x || !y)
        return 1;
    const int stop = argc > 11 ? (int)strtol(argv[11], NULL, 10) : steps;
    for (int step = 0; step < stop; step++) {
        struct engine_score score = {0};
        take(tokens, windows, (int64_t)step * batch, batch, context, x, y);
        const struct engine_batch in = {.count = batch, .tokens = x, .labels = y};
        if (engine->step(program, &in, &score, &err) != 0)
            return fail(&err);
        printf("%.9f\n", score.loss / (double)score.count);
        fflush(stdout);
    }
    engine->release(program);
    net_release(&net);
    free(x);
    free(y);
    return 0;
}
