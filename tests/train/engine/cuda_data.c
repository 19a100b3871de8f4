// SPDX-License-Identifier: Apache-2.0
// What the GPU does with data, besides training on it. Samples that it gathers itself, from a set
// that it has or from bytes that come with each batch, against those that the host's batcher makes:
// with the same samples the same program ends with the same bits in every tensor, since what
// follows is the same kernels. L1 distances, against sums in double precision.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "cuda_tests.h"
#include "train/data/batcher.h"
#include "train/engine/cuda/gpu.h"
#include "train/engine/cuda/plan/plan.h"
#include "l1_cases.h"
#include "train/trainer.h"
#include "test.h"

// ---- gathering ----

enum { COUNT = 37, BATCH = 8, CLASSES = 5, ROOM = 1 << 18 }; // 37: a short last batch

static const struct recipe adam = {.optimizer = OPTIMIZER_ADAM,
                                   .rho = 0.9f,
                                   .beta2 = 0.999f,
                                   .epsilon = 1e-7f,
                                   .batch = BATCH,
                                   .stages = {{.rate = 0.01f}},
                                   .stage_count = 1};

static const struct recipe rmsprop = {.optimizer = OPTIMIZER_RMSPROP,
                                      .batch = BATCH,
                                      .rho = 0.9f,
                                      .epsilon = 1e-7f,
                                      .stages = {{.rate = 0.001f}},
                                      .stage_count = 1};

struct ended { // what is left of a training
    double loss, tested;
    int64_t right, count;
    float numbers[ROOM]; // all tensors
};

static void load(struct engine_program *program, const struct dataset *from,
                 const struct batcher_options *batches, bool held_out)
{
    struct err err = {0};
    struct engine_set set;
    trainer_set(from, batches->form == BATCH_BYTES ? NULL : from->pixels, batches, &set);
    assert_ok(engine_cuda.load(program, &set, held_out, &err), &err);
}

// Epochs over the set, to train or to evaluate. Batches by number are queued; what they came to is
// asked for where most of them are under way and some not launched yet, and at the end.
static struct engine_score go_through(struct engine_program *program, const struct dataset *set,
                                      const struct batcher_options *batches, int epochs,
                                      bool training)
{
    struct err err = {0};
    struct engine_score score = {0};
    struct batcher *batcher;
    struct batch batch;
    int64_t steps = 0, queued = 0;
    bool values = batches->form == BATCH_VALUES;
    assert_ok(batcher_new(&batcher, set, batches, &err), &err);
    for (int epoch = 0; epoch < epochs; epoch++) {
        while (batcher_next(batcher, &batch, &err) == 1) {
            struct engine_batch in = {.count = batch.count,
                                      .image = batch.image,
                                      .tokens = batch.tokens,
                                      .labels = batch.labels,
                                      .samples = values ? NULL : batch.samples,
                                      .bytes = batch.bytes};
            memcpy(in.augment, batch.augment, sizeof in.augment);
            assert_ok(
                (training ? engine_cuda.step : engine_cuda.evaluate)(program, &in, &score, &err),
                &err);
            if (!values && ++queued == 40) {
                assert_ok(engine_cuda.collect(program, 20, &score, &steps, &err), &err);
                assert_true(steps >= 20 && steps <= 40);
            }
        }
    }
    if (!values)
        assert_ok(engine_cuda.collect(program, 0, &score, &steps, &err), &err);
    assert_int_equal(score.count, epochs * set->count);
    batcher_free(batcher);
    return score;
}

static void train(const struct net *net, const struct recipe *recipe, const struct dataset *set,
                  struct batcher_options batches, enum batch_form form, int epochs,
                  enum engine_precision precision, struct ended *end)
{
    struct err err = {0};
    struct engine_options options = {.precision = precision, .seed = 5};
    struct engine_program *program;
    assert_ok(engine_cuda.compile(net, recipe, &options, &program, &err), &err);
    for (int i = 0; i < ROOM; i++)
        end->numbers[i] = NAN;
    batches.batch = BATCH;
    batches.seed = 9;
    batches.form = form;
    batches.shuffle = true;
    struct batcher_options plain = batches; // nothing is moved or flipped in an evaluation
    plain.shuffle = plain.shift_flip = plain.flip = false;
    if (form != BATCH_VALUES) {
        load(program, set, &batches, false);
        load(program, set, &plain, true);
    }
    struct engine_score trained = go_through(program, set, &batches, epochs, true);
    struct engine_score tested = go_through(program, set, &plain, 1, false);
    end->loss = trained.loss;
    end->tested = tested.loss;
    end->right = tested.correct;
    end->count = 0;
    for (int i = 0; i < engine_cuda.tensor_count(program); i++) {
        struct engine_tensor tensor;
        engine_cuda.tensor(program, i, &tensor);
        assert_true(end->count + tensor.count <= ROOM);
        assert_ok(engine_cuda.read(program, i, end->numbers + end->count, &err), &err);
        end->count += tensor.count;
    }
    engine_cuda.release(program);
}

