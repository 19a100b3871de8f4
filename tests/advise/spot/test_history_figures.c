// SPDX-License-Identifier: Apache-2.0
// The figures of spot prices, each worked out by hand in the comments.
#include "test.h"

#include "advise/spot/history.h"

#define ALL   INT64_MIN, INT64_MAX
#define DAY_S INT64_C(86400)

// 100 s: 4 for 10 s, 2 for 30 s, 6 for 20 s, 2 for 40 s.
static struct spot_change steps[] = {{100, 4}, {110, 2}, {140, 6}, {160, 2}};
static const struct spot_series series = {.changes = steps, .count = 4, .until_s = 200};

// The same, unseen from 120 to 150: 4 for 10 s, 2 for 10 s, 6 for 10 s, 2 for 40 s.
static struct spot_gap unseen[] = {{120, 150}};
static const struct spot_series gapped = {
    .changes = steps, .count = 4, .until_s = 200, .gaps = unseen, .gap_count = 1};

static struct spot_figures figures_of(const struct spot_series *s, int64_t from, int64_t until)
{
    struct spot_figures f;
    struct err err = {0};
    assert_ok(spot_figures(s, from, until, &f, &err), &err);
    return f;
}

TEST(quantiles)
{
    // Of 100 s: 70 at 2, 10 at 4, 20 at 6. 10 and 50 % lie within the 70; 90 % within the 6s, and
    // so does everything over 80.
    struct spot_figures f = figures_of(&series, ALL);
    assert_int_equal(f.from_s, 100);
    assert_int_equal(f.until_s, 200);
    assert_int_equal(f.seen_s, 100);
    assert_int_equal(f.low, 2);
    assert_int_equal(f.p10, 2);
    assert_int_equal(f.p50, 2);
    assert_int_equal(f.p90, 6);
    assert_int_equal(f.high, 6);
    assert_int_equal(f.mean, 3); // (40 + 60 + 120 + 80) / 100
    assert_int_equal(f.changes, 3);
    assert_true(f.changes_a_day == 3 * 86400 / 100.0);
    assert_int_equal(f.last, 2);
    assert_int_equal(f.steady_from_s, 160);
    assert_false(f.always);
    // 50 s from 110 to 160: 30 at 2, 20 at 6.
    f = figures_of(&series, 110, 160);
    assert_int_equal(f.seen_s, 50);
    assert_int_equal(f.p50, 2);
    assert_int_equal(f.p90, 6);
    assert_int_equal(f.changes, 1);
    assert_int_equal(f.last, 6);
    assert_int_equal(f.mean, 4); // (60 + 120) / 50 = 3.6, rounded
    // Half of the time exactly at 2: that is 50 %.
    f = figures_of(&series, 120, 160);
    assert_int_equal(f.p50, 2);
}

TEST(gaps)
{
    struct spot_figures f = figures_of(&gapped, ALL);
    assert_int_equal(f.seen_s, 70);
    assert_int_equal(f.until_s - f.from_s, 100);
    assert_int_equal(f.changes, 2); // 2 to 6 was not seen
    assert_int_equal(f.mean, 3);    // (40 + 20 + 60 + 80) / 70 = 2.86
    // All of it within the gap: nothing is known.
    f = figures_of(&gapped, 125, 145);
    assert_int_equal(f.seen_s, 0);
    assert_int_equal(f.p50, 0);
    // The same price before and after: it may have changed between, so it is steady since the end.
    static struct spot_change one[] = {{100, 4}};
    const struct spot_series same = {
        .changes = one, .count = 1, .until_s = 200, .gaps = unseen, .gap_count = 1};
    f = figures_of(&same, ALL);
    assert_int_equal(f.steady_from_s, 150);
    assert_int_equal(f.changes, 0);
    assert_false(f.always);
}

TEST(outside)
{
    assert_int_equal(figures_of(&series, 0, 100).seen_s, 0);
    assert_int_equal(figures_of(&series, 200, 300).seen_s, 0);
    assert_int_equal(figures_of(&series, 150, 150).seen_s, 0);
    assert_int_equal(figures_of(&series, 160, 110).seen_s, 0);
    // Seen at one moment only.
    static struct spot_change one[] = {{100, 4}};
    const struct spot_series moment = {.changes = one, .count = 1, .until_s = 100};
    assert_int_equal(figures_of(&moment, ALL).seen_s, 0);
    const struct spot_series second = {.changes = one, .count = 1, .until_s = 101};
    struct spot_figures f = figures_of(&second, ALL);
    assert_int_equal(f.p10, 4);
    assert_int_equal(f.p90, 4);
    assert_true(f.always);
}

TEST(under)
{
    struct spot_under u;
    spot_under(&series, ALL, 4, &u); // 110 to 140 joins the 10 s before; 160 to 200 is as long
    assert_int_equal(u.under_s, 80);
    assert_int_equal(u.longest_s, 40);
    assert_int_equal(u.longest_from_s, 100);
    spot_under(&series, ALL, 3, &u);
    assert_int_equal(u.under_s, 70);
    assert_int_equal(u.longest_from_s, 160);
    spot_under(&series, ALL, 1, &u);
    assert_int_equal(u.under_s, 0);
    assert_int_equal(u.longest_s, 0);
    spot_under(&series, ALL, 6, &u);
    assert_int_equal(u.longest_s, 100);
    spot_under(&gapped, ALL, 6, &u); // the gap ends it: 20 s, then 50
    assert_int_equal(u.longest_s, 50);
    assert_int_equal(u.longest_from_s, 150);
    assert_int_equal(u.seen_s, 70);
}

TEST(steady)
{
    struct spot_steady s;
    struct err err = {0};
    // 20 days: 10 at 5, then 2 at 7 and 8 at 4. The first half says 5; the second was at or below
    // that for 8 of 10 days, and at most 7. Its own 90 % is 7. Of all 20 days, 18 are at most 5.
    static struct spot_change days[] = {{0, 5}, {10 * DAY_S, 7}, {12 * DAY_S, 4}};
    const struct spot_series month = {.changes = days, .count = 3, .until_s = 20 * DAY_S};
    assert_ok(spot_steady(&month, ALL, &s, &err), &err);
    assert_int_equal(s.price, 5);
    assert_true(s.tested);
    assert_int_equal(s.then, 5);
    assert_true(s.held == 0.8);
    assert_int_equal(s.later, 7);
    assert_int_equal(s.highest, 7);
    // 13 days and 23 hours are not two weeks.
    assert_ok(spot_steady(&month, 0, 14 * DAY_S - 3600, &s, &err), &err);
    assert_false(s.tested);
    assert_ok(spot_steady(&month, 0, 14 * DAY_S, &s, &err), &err);
    assert_true(s.tested);
}

TEST(mean)
{
    assert_int_equal(spot_mean(&series, 100, 120), 3);
    assert_int_equal(spot_mean(&gapped, 125, 145), 0);
    assert_int_equal(spot_mean(&series, 0, 50), 0);
    // 24 hours at the largest price that an amount can have.
    static struct spot_change most[] = {{0, INT64_MAX}};
    const struct spot_series dear = {.changes = most, .count = 1, .until_s = 50 * 365 * DAY_S};
    assert_int_equal(spot_mean(&dear, ALL), INT64_MAX);
}
