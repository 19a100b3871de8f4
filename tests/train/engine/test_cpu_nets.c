// SPDX-License-Identifier: Apache-2.0
// Whole programs of the cpu engine: optimizers, the real nets over some steps, the same bits from
// the same seed, tensors read and written, stages, mistakes. Numbers come from the reference
// engine.
#include "pair_cases.h"

#include "train/workload/workload.h"

static const struct engine_options two_threads = {.threads = 2, .seed = 5};

// ---- nets ----

static void small_mlp(struct net *net)
{
    net_init(net, "small mlp");
    int x = net_dense(net, net_image(net, 1, 5, 7), 37, true, "a");
    x = net_dense(net, net_dropout(net, x, 0.2f), 19, true, "b");
    net_dense(net, x, 7, false, "c");
}

static int unit(struct net *net, int x, struct net_conv conv, const char *name)
{
    char norm[80];
    conv.no_bias = true;
    x = net_conv(net, x, conv, name);
    snprintf(norm, sizeof norm, "%s.norm", name);
    return net_batch_norm(net, x, 0.9f, 0.001f, true, norm);
}

// Everything that Inception v4 is made of, small.
static void small_inception_of(struct net *net, bool auxiliary)
{
    net_init(net, "small inception");
    int x = net_image(net, 3, 33, 33);
    x = unit(net, x, (struct net_conv){16, 3, 3, 2, NET_VALID}, "stem1");
    x = unit(net, x, (struct net_conv){24, 3, 3, 1, NET_SAME}, "stem2");
    int fork[2] = {net_max_pool(net, x, 3, 2, NET_VALID),
                   unit(net, x, (struct net_conv){32, 3, 3, 2, NET_VALID}, "stem3")};
    x = net_concat(net, fork, 2);
    int a[4];
    a[0] = unit(net, x, (struct net_conv){32, 1, 1, 1, NET_SAME}, "a0");
    a[1] = unit(net, x, (struct net_conv){16, 1, 1, 1, NET_SAME}, "a1.0");
    a[1] = unit(net, a[1], (struct net_conv){48, 3, 3, 1, NET_SAME}, "a1.1");
    a[2] = unit(net, x, (struct net_conv){20, 1, 1, 1, NET_SAME}, "a2.0");
    a[2] = unit(net, a[2], (struct net_conv){16, 1, 7, 1, NET_SAME}, "a2.1");
    a[2] = unit(net, a[2], (struct net_conv){16, 7, 1, 1, NET_SAME}, "a2.2");
    a[3] = net_average_pool(net, x, 3, 1, NET_SAME);
    a[3] = unit(net, a[3], (struct net_conv){16, 1, 1, 1, NET_SAME}, "a3");
    x = net_concat(net, a, 4);
    int stem = unit(net, x, (struct net_conv){32, 1, 1, 1, NET_SAME}, "c0");
    int inner[2] = {unit(net, stem, (struct net_conv){16, 1, 3, 1, NET_SAME}, "c1"),
                    unit(net, stem, (struct net_conv){16, 3, 1, 1, NET_SAME}, "c2")};
    int outer[2] = {net_concat(net, inner, 2), net_max_pool(net, x, 3, 1, NET_SAME)};
    x = net_concat(net, outer, 2);
    int head = -1;
    if (auxiliary) {
        head = net_average_pool(net, x, 3, 2, NET_VALID);
        head = unit(net, head, (struct net_conv){24, 1, 1, 1, NET_SAME}, "aux.0");
        head = unit(net, head, (struct net_conv){40, 3, 3, 1, NET_VALID}, "aux.1");
        head = net_dense(net, head, 5, false, "aux.logits");
    }
    x = net_dropout(net, net_global_average(net, x), 0.2f);
    x = net_dense(net, x, 5, false, "logits");
    if (auxiliary)
        net_aux(net, x, head, 0.4f);
}

static void small_inception(struct net *net)
{
    small_inception_of(net, false);
}

static void defined(const struct workload *workload, const struct workload_options *options,
                    struct net *net)
{
    struct err err = {0};
    assert_ok(workload_net_as_defined(workload, options, net, &err), &err);
}

static const struct recipe inception_recipe = {
    .optimizer = OPTIMIZER_RMSPROP_MOMENTUM,
    .rho = 0.9f,
    .epsilon = 1,
    .momentum = 0.9f,
    .weight_decay = 4e-5f,
    .batch = 6,
    .stages = {{.rate = 0.01f, .only = "logits"}, {.rate = 0.01f}},
    .stage_count = 2};

// ---- bfloat16 ----

