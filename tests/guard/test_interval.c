// SPDX-License-Identifier: Apache-2.0
// The interval against Daly, "A higher order estimate of the optimum checkpoint interval for
// restart dumps" (2006), and a search over the expected time of a training.
#include "guard/interval.h"

#include <math.h>

#include "base/clock.h"
#include "test.h"

#define MIN (60 * NS_PER_S)

static double minutes(int64_t cost_min, int64_t between_min)
{
    return (double)interval_best(cost_min * MIN, between_min * MIN) / (double)MIN;
}

static void test_published(void **state)
{
    (void)state;
    assert_true(fabs(minutes(5, 1440) - 117) < 0.5);
    assert_true(fabs(minutes(5, 360) - 57) < 0.5);
    assert_true(fabs(minutes(5, 15) - 9.1) < 0.05);
    assert_true(interval_best(3 * MIN, MIN) == MIN); // a checkpoint that costs over twice the mean
    assert_true(interval_best(0, 360 * MIN) > 0);
}

// E[T] = M e^(R/M) (e^((t+d)/M) - 1) / t for one unit of work; R does not move its minimum.
static double expected(double interval, double cost, double mean)
{
    return mean * (exp((interval + cost) / mean) - 1) / interval;
}

static void test_against_search(void **state)
{
    (void)state;
    static const double costs[] = {0.01, 0.5, 5}, means[] = {30, 360, 3000};
    for (int i = 0; i < 9; i++) {
        double cost = costs[i % 3], mean = means[i / 3], best = 1e300;
        for (double t = mean / 1e5; t < 2 * mean; t *= 1.001)
            best = fmin(best, expected(t, cost, mean));
        double ours =
            (double)interval_best((int64_t)(cost * MIN), (int64_t)(mean * MIN)) / (double)MIN;
        assert_true(expected(ours, cost, mean) < best * 1.001);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_against_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
