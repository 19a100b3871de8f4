// SPDX-License-Identifier: Apache-2.0
// Scheduled tasks: the published case (November 2018) and sums by hand.
#include "amounts.h"

#include <string.h>

#include "bill/schedule.h"

#define S INT64_C(1000000000)

// Preemptible n1-standard-1 at $0.01/h, 10 GB at $0.04, two rules at $0.10, functions of 60 s at
// $0.000000463 per 100 ms.
static struct schedule published(const char *cron, int64_t minimum_s)
{
    struct schedule s = {.up_ns = 120 * S, .month_s = -1, .disk_gb = 10};
    struct tariff t = {.minimum_s = {minimum_s, true}};
    struct err err = {0};
    assert_ok(crontab_parse(&s.tab, cron, &err), &err);
    assert_ok(rule_read(&s.priced.rule, &t, some_money(MONEY_UNIT / 100), &err), &err);
    s.priced.unit_nano_usd = MONEY_UNIT;
    s.extras = (struct scheduling){.disk_rate = nano("0.04"),
                                   .free_disk_gb = 30,
                                   .rules = 2,
                                   .rule_rate = nano("0.10"),
                                   .free_rules = 3,
                                   .function_ms = 60000,
                                   .function_rate = 463,
                                   .function_unit_ms = 100,
                                   .free_function_ms = 500000000,
                                   .fixed_server = nano("5"),
                                   .disk_stopped_rate = -1};
    return s;
}

static struct schedule_bill bill_of(const struct schedule *s, int64_t tasks)
{
    struct schedule_bill bill;
    struct err err = {0};
    assert_ok(schedule_bill(s, tasks, &bill, &err), &err);
    return bill;
}

static const char *cents(int64_t amount)
{
    static char text[MONEY_BYTES];
    money_rounded(amount, 2, MONEY_HALF_UP, text);
    return text;
}

TEST(four_hourly)
{
    struct schedule s = published("0 */4 * * *", 60);
    struct schedule_bill b = bill_of(&s, 1);
    assert_int_equal(b.starts, 180);
    assert_int_equal(b.starts_in, 1);
    assert_string_equal(cents(b.machine.price), "0.06");
    assert_int_equal(b.disk.price, nano("0.40"));
    assert_int_equal(b.rules.price, nano("0.20"));
    assert_int_equal(b.functions.price, nano("0.100008")); // 180 × 2 × 600 × 0.000000463
    assert_string_equal(cents(b.total.price), "0.76");
    assert_string_equal(cents(b.total.free_price), "0.06");
    s = published("@hourly", 60);
    assert_string_equal(cents(bill_of(&s, 1).total.price), "1.24");
    // Ten minutes at least: 180 × 10 min are 0.30, 0.24 more.
    s = published("0 */4 * * *", 600);
    struct schedule_bill old = bill_of(&s, 1);
    assert_string_equal(cents(old.machine.price), "0.30");
    assert_string_equal(cents(old.machine.price - b.machine.price), "0.24");
    assert_int_equal(old.up_ns, 600 * S);
}

TEST(always_up)
{
    struct schedule s = published("0 */4 * * *", 60);
    struct schedule_line line;
    struct err err = {0};
    int64_t tasks;
    s.disk_gb = 0;
    assert_ok(schedule_always(&s, &line, &err), &err);
    assert_int_equal(line.price, nano("7.30"));
    s.disk_gb = 10;
    assert_ok(schedule_always(&s, &line, &err), &err);
    assert_int_equal(line.price, nano("7.70"));
    assert_int_equal(line.free_price, nano("7.30"));
    // 6 × 0.76 = 4.56 and 7 × 0.76 = 5.32.
    assert_ok(schedule_break_even(&s, nano("5"), false, &tasks, &err), &err);
    assert_int_equal(tasks, 7);
    // Free: 30 GB and 3 rules together; ten tasks are 0.60 + 70 × 0.04 + 17 × 0.10 = 5.10,
    // nine 4.44.
    assert_ok(schedule_break_even(&s, nano("5"), true, &tasks, &err), &err);
    assert_int_equal(tasks, 10);
    assert_ok(schedule_break_even(&s, 0, false, &tasks, &err), &err);
    assert_int_equal(tasks, 1);
    assert_ok(schedule_break_even(&s, INT64_MAX, false, &tasks, &err), &err);
    assert_int_equal(tasks, -1);
    assert_string_equal(cents(bill_of(&s, 10).total.free_price), "5.10");
    assert_string_equal(cents(bill_of(&s, 9).total.free_price), "4.44");
}

// February 2026 has 28 days: 168 starts, 28/30 of the disk; always up is 672 h.
TEST(calendar_month)
{
    struct schedule s = published("0 */4 * * *", 60);
    struct schedule_line line;
    struct err err = {0};
    assert_true(clock_parse("2026-02-01", &s.month_s));
    struct schedule_bill b = bill_of(&s, 1);
    assert_int_equal(b.starts, 168);
    assert_int_equal(b.disk.price, nano("0.373333333"));
    assert_int_equal(b.machine.price, 168 * nano("0.000333333"));
    s.disk_gb = 0;
    assert_ok(schedule_always(&s, &line, &err), &err);
    assert_int_equal(line.price, nano("6.72"));
}

