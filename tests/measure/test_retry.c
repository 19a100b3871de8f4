// SPDX-License-Identifier: Apache-2.0
// Which failures are tried again (docs/saving.md), and after what pause.
#include "measure/after.h"

#include <stdlib.h>

#include "base/clock.h"
#include "test.h"

static char failed[] = "failed", finished[] = "finished", interrupted[] = "interrupted";

static bool again(struct retry *r, int64_t most, int code, int64_t step, int64_t *pause_ns)
{
    struct buf says = {0};
    char problem[32];
    snprintf(problem, sizeof problem, "exit code %d", code);
    struct run run = {
        .ended = failed, .problem = problem, .exit_code = some_int(code), .steps = some_int(step)};
    bool result = retry_again(r, most, &run, pause_ns, &says);
    assert_true(says.len > 0); // it says so either way
    buf_release(&says);
    return result;
}

TEST(test_pauses)
{
    struct retry r = {0};
    int64_t pause_ns = 0;
    static const int64_t expected_s[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300};
    for (int i = 0; i < 11; i++) {
        assert_true(again(&r, 11, 1, 10 * i, &pause_ns));
        assert_int_equal(pause_ns, expected_s[i] * NS_PER_S);
    }
    assert_false(again(&r, 11, 1, 990, &pause_ns)); // it was, eleven times
}

TEST(test_usage)
{
    int64_t pause_ns;
    static const int codes[] = {2, 126, 127};
    for (int i = 0; i < 3; i++) {
        struct retry r = {0};
        assert_false(again(&r, 5, codes[i], 0, &pause_ns));
    }
}

TEST(test_same_error)
{
    int64_t pause_ns;
    struct retry r = {0};
    assert_true(again(&r, 99, 1, 7, &pause_ns));
    assert_true(again(&r, 99, 1, 7, &pause_ns));
    assert_false(again(&r, 99, 1, 7, &pause_ns)); // a third time at the same step
    r = (struct retry){0};
    for (int i = 0; i < 20; i++) // another step, or another error, is progress
        assert_true(again(&r, 99, i % 2 ? 1 : 3, 7, &pause_ns));
}

TEST(test_others)
{
    int64_t pause_ns;
    struct buf says = {0};
    struct retry r = {0};
    struct run run = {.ended = finished};
    assert_false(retry_again(&r, 5, &run, &pause_ns, &says));
    run.ended = interrupted;
    assert_false(retry_again(&r, 5, &run, &pause_ns, &says));
    run.ended = failed;
    assert_false(retry_again(&r, 0, &run, &pause_ns, &says)); // not asked for
    assert_int_equal(says.len, 0);
}