// Bfloat16 has 8 bits: each rounding is off by up to 0.4 %, and a few of them follow each other.
// First of all: it tries the library in children.
TEST(bf16_is_near_where_it_works)
{
    struct err err = {0};
    struct engine_options options = {.threads = 2, .seed = 5, .precision = ENGINE_BF16};
    if (engine_cpu.available(&options, &err) != 0) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    static const struct workload *const cases[] = {
        &workload_mlp, &workload_cnn, &workload_cifar, &workload_textgen, NULL, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct net net;
        struct pair pair;
        struct gap gap = {0};
        struct recipe recipe = inception_recipe;
        recipe.stages[0] = recipe.stages[1];
        if (cases[i]) {
            recipe = cases[i]->recipe;
            recipe.stages[0].rate /= 10;
            defined(cases[i], NULL, &net);
        } else {
            small_inception_of(&net, i % 2); // with and without the other head
        }
        pair_init(&pair, &net, &recipe, 6, &options);
        for (uint64_t step = 0; step < 3; step++) {
            struct engine_batch batch = pair_batch(&pair, step, step == 2 ? 5 : 6);
            pair_step(&pair, &batch, &gap);
        }
        assert_within(&gap, 0.05, net.name);
        pair_release(&pair);
        net_release(&net);
    }
}

// ---- optimizers ----

// With a large epsilon, so that a step is a smooth function of its gradient: with a small one a
// gradient that is zero but for rounding moves its number by a whole step either way.
TEST(optimizers_follow_their_rules)
{
    static const struct recipe recipes[] = {
        {.optimizer = OPTIMIZER_RMSPROP, .rho = 0.9f, .epsilon = 0.01f, .decay = 0.01f},
        {.optimizer = OPTIMIZER_RMSPROP_MOMENTUM,
         .rho = 0.9f,
         .epsilon = 1,
         .momentum = 0.9f,
         .weight_decay = 4e-5f},
        {.optimizer = OPTIMIZER_ADADELTA, .rho = 0.95f, .epsilon = 1e-4f},
        {.optimizer = OPTIMIZER_ADAM, .rho = 0.9f, .beta2 = 0.999f, .epsilon = 0.01f},
        {.optimizer = OPTIMIZER_ADAM,
         .rho = 0.9f,
         .beta2 = 0.999f,
         .epsilon = 0.01f,
         .weight_decay = 0.1f},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        struct recipe recipe = recipes[i];
        struct net net;
        struct pair pair;
        struct gap gap = {0};
        recipe.stages[0].rate = 0.05f;
        recipe.stage_count = 1;
        small_mlp(&net);
        pair_init(&pair, &net, &recipe, 13, &two_threads);
        engine_cpu.set_iteration(pair.subject, 3);
        engine_ref.set_iteration(pair.ref, 3);
        for (uint64_t step = 0; step < 5; step++) {
            struct engine_batch batch = pair_batch(&pair, step, 13);
            pair_step(&pair, &batch, &gap);
        }
        pair_tensors(&pair, true, &gap);
        char what[40];
        snprintf(what, sizeof what, "optimizer %d, recipe %zu", (int)recipe.optimizer, i);
        assert_within(&gap, 2e-5, what);
        pair_release(&pair);
        net_release(&net);
    }
}

// ---- the real nets ----

static void train_pair(const struct net *net, const struct recipe *recipe, int64_t batch, int steps,
                       double bound)
{
    struct pair pair;
    struct gap gap = {0};
    pair_init(&pair, net, recipe, batch, &two_threads);
    for (int step = 0; step < steps; step++) {
        // The last one is not full.
        struct engine_batch b =
            pair_batch(&pair, (uint64_t)step, step == steps - 1 ? (batch + 1) / 2 : batch);
        pair_step(&pair, &b, &gap);
    }
    struct engine_batch b = pair_batch(&pair, 99, batch);
    pair_evaluate(&pair, &b, &gap);
    assert_within(&gap, bound, net->name);
    pair_release(&pair);
}

