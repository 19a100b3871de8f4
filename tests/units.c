// SPDX-License-Identifier: Apache-2.0
// Runs the tests of a program, in the order of its file.
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TESTS 256

// The linker's names for the ends of the section that TEST() fills.
extern const struct test *const __start_tests[], *const __stop_tests[];

static int by_line(const void *a, const void *b)
{
    return (*(const struct test *const *)a)->line - (*(const struct test *const *)b)->line;
}

int run_all_tests(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    const struct test *sorted[MOST_TESTS];
    struct CMUnitTest tests[MOST_TESTS];
    size_t count = (size_t)(__stop_tests - __start_tests);
    if (count > MOST_TESTS)
        return 1;
    memcpy(sorted, __start_tests, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_line); // a compiler may turn them round
    for (size_t i = 0; i < count; i++)
        tests[i] = sorted[i]->unit;
    return _cmocka_run_group_tests("tests", tests, count, set_up, tear_down);
}

__attribute__((weak)) int main(void)
{
    return run_all_tests(NULL, NULL);
}
