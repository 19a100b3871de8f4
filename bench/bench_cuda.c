// SPDX-License-Identifier: Apache-2.0
// Step time on the GPU, with the data in its memory: `bench_cuda [WORKLOAD...]`, with
// PRECISION=tf32|bf16|f32, STEPS and UNIFORM=1 (uniform tokens, not distributed as words). Prints
// the median of five rounds in microseconds, each round (a training from its start: the median of
// its stretches of STRETCH steps), and the GPU memory of the training, without context, kernels and
// set. PROFILE=1 also prints each kernel's time, launched a hundred times in a row, and the time of
// a step up to each launch. With ALL_ROWS=1 Adam updates all rows of an embedding in every step,
// instead of only those used. CHECK=1 compares each convolution of Hopper's with the same one for
// older GPUs, on the numbers of the last step.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/stats.h"
#include "train/engine/cuda/program.h" // for the launches of a program, which are its own
#include "train/workload/workload.h"

#define STEPS_MAX 100000

static void die(const struct err *err)
{
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void make_net(const char *name, const struct workload *w, struct net *net)
{
    struct err err = {0};
    if (strcmp(name, "tweets") == 0) { // as large as the real set makes it
        net_init(net, "tweets");
        int x = net_embedding(net, net_tokens(net, 50, 274562), 128, "embedding");
        x = net_dropout(net, net_lstm(net, x, 64, true, "lstm"), 0.5f);
        net_dense(net, x, 1, false, "dense");
        net_set_loss(net, NET_SIGMOID);
    } else if (workload_net_as_defined(w, NULL, net, &err) != 0) {
        die(&err);
    }
}

// Seconds that these stages take, repeated `times` times in one graph, each time when all of them
// are done; the last of some tries.
static double time_of(struct engine_program *program, const struct graph_stage *stages, int count,
                      int times)
{
    struct graph_stage *all = malloc((size_t)(count * times) * sizeof *all);
    struct graph *graph;
    struct err err = {0};
    double seconds = 0;
    for (int i = 0; i < count * times; i++) {
        all[i] = stages[i % count];
        all[i].barrier = i % count == 0;
    }
    if (gpu_graph_new(program->gpu, all, count * times, &graph, &err) != 0)
        die(&err);
    for (int k = 0; k < 3; k++)
        if (gpu_mark(program->gpu, 0, &err) != 0 ||
            gpu_graph_launch(program->gpu, graph, &err) != 0 ||
            gpu_mark(program->gpu, 1, &err) != 0 || gpu_between(program->gpu, &seconds, &err) != 0)
            die(&err);
    gpu_graph_free(program->gpu, graph);
    free(all);
    return seconds / times;
}

// Bytes that the optimizer's launch reads and writes: gradients in one part, parameters, states.
static double optimized_bytes(const struct engine_program *program)
{
    const struct gpu_params *p = &program->params;
    double numbers = 0;
    for (int i = 0; i < p->block_count; i++)
        if (p->blocks[i].trained && !p->blocks[i].lazy && !gpu_is_fused(&p->blocks[i]))
            numbers += (double)p->blocks[i].size;
    return numbers * 4 * (3 + 2 * p->states);
}

static void profile(struct engine_program *program, const char *what, const struct launch *items,
                    int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        struct launch alone = items[i];
        alone.explicit_only = false;
        alone.depends_count = 0;
        double seconds =
            time_of(program, &(struct graph_stage){.items = &alone, .count = 1}, 1, 100);
        sum += seconds * 1e6;
        printf("    %-8s %-20s %5u x %u blocks  %6.2f us", what, items[i].name, items[i].x,
               items[i].y, seconds * 1e6);
        if (items[i].size == sizeof(struct cuda_image_conv)) { // a product: what it is, how fast
            struct cuda_image_conv g;
            memcpy(&g, items[i].args, sizeof g);
            printf("  %7d x %4d x %6d, %d taps, %5.0f TFLOP/s", g.m, g.n, g.k, g.taps,
                   2e-12 * g.m * g.n * g.k / seconds);
        } else if (strcmp(items[i].name, "optimize") == 0 && seconds > 0) { // read and written
            printf("  %5.0f GB/s", 1e-9 * optimized_bytes(program) / seconds);
        }
        printf("\n");
    }
    printf("    %-8s %.1f us\n", what, sum);
}

