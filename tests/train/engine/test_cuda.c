// SPDX-License-Identifier: Apache-2.0
// The cuda engine against others, on random inputs and odd sizes. Needs a GPU; skips with a message
// where there is none (test_kernels.py then tries the same kernels without one). Covered here:
// every operation of op_cases.h and its gradients against the reference engine in each precision,
// whole and short batches; the sizes that fast kernels are made for; the optimizers that workloads
// use; Adam's rows that wait; real nets over some steps. In cuda_data.c: samples that the GPU
// gathers, against the host's batcher; L1 distances, against sums in double precision. In
// cuda_curves.c: each workload's losses, against the cpu engine's. In cuda_gpt.c: transformers.
//
// Everything begins as not a number: the GPU's memory, by FARE_CUDA_POISON, and the host's room for
// what is read from it. So what no kernel writes is seen, unless the engine asks for zeros there.
//
// In true single precision the bounds are the cpu engine's. Operands in tf32 have 10 bits and in
// bf16 7, so a product is off by 1e-3 or 4e-3 of its largest terms; a number near zero may then
// fall on the other side of a relu, or another cell be the largest of a pool, and one gradient is
// another. Two things keep that small: parameters and inputs are numbers that bf16 has, so that a
// first product is exact and what follows it chooses alike; and where there is a relu or a pool,
// tensors are compared as a whole. Each operation has bounds of its own (op_cases.h), three times
// what the kernels had where they run without a GPU (test_kernels.py), but at most 0.25 and 0.5.
// FARE_TEST_GAPS=1 prints every distance and, at the end, a row for each operation.
#define SUBJECT engine_cuda
#include "cuda_tests.h"
#include "op_cases.h"

#include "train/workload/workload.h"

enum { CASES = sizeof op_cases / sizeof *op_cases, SHOWN = 40, FEW = 4 };
// SHOWN: distances that are too large until a test ends; FEW: where each takes long.

const char *const precision_names[] = {"f32", "bf16", "tf32"};

static struct gap seen[CASES][3]; // of each operation and precision
static int far_count;

bool cuda_is_here(enum engine_precision precision)
{
    struct engine_options options = {.precision = precision};
    struct err err = {0};
    far_count = 0;
    if (engine_cuda.available(&options, &err) == 0)
        return true;
    print_message("# %s: %s\n", precision_names[precision], err.text);
    return false;
}

bool cuda_is_slow(void)
{
    return getenv("FARE_TEST_LAST") != NULL;
}

void judge(double distance, double bound, const char *what, const char *where)
{
    bool within = distance <= bound;
    if (getenv("FARE_TEST_GAPS") || !within)
        print_message("# %s %-60s %.2e of %.0e (%s)\n", within ? "    " : "FAR:", what, distance,
                      bound, where);
    far_count += !within;
    if (far_count == SHOWN)
        fail_msg("%d distances are larger than their bounds, and there are more to come", SHOWN);
}

void assert_none_far(void)
{
    if (far_count > 0)
        fail_msg("%d distances are larger than their bounds", far_count);
}

// Whether a small error may become a large one.
static bool has_edges(const struct net *net)
{
    bool edges = false;
    for (int i = 0; i < net->layer_count; i++)
        edges |=
            net->layers[i].relu || net->layers[i].op == NET_MAX_POOL || net->layers[i].hard_gates;
    return edges;
}

static double bound_of(const struct op_case *c, enum engine_precision precision)
{
    return precision == ENGINE_F32    ? fmax(c->bound, 2e-5)
           : precision == ENGINE_TF32 ? c->tf32
                                      : c->bf16;
}

