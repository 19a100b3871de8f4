// SPDX-License-Identifier: Apache-2.0
// What a program of the reference engine does when it is told to; its gradients are checked in
// test_ref_gradients.c.
#include "train/engine/engine.h"

#include "train/engine/ref_cases.h"

// A batch that is not full gives to the bit what a program for the smaller batch gives, whatever
// lies behind it.
TEST(test_last_batch)
{
    static void (*const builds[])(struct net * net) = {build_images, build_words, build_dropped};
    for (int b = 0; b < 3; b++) {
        struct net net;
        builds[b](&net);
        struct engine_program *whole = compile(&net, &see_gradients, 5, 3);
        struct engine_program *small = compile(&net, &see_gradients, 2, 3);
        struct engine_score one = {0}, two = {0};
        struct engine_batch batch = data(5, 2, 11);
        step(whole, &batch, &one); // leaves its traces in the program's memory
        for (int i = 0; i < engine_ref.tensor_count(small); i++) {
            int64_t count;
            float *values = values_of(small, i, &count);
            put(whole, i, values);
            free(values);
        }
        engine_ref.set_iteration(whole, 0);
        for (int i = 0; i < 3; i++) {
            one = two = (struct engine_score){0};
            batch = data(i == 1 ? 1 : 2, 2, 11);
            step(small, &batch, &two);
            for (int k = (int)batch.count; k < BATCH; k++)
                labels[k] = -1;
            for (int k = (int)batch.count * 6; k < BATCH * 6; k++)
                tokens[k] = -7;
            for (int k = (int)batch.count * 84; k < BATCH * 84; k++)
                image[k] = NAN;
            step(whole, &batch, &one);
            assert_memory_equal(&one, &two, sizeof one);
            assert_int_equal(one.count, batch.count);
        }
        assert_same_tensors(whole, small);
        engine_ref.release(whole);
        engine_ref.release(small);
        net_release(&net);
    }
}

static const struct recipe staged = {.optimizer = OPTIMIZER_RMSPROP_MOMENTUM,
                                     .rho = 0.9f,
                                     .epsilon = 1,
                                     .momentum = 0.9f,
                                     .weight_decay = 4e-5f,
                                     .batch = 5,
                                     .stages = {{.rate = 0.5f, .only = "fc2"}, {.rate = 0.25f}},
                                     .stage_count = 2};

// Which of the tensors differ from `before` (which takes the new values).
static void changed(struct engine_program *program, float **before, bool *moved)
{
    for (int i = 0; i < engine_ref.tensor_count(program); i++) {
        int64_t count;
        float *now = values_of(program, i, &count);
        moved[i] = before[i] && memcmp(now, before[i], (size_t)count * sizeof *now) != 0;
        free(before[i]);
        before[i] = now;
    }
}

TEST(test_stages)
{
    struct net net;
    struct err err = {0};
    build_images(&net);
    struct engine_program *program = compile(&net, &staged, 5, 3);
    struct engine_batch batch = data(5, 3, 11);
    struct engine_score score = {0};
    int count = engine_ref.tensor_count(program);
    assert_int_equal(count, 13 + 2 * 11);
    float *before[64] = {0};
    bool moved[64];
    set_params(program, &net);
    changed(program, before, moved);
    step(program, &batch, &score);
    changed(program, before, moved);
    for (int i = 0; i < count; i++) {
        struct engine_tensor tensor;
        engine_ref.tensor(program, i, &tensor);
        bool expected = strncmp(tensor.name, "fc2.", 4) == 0 || strstr(tensor.name, "running_");
        if (moved[i] != expected)
            fail_msg("%s %s", tensor.name, moved[i] ? "moved" : "did not move");
    }
    assert_ok(engine_ref.set_stage(program, 1, &err), &err);
    changed(program, before, moved);
    for (int i = 0; i < count; i++) { // starts anew: the squares at 1, the momentum at 0
        struct engine_tensor tensor;
        engine_ref.tensor(program, i, &tensor);
        assert_true(tensor.role == ENGINE_STATE || !moved[i]);
        for (int64_t k = 0; tensor.role == ENGINE_STATE && k < tensor.count; k++)
            assert_true(before[i][k] == (strstr(tensor.name, ".state0") ? 1 : 0));
    }
    step(program, &batch, &score);
    changed(program, before, moved);
    for (int i = 0; i < count; i++)
        assert_true(moved[i]);
    assert_int_equal(engine_ref.set_stage(program, 2, &err), ERR_FAIL);
    for (int i = 0; i < count; i++)
        free(before[i]);
    engine_ref.release(program);
    net_release(&net);
}