static void path(struct engine_program *program, int stage)
{
    const struct plan_buffer *buffer = &program->plan.buffers[0];
    const struct graph_stage whole[] = {
        {.items = program->gather, .count = 1},
        {.items = buffer->forward.items, .count = buffer->forward.count},
        {.items = buffer->backward[stage].items, .count = buffer->backward[stage].count},
    };
    double before = 0;
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < whole[p].count; i++) {
            struct graph_stage stages[3] = {whole[0], whole[1], whole[2]};
            stages[p].count = i + 1;
            double us = 1e6 * time_of(program, stages, p + 1, 20);
            const struct launch *last = &whole[p].items[i];
            printf("    up to    %-20s %6.1f us (+%.1f)%s\n", last->name, us, us - before,
                   last->forked ? " forked" : "");
            before = us;
        }
}

// ---- the same convolution in two ways ----

static float of_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Distance of two results, relative to the second, both as the launches wrote them.
static double distance(const struct cuda_image_conv *g, const void *x, const void *y, bool wide,
                       int parts)
{
    double apart = 0, all = 0;
    int64_t rows = wide ? g->units : g->m;
    for (int p = 0; p < parts; p++)
        for (int64_t m = 0; m < rows; m++)
            for (int n = 0; n < g->n; n++) {
                int64_t at = p * g->part + m * g->ldy + n;
                double a = wide ? (double)((const float *)x)[at]
                                : (double)of_bf16(((const uint16_t *)x)[at]);
                double b = wide ? (double)((const float *)y)[at]
                                : (double)of_bf16(((const uint16_t *)y)[at]);
                apart += (a - b) * (a - b);
                all += b * b;
            }
    return all > 0 ? sqrt(apart / all) : apart == 0 ? 0 : (double)INFINITY;
}

static double sums_apart(struct gpu_context *gpu, int n, const device_ptr sums[2],
                         const int tiles_m[2])
{
    double apart = 0, all = 0, total[2][4096] = {0};
    struct err err = {0};
    for (int way = 0; way < 2; way++) {
        float *from = malloc((size_t)tiles_m[way] * 2 * (size_t)n * 4);
        if (gpu_download(gpu, from, sums[way], (int64_t)tiles_m[way] * 2 * n * 4, &err) != 0)
            die(&err);
        for (int i = 0; i < tiles_m[way] * 2 * n; i++)
            total[way][i % (2 * n)] += (double)from[i];
        free(from);
    }
    for (int i = 0; i < 2 * n; i++) {
        apart += (total[0][i] - total[1][i]) * (total[0][i] - total[1][i]);
        all += total[1][i] * total[1][i];
    }
    return sqrt(apart / all);
}

static void check(const struct launches *list)
{
    struct err err = {0};
    double worst = 0, worst_sums = 0;
    int count = 0, bad = 0;
    for (int i = 0; i < list->count; i++) {
        struct launch both[2] = {list->items[i]};
        struct cuda_image_conv g;
        if (!image_conv_portable(&both[0], &both[1]))
            continue;
        memcpy(&g, both[0].args, sizeof g);
        bool wide = strstr(both[0].name, "weights") != NULL;
        int parts = wide ? (g.k + g.per_part - 1) / g.per_part : 1, tiles_m[2];
        int64_t numbers = wide ? g.part * parts : (int64_t)g.m * g.ldy;
        size_t bytes = (size_t)numbers * (wide ? 4 : 2);
        void *result[2];
        device_ptr sums[2] = {0};
        struct gpu_context *gpu;
        if (gpu_open(&cuda_driver, ENGINE_BF16, &gpu, &err) != 0)
            die(&err);
        uint16_t *before = malloc(bytes); // not a number, or what is added to
        for (size_t k = 0; k < bytes / 2; k++)
            before[k] = g.add ? (uint16_t)(0x3c00 + k * 2654435761u % 127) : 0xffff;
        for (int way = 0; way < 2; way++) {
            device_ptr y;
            memcpy(&g, both[way].args, sizeof g);
            tiles_m[way] = g.tiles_m;
            if (gpu_alloc(gpu, (int64_t)bytes, &y, &err) != 0 ||
                gpu_alloc(gpu, (int64_t)g.tiles_m * 2 * g.n * 4, &sums[way], &err) != 0 ||
                gpu_upload(gpu, y, before, (int64_t)bytes, &err) != 0)
                die(&err);
            g.y = (void *)(uintptr_t)y;
            if (g.sums)
                g.sums = (float *)(uintptr_t)sums[way];
            memcpy(both[way].args, &g, sizeof g);
            result[way] = malloc(bytes);
            if (gpu_launch_now(gpu, &both[way], &err) != 0 ||
                gpu_download(gpu, result[way], y, (int64_t)bytes, &err) != 0)
                die(&err);
        }
        double far = distance(&g, result[0], result[1], wide, parts);
        double far_sums = g.sums ? sums_apart(gpu, g.n, sums, tiles_m) : 0;
        if (!(far < 2e-3) || !(far_sums < 1e-3)) {
            bad++;
            printf("    FAR: %-20s %d x %d x %d, %d taps, stride %d, add %d: %.1e, sums %.1e\n",
                   both[0].name, g.m, g.n, g.k, g.taps, g.stride, g.add, far, far_sums);
        }
        worst = fmax(worst, far);
        worst_sums = fmax(worst_sums, far_sums);
        count++;
        free(before);
        free(result[0]);
        free(result[1]);
        gpu_close(gpu);
    }
    printf("    checked %d convolutions, %d far; worst distance %.1e, of sums %.1e\n", count, bad,
           worst, worst_sums);
}