static bool same(const struct ended *a, const struct ended *b)
{
    return a->count == b->count &&
           memcmp(a->numbers, b->numbers, (size_t)a->count * sizeof *a->numbers) == 0;
}

// By each way that the samples may take.
static void compare_ways(const struct net *net, const struct dataset *set,
                         const struct batcher_options *batches, enum engine_precision precision)
{
    static const char *const forms[] = {
        [BATCH_VALUES] = "the host's", [BATCH_BYTES] = "bytes", [BATCH_NUMBERS] = "numbers"};
    static struct ended host, gpu;
    // 9: graphs of all lengths.
    int epochs = cuda_is_slow() && (precision != ENGINE_F32 || set->starts) ? 2 : 9;
    train(net, &adam, set, *batches, BATCH_VALUES, epochs, precision, &host);
    assert_true(isfinite(host.loss) && host.loss > 0);
    for (int i = 0; i < host.count; i++)
        assert_true(isfinite(host.numbers[i]));
    for (enum batch_form form = BATCH_BYTES; form <= BATCH_NUMBERS; form++) {
        if (form == BATCH_BYTES && set->time > 0)
            continue;
        train(net, &adam, set, *batches, form, epochs, precision, &gpu);
        // The losses are added up in another order; the rest is the same.
        if (!same(&host, &gpu) || fabs(gpu.loss - host.loss) > 1e-12 * host.loss ||
            fabs(gpu.tested - host.tested) > 1e-12 * host.tested || gpu.right != host.right)
            fail_msg("%s in %s, %s: loss %.9g, tested %.9g, %d right; the host's: %.9g, %.9g, %d",
                     net->name, precision_names[precision], forms[form], gpu.loss, gpu.tested,
                     (int)gpu.right, host.loss, host.tested, (int)host.right);
    }
    if (!batches->shift_flip && !batches->flip)
        return;
    struct batcher_options plain = *batches; // what is compared must be able to differ
    plain.shift_flip = plain.flip = false;
    train(net, &adam, set, plain, BATCH_VALUES, epochs, precision, &gpu);
    assert_false(same(&host, &gpu));
}

static void row_of_numbers(struct net *net)
{
    net_init(net, "dense layers on 1x7x5");
    int x = net_dense(net, net_image(net, 1, 7, 5), 6, true, "dense");
    net_dense(net, x, CLASSES, false, "head");
}

static void convolved(struct net *net)
{
    net_init(net, "a convolution of 3x31x23");
    struct net_conv conv = {.filters = 5, .kernel_h = 3, .kernel_w = 3, .relu = true};
    int x = net_conv(net, net_image(net, 3, 31, 23), conv, "conv");
    net_dense(net, net_max_pool(net, x, 2, 2, NET_VALID), CLASSES, false, "head");
}

// Kept as bf16 in that precision.
static void normed(struct net *net)
{
    net_init(net, "a normed convolution of 3x31x23");
    struct net_conv conv = {.filters = 9, .kernel_h = 3, .kernel_w = 3, .no_bias = true};
    int x = net_conv(net, net_image(net, 3, 31, 23), conv, "conv");
    x = net_global_average(net, net_batch_norm(net, x, 0.9f, 0.001f, true, "norm"));
    net_dense(net, x, CLASSES, false, "head");
}

void images_are_gathered_as_the_host_would(void **state)
{
    (void)state;
    static uint8_t pixels[COUNT * 3 * 31 * 23];
    int32_t labels[COUNT];
    void (*const nets[])(struct net *) = {row_of_numbers, convolved, normed};
    // As mlp and cnn have them, cifar, inception.
    static const struct batcher_options ways[] = {
        {0}, {.shift_flip = true}, {.flip = true, .centre_unit = true}};
    struct rng rng;
    if (!cuda_is_here(ENGINE_BF16))
        skip();
    rng_init(&rng, 3);
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)rng_below(&rng, 256);
    for (int i = 0; i < COUNT; i++)
        labels[i] = (int32_t)rng_below(&rng, CLASSES);
    for (size_t n = 0; n < 3; n++) {
        struct net net;
        nets[n](&net);
        const int *dim = net.layers[0].out.dim;
        const struct dataset set = {.count = COUNT,
                                    .classes = CLASSES,
                                    .channels = dim[0],
                                    .height = dim[1],
                                    .width = dim[2],
                                    .pixels = pixels,
                                    .labels = labels};
        for (size_t way = 0; way < 3; way++)
            for (int precision = 0; precision < 3; precision++)
                if (!cuda_is_slow() || (n == way && n == (size_t)precision))
                    compare_ways(&net, &set, &ways[way], (enum engine_precision)precision);
        net_release(&net);
    }
}

