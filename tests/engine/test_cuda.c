// SPDX-License-Identifier: Apache-2.0
// The cuda engine against the reference engine: every operation, the optimizers, in each precision.
// Needs a GPU; skips with a message where there is none.
//
// In true single precision the bounds are the cpu engine's. Operands in tf32 have 10 bits and in
// bf16 7, so a product is off by 5e-4 or 4e-3 of its largest terms; a number near zero may then
// fall on the other side of a relu, or another cell be the largest of a pool, and one gradient is
// another. So where there is a relu or a pool, whole tensors are compared, and loosely.
#define SUBJECT engine_cuda
#include "op_cases.h"

#include "workload/workload.h"

static const char *const names[] = {"f32", "bf16", "tf32"};

static bool here(enum engine_precision precision)
{
    struct engine_options options = {.precision = precision};
    struct err err = {0};
    if (engine_cuda.available(&options, &err) == 0)
        return true;
    print_message("# %s: %s\n", names[precision], err.text);
    return false;
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

static double bound_of(const struct op_case *c, enum engine_precision precision, bool edges)
{
    if (precision == ENGINE_F32)
        return fmax(c->bound, 2e-5);
    return precision == ENGINE_TF32 ? (edges ? 0.25 : 0.05) : (edges ? 0.5 : 0.06);
}

static void run_case(const struct op_case *c, const struct size *size,
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
    bool edges = has_edges(&net);
    gap.together = precision != ENGINE_F32 && edges;
    for (uint64_t number = 0; number < 2; number++) { // twice: nothing is left of the first
        struct engine_batch batch = pair_batch(&pair, number, count);
        pair_step(&pair, &batch, &gap);
        pair_tensors(&pair, true, &gap);
        pair_evaluate(&pair, &batch, &gap);
    }
    snprintf(what, sizeof what, "%s, %d of %d x %d x %d x %d, %d units, %s", c->name, (int)count,
             size->batch, size->channels, size->height, size->width, size->units, names[precision]);
    assert_within(&gap, bound_of(c, precision, edges), what);
    pair_release(&pair);
    net_release(&net);
}

static void every_operation(enum engine_precision precision)
{
    const char *only = getenv("FARE_TEST_ONLY");
    if (!here(precision))
        skip();
    for (size_t i = 0; i < sizeof op_cases / sizeof *op_cases; i++) {
        if (only && !strstr(op_cases[i].name, only))
            continue;
        for (const struct size *size = op_cases[i].sizes; size->batch; size++) {
            run_case(&op_cases[i], size, precision, size->batch);
            if (size->batch > 1)
                run_case(&op_cases[i], size, precision, (size->batch + 1) / 2);
        }
    }
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
    static const struct size sizes[] = {
        {5, 1, 9, 23, 64}, {32, 1, 33, 57, 64}, {13, 1, 7, 19, 128}, {0}};
    if (!here(ENGINE_TF32))
        skip();
    for (size_t i = 0; i < sizeof op_cases / sizeof *op_cases; i++)
        if (strstr(op_cases[i].name, "LSTM"))
            for (const struct size *size = sizes; size->batch; size++)
                for (int precision = 0; precision < 3; precision++)
                    run_case(&op_cases[i], size, (enum engine_precision)precision, size->batch);
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
    static const struct op_case c = {.name = "normed pair", .build = normed_pair};
    static const struct size sizes[] = {{8, 5, 48, 47, 32},   {8, 8, 48, 47, 64},
                                        {8, 8, 48, 47, 96},   {8, 8, 48, 47, 128},
                                        {5, 16, 61, 60, 200}, {0}};
    if (!here(ENGINE_BF16))
        skip();
    for (const struct size *size = sizes; size->batch; size++)
        run_case(&c, size, ENGINE_BF16, size->batch - (size->units == 64));
}

// Parameters after some steps over a set of images that the engine was given, or that come with
// each batch.
static void train_on_bytes(const struct net *net, enum engine_precision precision, bool fed,
                           float *out, int64_t room)
{
    enum { COUNT = 40, BATCH = 8, PIXELS = 3 * 12 * 10 };
    struct recipe recipe = with_batch(&see_gradients, BATCH);
    struct engine_options options = {.precision = precision, .seed = 5};
    struct engine_program *program = subject_program(net, &recipe, &options);
    struct err err = {0};
    static uint8_t pixels[COUNT * PIXELS], bytes[BATCH * PIXELS];
    int32_t labels[COUNT], some[BATCH];
    uint32_t samples[BATCH];
    recipe.phases[0].rate = 0.01f;
    for (int i = 0; i < COUNT * PIXELS; i++)
        pixels[i] = (uint8_t)(i * 2654435761u >> 21);
    for (int i = 0; i < COUNT; i++)
        labels[i] = i % 5;
    struct engine_set set = {.count = COUNT,
                             .channels = 3,
                             .height = 12,
                             .width = 10,
                             .pixels = fed ? NULL : pixels,
                             .flip = true,
                             .labels = labels};
    for (int v = 0; v < 256; v++)
        set.scale[v] = (float)v / 255;
    assert_ok(engine_cuda.load(program, &set, false, &err), &err);
    struct engine_score score = {0};
    for (uint32_t step = 0; step < 9; step++) {
        struct engine_batch batch = {.count = step == 4 ? 5 : BATCH,
                                     .samples = samples,
                                     .labels = some,
                                     .bytes = fed ? bytes : NULL,
                                     .augment = {1, 2, 3, step}};
        for (uint32_t i = 0; i < BATCH; i++) {
            samples[i] = (step * 13 + i * 7) % COUNT;
            some[i] = labels[samples[i]];
            memcpy(bytes + i * PIXELS, pixels + samples[i] * PIXELS, PIXELS);
        }
        engine_cuda.set_iteration(program, step);
        assert_ok(engine_cuda.step(program, &batch, &score, &err), &err);
        memset(bytes, 0xff, sizeof bytes); // the caller's own again
    }
    int64_t steps = 0;
    assert_ok(engine_cuda.collect(program, 0, &score, &steps, &err), &err);
    assert_int_equal(steps, 9);
    assert_int_equal(score.count, 8 * BATCH + 5);
    out[0] = (float)score.loss;
    int64_t at = 1;
    for (int i = 0; i < engine_cuda.tensor_count(program); i++) {
        struct engine_tensor tensor;
        engine_cuda.tensor(program, i, &tensor);
        assert_true(at + tensor.count <= room);
        assert_ok(engine_cuda.read(program, i, out + at, &err), &err);
        at += tensor.count;
    }
    engine_cuda.release(program);
}

static void images_that_come_with_each_batch_are_those_of_a_set(void **state)
{
    (void)state;
    static const struct size size = {8, 3, 12, 10, 16};
    enum { ROOM = 1 << 16 };
    static float a[ROOM], b[ROOM];
    if (!here(ENGINE_BF16))
        skip();
    for (int precision = 0; precision < 3; precision++) {
        struct net net;
        net_init(&net, "fed");
        normed_chain(&net, &size);
        memset(a, 0, sizeof a);
        memset(b, 0, sizeof b);
        train_on_bytes(&net, (enum engine_precision)precision, false, a, ROOM);
        train_on_bytes(&net, (enum engine_precision)precision, true, b, ROOM);
        assert_memory_equal(a, b, sizeof a);
        assert_true(a[0] > 0 && isfinite(a[0]));
        net_release(&net);
    }
}

// Adam moves all rows of an embedding in every step; here those that are not used wait.
static void rows_that_wait_are_where_adam_would_have_them(void **state)
{
    (void)state;
    static const struct recipe adam = {.optimizer = OPTIMIZER_ADAM,
                                       .rho = 0.9f,
                                       .beta2 = 0.999f,
                                       .epsilon = 1e-7f,
                                       .phases = {{.rate = 0.001f}},
                                       .phase_count = 1};
    struct net net;
    struct pair pair;
    struct gap gap = {0};
    struct engine_options options = {.precision = ENGINE_F32, .seed = 11};
    if (!here(ENGINE_F32))
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
    assert_within(&gap, 1e-4, "embedding with Adam over 400 steps");
    pair_release(&pair);
    net_release(&net);
}

static void real_nets_over_some_steps(void **state)
{
    (void)state;
    if (!here(ENGINE_F32))
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
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        for (int precision = 0; precision < 3; precision++) {
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
                     names[precision]);
            assert_within(&gap, nets[i].bound[precision], what);
            pair_release(&pair);
            net_release(&net);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_in_single_precision),
        cmocka_unit_test(every_operation_in_tf32),
        cmocka_unit_test(every_operation_in_bf16),
        cmocka_unit_test(lstms_of_64_and_128_units),
        cmocka_unit_test(images_of_every_form),
        cmocka_unit_test(images_that_come_with_each_batch_are_those_of_a_set),
        cmocka_unit_test(rows_that_wait_are_where_adam_would_have_them),
        cmocka_unit_test(real_nets_over_some_steps),
    };
    cmocka_set_test_filter(getenv("FARE_TEST_FILTER")); // (optional) names with * and ?
    return cmocka_run_group_tests(tests, NULL, NULL);
}
