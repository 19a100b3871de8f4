// SPDX-License-Identifier: Apache-2.0
// What every unit test includes: cmocka, with the headers it wants before it.
#ifndef FARE_TESTS_TEST_H
#define FARE_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

// A call that must succeed; its error text is printed where it does not.
#define assert_ok(call, err)                                                                       \
    do {                                                                                           \
        int assert_ok_rc = (call);                                                                 \
        if (assert_ok_rc != 0)                                                                     \
            fail_msg("%s: %s", #call, (err)->text);                                                \
    } while (0)

// TEST(adds_up) { ... } is a test, and by being written it is one of its program's; TEST_WITH has
// something to do before it and after it. `state` is what the one before left.
struct test {
    int line;
    struct CMUnitTest unit;
};

#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, before, after)                                                             \
    static void name(void **state);                                                                \
    static const struct test name##_test = {__LINE__, {#name, name, before, after, NULL}};         \
    __attribute__((used, section("tests"))) static const struct test *const name##_listed =        \
        &name##_test;                                                                              \
    static void name(__attribute__((unused)) void **state)

// What main() in tests/units.c calls. A program that has more to do has its own, which calls it
// too.
int run_all_tests(CMFixtureFunction set_up, CMFixtureFunction tear_down);

#endif