TEST(the_nets_learn_as_the_reference_does)
{
    static const struct {
        const struct workload *workload;
        int batch, steps;
        struct workload_options options;
    } cases[] = {{&workload_mlp, 17, 4},
                 {&workload_cnn, 3, 3},
                 {&workload_cifar, 2, 3},
                 {&workload_imdb, 3, 3},
                 {&workload_imdb, 3, 3, {.hard_gates = true}},
                 {&workload_textgen, 9, 3},
                 {&workload_textgen, 9, 3, {.hard_gates = true}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct net net;
        defined(cases[i].workload, &cases[i].options, &net);
        // Small rates keep the two on one way: near a relu's corner they may part.
        struct recipe recipe = cases[i].workload->recipe;
        recipe.stages[0].rate /= 10;
        train_pair(&net, &recipe, cases[i].batch, cases[i].steps, 1e-4);
        net_release(&net);
    }
}

TEST(a_small_inception_learns_as_the_reference_does)
{
    struct net net;
    struct recipe recipe = inception_recipe;
    recipe.stages[0] = recipe.stages[1];
    recipe.stage_count = 1;
    for (int auxiliary = 0; auxiliary < 2; auxiliary++) {
        small_inception_of(&net, auxiliary);
        train_pair(&net, &recipe, 6, 4, 1e-4);
        net_release(&net);
    }
}

// ---- bits ----

static void assert_same_bits(struct engine_program *a, struct engine_program *b)
{
    for (int i = 0; i < engine_cpu.tensor_count(a); i++) {
        int64_t count;
        struct engine_tensor tensor;
        engine_cpu.tensor(a, i, &tensor);
        float *x = values_of(&engine_cpu, a, i, &count), *y = values_of(&engine_cpu, b, i, &count);
        if (memcmp(x, y, (size_t)count * sizeof *x) != 0)
            fail_msg("'%s' differs", tensor.name);
        free(x);
        free(y);
    }
}

static void steps(struct pair *pair, struct engine_program *program, int from, int to,
                  struct engine_score *score)
{
    for (int i = from; i < to; i++) {
        struct err err = {0};
        struct engine_batch batch =
            pair_batch(pair, (uint64_t)i, i % 3 == 2 ? pair->batch - 1 : pair->batch);
        assert_ok(engine_cpu.step(program, &batch, score, &err), &err);
    }
}

static void copy_tensors(struct engine_program *from, struct engine_program *to)
{
    for (int i = 0; i < engine_cpu.tensor_count(from); i++) {
        struct err err = {0};
        int64_t count;
        float *values = values_of(&engine_cpu, from, i, &count);
        assert_ok(engine_cpu.write(to, i, values, &err), &err);
        free(values);
    }
}

// Two programs from one seed, and a third that is stopped and goes on in another program.
static void check_bits(const struct net *net, const struct recipe *recipe_, int64_t batch,
                       int threads)
{
    struct engine_options options = {.threads = threads, .seed = 5}, other = options;
    struct recipe recipe = with_batch(recipe_, batch);
    struct pair pair;
    struct engine_score one = {0}, two = {0}, resumed = {0};
    pair_init(&pair, net, &recipe, batch, &options);
    struct engine_program *again = subject_program(net, &recipe, &options);
    steps(&pair, pair.subject, 0, 3, &one);
    steps(&pair, again, 0, 3, &two);
    assert_true(one.loss == two.loss);
    assert_same_bits(pair.subject, again);

    struct engine_program *later = subject_program(net, &recipe, &other);
    copy_tensors(again, later);
    engine_cpu.set_iteration(later, 3);
    one = two = (struct engine_score){0};
    steps(&pair, pair.subject, 3, 6, &one);
    steps(&pair, again, 3, 6, &two);
    steps(&pair, later, 3, 6, &resumed);
    assert_true(one.loss == two.loss);
    assert_true(one.loss == resumed.loss);
    assert_same_bits(pair.subject, again);
    assert_same_bits(pair.subject, later);
    engine_cpu.release(again);
    engine_cpu.release(later);
    pair_release(&pair);
}

TEST(the_same_seed_gives_the_same_bits)
{
    static const struct workload *const cases[] = {&workload_mlp, &workload_cnn, &workload_cifar,
                                                   &workload_imdb, &workload_textgen};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct net net;
        defined(cases[i], NULL, &net);
        check_bits(&net, &cases[i]->recipe, 12, 2);
        net_release(&net);
    }
    struct net net;
    struct recipe recipe = inception_recipe;
    recipe.stages[0] = recipe.stages[1];
    for (int auxiliary = 0; auxiliary < 2; auxiliary++) {
        small_inception_of(&net, auxiliary);
        check_bits(&net, &recipe, 6, 2);
        check_bits(&net, &recipe, 6, 3);
        net_release(&net);
    }
}

TEST(what_is_written_is_read)
{
    struct net net;
    small_inception(&net);
    struct recipe recipe = with_batch(&inception_recipe, 3);
    struct engine_program *program = subject_program(&net, &recipe, &two_threads);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < engine_cpu.tensor_count(program); i++) {
            struct err err = {0};
            int64_t count;
            float *values = values_of(&engine_cpu, program, i, &count);
            for (int64_t k = 0; k < count; k++) {
                if (round == 1) // the other tensors did not touch it
                    assert_true(values[k] == (float)(i * 10000 + k % 10000));
                values[k] = (float)(i * 10000 + k % 10000);
            }
            assert_ok(engine_cpu.write(program, i, values, &err), &err);
            free(values);
        }
    engine_cpu.release(program);
    net_release(&net);
}