static struct gap run_case(const struct op_case *c, const struct size *size,
                           enum engine_precision precision, int64_t count)
{
    struct net net;
    struct pair pair;
    struct gap gap = {0};
    char what[160];
    struct engine_options options = {.precision = precision, .seed = 11};
    net_init(&net, "case");
    c->build(&net, size);
    pair_init(&pair, &net, &see_gradients, size->batch, &options);
    gap.together = precision != ENGINE_F32 && has_edges(&net);
    if (precision != ENGINE_F32)
        pair_coarsen(&pair);
    for (uint64_t number = 0; number < 2; number++) { // twice: nothing is left of the first
        struct engine_batch batch = pair_batch(&pair, number, count);
        pair_step(&pair, &batch, &gap);
        pair_tensors(&pair, true, &gap);
        pair_evaluate(&pair, &batch, &gap);
    }
    snprintf(what, sizeof what, "%s, %d of %d x %d x %d x %d, %d units, %s", c->name, (int)count,
             size->batch, size->channels, size->height, size->width, size->units,
             precision_names[precision]);
    judge(gap.most, bound_of(c, precision), what, gap.where);
    pair_release(&pair);
    net_release(&net);
    return gap;
}

static void note(struct gap *most, const struct gap *gap)
{
    if (gap->most > most->most)
        *most = *gap;
}

// (optional) FARE_TEST_ONLY: operations with this in their names. FARE_TEST_LAST: the last size of
// each alone, with its whole batch, for what slows kernels down, and less of the other tests.
static bool is_wanted(const struct op_case *c)
{
    const char *only = getenv("FARE_TEST_ONLY");
    return !only || strstr(c->name, only);
}

static void every_operation(enum engine_precision precision)
{
    bool last = cuda_is_slow();
    if (!cuda_is_here(precision))
        skip();
    for (size_t i = 0; i < CASES; i++) {
        if (!is_wanted(&op_cases[i]))
            continue;
        for (const struct size *size = op_cases[i].sizes; size->batch; size++) {
            if (last && size[1].batch)
                continue;
            struct gap gap = run_case(&op_cases[i], size, precision, size->batch);
            note(&seen[i][precision], &gap);
            if (size->batch == 1 || last)
                continue;
            gap = run_case(&op_cases[i], size, precision, (size->batch + 1) / 2);
            note(&seen[i][precision], &gap);
        }
    }
    assert_none_far();
}

bool cuda_case_net(int which, struct net *net)
{
    if (which >= CASES)
        return false;
    const struct size *size = op_cases[which].sizes + 2;
    while (size[1].batch && !cuda_is_slow())
        size++;
    net_init(net, op_cases[which].name);
    op_cases[which].build(net, size);
    return true;
}

// A row of op_cases.h for each operation that ran, its bounds in tf32 and bf16 three times what was
// seen: another GPU adds up in another order. Behind it what was seen, and where.
static int print_gaps(void **state)
{
    (void)state;
    for (size_t i = 0; getenv("FARE_TEST_GAPS") && i < CASES; i++) {
        const struct gap *g = seen[i];
        if (g[ENGINE_F32].most > 0)
            print_message(
                "# {\"%s\", ..., %.0e, %.0e}, // f32 %.1e (%s), tf32 %.1e (%s), bf16 %.1e "
                "(%s)\n",
                op_cases[i].name, 3 * g[ENGINE_TF32].most, 3 * g[ENGINE_BF16].most,
                g[ENGINE_F32].most, g[ENGINE_F32].where, g[ENGINE_TF32].most, g[ENGINE_TF32].where,
                g[ENGINE_BF16].most, g[ENGINE_BF16].where);
    }
    return 0;
}

static void every_operation_in_single_precision(void **state)
{
    (void)state;
    every_operation(ENGINE_F32);
}

static void every_operation_in_tf32(void **state)
{
    (void)state;
    every_operation(ENGINE_TF32);
}

static void every_operation_in_bf16(void **state)
{
    (void)state;
    every_operation(ENGINE_BF16);
}

// The sizes that the fast kernels are made for.
static void lstms_of_64_and_128_units(void **state)
{
    (void)state;
    static const struct size all[] = {
        {32, 1, 33, 57, 64}, {5, 1, 9, 23, 64}, {13, 1, 7, 19, 128}, {0}};
    const struct size *sizes = all + cuda_is_slow();
    if (!cuda_is_here(ENGINE_TF32))
        skip();
    for (size_t i = 0; i < CASES; i++)
        if (strstr(op_cases[i].name, "LSTM") && is_wanted(&op_cases[i]))
            for (const struct size *size = sizes; size->batch && far_count < FEW; size++)
                for (int precision = 0; precision < 3; precision++) {
                    struct gap gap =
                        run_case(&op_cases[i], size, (enum engine_precision)precision, size->batch);
                    note(&seen[i][precision], &gap);
                }
    assert_none_far();
}

