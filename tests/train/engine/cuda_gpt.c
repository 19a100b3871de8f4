// SPDX-License-Identifier: Apache-2.0
// Transformers on the cuda engine, in bf16, against the reference: parts of a GPT, forward and
// back; AdamW with clipping and schedule; a batch in parts; the same bits after a resume.
//
// Weights are numbers that bf16 has, and large enough that attention chooses and GELU bends. What
// the engine rounds on its way (values, their gradients, weights after a step) is off by 2^-9 of
// itself at most, so a tensor is compared as a whole. FARE_TEST_GAPS=1 prints every distance.
#define SUBJECT engine_cuda
#include "cuda_tests.h"
#include "gpt_cases.h"
#include "pair_cases.h"

// AdamW with beta 1 = 0 at a rate of 0: the first state is the gradient itself.
static const struct recipe see = {.optimizer = OPTIMIZER_ADAMW,
                                  .beta2 = 0.5f,
                                  .epsilon = 1e-7f,
                                  .stages = {{.rate = 0}},
                                  .stage_count = 1};

enum part { NORM, ATTENTION, MLP, BLOCK };
static const char *const part_names[] = {"norm", "attention", "mlp", "block"};

// The bounds are three times what the kernels had without a GPU.
static const double bounds[] = {0.01, 0.035, 0.045, 0.04};

static void build_part(struct net *net, const struct gpt *g, enum part part)
{
    net_init(net, part_names[part]);
    int words = net_embedding(net, net_tokens(net, g->time, g->vocabulary), g->width, "wte");
    int x = net_position(net, words, g->positions, "wpe");
    if (part == ATTENTION || part == BLOCK)
        x = build_gpt_attention(net, g, x, 0);
    if (part == MLP || part == BLOCK)
        x = build_gpt_mlp(net, g, x, 0);
    net_tied_head(net, net_layer_norm(net, x, 1e-5f, "ln_f"), words, "head");
    for (int i = 0; i < net->param_count; i++)
        if (net->params[i].deviation > 0)
            net->params[i].deviation = 1.2f / sqrtf((float)g->width);
}

static void run_part(const struct gpt *g, enum part part, int64_t batch, int64_t micro,
                     int64_t count)
{
    struct net net;
    struct pair pair;
    struct gap gap = {.together = true};
    char what[160];
    struct engine_options options = {.precision = ENGINE_BF16, .seed = 11, .micro_batch = micro};
    build_part(&net, g, part);
    pair_init(&pair, &net, &see, batch, &options);
    pair_coarsen(&pair);
    for (uint64_t number = 0; number < 2; number++) { // twice: nothing is left of the first
        struct engine_batch b = pair_batch(&pair, number, count);
        b.position = g->time / 2;
        pair_step(&pair, &b, &gap);
        pair_tensors(&pair, true, &gap);
        if (number == 0 || !cuda_is_slow())
            pair_evaluate(&pair, &b, &gap);
    }
    snprintf(what, sizeof what, "%s, %d of %d in parts of %d, width %d, time %d, %d words",
             part_names[part], (int)count, (int)batch, (int)micro, g->width, g->time,
             g->vocabulary);
    judge(gap.most, bounds[part], what, gap.where);
    pair_release(&pair);
    net_release(&net);
}