// The step itself: p -= m, m = lr g / sqrt(a + 1), with the gradient that another program saw and
// weight decay on weights alone.
TEST(test_step_follows_the_recipe)
{
    struct net net;
    build_images(&net);
    struct recipe recipe = staged;
    recipe.weight_decay = 0.25f;
    struct engine_program *program = compile(&net, &recipe, 5, 3);
    struct engine_program *watcher = compile(&net, &see_gradients, 5, 3);
    struct engine_batch batch = data(5, 3, 11);
    struct engine_score score = {0};
    set_params(program, &net);
    set_params(watcher, &net);
    struct engine_tensor tensor;
    static const char *const names[2] = {"fc2.weight", "fc2.bias"};
    float *before[2];
    int64_t count;
    for (int i = 0; i < 2; i++)
        before[i] = values_of(program, find(program, names[i], &tensor), &count);
    step(program, &batch, &score);
    step(watcher, &batch, &score);
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.state0", names[i]);
        float *after = values_of(program, find(program, names[i], &tensor), &count);
        float *g = values_of(watcher, find(watcher, name, &tensor), &count);
        for (int64_t k = 0; k < count; k++) {
            double p = (double)before[i][k], full = (double)g[k] + (i == 0 ? 0.25 * p : 0);
            double a = (double)0.9f + (1 - (double)0.9f) * full * full;
            assert_true(fabs((double)after[k] - (p - 0.5 * full / sqrt(a + 1))) < 1e-7);
        }
        free(before[i]);
        free(after);
        free(g);
    }
    engine_ref.release(program);
    engine_ref.release(watcher);
    net_release(&net);
}

// All rows of an embedding are moved in every step: by Adam's momentum also those whose words did
// not come, as long as they came before.
TEST(test_embedding_is_dense)
{
    struct net net;
    net_init(&net, "words");
    net_dense(&net, net_embedding(&net, net_tokens(&net, 1, 3), 1, "embedding"), 2, false, "fc");
    struct recipe recipe = see_gradients;
    recipe.rho = 0.9f;
    recipe.beta2 = 0.999f;
    recipe.stages[0].rate = 0.01f;
    struct engine_program *program = compile(&net, &recipe, 1, 1);
    struct engine_score score = {0};
    int32_t word = 0, label = 1;
    struct engine_batch batch = {1, NULL, &word, &label};
    float rows[3][3];
    struct err err = {0};
    for (int i = 0; i < 3; i++) {
        word = i == 0 ? 0 : 1;
        step(program, &batch, &score);
        assert_ok(engine_ref.read(program, 0, rows[i], &err), &err);
    }
    assert_true(rows[1][0] != rows[0][0] && rows[2][0] != rows[1][0]); // came in step 0 only
    assert_true(rows[2][1] != rows[1][1]);
    assert_true(rows[2][2] == rows[0][2]); // never came: no momentum
    // Row 0's way by the rule: g in step 0, then 0 and 0; the same k m / (sqrt(v) + eps) as in
    // recipe.h, relative to the first step's m / sqrt(v) = ± (1 - rho) / sqrt(1 - beta2).
    double b1 = (double)0.9f, b2 = (double)0.999f, sign = rows[1][0] > rows[0][0] ? 1 : -1;
    double k1 = (double)0.01f * sqrt(1 - b2 * b2) / (1 - b1 * b1);
    double expected = k1 * b1 * (1 - b1) / sqrt(b2 * (1 - b2));
    assert_true(fabs((double)(rows[1][0] - rows[0][0]) * sign - expected) < 1e-3 * expected);
    engine_ref.release(program);
    net_release(&net);
}