static void normed_pair(struct net *net, const struct size *s)
{
    int x = normed(net, image(net, s), s, 3, 3, 1, NET_SAME, "a");
    head(net, net_global_average(net, normed(net, x, s, 1, 1, 1, NET_SAME, "b")));
}

// Tiles of every form that convolutions over images in bf16 have, and edges of them.
static void images_of_every_form(void **state)
{
    (void)state;
    static const struct op_case c = {.name = "normed pair", .build = normed_pair, .bf16 = 0.5};
    static const struct size sizes[] = {{8, 5, 48, 47, 32},   {8, 8, 48, 47, 64},
                                        {8, 8, 48, 47, 96},   {8, 8, 48, 47, 128},
                                        {5, 16, 61, 60, 200}, {0}};
    if (!cuda_is_here(ENGINE_BF16))
        skip();
    for (const struct size *size = sizes; size->batch && far_count < FEW; size++)
        if (!cuda_is_slow() || size == sizes)
            (void)run_case(&c, size, ENGINE_BF16, size->batch - (size->units == 64));
    assert_none_far();
}

// With channels in whole boxes of 64 and parts of one, for which Hopper has kernels of its own.
static void images_in_boxes(void **state)
{
    (void)state;
    static const struct op_case cases[] = {
        {.name = "normed convolutions", .build = normed_chain, .bf16 = 0.3},
        {.name = "normed convolutions, branches", .build = normed_block, .bf16 = 0.3}};
    static const struct size sizes[] = {
        {3, 5, 15, 13, 96}, {3, 8, 17, 15, 64}, {2, 8, 12, 19, 200}, {0}};
    if (!cuda_is_here(ENGINE_BF16))
        skip();
    for (const struct size *size = sizes; size->batch && far_count < FEW; size++)
        for (int i = 0; i < 2 && (!cuda_is_slow() || size == sizes); i++)
            (void)run_case(&cases[i], size, ENGINE_BF16, size->batch - (size->units == 64));
    assert_none_far();
}

static void window_pair(struct net *net, const struct size *s)
{
    struct net_conv conv = {.filters = s->units, .kernel_h = 3, .kernel_w = 3, .padding = NET_SAME};
    int x = net_conv(net, first(net, s, s->channels, false), conv, "a");
    conv = (struct net_conv){.filters = 32, .kernel_h = 2, .kernel_w = 3, .padding = NET_VALID};
    head(net, net_conv(net, x, conv, "b"));
}

static void window_first(struct net *net, const struct size *s)
{
    struct net_conv conv = {.filters = s->units,
                            .kernel_h = 3,
                            .kernel_w = 3,
                            .padding = s->units == 32 ? NET_SAME : NET_VALID};
    head(net, net_conv(net, image(net, s), conv, "first"));
}

// 3 × 3 over at most four channels, which Hopper has kernels of its own for as well.
static void windows_of_the_input(void **state)
{
    (void)state;
    static const struct op_case c = {
        .name = "first windows", .build = window_first, .tf32 = 1e-2, .bf16 = 8e-2, .bound = 5e-5};
    static const struct size sizes[] = {
        {5, 1, 8, 9, 64}, {3, 3, 32, 32, 32}, {4, 4, 7, 5, 32}, {2, 2, 5, 40, 64}, {0}};
    if (!cuda_is_here(ENGINE_TF32))
        skip();
    for (const struct size *size = sizes; size->batch && far_count < FEW; size++)
        if (!cuda_is_slow() || size == sizes)
            (void)run_case(&c, size, ENGINE_TF32, size->batch - (size->channels == 4));
    assert_none_far();
}

