// SPDX-License-Identifier: Apache-2.0
// The cuda engine's queue, on a stand-in for the driver (fake_gpu.c) whose kernels do nothing: how
// many steps collect() leaves, and that the GPU has steps to do meanwhile.
#include "train/engine/cuda/program.h"
#include "stand_in.h"
#include "test.h"

static const struct recipe recipe = {.optimizer = OPTIMIZER_RMSPROP,
                                     .rho = 0.9f,
                                     .epsilon = 1e-7f,
                                     .batch = 4,
                                     .stages = {{.rate = 0.01f}},
                                     .stage_count = 1};
static const struct engine_options options = {.seed = 1, .precision = ENGINE_TF32};
static const uint32_t samples[4] = {1, 0, 1, 0};
static const struct engine_batch batch = {.count = 4, .samples = samples};

static struct engine_program *make(void)
{
    static const uint8_t pixels[2 * 5];
    static const int32_t labels[2] = {0, 2};
    const struct engine_set set = {
        .count = 2, .channels = 5, .height = 1, .width = 1, .pixels = pixels, .labels = labels};
    struct net net;
    struct err err = {0};
    struct engine_program *program = NULL;
    net_init(&net, "small");
    net_dense(&net, net_dense(&net, net_image(&net, 5, 1, 1), 8, true, "a"), 3, false, "b");
    assert_ok(engine_cuda.compile(&net, &recipe, &options, &program, &err), &err);
    assert_ok(engine_cuda.load(program, &set, false, &err), &err);
    assert_ok(engine_cuda.load(program, &set, true, &err), &err);
    net_release(&net);
    return program;
}

// As the trainer does: collects after `every` steps and leaves half as many.
static void collect_every(int every, bool has_work)
{
    struct engine_program *program = make();
    struct engine_score score = {0};
    struct err err = {0};
    int64_t queued = 0, steps = 0, all = 0;
    int leave = every / 2;
    for (int i = 0; i < 2000; i++) {
        assert_ok(engine_cuda.step(program, &batch, &score, &err), &err);
        if (++queued < every + leave)
            continue;
        assert_ok(engine_cuda.collect(program, leave, &score, &steps, &err), &err);
        queued -= steps;
        all += steps;
        assert_true(steps > 0 && queued >= 0 && queued <= leave);
        assert_int_equal(program->done, all);
        if (has_work && program->launched <= program->done)
            fail_msg("collecting every %d steps: after %d nothing is left to do", every, i + 1);
    }
    assert_ok(engine_cuda.collect(program, 0, &score, &steps, &err), &err);
    assert_int_equal(all + steps, 2000);
    assert_int_equal(score.count, 4 * 2000);
    engine_cuda.release(program);
}

TEST(collecting_leaves_as_many_as_asked)
{
    for (int every = 1; every <= 128; every += every < 10 ? 1 : 13)
        collect_every(every, false);
}

TEST(the_gpu_has_work_meanwhile)
{
    collect_every(100, true);
    collect_every(128, true);
}

TEST(evaluations_come_between_steps)
{
    struct engine_program *program = make();
    struct engine_score score = {0};
    struct err err = {0};
    int64_t steps = 0;
    for (int i = 0; i < 500; i++)
        assert_ok(
            (i % 50 < 47 ? engine_cuda.step : engine_cuda.evaluate)(program, &batch, &score, &err),
            &err);
    assert_ok(engine_cuda.collect(program, 0, &score, &steps, &err), &err);
    assert_int_equal(score.count, 4 * 500);
    assert_int_equal(program->iteration, 470);
    engine_cuda.release(program);
}

int main(int argc, char **argv)
{
    (void)argc;
    take_stand_in(argv[0]);
    return run_all_tests(NULL, NULL);
}