enum { TIME = 11, VOCABULARY = 23 };

static void embedded(struct net *net)
{
    net_init(net, "an LSTM of an embedding");
    int x = net_embedding(net, net_tokens(net, TIME, VOCABULARY), 7, "embedding");
    net_dense(net, net_lstm(net, x, 5, true, "lstm"), CLASSES, false, "head");
}

// Of so many units that the fast kernels look up what a token brings.
static void looked_up(struct net *net)
{
    net_init(net, "an LSTM of one-hot vectors");
    int x = net_one_hot(net, net_tokens(net, TIME, VOCABULARY));
    net_dense(net, net_lstm(net, x, 64, false, "lstm"), CLASSES, false, "head");
}

// Texts of their own lengths, from none at all to some that are cut; and windows that overlap.
void tokens_are_gathered_as_the_host_would(void **state)
{
    (void)state;
    static int32_t tokens[COUNT * (TIME + 3)];
    int32_t labels[COUNT];
    int64_t starts[COUNT + 1] = {0};
    void (*const nets[])(struct net *) = {embedded, looked_up};
    struct rng rng;
    if (!cuda_is_here(ENGINE_BF16))
        skip();
    rng_init(&rng, 4);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        tokens[i] = 1 + (int32_t)rng_below(&rng, VOCABULARY - 1); // 0 is what pads
    for (int i = 0; i < COUNT; i++) {
        labels[i] = (int32_t)rng_below(&rng, CLASSES);
        starts[i + 1] = starts[i] + i % (TIME + 4);
    }
    assert_true(starts[COUNT] <= (int64_t)(sizeof tokens / sizeof *tokens));
    const struct dataset texts = {.count = COUNT,
                                  .classes = CLASSES,
                                  .time = TIME,
                                  .vocabulary = VOCABULARY,
                                  .tokens = tokens,
                                  .starts = starts,
                                  .labels = labels};
    struct dataset windows = texts;
    windows.starts = NULL;
    windows.token_stride = 3;
    for (size_t n = 0; n < 2; n++) {
        struct net net;
        const struct batcher_options plain = {0};
        nets[n](&net);
        for (int precision = 0; precision < 3; precision++) {
            compare_ways(&net, &texts, &plain, (enum engine_precision)precision);
            compare_ways(&net, &windows, &plain, (enum engine_precision)precision);
        }
        net_release(&net);
    }
}

// ---- graphs ----

// Of so many units and so long that it has the fast kernels and that the sums over its weights are
// made in parts, as imdb's.
static bool long_text(struct net *net)
{
    net_init(net, "an LSTM of an embedding of long texts");
    int x = net_embedding(net, net_tokens(net, 64, 50), 16, "embedding");
    net_dense(net, net_lstm(net, x, 64, true, "lstm"), CLASSES, false, "head");
    return true;
}

