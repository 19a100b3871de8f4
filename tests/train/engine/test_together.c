// SPDX-License-Identifier: Apache-2.0
// Ranks of a group against one process with the same batches: gradients, averages of batch norms,
// parameters after some steps, scores. Every rank must have the same bits as the first.
//
// The processes are forked before anything starts a thread; rank 0 alone is the one process. What
// goes wrong is told with group_fail(), which ends the test in rank 0.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "train/engine/engine.h"
#include "gpt_cases.h"
#include "test.h"

#define RANKS 4
#define BATCH 7 // divided evenly by none of 2, 3 and 4

static void images(struct net *net)
{
    net_init(net, "images");
    int x = net_image(net, 3, 11, 11);
    x = net_conv(net, x, (struct net_conv){20, 3, 3, 1, NET_SAME, .no_bias = true}, "a");
    x = net_batch_norm(net, x, 0.9f, 0.001f, true, "a.norm");
    x = net_dropout(net, net_max_pool(net, x, 3, 2, NET_VALID), 0.3f);
    x = net_conv(net, x, (struct net_conv){9, 3, 3, 1, NET_SAME, .no_bias = true}, "b");
    x = net_batch_norm(net, x, 0.9f, 0.001f, true, "b.norm");
    x = net_dropout(net, net_global_average(net, x), 0.2f);
    net_dense(net, x, 5, false, "c");
}

// Rows whose masks begin at no multiple of anything.
static void rows(struct net *net)
{
    net_init(net, "rows");
    int x = net_dense(net, net_image(net, 1, 5, 7), 37, true, "a");
    x = net_dense(net, net_dropout(net, x, 0.5f), 64, true, "b");
    net_dense(net, net_dropout(net, x, 0.2f), 5, false, "c");
}

static void words(struct net *net)
{
    net_init(net, "words");
    int x = net_embedding(net, net_tokens(net, 6, 50), 12, "e");
    x = net_lstm(net, x, 10, true, "l");
    net_dense(net, net_dropout(net, x, 0.3f), 5, false, "c");
}

static void gpt(struct net *net)
{
    build_gpt(net, &(struct gpt){2, 2, 16, 6, 50, 6});
}

struct input {
    float image[BATCH * 3 * 11 * 11];
    int32_t tokens[BATCH * 6], labels[BATCH * 6];
    int64_t room, each;
};

static struct input input_of(const struct net *net, uint64_t number)
{
    struct input in = {.room = net_shape_count(&net->layers[0].out)};
    bool per_token = net->layers[net->layer_count - 1].op == NET_TIED_HEAD;
    struct rng rng;
    in.each = per_token ? 6 : 1;
    rng_init(&rng, number);
    for (size_t i = 0; i < sizeof in.image / sizeof *in.image; i++)
        in.image[i] = (float)(rng_word(&rng, i) >> 8) * 0x1p-24f - 0.3f;
    for (size_t i = 0; i < BATCH * 6; i++) {
        in.tokens[i] = (int32_t)(rng_word(&rng, 10000 + i) % 50);
        in.labels[i] = (int32_t)(rng_word(&rng, 20000 + i) % (per_token ? 50 : 5));
    }
    return in;
}

struct outcome {
    float *values; // of all tensors
    int64_t count;
    struct engine_score step, test;
};