// Reads what was written; a program that is given all tensors and the iteration of another goes
// on exactly like it.
TEST(test_read_and_write)
{
    struct net net;
    build_dropped(&net);
    struct recipe recipe = staged;
    recipe.stages[0].only = NULL;
    struct engine_program *one = compile(&net, &recipe, 5, 3);
    struct engine_program *two = compile(&net, &recipe, 5, 3);
    struct engine_batch batch = data(5, 3, 11);
    struct engine_score a = {0}, b = {0};
    assert_same_tensors(one, two);
    for (int i = 0; i < 3; i++)
        step(one, &batch, &a);
    for (int i = 0; i < engine_ref.tensor_count(one); i++) {
        int64_t count;
        float *values = values_of(one, i, &count);
        put(two, i, values);
        free(values);
    }
    assert_same_tensors(one, two);
    engine_ref.set_iteration(two, 3);
    a = (struct engine_score){0};
    for (int i = 0; i < 3; i++) {
        step(one, &batch, &a);
        step(two, &batch, &b);
    }
    assert_memory_equal(&a, &b, sizeof a);
    assert_same_tensors(one, two);
    engine_ref.release(one);
    engine_ref.release(two);
    net_release(&net);
}

TEST(test_tensors)
{
    struct net net;
    build_images(&net);
    struct recipe recipe = see_gradients;
    for (int two = 0; two < 2; two++) {
        recipe.optimizer = two ? OPTIMIZER_ADADELTA : OPTIMIZER_RMSPROP;
        struct engine_program *program = compile(&net, &recipe, 2, 1);
        assert_int_equal(engine_ref.tensor_count(program), 13 + (two ? 22 : 11));
        struct engine_tensor tensor;
        for (int p = 0; p < net.param_count; p++) { // parameters first, in the net's order
            engine_ref.tensor(program, p, &tensor);
            assert_string_equal(tensor.name, net.params[p].name);
            assert_int_equal(tensor.role, ENGINE_PARAMETER);
            assert_int_equal(tensor.rank, net.params[p].rank);
            assert_memory_equal(tensor.dim, net.params[p].dim, sizeof tensor.dim);
        }
        engine_ref.tensor(program, 13, &tensor);
        assert_string_equal(tensor.name, "c1.weight.state0");
        assert_int_equal(tensor.count, 3 * 2 * 3 * 3);
        engine_ref.tensor(program, 14, &tensor);
        assert_string_equal(tensor.name, two ? "c1.weight.state1" : "c1.bias.state0");
        engine_ref.tensor(program, engine_ref.tensor_count(program) - 1, &tensor);
        assert_string_equal(tensor.name, two ? "fc2.bias.state1" : "fc2.bias.state0");
        engine_ref.release(program);
    }
    net_release(&net);
}

// Parameters start as net_init_param() says, by the options' seed.
TEST(test_start)
{
    struct net net;
    struct err err = {0};
    build_words(&net);
    struct engine_program *program = compile(&net, &see_gradients, 2, 77);
    for (int p = 0; p < net.param_count; p++) {
        int64_t count;
        float *got = values_of(program, p, &count), expected[64];
        assert_true(count <= 64);
        assert_ok(net_init_param(&net.params[p], 77, expected, &err), &err);
        assert_memory_equal(got, expected, (size_t)count * sizeof *got);
        free(got);
    }
    engine_ref.release(program);
    net_release(&net);
}