// Convolutions with 32 and 64 channels, for which Hopper has kernels of its own.
static void windows_of_whole_boxes(void **state)
{
    (void)state;
    static const struct op_case c = {
        .name = "window pair", .build = window_pair, .tf32 = 2e-2, .bf16 = 8e-2, .bound = 5e-5};
    static const struct size sizes[] = {
        {2, 32, 7, 5, 32}, {5, 64, 9, 11, 64}, {3, 32, 24, 13, 64}, {3, 64, 5, 6, 61}, {0}};
    if (!cuda_is_here(ENGINE_TF32))
        skip();
    for (const struct size *size = sizes; size->batch && far_count < FEW; size++)
        if (!cuda_is_slow() || size == sizes || !size[1].batch)
            (void)run_case(&c, size, ENGINE_TF32, size->batch - (size->units == 61));
    assert_none_far();
}

// Adam moves all rows of an embedding in every step; here those that are not used wait.
static void lazy_rows_are_where_adam_would_have_them(void **state)
{
    (void)state;
    static const struct recipe adam = {.optimizer = OPTIMIZER_ADAM,
                                       .rho = 0.9f,
                                       .beta2 = 0.999f,
                                       .epsilon = 1e-7f,
                                       .stages = {{.rate = 0.001f}},
                                       .stage_count = 1};
    struct net net;
    struct pair pair;
    struct gap gap = {0};
    struct engine_options options = {.precision = ENGINE_F32, .seed = 11};
    if (!cuda_is_here(ENGINE_F32))
        skip();
    net_init(&net, "rows");
    int x = net_embedding(&net, net_tokens(&net, 3, 900), 20, "embedding");
    net_dense(&net, x, 5, false, "head");
    pair_init(&pair, &net, &adam, 2, &options);
    for (uint64_t step = 0; step < 400; step++) {
        struct engine_batch batch = pair_batch(&pair, step, 2);
        if (step == 250) { // as after a resume from elsewhere
            engine_cuda.set_iteration(pair.subject, 1000);
            engine_ref.set_iteration(pair.ref, 1000);
        }
        pair_step(&pair, &batch, &gap);
        if (step % 100 == 40)
            pair_evaluate(&pair, &batch, &gap);
    }
    pair_tensors(&pair, true, &gap);
    judge(gap.most, 1e-4, "embedding with Adam over 400 steps", gap.where);
    pair_release(&pair);
    net_release(&net);
    assert_none_far();
}

// The optimizers that workloads use, with their numbers, on all parameters of a net without edges:
// weights in one part and in several, biases, a batch norm's, with weight decay.
static void optimizers_over_some_steps(void **state)
{
    (void)state;
    static const char *const from[] = {"mlp", "cifar", "cnn", "imdb", "inception"};
    static const struct size sizes[] = {{4, 32, 12, 10, 16}, {33, 17, 13, 7, 33}};
    if (!cuda_is_here(ENGINE_F32))
        skip();
    for (size_t i = 0; i < 2 * sizeof from / sizeof *from; i += 1 + cuda_is_slow()) {
        const struct size *size = &sizes[i % 2];
        struct net net;
        struct pair pair;
        struct gap gap = {0};
        struct err err = {0};
        struct engine_options options = {.seed = 7};
        const struct workload *workload = workload_find(from[i / 2], &err);
        assert_non_null(workload);
        struct recipe recipe = workload->recipe;
        recipe.stages[0] = (struct recipe_stage){.rate = recipe.stages[0].rate};
        recipe.stage_count = 1;
        net_init(&net, "optimized");
        int x = net_batch_norm(&net, first_without_bias(&net, size), 0.9f, 0.001f, false, "norm");
        struct net_conv conv = {.filters = 7, .kernel_h = 3, .kernel_w = 3, .stride = 2};
        head(&net, net_dense(&net, net_conv(&net, x, conv, "conv"), 20, false, "dense"));
        pair_init(&pair, &net, &recipe, size->batch, &options);
        for (uint64_t step = 0; step < 10; step++) {
            struct engine_batch batch = pair_batch(&pair, step, size->batch - (step == 6));
            pair_step(&pair, &batch, &gap);
        }
        pair_tensors(&pair, true, &gap);
        char what[80];
        snprintf(what, sizeof what, "optimizer of %s over 10 steps, batch %d", from[i / 2],
                 size->batch);
        judge(gap.most, 1e-4, what, gap.where);
        pair_release(&pair);
        net_release(&net);
    }
    assert_none_far();
}