// Sundays: 30/7 starts in 30 days, of 0.000333333 each.
TEST(on_average)
{
    struct schedule s = published("@weekly", 60);
    struct schedule_bill b = bill_of(&s, 1);
    assert_int_equal(b.starts * 7, b.starts_in * 30);
    assert_int_equal(b.machine.price, 1428570); // 333333 × 30 / 7 = 1428570
}

// With a cap of 0.05 the month's 0.06 are 0.05; with tiers every start counts on.
TEST(caps_and_tiers)
{
    struct schedule s = published("0 */4 * * *", 60);
    s.priced.rule.monthly_cap = nano("0.05");
    assert_int_equal(bill_of(&s, 1).machine.price, nano("0.05"));
    struct schedule_line line;
    struct err err = {0};
    s.disk_gb = 0;
    assert_ok(schedule_always(&s, &line, &err), &err);
    assert_int_equal(line.price, nano("0.05"));
    // 30 minutes of each hour are half a month: a quarter at 100 %, a quarter at 80 %.
    s = published("@hourly", 0);
    s.up_ns = 1800 * S;
    s.priced.rule.rate = nano("1");
    s.priced.rule.tier_count = 4;
    for (int i = 0; i < 4; i++)
        s.priced.rule.tiers[i] = (struct rule_tier){250 * (i + 1), 100 - 20 * i};
    assert_int_equal(bill_of(&s, 1).machine.price, nano("324"));
    assert_ok(schedule_always(&s, &line, &err), &err);
    assert_int_equal(line.price - nano("0.40"), nano("511")); // 504 of 720 h, for 730 h
}

// Clock hours at 1.00: 15 minutes from :10 on touch one, from :50 on two. 720 × 3 h.
TEST(clock_hours)
{
    struct schedule s = published("10,50 * * * *", 0);
    struct tariff t = {.unit_ms = {3600000, true}, .clock_units = {true, true}};
    struct err err = {0};
    s.up_ns = 900 * S;
    assert_ok(rule_read(&s.priced.rule, &t, some_money(MONEY_UNIT), &err), &err);
    assert_int_equal(bill_of(&s, 1).machine.price, nano("2160"));
    assert_int_equal(bill_of(&s, 1).up_ns, 5400 * S); // on average
    s.priced.rule.monthly_cap = nano("1000");
    assert_int_equal(bill_of(&s, 1).machine.price, nano("1000"));
    // Twice in January: 4 h, in one of twelve months.
    s = published("50 0,12 1 1 *", 0);
    s.up_ns = 900 * S;
    assert_ok(rule_read(&s.priced.rule, &t, some_money(MONEY_UNIT), &err), &err);
    assert_int_equal(bill_of(&s, 1).machine.price, 333333333);
}

// 100.00 for 30 days and in units of 30 days: each month with a start costs that, and a long one no
// more.
TEST(whole_months)
{
    const struct {
        const char *cron, *price;
    } cases[] = {{"@daily", "100"}, {"@yearly", "8.333333333"}, {"0 0 1,15 2,8 *", "16.666666667"}};
    struct tariff t = {.unit_ms = {2592000000, true}, .per_s = {2592000, true}};
    struct schedule_line line;
    struct err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct schedule s = published(cases[i].cron, 0);
        assert_ok(rule_read(&s.priced.rule, &t, some_money(100 * MONEY_UNIT), &err), &err);
        s.priced.offer.kind = OFFER_MONTHLY;
        assert_int_equal(bill_of(&s, 1).machine.price, nano(cases[i].price));
        s.disk_gb = 0;
        assert_true(clock_parse("2026-12-01", &s.month_s));
        assert_ok(schedule_always(&s, &line, &err), &err);
        assert_int_equal(line.price, nano("100"));
    }
}

TEST(not_known)
{
    struct schedule s = published("0 */4 * * *", 60);
    s.extras = SCHEDULING_UNKNOWN;
    struct schedule_bill b = bill_of(&s, 1);
    assert_false(b.disk.known || b.rules.known || b.functions.known);
    assert_int_equal(b.total.price, b.machine.price);
    const struct rates_row tenth = {.discount_permille = 100, .rate = -1};
    s.priced.own = &tenth;
    b = bill_of(&s, 2);
    // A tenth of each of 360 starts at 333,333 nano-dollars: 33,333, rounded once each.
    assert_int_equal(b.discount.price, -360 * 33333);
    assert_int_equal(b.total.price, b.machine.price + b.discount.price);
}

TEST(refused)
{
    struct schedule s = published("*/5 * * * *", 60);
    struct schedule_bill b;
    struct err err = {0}, many = {0};
    s.up_ns = 300 * S;
    bill_of(&s, 1); // to the second
    s.up_ns++;
    assert_int_equal(schedule_bill(&s, 1, &b, &err), ERR_USAGE);
    assert_string_equal(err.text, "it is up for 5 min 00 s, but starts again after 5 min 00 s");
    s.up_ns = 60 * S;
    assert_int_equal(schedule_bill(&s, 0, &b, &many), ERR_USAGE);
    s = published("0 0 30 2 *", 60); // never
    assert_int_equal(bill_of(&s, 1).machine.price, 0);
}
