// SPDX-License-Identifier: Apache-2.0
// Times training steps of the native workloads on random data that is already in memory: what the
// engine alone does, to be held against bench/vs_pytorch.py's or the anchors' figures.
//
//     bench_step [--threads N] [--bf16] [--seconds S] [--steps N] [mlp cnn ...]
//
// Prints per workload the fastest and the median time of a step, and the process's largest memory.
// Build: it needs what libcore.a needs (jansson, m, pthread, dl).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/stats.h"
#include "workload/workload.h"

enum { BATCHES = 8, STEPS_MAX = 20000 };

struct data {
    float *image[BATCHES];
    int32_t *tokens[BATCHES], *labels[BATCHES];
};

static void *some(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

static void make_data(struct data *data, const struct net *net, int64_t batch)
{
    const struct net_layer *input = &net->layers[0], *last = &net->layers[net->layer_count - 1];
    struct rng rng;
    rng_init(&rng, 1);
    for (int b = 0; b < BATCHES; b++) {
        int64_t count = batch * net_shape_count(&input->out);
        int classes = net->loss == NET_SIGMOID ? 2 : last->out.dim[0];
        data->image[b] = some((size_t)count, sizeof(float));
        data->tokens[b] = some((size_t)count, sizeof(int32_t));
        data->labels[b] = some((size_t)batch, sizeof(int32_t));
        for (int64_t i = 0; i < count; i++) {
            data->image[b][i] = rng_float(&rng);
            if (input->op == NET_TOKENS)
                data->tokens[b][i] = (int32_t)rng_below(&rng, (uint64_t)input->vocabulary);
        }
        for (int64_t i = 0; i < batch; i++)
            data->labels[b][i] = (int32_t)rng_below(&rng, (uint64_t)classes);
    }
}

static void fail(const char *name, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", name, err->text);
    exit(1);
}

static void measure(const struct workload *workload, const struct engine_options *options,
                    double seconds, int steps_max)
{
    static double times[STEPS_MAX];
    struct err err = {0};
    struct net net;
    struct data data;
    struct engine_program *program;
    struct engine_score score = {0};
    if (workload_net_as_defined(workload, NULL, &net, &err) != 0)
        fail(workload->name, &err);
    struct recipe recipe = workload->recipe;
    if (recipe.phase_count > 1) // everything learns in the last one
        recipe.phases[0] = recipe.phases[--recipe.phase_count];
    make_data(&data, &net, recipe.batch);
    int64_t begin = clock_now_ns();
    if (engine_cpu.compile(&net, &recipe, options, &program, &err) != 0)
        fail(workload->name, &err);
    double compile_s = (double)(clock_now_ns() - begin) / 1e9;
    int warm = steps_max < 4 ? 1 : 4;
    int64_t end = 0;
    size_t n = 0;
    for (int i = 0; i < steps_max + warm && n < STEPS_MAX; i++) {
        int b = i % BATCHES;
        struct engine_batch batch = {recipe.batch, data.image[b], data.tokens[b], data.labels[b]};
        int64_t start = clock_now_ns();
        if (i == warm)
            end = start + (int64_t)(seconds * 1e9);
        if (i > warm && start > end)
            break;
        if (engine_cpu.step(program, &batch, &score, &err) != 0)
            fail(workload->name, &err);
        if (i >= warm)
            times[n++] = (double)(clock_now_ns() - start) / 1e6;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double fastest = stats_quantile_of(times, n, 0), median = stats_median_of(times, n);
    printf("%-10s %9.3f ms fastest %9.3f ms median of %5zu, compiled in %5.2f s, %5ld MiB, loss "
           "%.3f\n",
           workload->name, fastest, median, n, compile_s, usage.ru_maxrss / 1024,
           score.loss / (double)score.count);
    fflush(stdout);
    engine_cpu.release(program);
    for (int b = 0; b < BATCHES; b++) {
        free(data.image[b]);
        free(data.tokens[b]);
        free(data.labels[b]);
    }
    net_release(&net);
}

int main(int argc, char **argv)
{
    struct engine_options options = {.seed = 1};
    double seconds = 3;
    int steps = STEPS_MAX, named = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            options.threads = (int)strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            steps = (int)strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--bf16") == 0)
            options.precision = ENGINE_BF16;
        else
            named = i;
        if (named == i)
            break;
    }
    for (int w = 0; workloads[w]; w++) {
        bool wanted = !named && workloads[w]->build && !workloads[w]->heavy;
        for (int i = named; named && i < argc; i++)
            wanted |= workloads[w]->build && strcmp(argv[i], workloads[w]->name) == 0;
        if (wanted)
            measure(workloads[w], &options, seconds, steps);
    }
    return 0;
}