// Each optimizer gets a small net to know five samples by heart.
TEST(test_learns)
{
    static const struct recipe recipes[] = {
        {OPTIMIZER_RMSPROP, 0.9f, 0, 1e-7f, 1e-6f, 0, 0, 5, 0, {{.rate = 0.003f}}, 1},
        {OPTIMIZER_RMSPROP_MOMENTUM, 0.9f, 0, 1, 0, 0.9f, 4e-5f, 5, 0, {{.rate = 0.05f}}, 1},
        {OPTIMIZER_ADADELTA, 0.95f, 0, 1e-7f, 0, 0, 0, 5, 0, {{.rate = 1}}, 1},
        {OPTIMIZER_ADAM, 0.9f, 0.999f, 1e-7f, 0, 0, 0, 5, 0, {{.rate = 0.01f}}, 1},
    };
    for (int i = 0; i < 4; i++) {
        struct net net;
        build_words(&net);
        struct engine_program *program = compile(&net, &recipes[i], 5, 1);
        struct engine_batch batch = data(5, 2, 11);
        struct engine_score first = {0}, last = {0};
        step(program, &batch, &first);
        for (int s = 0; s < 1500; s++) {
            last = (struct engine_score){0};
            step(program, &batch, &last);
        }
        assert_true(last.loss < first.loss / 5);
        assert_int_equal(last.correct, 5);
        engine_ref.release(program);
        net_release(&net);
    }
}

TEST(test_faults)
{
    struct net net;
    build_words(&net);
    struct err err = {0};
    struct engine_options options = {.seed = 1};
    struct engine_program *program = (struct engine_program *)&net;
    struct recipe recipe = see_gradients;
    recipe.stages[0].only = "no such layer";
    assert_int_equal(engine_ref.compile(&net, &recipe, &options, &program, &err), ERR_FAIL);
    assert_null(program);
    assert_non_null(strstr(err.text, "'no such layer'"));
    recipe = see_gradients;
    recipe.batch = 0;
    assert_int_equal(engine_ref.compile(&net, &recipe, &options, &program, NULL), ERR_FAIL);
    options.precision = ENGINE_BF16;
    assert_int_equal(engine_ref.available(&options, NULL), ERR_USAGE);
    assert_int_equal(engine_ref.compile(&net, &see_gradients, &options, &program, NULL), ERR_USAGE);
    net_dense(&net, 99, 1, false, "wrong");
    options.precision = ENGINE_F32;
    assert_int_equal(engine_ref.compile(&net, &see_gradients, &options, &program, NULL), ERR_FAIL);
    engine_ref.release(NULL);
    net_release(&net);

    build_words(&net);
    program = compile(&net, &see_gradients, 5, 1);
    struct engine_batch batch = data(4, 2, 11);
    struct engine_score score = {0};
    labels[3] = 2;
    err = (struct err){0};
    assert_int_equal(engine_ref.step(program, &batch, &score, &err), ERR_FORMAT);
    assert_string_equal(err.text, "label 2 of sample 3 is not one of 2 classes");
    labels[3] = -1;
    assert_int_equal(engine_ref.evaluate(program, &batch, &score, NULL), ERR_FORMAT);
    labels[3] = 1;
    tokens[13] = 11;
    err = (struct err){0};
    assert_int_equal(engine_ref.step(program, &batch, &score, &err), ERR_FORMAT);
    assert_string_equal(err.text, "token 11 of sample 2 is not in the vocabulary of 11");
    tokens[13] = -1;
    float out[5];
    assert_int_equal(engine_ref.predict(program, &batch, out, NULL), ERR_FORMAT);
    assert_int_equal(score.count, 0);
    batch.labels = NULL; // a prediction needs none
    tokens[13] = 1;
    assert_int_equal(engine_ref.predict(program, &batch, out, NULL), 0);
    engine_ref.release(program);
    net_release(&net);
}

TEST(test_l1)
{
    static const float a[2 * 3] = {1, 2, 3, -1, 0, 1}, b[3 * 3] = {1, 2, 3, 0, 0, 0, -2, 5, 1e6f};
    static const float expected[2 * 3] = {0, 6, 1000003, 6, 2, 1000005};
    float out[2 * 3];
    struct err err = {0};
    struct engine_options options = {0};
    assert_ok(engine_ref.l1->distances(&options, a, b, 2, 3, 3, out, &err), &err);
    for (int i = 0; i < 6; i++)
        assert_true(out[i] == expected[i]);
}
