// SPDX-License-Identifier: Apache-2.0
// Series with a known truth: which kind they are, where they settle, and whether the interval holds
// what comes after.
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "train/steady.h"

static struct series series;
static struct calibrate calibrate;
static struct rng rng;

static void begin(uint64_t seed)
{
    struct err err = {0};
    assert_ok(series_init(&series, &err), &err);
    assert_ok(calibrate_init(&calibrate, &err), &err);
    rng_init(&rng, seed);
}

static void end(void)
{
    series_release(&series);
    calibrate_release(&calibrate);
}

// Adds `count` steps of about `ms`, with noise of `share`; time goes on from the last.
static void add(int count, double ms, double share)
{
    for (int i = 0; i < count; i++) {
        double took = ms * 1e6 * (1 + share * rng_normal(&rng));
        series_add(&series, series.total_ns + (int64_t)took, (int64_t)took, 1);
    }
}

static struct steady judge(void)
{
    struct steady out;
    steady_judge(&series, &calibrate, &out);
    return out;
}

TEST(a_flat_one)
{
    begin(1);
    add(2000, 10, 0.02);
    struct steady s = judge();
    assert_int_equal(s.kind, STEADY_FLAT);
    assert_int_equal(s.first, 0);
    assert_true(fabs(s.mean_ns / 1e7 - 1) < 0.005);
    struct run_steady out = {0};
    struct err err = {0};
    assert_ok(steady_fill(&s, &series, &out, &err), &err);
    assert_string_equal(out.kind, "flat");
    assert_true(fabs(out.from_s.v) < 1e-6); // no warm-up: from the first step to the last
    assert_true(fabs(out.to_s.v - (double)series.total_ns / 1e9) < 1e-6);
    assert_true(out.low_ms.v < 10 && 10 < out.high_ms.v + 0.02);
    assert_true(out.high_ms.v - out.low_ms.v < 0.1);
    free(out.kind);
    end();
}

TEST(a_warm_up)
{
    begin(2);
    add(100, 30, 0.02);
    add(1000, 10, 0.02);
    struct steady s = judge();
    assert_int_equal(s.kind, STEADY_WARM_UP);
    assert_in_range(s.first, 95, 110);
    assert_true(fabs(s.mean_ns / 1e7 - 1) < 0.02);
    assert_true(fabs(s.before_ns / (100 * 30e6) - 1) < 0.1);
    end();
}

TEST(a_slow_down)
{
    begin(3);
    add(1000, 10, 0.02);
    add(600, 13, 0.02);
    struct steady s = judge();
    assert_int_equal(s.kind, STEADY_SLOW_DOWN);
    assert_in_range(s.first, 980, 1020);
    // It may be fast again: the forecast is in between, and wide enough for both.
    double between = (1000 * 10e6 + 600 * 13e6) / 1600;
    assert_true(fabs(s.mean_ns / between - 1) < 0.02);
    assert_true(1.96 * s.relative_error > 13e6 / between - 1 - 0.02);
    end();
}

// Fifteen slow steps at the end of a thousand take half of the time, and prove little; five hundred
// prove more, and a slow beginning is soon forgotten.
TEST(a_new_level_is_not_trusted_at_once)
{
    begin(10);
    add(1000, 5, 0.02);
    add(15, 352, 0.02);
    assert_true(judge().relative_error > 0.3);
    end();
    begin(11);
    add(100, 5, 0.02);
    add(3000, 10, 0.02);
    assert_true(judge().relative_error < 0.2);
    end();
    begin(12);
    add(3, 2000, 0.1);
    add(1000, 10, 0.02);
    assert_true(judge().relative_error < 0.01);
    end();
}

// It goes up and down for long stretches: whatever is said about the next one is a guess.
TEST(one_that_never_settles)
{
    begin(4);
    for (int i = 0; i < 6; i++)
        add(200, i % 2 ? 20 : 10, 0.02);
    struct steady s = judge();
    assert_int_equal(s.kind, STEADY_UNSTEADY);
    struct run_steady out = {0};
    struct err err = {0};
    assert_ok(steady_fill(&s, &series, &out, &err), &err);
    assert_false(out.step_ms.known);
    assert_true(s.relative_error > 0.05);
    free(out.kind);
    end();
}

// A neighbour's half minute in a long run is no change of the program; the mean pays for it.
TEST(a_disturbance_that_passes)
{
    begin(5);
    add(1000, 10, 0.02);
    add(100, 15, 0.02);
    add(1000, 10, 0.02);
    struct steady s = judge();
    assert_int_equal(s.kind, STEADY_FLAT);
    assert_int_equal(s.first, 0);
    assert_true(fabs(s.mean_ns / (10e6 * (2000 + 150) / 2100) - 1) < 0.01);
    end();
}

