// SPDX-License-Identifier: Apache-2.0
// The cpu engine without memory: every allocation of ours fails once while a program is made, and
// none is made after that. (What oneDNN allocates itself is out of reach.)
#include "oom.h"

#include "train/engine/engine.h"

static const struct recipe recipe = {.optimizer = OPTIMIZER_ADAM,
                                     .rho = 0.9f,
                                     .beta2 = 0.999f,
                                     .epsilon = 1e-7f,
                                     .batch = 4,
                                     .stages = {{.rate = 0.01f}},
                                     .stage_count = 1};
static const struct engine_options options = {.threads = 2, .seed = 1};

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
    x = net_lstm(net, x, 4, true, "l");
    net_set_hard_gates(net, x);
    net_dense(net, net_dropout(net, x, 0.5f), 3, false, "d");
}

static void try_net(void (*build)(struct net *))
{
    static float image[4 * 3 * 9 * 9];
    static int32_t tokens[4 * 5], labels[4];
    const struct engine_batch batch = {4, image, tokens, labels};
    struct net net;
    struct engine_program *program = NULL;
    struct err opened = {0};
    build(&net);
    assert_ok(engine_cpu.available(&options, &opened), &opened);
    OOM_EACH
    {
        struct err err = {0};
        int rc = engine_cpu.compile(&net, &recipe, &options, &program, &err);
        if (rc != 0)
            assert_null(program);
        engine_cpu.release(program);
        OOM_EXPECT(rc, &err);
    }
    struct err err = {0};
    struct engine_score score = {0};
    assert_ok(engine_cpu.compile(&net, &recipe, &options, &program, &err), &err);
    oom_hit = false;
    oom_countdown = 0;
    int rc = engine_cpu.step(program, &batch, &score, &err);
    rc = rc == 0 ? engine_cpu.evaluate(program, &batch, &score, &err) : rc;
    oom_countdown = -1;
    assert_int_equal(rc, 0);
    assert_false(oom_hit);
    engine_cpu.release(program);
    net_release(&net);
}

TEST(images)
{
    try_net(image_net);
}

TEST(texts)
{
    try_net(text_net);
}

int main(void)
{
    // Threads that wait sleep, so that other programs on the machine do not slow this one down.
    setenv("OMP_WAIT_POLICY", "passive", 0);
    return run_all_tests(NULL, NULL);
}