static void real_nets_over_some_steps(void **state)
{
    (void)state;
    if (!cuda_is_here(ENGINE_F32))
        skip();
    static const struct {
        const char *name;
        int64_t batch;
        uint64_t steps; // textgen's are so large that rounding is soon all there is to see
        double bound[3];
    } nets[] = {
        {"mlp", 16, 5, {1e-4, 0.2, 0.04}},
        {"cnn", 4, 5, {1e-3, 0.2, 0.05}},
        {"imdb", 5, 5, {1e-3, 0.2, 0.05}},
        {"textgen", 8, 1, {1e-3, 0.2, 0.1}},
    };
    for (size_t i = 0; i < sizeof nets / sizeof *nets && far_count < FEW; i++)
        for (int precision = 0; precision < 3; precision++) {
            if (cuda_is_slow() && i % 3 != 0) // mlp and textgen
                continue;
            struct net net;
            struct pair pair;
            struct gap gap = {0};
            struct err err = {0};
            struct engine_options options = {.precision = (enum engine_precision)precision,
                                             .seed = 3};
            const struct workload *workload = workload_find(nets[i].name, &err);
            assert_non_null(workload);
            assert_ok(workload_net_as_defined(workload, NULL, &net, &err), &err);
            pair_init(&pair, &net, &workload->recipe, nets[i].batch, &options);
            for (uint64_t step = 0; step < nets[i].steps; step++) {
                struct engine_batch batch = pair_batch(&pair, step, nets[i].batch - (step == 3));
                pair_step(&pair, &batch, &gap);
            }
            struct engine_batch batch = pair_batch(&pair, 9, nets[i].batch);
            pair_evaluate(&pair, &batch, &gap);
            char what[64];
            snprintf(what, sizeof what, "%s, %d steps, %s", nets[i].name, (int)nets[i].steps,
                     precision_names[precision]);
            judge(gap.most, nets[i].bound[precision], what, gap.where);
            pair_release(&pair);
            net_release(&net);
        }
    assert_none_far();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_in_single_precision),
        cmocka_unit_test(every_operation_in_tf32),
        cmocka_unit_test(every_operation_in_bf16),
        cmocka_unit_test(lstms_of_64_and_128_units),
        cmocka_unit_test(images_of_every_form),
        cmocka_unit_test(images_in_boxes),
        cmocka_unit_test(windows_of_whole_boxes),
        cmocka_unit_test(windows_of_the_input),
        cmocka_unit_test(lazy_rows_are_where_adam_would_have_them),
        cmocka_unit_test(optimizers_over_some_steps),
        cmocka_unit_test(real_nets_over_some_steps),
        cmocka_unit_test(images_are_gathered_as_the_host_would),
        cmocka_unit_test(tokens_are_gathered_as_the_host_would),
        cmocka_unit_test(graphs_keep_an_order),
        cmocka_unit_test(l1_distances_of_all_sizes),
        cmocka_unit_test(l1_in_pieces),
        cmocka_unit_test(products_by_themselves),
        cmocka_unit_test(losses_follow_the_cpu_engine),
        cmocka_unit_test(parts_of_a_gpt),
        cmocka_unit_test(a_small_gpt_learns_as_the_reference_does),
        cmocka_unit_test(a_gpt_goes_on_to_the_same_bits),
    };
    cmocka_set_test_filter(getenv("FARE_TEST_FILTER")); // (optional) names with * and ?
    cmocka_set_skip_filter(getenv("FARE_TEST_SKIP"));
    setenv("FARE_CUDA_POISON", "1", 1);
    return cmocka_run_group_tests(tests, NULL, print_gaps);
}