#define NEED(call)                                                                                 \
    do {                                                                                           \
        if ((call) != 0)                                                                           \
            group_fail(group, err.text[0] ? err.text : #call);                                     \
    } while (0)

static void read_all(struct group *group, struct engine_program *program, struct outcome *out)
{
    struct err err = {0};
    struct engine_tensor tensor;
    int count = engine_cpu.tensor_count(program);
    for (int pass = 0; pass < 2; pass++) {
        out->count = 0;
        for (int i = 0; i < count; i++) {
            engine_cpu.tensor(program, i, &tensor);
            if (pass == 1)
                NEED(engine_cpu.read(program, i, out->values + out->count, &err));
            out->count += tensor.count;
        }
        if (pass == 0)
            out->values = calloc((size_t)out->count, sizeof *out->values);
    }
}

// Batches of 7, 5 and 2 samples: with the last one some ranks have none.
static void train(struct group *group, void (*make)(struct net *), const struct recipe *recipe,
                  struct outcome *out)
{
    static const int64_t sizes[] = {BATCH, 5, 2};
    struct err err = {0};
    struct net net;
    struct engine_program *program = NULL;
    const struct engine_options options = {
        .threads = 1, .seed = 5, .micro_batch = 2, .group = group};
    make(&net);
    memset(out, 0, sizeof *out);
    NEED(engine_cpu.compile(&net, recipe, &options, &program, &err));
    for (int i = 0; program && i < 3; i++) {
        struct input in = input_of(&net, (uint64_t)i);
        struct engine_batch batch = {.all = sizes[i]};
        group_share(group, sizes[i], &batch.first, &batch.count);
        if (net.layers[0].op == NET_TOKENS)
            batch.tokens = in.tokens + batch.first * in.room;
        else
            batch.image = in.image + batch.first * in.room;
        batch.labels = in.labels + batch.first * in.each;
        NEED(engine_cpu.step(program, &batch, &out->step, &err));
        NEED(engine_cpu.evaluate(program, &batch, &out->test, &err));
    }
    if (program)
        read_all(group, program, out);
    engine_cpu.release(program);
    net_release(&net);
}

// The largest difference, as a share of the largest number nearby: tensors are small.
static double apart(const struct outcome *a, const struct outcome *b)
{
    double most = 0, scale = 1e-6;
    for (int64_t i = 0; i < a->count; i++) {
        double size = fabs((double)a->values[i]),
               gap = fabs((double)a->values[i] - (double)b->values[i]);
        scale = size > scale ? size : scale * 0.999;
        most = gap / scale > most ? gap / scale : most;
    }
    return most;
}

static bool same_score(const struct engine_score *a, const struct engine_score *b)
{
    return a->count == b->count && a->correct == b->correct &&
           fabs(a->loss - b->loss) <= 1e-5 * a->loss;
}

static void check(struct group *group, const char *name, const struct outcome *one,
                  const struct outcome *all, double bound)
{
    char text[200];
    struct err err = {0};
    int size = group_place(group).size, rank = group_place(group).rank;
    float *first = malloc((size_t)all->count * sizeof *first);
    memcpy(first, all->values, (size_t)all->count * sizeof *first);
    NEED(group_broadcast(group, first, (size_t)all->count * sizeof *first, &err));
    if (memcmp(first, all->values, (size_t)all->count * sizeof *first) != 0)
        group_fail(group, "has other bits than rank 0");
    free(first);
    double gap = rank == 0 ? apart(one, all) : 0;
    snprintf(text, sizeof text, "%s, %d ranks: %g apart, loss %.9g and %.9g, %lld and %lld right",
             name, size, gap, one->step.loss, all->step.loss, (long long)one->test.correct,
             (long long)all->test.correct);
    if (rank == 0 && (!(gap <= bound) || !same_score(&one->step, &all->step) ||
                      !same_score(&one->test, &all->test)))
        group_fail(group, text);
}

static struct err compare(const char *name, void (*make)(struct net *), const struct recipe *recipe,
                          double bound)
{
    struct err err = {0};
    struct group *group = NULL;
    struct outcome one = {0}, all;
    assert_ok(group_fork(&group, RANKS, &err), &err);
    int rank = group_place(group).rank;
    NEED(group_use(group, 1, &err));
    if (rank == 0)
        train(group, make, recipe, &one);
    for (int size = 2; size <= RANKS; size++) {
        NEED(group_use(group, size, &err));
        if (rank >= size)
            continue;
        train(group, make, recipe, &all);
        if (group_check(group, NULL) == 0)
            check(group, name, &one, &all, bound);
        free(all.values);
    }
    int rc = group_use(group, RANKS, &err);
    group_free(group);
    free(one.values);
    if (rank != 0)
        _exit(rc != 0);
    return err;
}

// Adam with beta 1 = 0 and a rate of 0: the first state is the gradient itself, and only the
// averages of batch norms move.
static const struct recipe gradients = {.batch = BATCH,
                                        .optimizer = OPTIMIZER_ADAM,
                                        .beta2 = 0.5f,
                                        .epsilon = 1e-7f,
                                        .stages = {{.rate = 0}},
                                        .stage_count = 1};
static const struct recipe adam = {.batch = BATCH,
                                   .optimizer = OPTIMIZER_ADAM,
                                   .rho = 0.9f,
                                   .beta2 = 0.999f,
                                   .epsilon = 1e-3f,
                                   .stages = {{.rate = 0.01f}},
                                   .stage_count = 1};
static const struct recipe clipped = {.batch = BATCH,
                                      .optimizer = OPTIMIZER_ADAMW,
                                      .rho = 0.9f,
                                      .beta2 = 0.95f,
                                      .epsilon = 1e-3f,
                                      .clip = 0.5f,
                                      .stages = {{.rate = 0.01f}},
                                      .stage_count = 1};

TEST(test_gradients)
{
    assert_string_equal(compare("rows", rows, &gradients, 1e-5).text, "");
    assert_string_equal(compare("images", images, &gradients, 1e-4).text, "");
    assert_string_equal(compare("words", words, &gradients, 1e-5).text, "");
    assert_string_equal(compare("gpt", gpt, &gradients, 1e-4).text, "");
}

TEST(test_steps)
{
    assert_string_equal(compare("rows", rows, &adam, 1e-4).text, "");
    assert_string_equal(compare("images", images, &adam, 1e-3).text, "");
    assert_string_equal(compare("words", words, &adam, 1e-4).text, "");
    assert_string_equal(compare("gpt", gpt, &clipped, 1e-3).text, "");
}

// The test can fail: another batch gives other gradients.
static struct err differ(void)
{
    struct err err = {0};
    struct group *group = NULL;
    struct outcome one = {0}, all;
    struct recipe other = adam;
    other.stages[0].rate = 0.02f;
    assert_ok(group_fork(&group, 2, &err), &err);
    int rank = group_place(group).rank;
    NEED(group_use(group, 1, &err));
    if (rank == 0)
        train(group, rows, &other, &one);
    NEED(group_use(group, 2, &err));
    train(group, rows, &adam, &all);
    check(group, "another rate", &one, &all, 1e-4);
    int rc = group_use(group, 2, &err);
    group_free(group);
    free(all.values);
    free(one.values);
    if (rank != 0)
        _exit(rc != 0);
    return err;
}

TEST(test_can_fail)
{
    struct err err = differ();
    assert_non_null(strstr(err.text, "another rate, 2 ranks"));
}
