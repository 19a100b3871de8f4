// SPDX-License-Identifier: Apache-2.0
// The layers of transformers in the cpu engine, against the reference: operation by operation,
// parts of a batch, AdamW with clipping and schedule, whole nets; the same bits from the same seed.
#include "gpt_cases.h"
#include "pair_cases.h"

static const struct recipe adamw = {.optimizer = OPTIMIZER_ADAMW,
                                    .rho = 0.9f,
                                    .beta2 = 0.95f,
                                    .epsilon = 1e-3f, // see optimizers_follow_their_rules
                                    .weight_decay = 0.1f,
                                    .stages = {{.rate = 0.01f, .steps = 6}},
                                    .stage_count = 1,
                                    .clip = 0.05f,
                                    .warmup = 2,
                                    .floor = 0.1f};

static void run_case(const struct gpt_case *c, const struct gpt *g, int threads, int64_t part,
                     int64_t count)
{
    const int64_t batch = 3;
    struct net net;
    struct pair pair;
    struct gap gap = {0};
    char what[160];
    struct engine_options options = {.threads = threads, .seed = 11, .micro_batch = part};
    build_gpt_case(&net, c, g);
    pair_init(&pair, &net, &see_gradients, batch, &options);
    for (uint64_t number = 0; number < 2; number++) {
        struct engine_batch b = pair_batch(&pair, number, count);
        b.position = g->time / 2;
        pair_step(&pair, &b, &gap);
        pair_tensors(&pair, true, &gap);
        pair_evaluate(&pair, &b, &gap);
    }
    snprintf(what, sizeof what, "%s, %d of 3, width %d, time %d, %d threads, parts of %d", c->name,
             (int)count, g->width, g->time, threads, (int)part);
    assert_within(&gap, c->bound, what);
    pair_release(&pair);
    net_release(&net);
}

TEST(every_operation_is_that_of_the_reference)
{
    const char *only = getenv("FARE_TEST_ONLY");
    for (size_t i = 0; i < sizeof gpt_cases / sizeof *gpt_cases; i++)
        for (size_t k = 0; k < sizeof gpt_sizes / sizeof *gpt_sizes; k++) {
            if (only && !strstr(gpt_cases[i].name, only))
                continue;
            run_case(&gpt_cases[i], &gpt_sizes[k], 1 + (int)k % 3, 0, 3);
            run_case(&gpt_cases[i], &gpt_sizes[k], 2, 2, 3); // two, then one
            run_case(&gpt_cases[i], &gpt_sizes[k], 2, 1, 2);
        }
}

static const struct gpt small = {2, 3, 24, 19, 61, 20};

TEST(a_small_gpt_learns_as_the_reference_does)
{
    for (int64_t part = 0; part < 3; part++) {
        struct net net;
        struct pair pair;
        struct gap gap = {0};
        build_gpt(&net, &small);
        pair_init(&pair, &net, &adamw, 4,
                  &(struct engine_options){.threads = 2, .seed = 5, .micro_batch = part});
        for (uint64_t step = 0; step < 8; step++) {
            struct engine_batch b = pair_batch(&pair, step, step == 7 ? 3 : 4);
            pair_step(&pair, &b, &gap);
        }
        pair_tensors(&pair, true, &gap);
        struct engine_batch b = pair_batch(&pair, 99, 4);
        pair_evaluate(&pair, &b, &gap);
        assert_within(&gap, 1e-4, "gpt");
        pair_release(&pair);
        net_release(&net);
    }
}

// bf16: products of rounded numbers, everything else in f32. A machine without such kernels skips
// it.
TEST(bfloat16_is_close_to_the_reference)
{
    const struct engine_options options = {.threads = 2, .seed = 5, .precision = ENGINE_BF16};
    if (engine_cpu.available(&options, NULL) != 0)
        skip();
    struct net net;
    struct pair pair;
    struct gap gap = {.together = true};
    build_gpt(&net, &small);
    pair_init(&pair, &net, &adamw, 4, &options);
    for (uint64_t step = 0; step < 8; step++) {
        struct engine_batch b = pair_batch(&pair, step, step == 7 ? 3 : 4);
        pair_step(&pair, &b, &gap);
    }
    pair_tensors(&pair, true, &gap);
    assert_within(&gap, 3e-2, "gpt in bf16");
    assert_true(gap.most > 1e-5); // it is not f32
    pair_release(&pair);
    net_release(&net);
}

// The same batch again and again: the loss goes to zero.
TEST(a_batch_is_learned_by_heart)
{
    struct recipe recipe = adamw;
    struct net net;
    struct pair pair;
    struct err err = {0};
    double mean = 0;
    recipe.epsilon = 1e-8f;
    recipe.clip = 1;
    recipe.weight_decay = 0;
    recipe.stages[0] = (struct recipe_stage){.rate = 0.01f, .steps = 200};
    build_gpt(&net, &small);
    pair_init(&pair, &net, &recipe, 4, &(struct engine_options){.threads = 2, .seed = 5});
    struct engine_batch b = pair_batch(&pair, 1, 4);
    for (int step = 0; step < 200; step++) {
        struct engine_score score = {0};
        assert_ok(engine_cpu.step(pair.subject, &b, &score, &err), &err);
        mean = score.loss / (double)score.count;
        if (step == 0)
            assert_true(fabs(mean - log(61)) < 0.1); // knows nothing yet
    }
    assert_true(mean < 0.01);
    pair_release(&pair);
    net_release(&net);
}

TEST(the_same_seed_gives_the_same_bits)
{
    struct net net;
    struct pair pairs[2];
    struct err err = {0};
    build_gpt(&net, &small);
    for (int i = 0; i < 2; i++) {
        pair_init(&pairs[i], &net, &adamw, 4, &(struct engine_options){.threads = 2, .seed = 5});
        for (uint64_t step = 0; step < 5; step++) {
            struct engine_batch b = pair_batch(&pairs[i], step, 4);
            struct engine_score score = {0};
            assert_ok(engine_cpu.step(pairs[i].subject, &b, &score, &err), &err);
        }
    }
    for (int i = 0; i < engine_cpu.tensor_count(pairs[0].subject); i++) {
        int64_t count;
        float *a = values_of(&engine_cpu, pairs[0].subject, i, &count);
        float *b = values_of(&engine_cpu, pairs[1].subject, i, &count);
        assert_memory_equal(a, b, (size_t)count * sizeof *a);
        free(a);
        free(b);
    }
    for (int i = 0; i < 2; i++)
        pair_release(&pairs[i]);
    net_release(&net);
}

TEST(recipes_that_do_not_fit_are_refused)
{
    struct net net;
    struct engine_program *program;
    struct err err = {0};
    const struct engine_options options = {.threads = 1};
    struct recipe recipe = with_batch(&adamw, 2);
    net_init(&net, "words");
    int x = net_embedding(&net, net_tokens(&net, 3, 5), 4, "embedding");
    net_dense(&net, net_lstm(&net, x, 3, false, "lstm"), 2, false, "out");
    assert_int_equal(engine_cpu.compile(&net, &recipe, &options, &program, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "layer 'embedding': the engine 'cpu' trains an embedding"));
    net_release(&net);
    build_gpt(&net, &small);
    err = (struct err){0};
    recipe.optimizer = OPTIMIZER_ADAM;
    assert_int_equal(engine_cpu.compile(&net, &recipe, &options, &program, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "clips gradients only with AdamW"));
    net_release(&net);
}

int main(void)
{
    setenv("OMP_WAIT_POLICY", "passive", 0);
    return run_all_tests(NULL, NULL);
}
