// SPDX-License-Identifier: Apache-2.0
// Every allocation of compile() failing once; and none after it.
#include "train/engine/engine.h"

#include "oom.h"

// An operation of each kind that has memory of its own.
static void build_images(struct net *net)
{
    net_init(net, "images");
    struct net_conv conv = {2, 3, 3, 1, NET_SAME, false, true};
    int at = net_conv(net, net_image(net, 1, 4, 4), conv, "conv");
    at = net_batch_norm(net, at, 0.9f, 0.01f, true, "bn");
    at = net_dropout(net, net_max_pool(net, at, 2, 2, NET_VALID), 0.5f);
    int head = net_dense(net, at, 2, false, "aux.fc");
    net_aux(net, net_dense(net, at, 2, false, "fc"), head, 0.4f);
}

static void build_words(struct net *net)
{
    net_init(net, "words");
    int at = net_embedding(net, net_tokens(net, 3, 5), 2, "embedding");
    net_dense(net, net_lstm(net, at, 2, true, "lstm"), 1, false, "fc");
    net_set_loss(net, NET_SIGMOID);
}

static const struct recipe recipe = {.optimizer = OPTIMIZER_ADAM,
                                     .rho = 0.9f,
                                     .beta2 = 0.999f,
                                     .epsilon = 1e-7f,
                                     .batch = 2,
                                     .stages = {{.rate = 0.01f}, {.rate = 0.1f}},
                                     .stage_count = 2};

static void (*const builds[2])(struct net *net) = {build_images, build_words};

TEST(test_compile)
{
    for (int i = 0; i < 2; i++) {
        struct net net;
        builds[i](&net);
        OOM_EACH
        {
            struct err err = {0};
            struct engine_options options = {.seed = 1};
            struct engine_program *program;
            int rc = engine_ref.compile(&net, &recipe, &options, &program, &err);
            assert_int_equal(program == NULL, rc != 0);
            engine_ref.release(program);
            OOM_EXPECT(rc, &err);
        }
        net_release(&net);
    }
}

TEST(test_nothing_is_allocated_later)
{
    for (int i = 0; i < 2; i++) {
        struct net net;
        struct err err = {0};
        struct engine_options options = {.seed = 1};
        struct engine_program *program;
        builds[i](&net);
        assert_ok(engine_ref.compile(&net, &recipe, &options, &program, &err), &err);
        net_release(&net); // the program needs it no more

        static const float image[2 * 16] = {1, 2, 3, 4, 5, 6, 7, 8};
        static const int32_t tokens[2 * 3] = {0, 1, 2, 3, 4, 0}, labels[2] = {0, 1};
        struct engine_batch batch = {2, image, tokens, labels};
        struct engine_score score = {0};
        float values[64], out[4];
        oom_hit = false;
        oom_countdown = 0;
        int rc = engine_ref.step(program, &batch, &score, &err);
        rc |= engine_ref.evaluate(program, &batch, &score, &err);
        rc |= engine_ref.predict(program, &batch, out, &err);
        rc |= engine_ref.set_stage(program, 1, &err);
        rc |= engine_ref.read(program, 0, values, &err);
        rc |= engine_ref.write(program, 0, values, &err);
        rc |= engine_ref.step(program, &batch, &score, &err);
        oom_countdown = -1;
        assert_int_equal(rc, 0);
        assert_false(oom_hit);
        assert_int_equal(score.count, 6);
        engine_ref.release(program);
    }
}
