// SPDX-License-Identifier: Apache-2.0
// Trainings of sleeps, whose whole is known, on a clock of their own: a busy machine does not
// matter.
#include "test.h"

#include <math.h>

#include "base/clock.h"
#include "train/meter.h"

#define MS 1000000

static int64_t clock_ns = 1000 * NS_PER_S;
static bool real; // the machine's clock after all

int64_t __real_clock_now_ns(void);
int64_t __wrap_clock_now_ns(void);
int64_t __wrap_clock_now_ns(void)
{
    return real ? __real_clock_now_ns() : clock_ns;
}

// Up to 5 % longer, as on a machine.
void __real_clock_sleep_ns(int64_t ns);
void __wrap_clock_sleep_ns(int64_t ns);
void __wrap_clock_sleep_ns(int64_t ns)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    if (real)
        __real_clock_sleep_ns(ns);
    clock_ns += ns + ns * (int64_t)(state >> 24) / 256 / 20;
}

static struct meter *begin(const struct meter_plan *plan)
{
    struct err err = {0};
    struct meter *meter;
    assert_ok(meter_new(&meter, clock_now_ns(), &err), &err);
    meter_plan(meter, plan);
    return meter;
}

static void steps(struct meter *meter, int stage, int count, int64_t ns)
{
    meter_phase(meter, METER_TRAIN);
    for (int i = 0; i < count; i++) {
        clock_sleep_ns(ns);
        meter_steps(meter, stage, 1);
    }
}

static int64_t sum(const struct run_phases *p)
{
    return p->setup_ns.v + p->load_ns.v + p->device_ns.v + p->warmup_ns.v + p->train_ns.v +
           p->evaluate_ns.v + p->checkpoint_ns.v + p->idle_ns.v;
}

// From the start on the phases are exclusive and their sum is the wall time, to the nanosecond.
TEST(phases_add_up)
{
    int64_t start_ns = clock_now_ns();
    struct err err = {0};
    struct meter *meter;
    struct run run = {0};
    assert_ok(meter_new(&meter, start_ns, &err), &err);
    meter_plan(meter, &(struct meter_plan){.calibrate = true});
    clock_sleep_ns(5 * MS);
    meter_phase(meter, METER_LOAD);
    clock_sleep_ns(10 * MS);
    meter_phase(meter, METER_DEVICE);
    clock_sleep_ns(2 * MS);
    steps(meter, 0, 50, MS);
    meter_phase(meter, METER_EVALUATE);
    clock_sleep_ns(20 * MS);
    meter_evaluated(meter, 100);
    meter_phase(meter, METER_CHECKPOINT);
    clock_sleep_ns(3 * MS);
    meter_checkpointed(meter);
    meter_phase(meter, METER_IDLE);
    clock_sleep_ns(4 * MS);
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    int64_t wall_ns = clock_now_ns() - start_ns;
    assert_int_equal(sum(&run.phases), run.phases.wall_ns.v);
    assert_true(wall_ns - run.phases.wall_ns.v < 50 * MS);
    assert_true(run.phases.load_ns.v >= 10 * MS);
    assert_true(run.phases.device_ns.v >= 2 * MS);
    assert_true(run.phases.evaluate_ns.v >= 20 * MS);
    assert_true(run.phases.checkpoint_ns.v >= 3 * MS);
    assert_true(run.phases.train_ns.v + run.phases.warmup_ns.v >= 50 * MS);
    assert_int_equal(run.steps.v, 50);
    assert_false(run.projection.wall_s.known); // the total is not known
    record_release(run_fields, &run);
    meter_free(meter);
}

// A minute of decoding before the command starts is its load, and part of its time.
TEST(what_came_before_counts)
{
    const int64_t minute_ns = INT64_C(60000) * MS;
    struct err err = {0};
    struct meter *meter;
    struct run run = {0};
    assert_ok(meter_new(&meter, clock_now_ns() - minute_ns, &err), &err);
    meter_before(meter, METER_LOAD, minute_ns);
    clock_sleep_ns(5 * MS);
    meter_phase(meter, METER_LOAD);
    clock_sleep_ns(2 * MS);
    steps(meter, 0, 5, MS);
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    assert_in_range(run.phases.setup_ns.v, 5 * MS, 1000 * MS);
    assert_in_range(run.phases.load_ns.v, minute_ns + 2 * MS, minute_ns + 1000 * MS);
    assert_int_equal(sum(&run.phases), run.phases.wall_ns.v);
    record_release(run_fields, &run);
    meter_free(meter);
}