static enum engine_precision precision_of(const char *name)
{
    return strcmp(name, "tf32") == 0   ? ENGINE_TF32
           : strcmp(name, "bf16") == 0 ? ENGINE_BF16
                                       : ENGINE_F32;
}

static int number(const char *name, int otherwise)
{
    int value = getenv(name) ? atoi(getenv(name)) : otherwise;
    return value < 1 ? 1 : value > STEPS_MAX ? STEPS_MAX : value;
}

static void report(const char *name, const char *precision, const double rounds[5], double loss,
                   double memory, double set)
{
    double sorted[5];
    memcpy(sorted, rounds, sizeof sorted);
    double median = stats_median_of(sorted, 5);
    printf("%-10s %s %8.2f us a step, loss %.4f, memory %.1f MiB, set %.1f MiB, rounds", name,
           precision, median, loss, memory, set);
    for (int i = 0; i < 5; i++)
        printf(" %.2f", rounds[i]);
    printf("\n");
}

// All tensors as they are, one behind the other; or as they were.
static void keep(struct engine_program *program, float **values, bool back)
{
    struct engine_tensor tensor;
    struct err err = {0};
    int64_t all = 0, at = 0;
    int count = engine_cuda.tensor_count(program);
    for (int i = 0; i < count; i++, all += tensor.count)
        engine_cuda.tensor(program, i, &tensor);
    if (!back)
        *values = malloc((size_t)all * sizeof **values);
    for (int i = 0; i < count; i++, at += tensor.count) {
        engine_cuda.tensor(program, i, &tensor);
        if (back ? engine_cuda.write(program, i, *values + at, &err) != 0
                 : engine_cuda.read(program, i, *values + at, &err) != 0)
            die(&err);
    }
}

// Where everything is trained, from the beginning: what a step takes depends on what was learned,
// since rows of an embedding that hardly move are soon made up for.
static void begin(struct engine_program *program, int stage, float *values)
{
    struct err err = {0};
    keep(program, &values, true);
    engine_cuda.set_iteration(program, 0);
    if (engine_cuda.set_stage(program, stage, &err) != 0)
        die(&err);
}