// Every operation, as part of a graph of steps, does what it does when one launch follows another.
// That shows an order that is missing only where it goes wrong; the stand-in GPU looks for it.
void graphs_keep_an_order(void **state)
{
    (void)state;
    static uint8_t pixels[COUNT * 64 * 40 * 40];
    static int32_t tokens[COUNT * 100];
    static struct ended one_by_one, graph;
    const struct batcher_options plain = {0};
    struct rng rng;
    struct net net;
    if (!cuda_is_here(ENGINE_BF16))
        skip();
    rng_init(&rng, 6);
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)rng_below(&rng, 256);
    int more = 0; // behind the operations: long texts with Adam, whose rows wait, and without
    for (int which = 0; more < 2; which++) {
        if (!cuda_case_net(which, &net))
            more += long_text(&net);
        const struct recipe *recipe = more == 2 ? &rmsprop : &adam;
        const struct net_shape *in = &net.layers[0].out;
        const struct net_shape *out = &net.layers[net.layer_count - 1].out;
        int32_t labels[COUNT];
        struct dataset set = {.count = COUNT, .classes = out->dim[0], .labels = labels};
        for (int i = 0; i < COUNT; i++)
            labels[i] = (int32_t)rng_below(&rng, (uint32_t)out->dim[0]);
        if (net.layers[0].op == NET_TOKENS) {
            set.time = in->dim[0];
            set.vocabulary = net.layers[0].vocabulary;
            set.tokens = tokens;
            set.token_stride = 1;
            for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
                tokens[i] = (int32_t)rng_below(&rng, (uint32_t)set.vocabulary);
        } else {
            set.channels = in->dim[0];
            set.height = in->rank > 1 ? in->dim[1] : 1;
            set.width = in->rank > 2 ? in->dim[2] : 1;
            set.pixels = pixels;
            assert_true((size_t)COUNT * net_shape_count(in) <= sizeof pixels);
        }
        for (int precision = 0; precision < 3; precision++) {
            if (cuda_is_slow() && precision != ENGINE_BF16) // which has kernels of its own
                continue;
            enum engine_precision p = (enum engine_precision)precision;
            train(&net, recipe, &set, plain, BATCH_NUMBERS, 2, p, &graph);
            if (cuda_is_slow())
                continue;
            train(&net, recipe, &set, plain, BATCH_VALUES, 2, p, &one_by_one);
            if (!same(&one_by_one, &graph))
                fail_msg("%s in %s: another result as a graph", net.name,
                         precision_names[precision]);
        }
        net_release(&net);
    }
}

// ---- a product by itself ----

// The numbers are multiples of 1/8 below 2, which bf16 has, and so have all products of two; sums
// of 192 of them are exact in f32.
static void try_product(enum engine_precision precision)
{
    enum { SIZE = 192, NUMBERS = SIZE * SIZE };
    static float a[NUMBERS], b[NUMBERS], y[NUMBERS];
    struct gpu_context *gpu;
    struct launch launch;
    struct err err = {0};
    struct rng rng;
    device_ptr at[3];
    rng_init(&rng, 7);
    for (int i = 0; i < NUMBERS; i++) {
        a[i] = (float)((int)rng_below(&rng, 31) - 15) / 8;
        b[i] = (float)((int)rng_below(&rng, 31) - 15) / 8;
        y[i] = NAN;
    }
    assert_ok(gpu_open(&cuda_driver, precision, &gpu, &err), &err);
    for (int i = 0; i < 3; i++)
        assert_ok(gpu_alloc(gpu, sizeof y, &at[i], &err), &err);
    assert_ok(gpu_upload(gpu, at[0], a, sizeof a, &err), &err);
    assert_ok(gpu_upload(gpu, at[1], b, sizeof b, &err), &err);
    const struct gpu_device device = gpu_device(gpu);
    gpu_product(&device, at[0], at[1], at[2], SIZE, &launch);
    assert_ok(gpu_launch_now(gpu, &launch, &err), &err);
    assert_ok(gpu_download(gpu, y, at[2], sizeof y, &err), &err);
    double far = 0;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            double sum = 0;
            for (int k = 0; k < SIZE; k++)
                sum += (double)a[i * SIZE + k] * (double)b[j * SIZE + k];
            far = fmax(far, fabs(sum - (double)y[i * SIZE + j]));
        }
    judge(far, 0, "a product of 192 x 192", precision_names[precision]);
    gpu_close(gpu);
}

void products_by_themselves(void **state)
{
    (void)state;
    for (int p = 0; p < 3; p++)
        if (cuda_is_here((enum engine_precision)p))
            try_product((enum engine_precision)p);
    if (!cuda_is_here(ENGINE_F32))
        skip();
    // And its rate, as 'fare check --bandwidth' takes it.
    if (!cuda_is_slow()) {
        const struct engine_options options = {.precision = ENGINE_F32};
        struct engine_product out = {0};
        struct err err = {0};
        assert_ok(engine_cuda.product(&options, &out, &err), &err);
        print_message("# f32: %.1f TFLOP/s, %d, %s\n",
                      2 * pow((double)out.size, 3) / out.seconds * 1e-12, (int)out.size,
                      out.kernel);
        assert_true(2 * pow((double)out.size, 3) / out.seconds > 1e11);
    }
    assert_none_far();
}

// ---- L1 distances ----