// ---- stages ----

static void check_stages(bool auxiliary)
{
    struct net net;
    struct pair pair;
    struct gap gap = {0};
    struct err err = {0};
    small_inception_of(&net, auxiliary);
    pair_init(&pair, &net, &inception_recipe, 6, &two_threads);
    struct recipe recipe = with_batch(&inception_recipe, 6);
    struct engine_program *before = subject_program(&net, &recipe, &two_threads);
    for (uint64_t i = 0; i < 2; i++) {
        struct engine_batch batch = pair_batch(&pair, i, 6);
        pair_step(&pair, &batch, &gap);
    }
    for (int i = 0; i < engine_cpu.tensor_count(before); i++) {
        struct engine_tensor tensor;
        int64_t count;
        engine_cpu.tensor(before, i, &tensor);
        if (tensor.role != ENGINE_PARAMETER)
            continue;
        float *x = values_of(&engine_cpu, before, i, &count);
        float *y = values_of(&engine_cpu, pair.subject, i, &count);
        bool same = memcmp(x, y, (size_t)count * sizeof *x) == 0;
        bool moves = strstr(tensor.name, "logits.") || strstr(tensor.name, "running");
        if (same == moves)
            fail_msg("'%s' %s", tensor.name, same ? "did not move" : "moved");
        free(x);
        free(y);
    }
    assert_ok(engine_cpu.set_stage(pair.subject, 1, &err), &err);
    assert_ok(engine_ref.set_stage(pair.ref, 1, &err), &err);
    for (uint64_t i = 2; i < 4; i++) {
        struct engine_batch batch = pair_batch(&pair, i, 6);
        pair_step(&pair, &batch, &gap);
    }
    pair_tensors(&pair, true, &gap);
    assert_within(&gap, 2e-4, "stages");
    assert_int_equal(engine_cpu.set_stage(pair.subject, 2, &err), ERR_FAIL);
    engine_cpu.release(before);
    pair_release(&pair);
    net_release(&net);
}

// With an auxiliary head the layer of that name is there twice.
TEST(a_stage_trains_its_layers_alone)
{
    check_stages(false);
    check_stages(true);
}

// ---- mistakes ----

TEST(mistakes_are_named)
{
    struct net net;
    struct engine_program *program;
    struct engine_score score = {0};
    struct err err = {0};
    net_init(&net, "texts");
    net_dense(&net, net_embedding(&net, net_tokens(&net, 2, 5), 3, "e"), 4, false, "d");
    struct recipe recipe = with_batch(&see_gradients, 2);
    program = subject_program(&net, &recipe, &two_threads);
    int32_t tokens[4] = {0, 1, 5, 2}, labels[2] = {0, 3};
    struct engine_batch batch = {2, NULL, tokens, labels};
    assert_int_equal(engine_cpu.step(program, &batch, &score, &err), ERR_FORMAT);
    assert_string_equal(err.text, "token 5 of sample 1 is not in the vocabulary of 5");
    tokens[2] = 4;
    labels[1] = 4;
    err = (struct err){0};
    assert_int_equal(engine_cpu.evaluate(program, &batch, &score, &err), ERR_FORMAT);
    assert_string_equal(err.text, "label 4 of sample 1 is not one of 4 classes");
    assert_int_equal(score.count, 0);
    engine_cpu.release(program);

    err = (struct err){0};
    recipe.stages[0].only = "f";
    assert_int_equal(engine_cpu.compile(&net, &recipe, &two_threads, &program, &err), ERR_FAIL);
    assert_non_null(strstr(err.text, "there is no layer 'f' to train"));
    assert_null(program);
    net_release(&net);

    net_init(&net, "wide");
    net_dense(&net, net_max_pool(&net, net_image(&net, 1, 16, 16), 16, 16, NET_VALID), 2, false,
              "d");
    recipe = with_batch(&see_gradients, 2);
    err = (struct err){0};
    assert_int_equal(engine_cpu.compile(&net, &recipe, &two_threads, &program, &err), ERR_FAIL);
    assert_string_equal(err.text, "net 'wide': layer 'max_pool1': the window of a maximum pool "
                                  "holds at most 254 cells");
    net_release(&net);
}

int main(void)
{
    // Threads that wait sleep, so that other programs on the machine do not slow this one down.
    setenv("OMP_WAIT_POLICY", "passive", 0);
    return run_all_tests(NULL, NULL);
}