static void measure(const char *name)
{
    struct err err = {0};
    struct net net;
    const struct workload *w = workload_find(name, &err);
    if (!w)
        die(&err);
    make_net(name, w, &net);
    const char *precision = getenv("PRECISION") ? getenv("PRECISION") : "tf32";
    struct engine_options options = {.precision = precision_of(precision), .seed = 1};
    struct recipe recipe = w->recipe;
    if (getenv("ALL_ROWS") && recipe.stage_count == 1)
        recipe.stages[recipe.stage_count++] = recipe.stages[0]; // rows wait where there is one only
    struct engine_program *program;
    struct gpu_context
        *context; // keeps it, so that what is there before and after differs by the rest
    if (gpu_open(&cuda_driver, options.precision, &context, &err) != 0)
        die(&err);
    int64_t left = gpu_memory_left(context), set_bytes = 0;
    if (engine_cuda.compile(&net, &recipe, &options, &program, &err) != 0)
        die(&err);
    if (getenv("ALL_ROWS") && program->plan.catch_up.count > 0)
        die(&(struct err){.text = "ALL_ROWS: rows wait for their steps all the same"});
    int stage = recipe.stage_count - 1;
    int64_t count = strcmp(name, "inception") == 0 ? 512 : 8192, batch = recipe.batch;
    const struct net_layer *in = &net.layers[0], *last = &net.layers[net.layer_count - 1];
    struct rng rng;
    rng_init(&rng, 7);
    struct engine_set set = {.count = count};
    int32_t *labels = malloc((size_t)count * 4);
    int classes = net.loss == NET_SIGMOID ? 2 : last->out.dim[0];
    for (int64_t i = 0; i < count; i++)
        labels[i] = (int32_t)rng_below(&rng, (uint64_t)classes);
    set.labels = labels;
    if (in->op == NET_TOKENS) {
        set.time = in->out.dim[0];
        set.token_stride = set.time;
        set.token_count = count * set.time;
        int32_t *tokens = malloc((size_t)set.token_count * 4);
        for (int64_t i = 0; i < set.token_count; i++)
            tokens[i] = getenv("UNIFORM")
                            ? (int32_t)rng_below(&rng, (uint64_t)in->vocabulary)
                            : (int32_t)(pow(in->vocabulary, rng_double(&rng)) - 1); // as words are
        set.tokens = tokens;
        set_bytes = set.token_count * 4;
    } else {
        set.channels = in->out.dim[0];
        set.height = in->out.dim[1];
        set.width = in->out.dim[2];
        size_t bytes = (size_t)(count * net_shape_count(&in->out));
        uint8_t *pixels = malloc(bytes);
        for (size_t i = 0; i < bytes; i++)
            pixels[i] = (uint8_t)(i * 2654435761u >> 13);
        set.pixels = pixels;
        set_bytes = (int64_t)bytes;
        for (int v = 0; v < 256; v++)
            set.scale[v] = (float)v / 255;
        set.shift_flip = strcmp(name, "cifar") == 0;
    }
    if (engine_cuda.load(program, &set, false, &err) != 0)
        die(&err);
    int steps = number("STEPS", 1024), stretch = number("STRETCH", 128), flying = stretch / 2;
    if (steps < 2 * stretch)
        steps = 2 * stretch;
    double *stretches = malloc(((size_t)steps / (size_t)stretch + 1) * sizeof *stretches);
    uint32_t *samples = malloc((size_t)batch * 4);
    double rounds[5], loss = 0;
    float *values;
    keep(program, &values, false);
    for (int round = 0; round < 6; round++) {
        begin(program, stage, values);
        struct engine_score score = {0};
        int64_t done, mark_ns = clock_now_ns();
        int n = 0;
        for (int s = 0; s < steps; s++) {
            for (int64_t i = 0; i < batch; i++)
                samples[i] = (uint32_t)(((int64_t)s * batch + i) % count);
            struct engine_batch b = {.count = batch, .samples = samples};
            if (engine_cuda.step(program, &b, &score, &err) != 0)
                die(&err);
            if (s % stretch != stretch - 1)
                continue;
            if (engine_cuda.collect(program, flying, &score, &done, &err) != 0)
                die(&err);
            // As many as were done: graphs of several steps end where they end.
            int64_t now_ns = clock_now_ns();
            stretches[n++] = (double)(now_ns - mark_ns) / 1e3 / (double)done;
            mark_ns = now_ns;
        }
        if (engine_cuda.collect(program, 0, &score, &done, &err) != 0)
            die(&err);
        // The first one fills the queue, and has fewer of its own.
        if (round > 0)
            rounds[round - 1] = stats_median_of(stretches + 1, (size_t)n - 1);
        loss = score.loss / (double)score.count;
    }
    left -= gpu_memory_left(context) + set_bytes;
    report(name, precision, rounds, loss, (double)left / (1 << 20), (double)set_bytes / (1 << 20));
    const struct plan_buffer *buffer = &program->plan.buffers[0];
    if (getenv("CHECK")) {
        check(&buffer->forward);
        check(&buffer->backward[stage]);
    }
    if (getenv("PROFILE")) {
        profile(program, "gather", program->gather, 1);
        profile(program, "forward", buffer->forward.items, buffer->forward.count);
        profile(program, "back", buffer->backward[stage].items, buffer->backward[stage].count);
        if (!getenv("SHORT"))
            path(program, stage);
    }
    fflush(stdout);
    free(stretches);
    free(values);
    engine_cuda.release(program);
    gpu_close(context);
    net_release(&net);
}

int main(int argc, char **argv)
{
    static const char *all[] = {"mlp", "cnn", "cifar", "imdb", "textgen", "tweets"};
    for (int i = 1; i < argc; i++)
        measure(argv[i]);
    for (size_t i = 0; argc == 1 && i < sizeof all / sizeof *all; i++)
        measure(all[i]);
    return 0;
}
