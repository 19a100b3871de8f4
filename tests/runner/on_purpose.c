// SPDX-License-Identifier: Apache-2.0
// Fails on purpose: test_runner.py runs this program through the runner and expects the suite to
// fail. One test that passes stands beside it, so that the counts can be checked too.
#include "test.h"

TEST(fails)
{
    assert_int_equal(1, 2);
}

TEST(passes)
{
    assert_int_equal(2, 2);
}

TEST(skips)
{
    skip();
}
