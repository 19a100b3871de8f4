// SPDX-License-Identifier: Apache-2.0
// Fails on purpose: test_runner.py runs this program through the runner and expects the suite to
// fail. One test that passes stands beside it, so that the counts can be checked too.
#include "test.h"

static void fails(void **state)
{
    (void)state;
    assert_int_equal(1, 2);
}

static void passes(void **state)
{
    (void)state;
    assert_int_equal(2, 2);
}

static void skips(void **state)
{
    (void)state;
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fails),
        cmocka_unit_test(passes),
        cmocka_unit_test(skips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