TEST(single_slow_steps_are_outliers)
{
    begin(6);
    for (int i = 0; i < 20; i++) {
        add(99, 10, 0.01);
        add(1, 100, 0);
    }
    struct steady s = judge();
    assert_int_equal(s.kind, STEADY_FLAT);
    struct run_steady out = {0};
    struct err err = {0};
    assert_ok(steady_fill(&s, &series, &out, &err), &err);
    assert_int_equal(out.outliers.v, 20);
    assert_true(fabs(out.step_ms.v - 10) < 0.1);            // the median does not see them
    assert_true(fabs(s.mean_ns / (10.9 * 1e6) - 1) < 0.01); // the mean pays: (99 × 10 + 100) / 100
    free(out.kind);
    end();
}

// The machine got slower by a fifth half-way, and the calibration loop saw it: not the program's
// doing. Without the loop it would look like a slow-down.
TEST(drift_is_not_the_programs)
{
    begin(7);
    add(1000, 10, 0.01);
    add(1000, 12, 0.01);
    assert_int_equal(judge().kind, STEADY_SLOW_DOWN);
    for (int s = 0; s < 22; s++) { // windows of a second, ten loops in each
        calibrate.sum_ns[s] = 10 * (s < 10 ? 20000 : 24000);
        calibrate.count[s] = 10;
    }
    calibrate.windows = 22;
    assert_int_equal(judge().kind, STEADY_FLAT);
    end();
}

// Steps on a GPU do not get slower with the processor.
TEST(what_does_not_follow_the_machine_is_left_alone)
{
    begin(8);
    add(2000, 10, 0.005);
    for (int s = 0; s < 20; s++) {
        calibrate.sum_ns[s] = 10 * (20000 + 3000 * (s % 3));
        calibrate.count[s] = 10;
    }
    calibrate.windows = 20;
    struct steady s = judge();
    assert_int_equal(s.kind, STEADY_FLAT);
    assert_false(s.follows);
    assert_true(s.scatter < 0.005);
    end();
}

TEST(few_steps_say_so)
{
    begin(8);
    add(1, 50, 0);
    assert_int_equal(judge().kind, STEADY_SHORT);
    assert_true(judge().relative_error >= 0.2);
    add(5, 10, 0.01);
    struct steady s = judge();
    assert_int_equal(s.kind, STEADY_SHORT);
    assert_int_equal(s.first, 1); // the first one warms up
    assert_true(fabs(s.mean_ns / 1e7 - 1) < 0.03);
    end();
}

// Memory is bounded, and nothing of the time is lost.
// Keras with verbose=2 reports an epoch at a time; the first one compiles. 250 steps in 9 s, then
// 250 in 2.5 s: 10 ms a step from here on.
TEST(the_first_of_two_reports_is_left_out)
{
    begin(9);
    series_add(&series, 9000000000, 9000000000, 250);
    series_add(&series, 11500000000, 2500000000, 250);
    struct steady s = judge();
    assert_int_equal(s.first, 1);
    assert_true(fabs(s.mean_ns / 1e7 - 1) < 1e-9);
    assert_true(fabs(s.before_ns / 9e9 - 1) < 1e-9);
    assert_true(s.relative_error >= 0.3);
    end();
}

TEST(long_ones_are_merged)
{
    begin(9);
    add(100000, 1, 0.05);
    assert_int_equal(series.steps, 100000);
    assert_true(series.count <= SERIES_MAX && series.count > SERIES_MAX / 4);
    double sum = (double)series.part_ns;
    for (int64_t i = 0; i < series.count; i++)
        sum += series.step_ns[i] * (double)series.block;
    assert_true(fabs(sum / (double)series.total_ns - 1) < 1e-9);
    assert_int_equal(judge().kind, STEADY_FLAT);
    end();
}

// One step's worth of a process that wanders: white noise plus a slow random walk that pulls back.
static double wander(double *level, double white, double walk)
{
    *level = *level * 0.999 + walk * rng_normal(&rng);
    return 1 + *level + white * rng_normal(&rng);
}

