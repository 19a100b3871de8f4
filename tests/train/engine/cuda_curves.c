// SPDX-License-Identifier: Apache-2.0
// The losses of every workload that trains, step by step, on the cuda engine in each precision and
// on the cpu engine in single precision: the same samples, made from a seed, the same start, and
// the same dropout, whose masks all engines draw alike (train/engine/shared.h). So every optimizer
// that a workload uses is followed over some of its steps, with its stages, decay and momentum.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_tests.h"
#include "train/data/batcher.h"
#include "test.h"
#include "train/workload/workload.h"

enum { STEPS_MAX = 40, FOLLOWERS = 4, EARLY = 3 };

struct bounds { // of the first loss, the first EARLY, all of them
    double first, early, all;
};

struct curve {
    const char *name;
    int64_t batch;
    int steps;
    struct bounds f32, tf32, bf16;
};

// The first loss is that of one way forward: in single precision equal to rounding. After that a
// training is chaotic: RMSprop and Adam step by the sign of a gradient at first, however small; of
// equal cells of a pool rounding chooses one; textgen's rate makes its loss jump; and a batch of
// four is little for inception's norms. How far that goes was measured without a GPU. After EARLY
// and after all steps the cpu and the reference engine are apart by: mlp 2e-7 and 2e-7, cnn 5e-4
// and 1e-2, cifar 6e-9 and 1e-3, imdb 5e-9 and 4e-8, textgen 2e-6 and 1e-2, tweets 7e-9 and 3e-8;
// two cpu engines whose parameters are 5e-7 of themselves apart by at most ten times that, and for
// inception by 7e-5 and, once all of it learns, 7e-2. The bounds in single precision are above
// both. Yet a rate that is 1 % off is seen in all but cnn: after EARLY steps it comes to 1e-3
// (mlp), 1e-4 (cifar), 1e-4 (imdb), 6e-3 (textgen), 9e-5 (tweets) and 4e-3 (inception, whose loss
// without momentum is 7e-2 away).
//
// Parameters that are 4e-3 of themselves off, as bf16 makes them, come to 7e-4 and 3e-2 (mlp), 5e-4
// and 2e-2 (cnn), 5e-4 and 3e-3 (cifar), 2e-4 and 7e-4 (imdb), 2e-2 and 6e-2 (textgen), 5e-5 and
// 2e-4 (tweets), 4e-2 and 1e-1 (inception), those of tf32 to little less. Activations and gradients
// are rounded as well, so these bounds are some times that. What does not learn at all is 0.6, 0.2,
// 0.03, 0.08, 0.3 and 0.04 away, beyond one of them, but for inception.
static const struct curve curves[] = {
    {"mlp", 32, 40, {2e-6, 2e-5, 2e-4}, {1e-3, 1e-2, 0.1}, {5e-3, 1e-2, 0.1}},
    {"cnn", 16, 30, {2e-6, 2e-3, 5e-2}, {1e-3, 1e-2, 0.08}, {5e-3, 1e-2, 0.08}},
    {"cifar", 16, 30, {2e-6, 2e-5, 5e-3}, {1e-3, 1e-2, 0.02}, {5e-3, 1e-2, 0.02}},
    {"imdb", 16, 30, {2e-6, 1e-5, 2e-5}, {1e-3, 5e-3, 0.01}, {5e-3, 5e-3, 0.01}},
    {"textgen", 32, 30, {2e-6, 1e-4, 0.1}, {1e-3, 0.06, 0.5}, {5e-3, 0.06, 0.5}},
    {"tweets", 16, 20, {2e-6, 1e-5, 2e-5}, {1e-3, 5e-3, 5e-3}, {5e-3, 5e-3, 5e-3}},
    {"inception", 4, 8, {1e-4, 1e-3, 0.3}, {0.1, 0.2, 0.5}, {0.15, 0.2, 0.5}},
};

// A program and what it lost in each step; the first one is the cpu engine's.
struct follower {
    const struct engine *engine;
    struct engine_options options;
    struct engine_program *program;
    double losses[STEPS_MAX]; // means over the samples
    int64_t right;            // of the first step
};

// One with a stage for each half of the steps gets there.
static void follow(struct follower *f, const struct recipe *recipe, const struct batch *batch,
                   int step, int steps)
{
    struct err err = {0};
    struct engine_score score = {0};
    const struct engine_batch in = {.count = batch->count,
                                    .image = batch->image,
                                    .tokens = batch->tokens,
                                    .labels = batch->labels};
    if (recipe->stage_count > 1 && step == steps / 2)
        assert_ok(f->engine->set_stage(f->program, 1, &err), &err);
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

// The largest distance of the first `steps` losses, as a share of the first one: later ones may
// come near zero.
static void compare(const struct curve *c, const struct follower *f, const struct follower *cpu,
                    int steps, double bound)
{
    char what[80], where[120];
    double most = 0;
    int at = 0;
    for (int i = 0; i < steps; i++) {
        double distance = fabs(f->losses[i] - cpu->losses[i]) / cpu->losses[0];
        if (distance > most) {
            most = distance;
            at = i;
        }
    }
    snprintf(what, sizeof what, "%s, losses to step %d, %s", c->name, steps,
             precision_names[f->options.precision]);
    snprintf(where, sizeof where, "step %d: %.6f, cpu %.6f; last: %.6f, cpu %.6f", at + 1,
             f->losses[at], cpu->losses[at], f->losses[steps - 1], cpu->losses[steps - 1]);
    judge(most, bound, what, where);
}

static void compare_all(const struct curve *c, const struct follower *f, const struct follower *cpu)
{
    enum engine_precision precision = f->options.precision;
    const struct bounds *bounds = precision == ENGINE_F32    ? &c->f32
                                  : precision == ENGINE_TF32 ? &c->tf32
                                                             : &c->bf16;
    compare(c, f, cpu, 1, bounds->first);
    compare(c, f, cpu, EARLY, bounds->early);
    compare(c, f, cpu, c->steps, bounds->all);
    if (precision == ENGINE_F32)
        judge(f->right == cpu->right ? 0 : HUGE_VAL, 0, c->name, "how many were right at first");
}

static void follow_workload(struct curve whole)
{
    struct curve *c = &whole;
    if (cuda_is_slow())
        c->steps = EARLY;
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
        compare_all(c, &f[i], &f[0]);
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
    const char *only = getenv("FARE_TEST_ONLY"); // (optional) workloads with this in their names
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
        if (only ? strstr(curves[i].name, only) != NULL
                 : !cuda_is_slow() || strcmp(curves[i].name, "inception") != 0)
            follow_workload(curves[i]);
    assert_none_far();
}