void parts_of_a_gpt(void **state)
{
    (void)state;
    static const struct { // the first ones are enough where kernels are slow
        enum part part;
        int64_t batch, micro, count;
        struct gpt gpt;
    } cases[] = {
        // layers, heads, width, time, vocabulary, positions
        {NORM, 3, 0, 2, {1, 1, 72, 5, 61, 9}},
        {ATTENTION, 1, 0, 1, {1, 2, 128, 150, 70, 150}},
        {ATTENTION, 2, 0, 2, {1, 1, 64, 192, 70, 192}},
        {MLP, 3, 0, 3, {1, 1, 136, 7, 300, 8}},
        {BLOCK, 4, 2, 3, {1, 1, 64, 64, 131, 70}},
        {MLP, 1, 0, 1, {1, 1, 72, 750, 61, 750}}, // many rows: weights' gradients in parts
        {NORM, 2, 0, 2, {1, 1, 264, 33, 130, 40}},
        {NORM, 2, 1, 2, {1, 1, 1600, 33, 1025, 40}},
        {MLP, 1, 0, 1, {1, 1, 1280, 9, 130, 40}},
        {ATTENTION, 2, 0, 1, {1, 3, 192, 256, 200, 256}},
        {ATTENTION, 3, 1, 3, {1, 4, 256, 129, 200, 140}},
        {MLP, 2, 0, 2, {1, 1, 520, 66, 1000, 130}},
        {MLP, 2, 2, 1, {1, 1, 1032, 9, 130, 64}},
        {BLOCK, 4, 2, 3, {1, 4, 256, 128, 1000, 1024}},
        {BLOCK, 3, 0, 3, {1, 2, 128, 1, 70, 2}},
    };
    const int count = cuda_is_slow() ? 6 : (int)(sizeof cases / sizeof *cases);
    if (!cuda_is_here(ENGINE_BF16))
        skip();
    for (int i = 0; i < count; i++)
        run_part(&cases[i].gpt, cases[i].part, cases[i].batch, cases[i].micro, cases[i].count);
    assert_none_far();
}

static const struct recipe adamw = {.optimizer = OPTIMIZER_ADAMW,
                                    .rho = 0.9f,
                                    .beta2 = 0.95f,
                                    .epsilon = 1e-3f, // small gradients move little, as in f32
                                    .weight_decay = 0.1f,
                                    .stages = {{.rate = 0.01f, .steps = 6}},
                                    .stage_count = 1,
                                    .clip = 0.05f,
                                    .warmup = 2,
                                    .floor = 0.1f};
static const struct gpt small = {2, 1, 64, 64, 61, 64};

void a_small_gpt_learns_as_the_reference_does(void **state)
{
    (void)state;
    const uint64_t steps = cuda_is_slow() ? 3 : 12;
    struct net net;
    struct pair pair;
    struct gap gap = {.together = true};
    struct engine_options options = {.precision = ENGINE_BF16, .seed = 5, .micro_batch = 1};
    if (!cuda_is_here(ENGINE_BF16))
        skip();
    build_gpt(&net, &small);
    pair_init(&pair, &net, &adamw, 2, &options);
    for (uint64_t step = 0; step < steps; step++) {
        struct engine_batch b = pair_batch(&pair, step, 2 - (step == 1));
        pair_step(&pair, &b, &gap);
    }
    pair_tensors(&pair, true, &gap);
    judge(gap.most, 0.025, "a small gpt with AdamW", gap.where);
    pair_release(&pair);
    net_release(&net);
    assert_none_far();
}

// Parameters and states that were read after two steps and written into another program lead it to
// the same bits.
void a_gpt_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    struct net net;
    struct pair pairs[2];
    struct err err = {0};
    struct engine_score score = {0};
    int64_t count;
    struct engine_options options = {.precision = ENGINE_BF16, .seed = 5};
    if (!cuda_is_here(ENGINE_BF16))
        skip();
    build_gpt(&net, &small);
    for (int i = 0; i < 2; i++) {
        pair_init(&pairs[i], &net, &adamw, 1, &options);
        options.seed++;
    }
    for (uint64_t step = 0; step < 3; step++) {
        const int both = step == 2;
        for (int t = 0; both && t < engine_cuda.tensor_count(pairs[0].subject); t++) {
            float *values = values_of(&engine_cuda, pairs[0].subject, t, &count);
            assert_ok(engine_cuda.write(pairs[1].subject, t, values, &err), &err);
            free(values);
        }
        for (int i = 0; i <= both; i++) {
            struct engine_batch b = pair_batch(&pairs[i], step, 1);
            engine_cuda.set_iteration(pairs[i].subject, (int64_t)step);
            assert_ok(engine_cuda.step(pairs[i].subject, &b, &score, &err), &err);
        }
    }
    for (int t = 0; t < engine_cuda.tensor_count(pairs[0].subject); t++) {
        float *a = values_of(&engine_cuda, pairs[0].subject, t, &count);
        float *b = values_of(&engine_cuda, pairs[1].subject, t, &count);
        assert_memory_equal(a, b, (size_t)count * sizeof *a);
        free(a);
        free(b);
    }
    for (int i = 0; i < 2; i++)
        pair_release(&pairs[i]);
    net_release(&net);
}
