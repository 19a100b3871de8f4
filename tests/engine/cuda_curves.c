// SPDX-License-Identifier: Apache-2.0
// The losses of every workload that trains, step by step, on the cuda engine in each precision and
// on the cpu engine in single precision: the same samples, made from a seed, the same start, and
// the same dropout, whose masks all engines draw alike (engine/dropout.h). So every optimizer that
// a workload uses is followed over some of its steps, with its phases, decay and momentum.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_tests.h"
#include "data/batcher.h"
#include "test.h"
#include "workload/workload.h"

enum { STEPS_MAX = 40, FOLLOWERS = 4 };

struct curve {
    const char *name;
    int64_t batch;
    int steps;
    double first[3], all[3]; // bounds by precision: of the first loss, and of every loss
};

static const struct curve curves[] = {
    {"mlp", 32, 40, {1e-5, 1e-2, 1e-2}, {1e-3, 0.1, 0.1}},
    {"cnn", 16, 30, {1e-5, 1e-2, 1e-2}, {1e-3, 0.1, 0.1}},
    {"cifar", 16, 30, {1e-5, 1e-2, 1e-2}, {1e-3, 0.1, 0.1}},
    {"imdb", 16, 30, {1e-5, 1e-2, 1e-2}, {1e-3, 0.1, 0.1}},
    {"textgen", 32, 30, {1e-5, 1e-2, 1e-2}, {1e-3, 0.1, 0.1}},
    {"tweets", 16, 20, {1e-5, 1e-2, 1e-2}, {1e-3, 0.1, 0.1}},
    {"inception", 4, 8, {1e-5, 1e-2, 1e-2}, {1e-3, 0.1, 0.1}},
};

// A program and what it lost in each step; the first one is the cpu engine's.
struct follower {
    const struct engine *engine;
    struct engine_options options;
    struct engine_program *program;
    double losses[STEPS_MAX]; // means over the samples
    int64_t right;            // of the first step
};

// One with a phase for each half of the steps gets there.
static void follow(struct follower *f, const struct recipe *recipe, const struct batch *batch,
                   int step, int steps)
{
    struct err err = {0};
    struct engine_score score = {0};
    const struct engine_batch in = {.count = batch->count,
                                    .image = batch->image,
                                    .tokens = batch->tokens,
                                    .labels = batch->labels};
    if (recipe->phase_count > 1 && step == steps / 2)
        assert_ok(f->engine->set_phase(f->program, 1, &err), &err);
    f->engine->set_iteration(f->program, step);
    assert_ok(f->engine->step(f->program, &in, &score, &err), &err);
    assert_int_equal(score.count, batch->count);
    f->losses[step] = score.loss / (double)score.count;
    if (step == 0)
        f->right = score.correct;
    if (!isfinite(f->losses[step])) // what follows would take long and tell nothing
        fail_msg("%s in %s: the loss of step %d is not a number", f->engine->name,
                 precision_names[f->options.precision], step);
}

// Distances are shares of the first loss: later ones may come near zero.
static void compare(const struct curve *c, const struct follower *f, const struct follower *cpu)
{
    char what[80], where[80];
    enum engine_precision precision = f->options.precision;
    double most = 0;
    int at = 0;
    for (int i = 0; i < c->steps; i++) {
        double distance = fabs(f->losses[i] - cpu->losses[i]) / cpu->losses[0];
        if (i == 0) {
            snprintf(what, sizeof what, "%s, first loss, %s", c->name, precision_names[precision]);
            snprintf(where, sizeof where, "%.6f, cpu %.6f; right %d, cpu %d", f->losses[0],
                     cpu->losses[0], (int)f->right, (int)cpu->right);
            judge(distance, c->first[precision], what, where);
        }
        if (distance > most) {
            most = distance;
            at = i;
        }
    }
    snprintf(what, sizeof what, "%s, %d losses, %s", c->name, c->steps, precision_names[precision]);
    snprintf(where, sizeof where, "step %d: %.6f, cpu %.6f; last: %.6f, cpu %.6f", at,
             f->losses[at], cpu->losses[at], f->losses[c->steps - 1], cpu->losses[c->steps - 1]);
    judge(most, c->all[precision], what, where);
    if (precision == ENGINE_F32)
        assert_int_equal(f->right, cpu->right);
}

static void follow_workload(const struct curve *c)
{
    static const uint64_t seed = 5;
    struct err err = {0};
    struct net net;
    struct data_pair data = {0};
    struct batcher *batcher = NULL;
    struct batch batch;
    struct follower f[FOLLOWERS] = {
        {.engine = &engine_cpu, .options = {.seed = seed}},
        {.engine = &engine_cuda, .options = {.seed = seed, .precision = ENGINE_F32}},
        {.engine = &engine_cuda, .options = {.seed = seed, .precision = ENGINE_TF32}},
        {.engine = &engine_cuda, .options = {.seed = seed, .precision = ENGINE_BF16}}};
    const struct workload *workload = workload_find(c->name, &err);
    assert_non_null(workload);
    const struct data_options made = {
        .seed = 1, .made_train = c->batch * c->steps, .made_test = workload->made_test ? 1 : 0};
    assert_ok(data_open(workload->data, &made, &data, &err), &err);
    assert_ok(workload_net(workload, &data, NULL, &net, &err), &err);
    struct recipe recipe = workload->recipe;
    recipe.batch = c->batch;
    struct batcher_options batches = workload_batches(workload, seed, true, 0);
    batches.batch = c->batch;
    assert_ok(batcher_new(&batcher, &data.train, &batches, &err), &err);
    for (int i = 0; i < FOLLOWERS; i++)
        assert_ok(f[i].engine->compile(&net, &recipe, &f[i].options, &f[i].program, &err), &err);
    for (int step = 0; step < c->steps; step++) {
        assert_int_equal(batcher_next(batcher, &batch, &err), 1);
        for (int i = FOLLOWERS - 1; i >= 0; i--) // the cpu last: it takes the time
            follow(&f[i], &recipe, &batch, step, c->steps);
    }
    for (int i = 1; i < FOLLOWERS; i++)
        compare(c, &f[i], &f[0]);
    for (int i = 0; i < FOLLOWERS; i++)
        f[i].engine->release(f[i].program);
    batcher_free(batcher);
    net_release(&net);
    data_release(&data);
}

void losses_follow_the_cpu_engine(void **state)
{
    (void)state;
    if (!cuda_is_here(ENGINE_BF16))
        skip();
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
        follow_workload(&curves[i]);
    assert_none_far();
}
