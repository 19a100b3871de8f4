// SPDX-License-Identifier: Apache-2.0
#include "train/meter.h"

#include <math.h>

#include "test.h"

static void assert_means(int64_t count, double first, double last, double within)
{
    struct losses losses = {0};
    for (int64_t i = 1; i <= count; i++)
        losses_add(&losses, (double)i);
    assert_true(losses_first(&losses).known && losses_last(&losses).known);
    if (fabs(losses_first(&losses).v - first) > within ||
        fabs(losses_last(&losses).v - last) > within)
        fail_msg("of 1 ... %lld: %g and %g", (long long)count, losses_first(&losses).v,
                 losses_last(&losses).v);
}

// Of the numbers 1 ... n the mean of the first tenth is (n / 10 + 1) / 2, that of the last n less
// as much as the first is above 1.
TEST(test_tenths)
{
    assert_means(1, 1, 1, 0);
    assert_means(10, 1, 10, 0);
    assert_means(11, 1.5, 10.5, 0); // a tenth is two
    assert_means(100, 5.5, 95.5, 1e-9);
    assert_means(1000, 50.5, 950.5, 1e-9);
}

TEST(test_long_runs_are_merged)
{
    assert_means(LOSSES_MAX, 52, LOSSES_MAX - 51, 1);
    for (int64_t n = LOSSES_MAX + 1; n < 100000; n = n * 3 / 2)
        assert_means(n, (double)n / 20, (double)n * 19 / 20, (double)n / 400 + 2);
    assert_means(1000000, 50000, 950000, 2500);
}

TEST(test_none)
{
    struct losses losses = {0};
    assert_false(losses_first(&losses).known);
    assert_false(losses_last(&losses).known);
}
