// SPDX-License-Identifier: Apache-2.0
// Young (1974) and Daly (2006), in minutes. The expected values: Daly's own interval for a
// checkpoint of 5 minutes, and times by formula and by somebody else's Monte Carlo simulation.
#include "advise/spot/policy.h"

#include <math.h>

#include "base/clock.h"
#include "advise/spot/replay.h"
#include "test.h"

static const struct {
    double mean, formula, simulated; // work 30000, checkpoint 5, restart 10
} vectors[] = {{1440, 32873, 32865}, {360, 36613, 36578}, {60, 54920, 54881}, {15, 150250, 150267}};

TEST(intervals)
{
    assert_int_equal(lround(theory_daly(5, 24 * 60)), 117);
    assert_int_equal(lround(theory_daly(5, 6 * 60)), 57);
    assert_int_equal(lround(10 * theory_daly(5, 15)), 91);
    assert_true(fabs(theory_young(5, 360) - 60) < 1e-9); // √3600
    // From twice the mean on there is no sense in the formula.
    assert_true(theory_daly(30, 15) == 15);
    assert_true(theory_daly(1000, 15) == 15);
    assert_true(fabs(theory_daly(29.9999, 15) - 15) > 0); // the branch before
}

TEST(times)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        double mean = vectors[i].mean, interval = theory_daly(5, mean);
        double time = theory_expected(30000, interval, 5, 10, mean);
        assert_true(fabs(time - vectors[i].formula) < 1);
        assert_true(fabs(time / vectors[i].simulated - 1) < 0.002);
    }
    assert_true(isinf(theory_expected(1e6, 1e6, 5, 10, 1)));
    // Without checkpoints: the same with one segment, which needs none at its end.
    assert_true(fabs(theory_unsaved(100, 10, 50) / theory_expected(100, 100, 0, 10, 50) - 1) <
                1e-12);
}

// The replay knows nothing of the formula.
TEST(replayed)
{
    const int64_t minute = 60 * NS_PER_S;
    const struct rule rule = {.rate = 1000000000,
                              .per_ns = 60 * minute,
                              .unit_ns = NS_PER_S,
                              .monthly_cap = -1,
                              .gb_bytes = 1000000000,
                              .storage_month_ns = 2592000 * NS_PER_S,
                              .decimals = 9};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct err err = {0};
        double mean = vectors[i].mean;
        struct replay r = {.work_ns = 30000 * minute,
                           .interval_ns = (int64_t)(theory_daly(5, mean) * (double)minute),
                           .checkpoint_ns = 5 * minute,
                           .restart_ns = 10 * minute,
                           .mean_ns = (int64_t)mean * minute,
                           .rule = &rule,
                           .seed = 7,
                           .count = mean < 60 ? 100 : 400};
        struct replay_summary s;
        assert_ok(replay_all(&r, &s, &err), &err);
        assert_int_equal(s.finished, r.count);
        assert_true(fabs(s.mean_wall_ns / (double)minute / vectors[i].formula - 1) < 0.01);
        // Machines are paid by the second and there is always one: the bill is the time.
        assert_true(fabs(s.mean_nano / 1e9 * 60 * (double)minute / s.mean_wall_ns - 1) < 0.001);
        assert_true(s.wall_ns.low <= s.wall_ns.middle && s.wall_ns.middle <= s.wall_ns.high);
        // Interruptions come once in the mean time.
        assert_true(fabs(s.mean_interruptions * mean * (double)minute / s.mean_wall_ns - 1) < 0.02);
    }
}

// No interval has a notably shorter expected time than Daly's.
TEST(against_search)
{
    static const double costs[] = {0.01, 0.5, 5}, means[] = {30, 360, 3000};
    for (int i = 0; i < 9; i++) {
        double cost = costs[i % 3], mean = means[i / 3], best = HUGE_VAL;
        for (double t = mean / 1e5; t < 2 * mean; t *= 1.001)
            best = fmin(best, mean * (exp((t + cost) / mean) - 1) / t);
        double t = theory_daly(cost, mean);
        assert_true(mean * (exp((t + cost) / mean) - 1) / t < best * 1.001);
    }
}