static void try_l1(int64_t n, int64_t m, int64_t dim, enum l1_kind kind)
{
    const struct engine_options options = {.precision = ENGINE_F32};
    struct err err = {0};
    struct rng rng;
    char what[80];
    rng_init(&rng, (uint64_t)(n * 31 + m * 7 + dim));
    float *a = malloc((size_t)(n * dim) * sizeof *a), *b = malloc((size_t)(m * dim) * sizeof *b);
    float *out = malloc((size_t)(n * m + 1) * sizeof *out);
    assert_true(a && b && out);
    l1_fill(&rng, a, n * dim, kind);
    l1_fill(&rng, b, m * dim, kind);
    if (n > 2 && m > 3)
        memcpy(b + 3 * dim, a + 2 * dim, (size_t)dim * sizeof *b); // the same: exactly 0
    for (int64_t i = 0; i < n * m; i++)
        out[i] = NAN;
    out[n * m] = 42;
    assert_ok(engine_cuda.l1->distances(&options, a, b, n, m, dim, out, &err), &err);
    snprintf(what, sizeof what, "L1, %d x %d of %d, kind %d", (int)n, (int)m, (int)dim, (int)kind);
    judge(l1_worst(a, b, n, m, dim, out), 1e-5, what, "a distance");
    if (n > 2 && m > 3)
        judge(out[2 * m + 3] == 0 ? 0 : HUGE_VAL, 0, what, "a vector to itself");
    assert_true(out[n * m] == 42); // not a number too far
    free(a);
    free(b);
    free(out);
}

// As passes are measured: memory is the engine's where it gives any, pieces are small, and the GPU
// has room for 384 rows of 300 at once.
void l1_in_pieces(void **state)
{
    (void)state;
    const struct engine_options options = {.precision = ENGINE_F32};
    const struct engine_l1 *l1 = engine_cuda.l1;
    struct err err = {0};
    if (!cuda_is_here(ENGINE_F32))
        skip();
    setenv("FARE_CUDA_PIECE", "4096", 1);
    try_l1(500, 300, 4, L1_EVEN); // nothing is kept, and the result is ordinary memory
    int64_t n = 500, m = 300, dim = 4;
    void *given[3] = {l1->host_alloc(&options, n * dim * 4), l1->host_alloc(&options, m * dim * 4),
                      l1->host_alloc(&options, n * m * 4)};
    float *own[3] = {malloc((size_t)(n * dim) * 4), malloc((size_t)(m * dim) * 4),
                     malloc((size_t)(n * m) * 4)};
    assert_true(own[0] && own[1] && own[2]);
    float *a = given[0] ? given[0] : own[0], *b = given[1] ? given[1] : own[1];
    float *out = given[2] ? given[2] : own[2];
    for (int i = 0; i < 3; i++) { // its memory on the GPU is used again, then made anew
        struct rng rng;
        struct engine_l1_times times = {0};
        char what[80];
        int64_t rows = i < 2 ? n : 212, others = i < 2 ? m : 240;
        rng_init(&rng, (uint64_t)i);
        l1_fill(&rng, a, rows * dim, L1_EVEN);
        l1_fill(&rng, b, others * dim, L1_EVEN);
        for (int64_t k = 0; k < rows * others; k++)
            out[k] = NAN;
        assert_ok(l1->distances(&options, a, b, rows, others, dim, out, &err), &err);
        snprintf(what, sizeof what, "L1 in pieces, pass %d", i);
        judge(l1_worst(a, b, rows, others, dim, out), 1e-5, what, "a distance");
        assert_ok(l1->times(&options, a, b, rows, others, dim, &times, &err), &err);
        assert_true(times.to_device > 0 && times.calculation > 0);
    }
    try_l1(211, 300, 31, L1_EVEN); // beside what is kept, memory of the caller's
    l1->host_free();
    unsetenv("FARE_CUDA_PIECE");
    for (int i = 0; i < 3; i++)
        free(own[i]);
    assert_none_far();
}

// Around the kernel's tiles of 96 and 128 rows and its slices of 32 numbers (8 on older GPUs). Of
// at most 1031 terms in single precision, all positive, an error near 1e-5 of the sum would take a
// fault: roundings come to some 1e-6.
void l1_distances_of_all_sizes(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 5, 96, 97, 211}, others[] = {1, 7, 128, 129, 300},
                         dims[] = {1, 3, 4, 31, 33, 511, 512, 513, 1031};
    if (!cuda_is_here(ENGINE_F32))
        skip();
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        for (size_t m = 0; m < sizeof others / sizeof *others; m++)
            for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
                try_l1(rows[n], others[m], dims[d], (enum l1_kind)((n + m + d) % L1_KINDS));
    for (enum l1_kind kind = L1_EVEN; kind < L1_KINDS; kind++)
        try_l1(3, 2, 513, kind);
    assert_none_far();
}
