// SPDX-License-Identifier: Apache-2.0
// The time of a whole training, from a run that resumed it. All figures are by hand.
#include "measure/saving.h"

#include "test.h"

static char finished[] = "finished";

static struct run_attempt starts[2];

// 33 of 60 steps in 10 s, of which 1 s is start-up; the first start saved after 7 s.
static struct run resumed(void)
{
    starts[0] = (struct run_attempt){.saved_s = some_real(7), .wall_s = some_real(9)};
    starts[1] = (struct run_attempt){.from_step = some_int(27), .wall_s = some_real(10)};
    struct run run = {.ended = finished,
                      .full = some_bool(true),
                      .steps = some_int(33),
                      .total_steps = some_int(60),
                      .phases = {.setup_ns = some_int(1000000000),
                                 .train_ns = some_int(8000000000),
                                 .evaluate_ns = some_int(1000000000),
                                 .wall_ns = some_int(10000000000)}};
    run.saving.attempts.items = starts;
    run.saving.attempts.count = 2;
    return run;
}

static void near(double value, double expected)
{
    assert_true(value > expected - 1e-9 && value < expected + 1e-9);
}

// 9 s for 33 steps: 27 more take 9 × 27 / 33 s.
TEST(test_finished)
{
    struct run run = resumed();
    run.steady.step_ms = some_real(200);
    run.steady.low_ms = some_real(150);
    run.steady.high_ms = some_real(300);
    resumed_project(&run);
    assert_false(run.full.v);
    near(run.projection.wall_s.v, 10 + 9 * 27.0 / 33);
    near(run.projection.low_s.v, 10 + 9 * 27.0 / 33 * 0.75);
    near(run.projection.high_s.v, 10 + 9 * 27.0 / 33 * 1.5);
    near(run.projection.load_s.v, 1);
    near(run.projection.train_s.v, 8 * 60.0 / 33);
    near(run.projection.evaluate_s.v, 60.0 / 33);
}

// The rest is 34 steps: 27 before make it 61/34 of its 17 s after a start-up of 1 s.
TEST(test_interrupted)
{
    struct run run = resumed();
    run.full = some_bool(false);
    run.steps = some_int(10);
    run.total_steps = some_int(61);
    run.projection = (struct run_projection){.wall_s = some_real(18),
                                             .low_s = some_real(17),
                                             .high_s = some_real(20),
                                             .load_s = some_real(1),
                                             .train_s = some_real(17)};
    resumed_project(&run);
    near(run.projection.wall_s.v, 18 + 13.5);
    near(run.projection.low_s.v, 17); // no steady state: from nothing to twice the time
    near(run.projection.high_s.v, 20 + 27);
    near(run.projection.train_s.v, 17 + 13.5);
}

// Without steps: what the first start took for what it saved. Steps that do not fit are not used.
TEST(test_unknown_steps)
{
    struct run run = resumed();
    run.total_steps = (struct maybe_int){0};
    resumed_project(&run);
    near(run.projection.wall_s.v, 17);
    run = resumed();
    run.full = some_bool(false);
    run.total_steps = some_int(20); // epochs, and the checkpoint is named by its step
    run.projection = (struct run_projection){.wall_s = some_real(12)};
    resumed_project(&run);
    near(run.projection.wall_s.v, 19);
    assert_false(run.projection.low_s.known);
}

TEST(test_nothing_known)
{
    struct run run = resumed();
    starts[0].saved_s = (struct maybe_real){0};
    run.total_steps = (struct maybe_int){0};
    resumed_project(&run);
    assert_true(run.full.v);
    assert_false(run.projection.wall_s.known);
    run = (struct run){.full = some_bool(true), .phases.wall_ns = some_int(5)};
    resumed_project(&run);
    assert_true(run.full.v);
}
