// SPDX-License-Identifier: Apache-2.0
// How many CPUs a process may use.
#include "test.h"

#include <sched.h>

#include "machine/cpus.h"

static void the_smaller_counts(void **state)
{
    (void)state;
    const struct maybe_int none = {0};
    const struct maybe_real no_limit = {0};
    assert_float_equal(cpus_within(some_int(8), some_real(2.5)).v, 2.5, 0);
    assert_float_equal(cpus_within(some_int(2), some_real(8)).v, 2, 0);
    assert_float_equal(cpus_within(some_int(3), no_limit).v, 3, 0);
    assert_float_equal(cpus_within(none, some_real(1.5)).v, 1.5, 0);
    assert_false(cpus_within(none, no_limit).known);
}

static void affinity_counts(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_in_range(cpus_usable(), 1, CPU_COUNT(&all));
    int first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cpus_usable(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_smaller_counts),
                                       cmocka_unit_test(affinity_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