// 2,000 steps of a millisecond, 10 evaluations of 20 ms, seen for a twentieth.
TEST(the_whole_is_projected)
{
    struct err err = {0};
    struct run run = {0};
    struct meter *meter =
        begin(&(struct meter_plan){.stage_steps = {2000}, .stages = 1, .evaluations = 1000});
    steps(meter, 0, 100, MS);
    meter_phase(meter, METER_EVALUATE);
    clock_sleep_ns(10 * MS);
    meter_evaluated(meter, 50); // half of one
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    const struct run_projection *p = &run.projection;
    double step_s = (double)(run.phases.train_ns.v + run.phases.warmup_ns.v) / 1e9 / 100;
    assert_true(fabs(p->train_s.v / (2000 * step_s) - 1) < 0.2);
    assert_true(fabs(p->evaluate_s.v / ((double)run.phases.evaluate_ns.v / 1e9 * 20) - 1) < 1e-6);
    assert_true(fabs(p->wall_s.v - p->load_s.v - p->train_s.v - p->evaluate_s.v) <
                0.05 * p->wall_s.v);
    assert_true(p->low_s.v < p->wall_s.v && p->wall_s.v < p->high_s.v);
    assert_false(p->assumption.known);
    record_release(run_fields, &run);
    meter_free(meter);
}

// Each stage has its own time of a step, and both belong to the whole.
TEST(stages_are_told_apart)
{
    struct err err = {0};
    struct run run = {0};
    const struct meter_plan plan = {.stage_steps = {1000, 500}, .stages = 2};
    struct meter *meter = begin(&plan);
    steps(meter, 0, 20, MS);
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    assert_false(run.projection.wall_s.known); // the second was not seen
    record_release(run_fields, &run);
    meter_free(meter);
    run = (struct run){0};

    meter = begin(&plan);
    steps(meter, 0, 20, MS);
    steps(meter, 1, 20, 4 * MS);
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    assert_int_equal(run.stages.count, 2);
    assert_true(run.stages.items[1].step_ms.v > 2 * run.stages.items[0].step_ms.v);
    double expected =
        (1000 * run.stages.items[0].step_ms.v + 500 * run.stages.items[1].step_ms.v) / 1e3;
    assert_true(fabs(run.projection.train_s.v / expected - 1) < 0.3);
    record_release(run_fields, &run);
    meter_free(meter);
}

// A first step that took long (kernels are chosen then) does not make a short stage the main one.
TEST(the_main_stage_is_that_of_most_time)
{
    struct err err = {0};
    struct run run = {0};
    struct meter *meter = begin(&(struct meter_plan){.stage_steps = {1000, 500}, .stages = 2});
    steps(meter, 0, 1, 200 * MS);
    steps(meter, 0, 7, MS);
    steps(meter, 1, 20, 8 * MS);
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    assert_true(run.stages.items[0].step_ms.v >
                2 * run.stages.items[1].step_ms.v); // by their means
    assert_true(run.steady.step_ms.v > 7.9);        // 8 s to go
    assert_int_equal(run.step_plot_ms.count, 20);
    record_release(run_fields, &run);
    meter_free(meter);
}

#define S INT64_C(1000000000)

// Steps are told with the next one, which may take long: their time is when they ended. What
// another clock says is not believed.
TEST(what_is_told_late_has_its_own_time)
{
    struct err err = {0};
    struct run run = {0};
    struct meter *meter;
    int64_t start_ns = clock_now_ns() - 100 * S;
    assert_ok(meter_new(&meter, start_ns, &err), &err);
    meter_plan(meter, &(struct meter_plan){.stage_steps = {1000, 500}, .stages = 2});
    meter_at(meter, start_ns + 10 * S);
    meter_phase(meter, METER_TRAIN);
    for (int i = 1; i <= 5; i++) {
        meter_at(meter, start_ns + (10 + i) * S);
        meter_steps(meter, 0, 1);
    }
    for (int i = 1; i <= 5; i++) {
        meter_at(meter, start_ns + (60 + 2 * i) * S);
        meter_steps(meter, 1, 1);
    }
    meter_at(meter, start_ns - 50 * S); // by another clock
    meter_phase(meter, METER_IDLE);
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    assert_true(fabs(run.stages.items[0].step_ms.v - 1000) < 1);
    assert_true(fabs(run.stages.items[1].step_ms.v - 55000.0 / 5) < 1);
    int64_t trained_ns = run.phases.train_ns.v + run.phases.warmup_ns.v;
    assert_true(trained_ns >= 90 * S && trained_ns < 92 * S);
    record_release(run_fields, &run);
    meter_free(meter);
}

