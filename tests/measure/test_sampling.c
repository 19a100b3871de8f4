// SPDX-License-Identifier: Apache-2.0
// When a sample of a command ends: at most a minute after the first step, however long imports and
// compilation took; 30 s if only the rate can be known; ten minutes if nothing is seen.
#include "measure/sampling.h"

#include "test.h"

TEST(precise_enough)
{
    struct sampling now = {.enough = true, .elapsed_s = 42, .before_s = 40, .steps = 50};
    now.total = now.projected = true;
    assert_int_equal(sampling_judge(&now), SAMPLING_GOES_ON); // two seconds are not typical
    now.asked = true;
    assert_int_equal(sampling_judge(&now), SAMPLING_WITHIN);
    now.asked = false;
    now.elapsed_s = 50;
    assert_int_equal(sampling_judge(&now), SAMPLING_WITHIN);
}

TEST(a_minute_of_steps)
{
    // 28 s of compilation do not count.
    struct sampling now = {.elapsed_s = 28 + 59, .before_s = 28, .steps = 50};
    now.total = now.projected = true;
    assert_int_equal(sampling_judge(&now), SAMPLING_GOES_ON);
    now.elapsed_s = 28 + 60;
    assert_int_equal(sampling_judge(&now), SAMPLING_TIME);
    // Two steps in a minute: they give no projection yet.
    now = (struct sampling){.elapsed_s = 100, .before_s = 28, .steps = 2, .total = true};
    assert_int_equal(sampling_judge(&now), SAMPLING_GOES_ON);
    now.elapsed_s = 28 + 600;
    assert_int_equal(sampling_judge(&now), SAMPLING_TIME);
}

// As for the workloads, a limit of the user's counts from the start, and nothing else does.
TEST(a_given_limit)
{
    struct sampling now = {.limit_s = 1000, .elapsed_s = 999, .before_s = 28, .steps = 50};
    assert_int_equal(sampling_judge(&now), SAMPLING_GOES_ON);
    now.elapsed_s = 1000;
    assert_int_equal(sampling_judge(&now), SAMPLING_TIME);
    now = (struct sampling){.limit_s = 5, .elapsed_s = 5};
    assert_int_equal(sampling_judge(&now), SAMPLING_TIME);
}

TEST(no_total)
{
    struct sampling now = {.elapsed_s = 10 + 29, .before_s = 10, .steps = 5};
    assert_int_equal(sampling_judge(&now), SAMPLING_GOES_ON);
    now.elapsed_s = 10 + 30;
    assert_int_equal(sampling_judge(&now), SAMPLING_NO_TOTAL);
    now.unsettled = true;
    assert_int_equal(sampling_judge(&now), SAMPLING_GOES_ON);
    assert_true(sampling_until_s(&now) == 70); // so the progress line never says "0 s left" before
    now.elapsed_s = 10 + 60;
    assert_int_equal(sampling_judge(&now), SAMPLING_NO_TOTAL);
    now = (struct sampling){.elapsed_s = 10 + 60, .before_s = 10, .steps = 4};
    assert_int_equal(sampling_judge(&now), SAMPLING_GOES_ON);
}

TEST(nothing_seen)
{
    struct sampling now = {.elapsed_s = 599};
    assert_int_equal(sampling_judge(&now), SAMPLING_GOES_ON);
    now.elapsed_s = 600;
    assert_int_equal(sampling_judge(&now), SAMPLING_NO_PROGRESS);
    assert_string_equal(sampling_word(SAMPLING_NO_PROGRESS), "no-progress");
    assert_null(sampling_word(SAMPLING_GOES_ON));
}

// An evaluation every 400 steps, 20 of them after the minute is over: the sample sees it, to its
// end.
TEST(an_evaluation_that_comes_soon)
{
    struct sampling now = {.elapsed_s = 10 + 60, .before_s = 10, .steps = 380, .part_s = 3.2};
    now.total = now.projected = true;
    assert_int_equal(sampling_judge(&now), SAMPLING_GOES_ON);
    now.part_s = 0;
    now.in_part = true;
    now.elapsed_s = 10 + 90;
    assert_int_equal(sampling_judge(&now), SAMPLING_GOES_ON);
    now.elapsed_s = 10 + 180; // but not for ever
    assert_int_equal(sampling_judge(&now), SAMPLING_TIME);
    now.in_part = false;
    now.elapsed_s = 10 + 91;
    assert_int_equal(sampling_judge(&now), SAMPLING_TIME);
    // One that comes two minutes later is not waited for, nor one after the user's limit.
    now = (struct sampling){.elapsed_s = 70, .before_s = 10, .steps = 380, .part_s = 120};
    now.total = now.projected = true;
    assert_int_equal(sampling_judge(&now), SAMPLING_TIME);
    now.part_s = 3;
    now.limit_s = 70;
    assert_int_equal(sampling_judge(&now), SAMPLING_TIME);
}
