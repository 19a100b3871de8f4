// SPDX-License-Identifier: Apache-2.0
// The cuda engine without memory: every allocation of the host fails once while a program is made
// and given a set, and none is made after that. The driver is a stand-in (fake_gpu.c).
#include "oom.h"

#include "train/engine/engine.h"
#include "stand_in.h"

static const struct recipe recipe = {.optimizer = OPTIMIZER_ADAM,
                                     .rho = 0.9f,
                                     .beta2 = 0.999f,
                                     .epsilon = 1e-7f,
                                     .batch = 4,
                                     .stages = {{.rate = 0.01f}},
                                     .stage_count = 1};
static const struct engine_options options = {.seed = 1, .precision = ENGINE_TF32};

static void image_net(struct net *net)
{
    struct net_conv conv = {.filters = 16, .kernel_h = 3, .kernel_w = 3, .relu = true};
    net_init(net, "images");
    int x = net_conv(net, net_image(net, 3, 9, 9), conv, "a");
    int b = net_batch_norm(net, net_conv(net, x, conv, "b"), 0.9f, 0.001f, true, "n");
    int c = net_average_pool(net, net_conv(net, x, conv, "c"), 1, 1, NET_SAME);
    x = net_max_pool(net, net_concat(net, (int[2]){b, c}, 2), 2, 2, NET_VALID);
    int head = net_dense(net, x, 3, false, "aux.d");
    net_aux(net, net_dense(net, net_dropout(net, x, 0.5f), 3, false, "d"), head, 0.4f);
}

static void text_net(struct net *net)
{
    net_init(net, "texts");
    int x = net_embedding(net, net_tokens(net, 5, 7), 3, "e");
    x = net_lstm(net, x, 64, true, "l");
    net_dense(net, net_dropout(net, x, 0.5f), 3, false, "d");
}

static void try_net(void (*build)(struct net *), const struct engine_set *set)
{
    static float image[4 * 3 * 9 * 9];
    static int32_t tokens[4 * 5], labels[4];
    static const uint32_t samples[4] = {1, 0, 1, 0};
    const struct engine_batch batch = {
        .count = 4, .image = set->pixels ? image : NULL, .tokens = tokens, .labels = labels};
    const struct engine_batch numbers = {.count = 4, .samples = samples};
    struct net net;
    struct engine_program *program = NULL;
    struct err opened = {0};
    build(&net);
    assert_ok(engine_cuda.available(&options, &opened), &opened);
    OOM_EACH
    {
        struct err err = {0};
        int rc = engine_cuda.compile(&net, &recipe, &options, &program, &err);
        if (rc != 0)
            assert_null(program);
        else
            rc = engine_cuda.load(program, set, false, &err);
        engine_cuda.release(program);
        OOM_EXPECT(rc, &err);
    }
    struct err err = {0};
    struct engine_score score = {0};
    int64_t steps;
    assert_ok(engine_cuda.compile(&net, &recipe, &options, &program, &err), &err);
    assert_ok(engine_cuda.load(program, set, false, &err), &err);
    assert_ok(engine_cuda.step(program, &numbers, &score, &err), &err); // the graphs are made
    assert_ok(engine_cuda.collect(program, 0, &score, &steps, &err), &err);
    assert_int_equal(steps, 1);
    assert_int_equal(score.count, 4);
    oom_hit = false;
    oom_countdown = 0;
    for (int i = 0; i < 300; i++)
        assert_ok(engine_cuda.step(program, &numbers, &score, &err), &err);
    assert_ok(engine_cuda.collect(program, 0, &score, &steps, &err), &err);
    assert_int_equal(steps, 300);
    engine_cuda.set_iteration(program, 5000);
    assert_ok(engine_cuda.step(program, &batch, &score, &err), &err);
    assert_ok(engine_cuda.evaluate(program, &batch, &score, &err), &err);
    oom_countdown = -1;
    assert_false(oom_hit);
    engine_cuda.release(program);
    net_release(&net);
}

TEST(images)
{
    static const uint8_t pixels[2 * 3 * 9 * 9];
    static const int32_t labels[2] = {0, 2};
    const struct engine_set set = {
        .count = 2, .channels = 3, .height = 9, .width = 9, .pixels = pixels, .labels = labels};
    try_net(image_net, &set);
}

TEST(texts)
{
    static const int32_t tokens[10] = {1, 2, 3, 4, 5, 6, 0, 1, 2, 3}, labels[2] = {0, 2};
    const struct engine_set set = {.count = 2,
                                   .time = 5,
                                   .tokens = tokens,
                                   .token_count = 10,
                                   .token_stride = 5,
                                   .labels = labels};
    try_net(text_net, &set);
}

TEST(wrong_sets_are_refused)
{
    static const int32_t tokens[5] = {1, 2, 7, 4, 5}, good[5] = {0}, labels[1] = {0},
                         wrong[1] = {3};
    struct engine_set set = {.count = 1,
                             .time = 5,
                             .tokens = tokens,
                             .token_count = 5,
                             .token_stride = 5,
                             .labels = labels};
    struct net net;
    struct err err = {0};
    struct engine_program *program = NULL;
    text_net(&net);
    assert_ok(engine_cuda.compile(&net, &recipe, &options, &program, &err), &err);
    assert_int_equal(engine_cuda.load(program, &set, false, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "token 7"));
    set.tokens = good;
    set.labels = wrong;
    err = (struct err){0};
    assert_int_equal(engine_cuda.load(program, &set, false, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "label 3"));
    engine_cuda.release(program);
    net_release(&net);
}

int main(int argc, char **argv)
{
    (void)argc;
    take_stand_in(argv[0]);
    return run_all_tests(NULL, NULL);
}
