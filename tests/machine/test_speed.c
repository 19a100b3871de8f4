// SPDX-License-Identifier: Apache-2.0
#include "machine/speed.h"

#include "base/clock.h"
#include "test.h"

// A core does at least 0.1 and at most 100 multiply-adds a nanosecond; the fastest of some loops is
// no slower than their mean. It takes five milliseconds and the loop that is under way.
static void a_thread_has_a_speed(void **state)
{
    (void)state;
    int64_t before_ns = clock_thread_ns();
    for (int i = 0; i < 100; i++)
        speed_loop();
    double mean_ns = (double)(clock_thread_ns() - before_ns) / 100;
    int64_t start_ns = clock_thread_ns();
    double ops_per_s = speed_thread();
    assert_true(clock_thread_ns() - start_ns < 50 * NS_PER_MS);
    assert_true(ops_per_s > 1e8 && ops_per_s < 1e11);
    assert_true(ops_per_s > 0.5 * SPEED_LOOP_OPS / mean_ns * 1e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_thread_has_a_speed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
