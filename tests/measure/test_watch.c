// SPDX-License-Identifier: Apache-2.0
// What a log says about a run in progress.
#include "measure/session.h"

#include "base/money.h"
#include "test.h"

#define CENT (MONEY_UNIT / 100)

static void says(const struct live *live, const char *expected)
{
    struct buf text = {0};
    watch_words(live, &text);
    assert_string_equal(buf_str(&text), expected);
    buf_release(&text);
}

TEST(a_run_to_its_end)
{
    struct live live = {.elapsed_s = 483, .step = 1200, .steps = 3000, .bill = -1, .projected = -1};
    live.left_s = 725; // 12 min 05 s; 14.5 s are 2 % of it
    live.whole_s = 1208;
    live.half_s = 14.5;
    says(&live, "after 8 min 03 s: step 1200 of 3000 (40 %), 12 min 05 s left (± 2 %)");
    live.bill = 61 * CENT;
    says(&live, "after 8 min 03 s: step 1200 of 3000 (40 %), 12 min 05 s left (± 2 %), 0.61 USD");
    live.projected = 130 * CENT;
    says(&live,
         "after 8 min 03 s: step 1200 of 3000 (40 %), 12 min 05 s left (± 2 %), 0.61 of 1.30 USD");
    live.half_s = 3.625;
    says(
        &live,
        "after 8 min 03 s: step 1200 of 3000 (40 %), 12 min 05 s left (± 0.5 %), 0.61 of 1.30 USD");
    live.half_s = 800; // more than the time left
    says(&live, "after 8 min 03 s: step 1200 of 3000 (40 %), 12 min 05 s left (still uncertain), "
                "0.61 of 1.30 USD");
    live.noun = "epoch";
    live.half_s = 0;
    says(&live,
         "after 8 min 03 s: in epoch 1201 of 3000 (40 %), 12 min 05 s left, 0.61 of 1.30 USD");
    live.step = 3000;
    says(&live, "after 8 min 03 s: epoch 3000 of 3000 (100 %), 12 min 05 s left, 0.61 of 1.30 USD");
}

TEST(without_a_total)
{
    struct live live = {.elapsed_s = 600, .step = 1200, .rate = 14.26, .left_s = -1};
    live.bill = live.projected = live.whole = -1;
    says(&live, "after 10 min 00 s: step 1200, 14.3 a second");
    live.step = 0;
    live.rate = 0;
    live.bill = 10 * CENT;
    says(&live, "after 10 min 00 s: no progress seen, 0.10 USD");
    live.bill = -1;
    live.noun = "epoch"; // its first line came within the first epoch
    live.rate = 0.01175;
    says(&live, "after 10 min 00 s: in epoch 1, 1 min 25 s an epoch");
    live.noun = "sample";
    live.step = 712480;
    live.rate = 4163.2;
    says(&live, "after 10 min 00 s: sample 712480, 4160 a second");
}

// The time left of a sample is not the training's; the cost to know is that of all of it.
TEST(a_sample)
{
    struct live live = {.elapsed_s = 20, .step = 50, .steps = 3000, .left_s = 40};
    live.timed = live.at_most = true;
    live.bill = 2 * CENT;
    live.projected = 6 * CENT;
    live.whole = -1;
    says(&live, "after 20.0 s: step 50 of 3000 (1 %), at most 40.0 s left of the sample, 0.02 USD");
    live.whole_s = 1200;
    live.half_s = 84;
    live.whole = 120 * CENT;
    live.loss = some_real(0.41234);
    says(&live,
         "after 20.0 s: step 50 of 3000 (1 %), loss 0.4123, the whole training takes 20 min 00 "
         "s (± 7 %), at most 40.0 s left of the sample, 0.02 of 1.20 USD");
}

// After 10 s, 30 s and a minute, then at twice the time, at most five minutes apart.
TEST(lines_come_often_at_first)
{
    static const double expected_s[] = {10, 30, 60, 120, 240, 480, 780, 1080};
    struct watch watch = {0};
    size_t count = 0;
    for (double s = 0; s < 1100; s += 0.5)
        if (watch_due(&watch, s)) {
            assert_float_equal(s, expected_s[count++], 0);
            watch_told(&watch, s);
        }
    assert_int_equal(count, sizeof expected_s / sizeof *expected_s);
    // Several runs share the times: the third began after 58 s.
    watch = (struct watch){.before_s = 58, .told_s = 30.2};
    assert_false(watch_due(&watch, 1.9));
    assert_true(watch_due(&watch, 2));
}