// More than the whole may be made, to know its time better.
TEST(more_than_the_whole)
{
    struct err err = {0};
    struct run run = {0};
    struct meter *meter = begin(&(struct meter_plan){.stage_steps = {4}, .stages = 1});
    int64_t begun_ns = clock_now_ns(), longest_ns = 0;
    steps(meter, 0, 1, 60 * MS);
    int64_t first_ns = clock_now_ns() - begun_ns; // a busy machine sleeps for longer
    for (int i = 0; i < 29; i++) {
        begun_ns = clock_now_ns();
        steps(meter, 0, 1, 10 * MS);
        int64_t took_ns = clock_now_ns() - begun_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    double most_s = (double)(first_ns + 3 * longest_ns) / 1e9;
    meter_phase(meter, METER_IDLE); // what is measured beside it is no part of it
    clock_sleep_ns(INT64_C(2000) * MS);
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    assert_true(run.projection.wall_s.v < most_s + 0.08);
    assert_true(run.projection.train_s.v > 0.089 && run.projection.train_s.v < most_s + 0.005);
    assert_true(run.projection.low_s.v <= run.projection.wall_s.v);
    assert_true(run.projection.wall_s.v < run.projection.after_s.v / 2);
    assert_true(run.projection.high_s.v >= run.projection.wall_s.v);
    record_release(run_fields, &run);
    meter_free(meter);
}

// All steps are done and the program does not end: what it has taken is more than was projected.
TEST(the_end_comes_late)
{
    struct err err = {0};
    struct run run = {0};
    struct meter *meter = begin(&(struct meter_plan){
        .stage_steps = {300}, .stages = 1, .follows = true, .within = 0.05, .max_s = 60});
    steps(meter, 0, 300, 10 * MS);
    clock_sleep_ns(INT64_C(9000) * MS); // longer than the end of a program may take
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    const struct run_projection *p = &run.projection;
    assert_true(p->after_s.v >= 12);
    assert_true(p->wall_s.v >= p->after_s.v);
    assert_true(p->low_s.v <= p->wall_s.v && p->wall_s.v <= p->high_s.v);
    record_release(run_fields, &run);
    meter_free(meter);
}

// A sample ends when it is known well enough, or at its time.
TEST(it_stops)
{
    struct meter *meter = begin(
        &(struct meter_plan){.stage_steps = {100000}, .stages = 1, .within = 0.5, .max_s = 20});
    int64_t start_ns = clock_now_ns();
    meter_phase(meter, METER_TRAIN);
    while (!meter_enough(meter)) {
        clock_sleep_ns(MS);
        meter_steps(meter, 0, 1);
    }
    assert_true(clock_now_ns() - start_ns < INT64_C(10000) * MS); // 50 % is soon known
    meter_free(meter);
    meter = begin(
        &(struct meter_plan){.stage_steps = {100000}, .stages = 1, .within = 0.001, .max_s = 0.5});
    start_ns = clock_now_ns();
    meter_phase(meter, METER_TRAIN);
    while (!meter_enough(meter)) {
        clock_sleep_ns(MS);
        meter_steps(meter, 0, 1);
    }
    int64_t took_ns = clock_now_ns() - start_ns;
    assert_true(took_ns >= 499 * MS && took_ns < 3000 * INT64_C(1) * MS);
    meter_free(meter);
}

// A command comes to its last stage when it comes: half of the time is no end of the first.
TEST(a_stage_that_is_not_ours_to_leave)
{
    struct meter_plan plan = {
        .stage_steps = {1000, 500}, .stages = 2, .within = 0.5, .max_s = 0.4, .follows = true};
    struct meter *meter = begin(&plan);
    int64_t start_ns = clock_now_ns();
    meter_phase(meter, METER_TRAIN);
    while (!meter_enough(meter)) {
        clock_sleep_ns(MS);
        meter_steps(meter, 0, 1);
    }
    assert_true(clock_now_ns() - start_ns >= 399 * MS);
    meter_free(meter);
    plan.follows = false;
    meter = begin(&plan);
    steps(meter, 0, 10, 21 * MS); // ours may end after its share, 0.2 s
    assert_true(meter_enough(meter));
    meter_free(meter);
}

// What was projected on the way is held against what it took.
TEST(a_finished_run_judges_its_projections)
{
    struct err err = {0};
    struct run run = {0};
    struct meter *meter = begin(&(struct meter_plan){.stage_steps = {3000}, .stages = 1});
    meter_phase(meter, METER_TRAIN);
    for (int i = 0; i < 3000; i++) {
        clock_sleep_ns(MS);
        meter_steps(meter, 0, 1);
        assert_false(meter_enough(meter));
    }
    assert_ok(meter_fill(meter, true, &run, &err), &err);
    assert_false(run.projection.wall_s.known);
    assert_int_equal(run.checks.count, 2); // a tenth and a half; 10 s were not reached
    assert_true(run.checks.items[1].after_s.v >= (double)run.phases.wall_ns.v / 2.4e9);
    const struct run_projection *check = &run.checks.items[0];
    double wall_s = (double)run.phases.wall_ns.v / 1e9;
    assert_true(check->after_s.v >= wall_s / 12);
    assert_true(fabs(check->error.v - (check->wall_s.v / wall_s - 1)) < 1e-9);
    assert_true(fabs(check->error.v) < 0.5);
    assert_int_equal(check->covered.v, check->low_s.v <= wall_s && wall_s <= check->high_s.v);
    record_release(run_fields, &run);
    meter_free(meter);
}

// The step time grows by a thousandth of 10 ms with each step. After 500 of 5,000 steps: it goes on
// (175 s), or stays as it is (5.6 + 4,500 x 15 ms). Both are in the interval.
TEST(a_growing_step_time_is_continued)
{
    struct err err = {0};
    struct run run = {0};
    struct meter *meter;
    int64_t at_ns = clock_now_ns() - 1000 * S;
    assert_ok(meter_new(&meter, at_ns, &err), &err);
    meter_plan(meter, &(struct meter_plan){.stage_steps = {5000}, .stages = 1, .follows = true});
    meter_at(meter, at_ns);
    meter_phase(meter, METER_TRAIN);
    for (int i = 0; i < 500; i++) {
        meter_at(meter, at_ns += 10 * MS + i * MS / 100);
        meter_steps(meter, 0, 1);
        meter_enough(meter);
    }
    struct meter_outlook o;
    meter_outlook(meter, &o);
    assert_true(o.unsteady);
    meter_stop(meter);
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    assert_string_equal(run.steady.kind, "unsteady");
    assert_true(fabs(run.projection.wall_s.v / 175 - 1) < 0.1);
    assert_true(run.projection.low_s.v < 6.2 + 67.5 && run.projection.high_s.v > 175);
    record_release(run_fields, &run);
    meter_free(meter);
}

// What was counted turns out to be loading: 5 s of it, then 10 steps of 1 s from there on.
TEST(a_restart_forgets)
{
    struct err err = {0};
    struct run run = {0};
    struct meter *meter;
    int64_t start_ns = clock_now_ns() - 100 * S;
    assert_ok(meter_new(&meter, start_ns, &err), &err);
    meter_plan(meter, &(struct meter_plan){.stage_steps = {20}, .stages = 1});
    meter_at(meter, start_ns + 1 * S);
    meter_phase(meter, METER_TRAIN);
    for (int i = 1; i <= 50; i++) {
        meter_at(meter, start_ns + S + i * S / 10);
        meter_steps(meter, 0, 1);
    }
    meter_restart(meter, start_ns + 5 * S);
    meter_at(meter, start_ns + 5 * S);
    meter_phase(meter, METER_TRAIN);
    for (int i = 1; i <= 10; i++) {
        meter_at(meter, start_ns + 5 * S + i * S);
        meter_steps(meter, 0, 1);
    }
    meter_stop(meter);
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    assert_int_equal(run.steps.v, 10);
    assert_true(fabs(run.step_ms.v - 1000) < 1);
    assert_int_equal(run.phases.setup_ns.v, S);
    assert_int_equal(run.phases.load_ns.v, 4 * S);
    assert_true(fabs(run.projection.wall_s.v - 25) < 0.1);
    record_release(run_fields, &run);
    meter_free(meter);
}

// A sample speaks of another start than its own; a run that goes on knows its start.
TEST(another_start_may_take_longer)
{
    struct err err = {0};
    double low_s[2], high_s[2];
    for (int i = 0; i < 2; i++) {
        struct run run = {0};
        struct meter *meter;
        int64_t start_ns = clock_now_ns() - 1000 * S;
        struct meter_plan plan = {
            .stage_steps = {100}, .stages = 1, .follows = true, .max_s = i == 1 ? 1e6 : 0};
        assert_ok(meter_new(&meter, start_ns, &err), &err);
        meter_plan(meter, &plan);
        meter_at(meter, start_ns + 40 * S);
        meter_phase(meter, METER_TRAIN);
        for (int n = 1; n <= 20; n++) {
            meter_at(meter, start_ns + (40 + n) * S);
            meter_steps(meter, 0, 1);
        }
        meter_stop(meter);
        assert_ok(meter_fill(meter, false, &run, &err), &err);
        assert_true(fabs(run.projection.wall_s.v - (40 + 100)) < 0.5);
        low_s[i] = run.projection.low_s.v;
        high_s[i] = run.projection.high_s.v;
        record_release(run_fields, &run);
        meter_free(meter);
    }
    assert_true(fabs(high_s[1] - high_s[0] - 0.35 * 40) < 0.01);
    assert_true(fabs(low_s[0] - low_s[1] - 0.35 * 40) < 0.01);
}

// A part that was not seen may add a share of what is left; a number of parts may be off.
TEST(doubts_widen_the_interval)
{
    struct err err = {0};
    double low_s[3], high_s[3];
    for (int i = 0; i < 3; i++) {
        struct run run = {0};
        struct meter *meter;
        int64_t start_ns = clock_now_ns() - 1000 * S;
        struct meter_plan plan = {.stage_steps = {100},
                                  .stages = 1,
                                  .follows = true,
                                  .evaluations = 4,
                                  .may_add = i == 1 ? 0.5 : 0};
        plan.doubt[METER_EVALUATE] = i == 2 ? 2 : 0;
        assert_ok(meter_new(&meter, start_ns, &err), &err);
        meter_plan(meter, &plan);
        meter_at(meter, start_ns);
        meter_phase(meter, METER_TRAIN);
        for (int n = 1; n <= 20; n++) {
            meter_at(meter, start_ns + n * S);
            meter_steps(meter, 0, 1);
        }
        meter_phase(meter, METER_EVALUATE);
        meter_at(meter, start_ns + 25 * S);
        meter_evaluated(meter, 1);
        meter_stop(meter);
        assert_ok(meter_fill(meter, false, &run, &err), &err);
        assert_true(fabs(run.projection.wall_s.v - (100 + 4 * 5)) < 0.5);
        low_s[i] = run.projection.low_s.v;
        high_s[i] = run.projection.high_s.v;
        assert_int_equal(run.projection.assumption.known, i == 1);
        record_release(run_fields, &run);
        meter_free(meter);
    }
    assert_true(fabs(high_s[1] - high_s[0] - 0.5 * 80) < 0.5 && fabs(low_s[1] - low_s[0]) < 0.5);
    assert_true(fabs(high_s[2] - high_s[0] - 2 * 5) < 0.5 && fabs(low_s[0] - low_s[2] - 10) < 0.5);
}

// 80 of 9,390 steps, none faster than 380 ms, far apart: what is left takes 59 min at least, less
// the drift that a machine may have (2 %).
TEST(no_interval_is_impossible)
{
    struct err err = {0};
    struct run run = {0};
    struct meter *meter;
    int64_t at_ns = clock_now_ns() - 1000 * S;
    assert_ok(meter_new(&meter, at_ns, &err), &err);
    meter_plan(meter, &(struct meter_plan){.stage_steps = {9390}, .stages = 1, .follows = true});
    meter_at(meter, at_ns);
    meter_phase(meter, METER_TRAIN);
    for (int i = 0; i < 80; i++) {
        meter_at(meter, at_ns += (380 + (i / 8 % 3 == 1 ? 1300 : 10 * (i % 3))) * MS);
        meter_steps(meter, 0, 1);
    }
    meter_stop(meter);
    assert_ok(meter_fill(meter, false, &run, &err), &err);
    const struct run_projection *p = &run.projection;
    assert_true(p->low_s.v >= 0.98 * 9310 * 0.380 && p->low_s.v <= p->wall_s.v);
    assert_true(p->high_s.v > 1.3 * p->wall_s.v && p->longer_s.v > 60);
    record_release(run_fields, &run);
    meter_free(meter);
}

// The loop takes less than 0.2 % of the time, and its windows tell a machine's speed.
// Of a few tries, since a program beside the test can only make a loop longer.
TEST(calibration_is_cheap)
{
    double share = 1;
    for (int tries = 0; tries < 5 && share >= 0.002; tries++) {
        struct err err = {0};
        struct run run = {0};
        real = true;
        struct meter *meter = begin(&(struct meter_plan){.calibrate = true});
        steps(meter, 0, 2000, MS);
        assert_ok(meter_fill(meter, false, &run, &err), &err);
        real = false;
        assert_true(run.drift.loops.v > 20);
        assert_true(run.drift.loop_us.v > 0.1 && run.drift.loop_us.v < 10000);
        share = run.drift.share.v;
        record_release(run_fields, &run);
        meter_free(meter);
    }
    assert_true(share < 0.002);
}