// Of many series, in how many does the interval around the mean hold the mean of the ten times as
// long stretch that follows? Asked are 95 of 100; the noise is of kinds that real machines show.
TEST(the_interval_holds_the_future)
{
    const struct {
        double white, walk;
    } kinds[] = {{0.05, 0}, {0.3, 0}, {0.02, 0.0005}, {0.02, 0.002}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int held = 0;
        for (int trial = 0; trial < 100; trial++) {
            begin(1000 * (k + 1) + (uint64_t)trial);
            double level = 0;
            for (int i = 0; i < 5000; i++) // forget the start
                wander(&level, kinds[k].white, kinds[k].walk);
            for (int i = 0; i < 3000; i++) {
                int64_t took = (int64_t)(1e7 * wander(&level, kinds[k].white, kinds[k].walk));
                series_add(&series, series.total_ns + took, took, 1);
            }
            struct steady s = judge();
            double sum = 0;
            for (int i = 0; i < 30000; i++)
                sum += 1e7 * wander(&level, kinds[k].white, kinds[k].walk);
            double error = fabs(s.mean_ns / (sum / 30000) - 1);
            held += error <= 1.96 * s.relative_error;
            end();
        }
        assert_in_range(held, 90, 100);
    }
}

// A GPU is asked after a step, two, four, and then every hundred: what an entry weighs is its
// steps.
TEST(reports_of_many_steps)
{
    struct run_steady out = {0};
    struct err err = {0};
    begin(3);
    int64_t steps[60] = {1, 2, 4, 8, 16, 32, 64};
    for (int i = 0; i < 60; i++) {
        int64_t n = i < 7 ? steps[i] : i % 5 == 4 ? 69 : 100;
        double each = (i == 0 ? 1163000 : 35000) * (1 + 0.005 * rng_normal(&rng));
        int64_t took = (int64_t)(each * (double)n);
        series_add(&series, series.total_ns + took, took, n);
    }
    struct steady s = judge();
    assert_int_equal(s.kind, STEADY_WARM_UP);
    assert_int_equal(s.first, 1);
    assert_true(fabs(s.mean_ns / 35000 - 1) < 0.005);
    assert_true(s.relative_error < 0.02);
    assert_ok(steady_fill(&s, &series, &out, &err), &err);
    assert_int_equal(out.first_step.v, 1);
    assert_true(fabs(out.from_s.v - series.at_s[0]) < 1e-6); // where the first one ended
    assert_int_equal(out.steps.v, series.steps - 1);
    free(out.kind);
    end();
}

// Sequence lengths that grow, evenly or in stairs, from 10 to 13 ms: 3 of a mean of 11.5.
TEST(growing_steps_are_unsteady)
{
    for (int stairs = 0; stairs < 2; stairs++) {
        begin(20);
        for (int i = 0; i < 600; i++)
            add(1, 10 + 3.0 * (stairs ? i / 60 : i / 60.0) / 10, 0.03);
        struct steady s = judge();
        assert_int_equal(s.kind, STEADY_UNSTEADY);
        assert_true(s.changes);
        assert_true(fabs(s.growth / (3 / 11.5) - 1) < 0.15);
        end();
    }
}

// A GPT on an H200 whose sequences grow: 19.6 ms by the host, then 3.6 ms more with each 100 steps.
// After 992 steps it takes 36 ms (measured 2026-11-16: 24.2 ms on average).
TEST(growing_after_a_flat_beginning)
{
    begin(21);
    for (int i = 0; i < 992; i++)
        add(1, fmax(19.6, 3.6 * (1 + i / 100)), 0.03);
    struct steady s = judge();
    assert_int_equal(s.kind, STEADY_UNSTEADY);
    assert_true(s.changes);
    assert_true(fabs(s.last_ns / 36e6 - 1) < 0.1);
    assert_true(fabs(s.growth * s.mean_ns / 992 / 36e3 - 1) < 0.25); // 36 us a step
    end();
}

// Random sequence lengths, from 5 to 20 ms, are steady; so is a machine that wanders a little.
TEST(random_lengths_are_steady)
{
    int changes = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        begin(3000 + seed);
        for (int i = 0; i < 300; i++)
            add(1, 5 + 15 * rng_double(&rng), 0);
        changes += judge().changes;
        end();
    }
    assert_in_range(changes, 0, 2);
}

// A sixth of the training at 10 ms, then 14: another level may follow.
TEST(a_slower_level_may_be_followed_by_another)
{
    begin(21);
    add(300, 10, 0.02);
    add(200, 14, 0.02);
    struct steady s = judge();
    assert_true(s.changes);
    assert_true(s.mean_ns * (1 + 1.96 * s.relative_error) > 14e6);
    end();
}
