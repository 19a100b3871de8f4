// SPDX-License-Identifier: Apache-2.0
// Rules that few providers have, each with a bill worked out by hand.
#include "charging.h"

// OVHcloud's own example: from the 4th at 09:40 to the 12th at 16:30 are 198 h 50 min, and the
// clock hours touched run from 09:00 to 17:00: 8 days and 8 hours, 200 h.
TEST(clock_hours)
{
    struct tariff t = {.rate = TEXT("1"), .unit_ms = {3600000, true}, .clock_units = {true, true}};
    int64_t length_ns = 198 * H + 50 * 60 * S;
    struct charge_use use = {.start_s = date("2026-03-04T09:40:00Z"), .length_ns = length_ns};
    struct charge charge = charge_of(&t, &use);
    assert_int_equal(charge.charged_ns, 200 * H);
    assert_int_equal(charge.total, nano("200"));
    const struct {
        const char *start;
        int64_t length_ns;
        const char *cost;
    } cases[] = {
        {"2026-03-04T09:00:00Z", H, "1"},     // ends on the mark
        {"2026-03-04T09:00:00Z", H + 1, "2"}, // touches 10:00
        {"2026-03-04T09:59:59Z", 2 * S, "2"}, // 2 s, two clock hours
        {"2026-03-04T09:59:59Z", S, "1"},
        {"1969-12-31T23:40:00Z", 21 * 60 * S, "2"}, // before 1970 too: 23:40 to 00:01
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        use = (struct charge_use){.start_s = date(cases[i].start), .length_ns = cases[i].length_ns};
        assert_int_equal(charge_of(&t, &use).total, nano(cases[i].cost));
    }
    // A month's cap of 1.50: one hour of June and one of July, each below it. 23:40 + 40 min is
    // in both months only by its clock hours, 23:00 to 00:00 and 00:00 to 01:00.
    t.monthly_cap = TEXT("1.50");
    use = (struct charge_use){.start_s = date("2026-06-30T23:40:00Z"), .length_ns = 40 * 60 * S};
    assert_int_equal(charge_of(&t, &use).total, nano("2"));
    // Disks by the clock hour too: 72 GB at 0.10 for 720 h are 0.01 an hour; 2 h touched. Kept for
    // 30 min more, until 00:50: no further clock hour.
    t.storage_rate = TEXT("0.10");
    t.storage_unit_ms = (struct maybe_int){3600000, true};
    use.storage_gb = 72;
    use.storage_ns = use.length_ns;
    use.stopped_ns = 30 * 60 * S;
    charge = charge_of(&t, &use);
    assert_int_equal(charge.storage, nano("0.02"));
    assert_int_equal(charge.storage_stopped, 0);
    use.stopped_ns = 60 * 60 * S; // until 01:20: one more
    assert_int_equal(charge_of(&t, &use).storage_stopped, nano("0.01"));
}

// DigitalOcean: at least 60 s and at least one cent.
TEST(minimum_amounts)
{
    const struct tariff cheap = {
        .rate = TEXT("0.09375"), .minimum_s = {60, true}, .minimum_amount = TEXT("0.01")};
    assert_string_equal(cost(&cheap, S), "0.01");              // 60 s are 0.0015625
    assert_string_equal(cost(&cheap, 384 * S), "0.01");        // 384 s × 0.09375 / 3600 = 0.01
    assert_string_equal(cost(&cheap, 385 * S), "0.010026042"); // 0.01002604166…
    const struct tariff dear = {
        .rate = TEXT("3.60"), .minimum_s = {60, true}, .minimum_amount = TEXT("0.01")};
    assert_string_equal(cost(&dear, S), "0.06"); // 60 s are more than the cent
    const struct charge_use prorated = {
        .start_s = date("2026-03-05"), .length_ns = S, .prorated = true};
    assert_int_equal(charge_of(&dear, &prorated).total, nano("0.001"));
    // A start of no length is charged the minimum; it is idle time.
    const struct tariff only = {.rate = TEXT("3.60"), .minimum_amount = TEXT("0.01")};
    const struct charge_use nothing = {.start_s = date("2026-03-05")};
    const int64_t none = 0;
    struct charge charge = charge_of(&only, &nothing);
    int64_t out[2], unused;
    struct err err = {0};
    assert_ok(charge_parts(&charge, 1, 1, &none, 1, out, &unused, &err), &err);
    assert_int_equal(charge.total, nano("0.01"));
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], nano("0.01"));
}

#define GB INT64_C(1000000000)

// AWS's steps: 100 GB free, 0.09 to 10 TB, 0.085 to 50, 0.07 to 150, then 0.05.
TEST(egress_steps)
{
    static const struct tariff_egress steps[] = {{{10240, true}, TEXT("0.09")},
                                                 {{51200, true}, TEXT("0.085")},
                                                 {{153600, true}, TEXT("0.07")}};
    struct tariff t = {
        .rate = TEXT("0"), .egress_rate = TEXT("0.05"), .egress_free_gb = {100, true}};
    t.egress_steps.items = (struct tariff_egress *)(uintptr_t)steps;
    t.egress_steps.count = 3;
    const struct {
        int64_t used_gb, gb;
        const char *cost;
    } cases[] = {
        {0, 100, "0"},
        {0, 101, "0.09"},
        {0, 10240, "912.60"},      // 10140 × 0.09
        {0, 10241, "912.685"},     // and one at 0.085
        {0, 51200, "4394.20"},     // and 40960 × 0.085 = 3481.60
        {0, 200000, "13882.20"},   // and 102400 × 0.07 = 7168, 46400 × 0.05 = 2320
        {100, 1, "0.09"},          // the free ones are gone
        {50, 100, "4.50"},         // 50 of them are left
        {10239, 2, "0.175"},       // 0.09 + 0.085
        {200000, 1000, "50"},      // past the last step
        {10240, 40960, "3481.60"}, // one whole step
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct charge_use use = {.start_s = date("2026-03-05"),
                                       .egress_used_bytes = cases[i].used_gb * GB,
                                       .egress_bytes = cases[i].gb * GB};
        assert_int_equal(charge_of(&t, &use).egress, nano(cases[i].cost));
    }
    struct rule rule = rule_of(&t);
    struct charge charge;
    struct err err = {0};
    const struct charge_use far = {.egress_used_bytes = INT64_MAX, .egress_bytes = 1};
    assert_int_equal(charge_use(&rule, &far, &charge, &err), ERR_OVERFLOW);
}

// RunPod: a volume of 100 GB costs 0.10 running and 0.20 stopped. A day running is
// 100 × 0.10 / 30, two days stopped are 100 × 0.20 × 2 / 30.
TEST(storage_while_stopped)
{
    struct tariff t = {
        .rate = TEXT("1"), .storage_rate = TEXT("0.10"), .storage_stopped_rate = TEXT("0.20")};
    const struct charge_use use = {.start_s = date("2026-03-05"),
                                   .length_ns = 24 * H,
                                   .stopped_ns = 48 * H,
                                   .storage_gb = 100,
                                   .storage_ns = 24 * H};
    struct charge charge = charge_of(&t, &use);
    assert_int_equal(charge.time, nano("24"));
    assert_int_equal(charge.stopped, 0);
    assert_int_equal(charge.storage, nano("0.333333333"));
    assert_int_equal(charge.storage_stopped, nano("1.333333333"));
    assert_int_equal(charge.total, nano("25.666666666"));
    t.storage_stopped_rate = NULL; // one rate for both: 100 × 0.10 × 2 / 30
    assert_int_equal(charge_of(&t, &use).storage_stopped, nano("0.666666667"));
    t.disk_included = (struct maybe_bool){true, true};
    charge = charge_of(&t, &use);
    assert_int_equal(charge.storage, 0);
    assert_int_equal(charge.storage_stopped, nano("0.666666667"));
}

// Hetzner, DigitalOcean, Hyperstack: a machine that is off costs what a running one does.
TEST(billed_while_stopped)
{
    struct tariff t = {.rate = TEXT("0.01"),
                       .unit_ms = {3600000, true},
                       .billed_while_stopped = {true, true},
                       .monthly_cap = TEXT("5")};
    struct charge_use use = {
        .start_s = date("2026-06-01"), .length_ns = 90 * 60 * S, .stopped_ns = 20 * 60 * S};
    struct charge charge = charge_of(&t, &use);
    assert_int_equal(charge.time, nano("0.02"));
    assert_int_equal(charge.stopped, 0); // still within the second hour
    use.stopped_ns = 31 * 60 * S;        // 2 h 01 min in all: a third
    assert_int_equal(charge_of(&t, &use).stopped, nano("0.01"));
    use.stopped_ns = 600 * H; // the month's cap counts both
    assert_int_equal(charge_of(&t, &use).stopped, nano("4.98"));
    use.interrupted = true; // by the provider: the machine is gone
    assert_int_equal(charge_of(&t, &use).stopped, 0);
    use.interrupted = false;
    use.prorated = true; // 600 h × 0.01
    assert_int_equal(charge_of(&t, &use).stopped, nano("6"));
    t.billed_while_stopped.v = false;
    assert_int_equal(charge_of(&t, &use).stopped, 0);
}

// OCI divides by the seconds of the actual month: 10 days of 100 GB at 0.0255 cost 2.55 × 10 / 28
// in February and 2.55 × 10 / 31 in March; from 23 February on, 6 days of one and 4 of the other.
TEST(storage_by_calendar_month)
{
    struct tariff t = {.rate = TEXT("0"),
                       .storage_rate = TEXT("0.0255"),
                       .storage_minimum_s = {60, true},
                       .storage_calendar_month = {true, true}};
    struct charge_use use = {
        .start_s = date("2026-02-01"), .storage_gb = 100, .storage_ns = 10 * 24 * H};
    assert_int_equal(charge_of(&t, &use).storage, nano("0.910714286"));
    use.start_s = date("2026-03-01");
    assert_int_equal(charge_of(&t, &use).storage, nano("0.822580645"));
    use.start_s = date("2026-02-23"); // 2.55 × 6 / 28 = 0.546428571, 2.55 × 4 / 31 = 0.329032258
    assert_int_equal(charge_of(&t, &use).storage, nano("0.875460829"));
    use.start_s = date("2026-02-01");
    use.storage_ns = 28 * 24 * H; // a whole month is the price
    assert_int_equal(charge_of(&t, &use).storage, nano("2.55"));
    use.storage_ns = 6 * 24 * H; // and what follows, stopped, lies after it: 4 of March's days
    use.start_s = date("2026-02-23");
    use.stopped_ns = 4 * 24 * H;
    assert_int_equal(charge_of(&t, &use).storage_stopped, nano("0.329032258"));
}

// Paperspace: ten days of a disk at $10 a month are $3.33.
TEST(storage_by_days)
{
    const struct tariff t = {.rate = TEXT("0"),
                             .storage_rate = TEXT("0.10"),
                             .storage_unit_ms = {86400000, true},
                             .decimals = {2, true}};
    const struct charge_use use = {
        .start_s = date("2026-03-05"), .storage_gb = 100, .storage_ns = 10 * 24 * H};
    assert_int_equal(charge_of(&t, &use).total, nano("3.33"));
}

// A monthly price that is charged by the hour, and at most once a month: 39.00 for 720 h are
// 0.054166667 an hour, and a December of 744 h costs 39.00.
TEST(monthly_by_the_hour)
{
    const struct tariff t = {.kind = TEXT("monthly"),
                             .rate = TEXT("39"),
                             .per_s = {2592000, true},
                             .unit_ms = {3600000, true},
                             .monthly_cap = TEXT("39")};
    struct charge_use use = {.start_s = date("2026-12-01"), .length_ns = S};
    assert_int_equal(charge_of(&t, &use).total, nano("0.054166667"));
    use.length_ns = 744 * H;
    assert_int_equal(charge_of(&t, &use).total, nano("39"));
    use.length_ns = 745 * H; // and an hour of January
    assert_int_equal(charge_of(&t, &use).total, nano("39.054166667"));
}

// Modal: 1.5 times the price in a broad region, 1.75 times in a narrow one.
TEST(region_factors)
{
    static const struct tariff_region regions[] = {{TEXT("*-*"), {175, true}},
                                                   {TEXT("?*"), {150, true}}};
    struct tariff t = {.rate = TEXT("3.95")};
    t.regions.items = (struct tariff_region *)(uintptr_t)regions;
    t.regions.count = 2;
    const struct {
        const char *region, *rate;
    } cases[] = {{"", "3.95"}, {NULL, "3.95"}, {"us", "5.925"}, {"us-west", "6.9125"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rule rule = rule_of(&t);
        struct err err = {0};
        assert_ok(rule_in_region(&rule, &t, cases[i].region, &err), &err);
        assert_int_equal(rule.rate, nano(cases[i].rate));
    }
}

// Advice asks what a coarser unit than the assumed one would cost: 61 s at 3.60 an hour.
TEST(coarser_units)
{
    const struct tariff t = {.rate = TEXT("3.60")};
    const struct {
        int64_t unit_ns;
        const char *cost;
    } cases[] = {{S, "0.061"}, {60 * S, "0.12"}, {H, "3.60"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct charge_use use = {.start_s = date("2026-03-05"), .length_ns = 61 * S};
        struct rule rule = rule_of(&t);
        struct charge charge;
        struct err err = {0};
        rule.unit_ns = cases[i].unit_ns;
        assert_ok(charge_use(&rule, &use, &charge, &err), &err);
        assert_int_equal(charge.total, nano(cases[i].cost));
    }
}

// Every amount of a tariff but the rate, so that none is forgotten when currencies are converted.
TEST(fees_of_a_rule)
{
    static const struct tariff_egress steps[] = {{{10, true}, TEXT("0.0001")}};
    struct tariff t = {.rate = TEXT("1000"),
                       .minimum_amount = TEXT("1"),
                       .monthly_cap = TEXT("2"),
                       .monthly_fee = TEXT("4"),
                       .setup_fee = TEXT("8"),
                       .storage_rate = TEXT("16"),
                       .storage_stopped_rate = TEXT("32"),
                       .egress_rate = TEXT("64"),
                       .ingress_rate = TEXT("128")};
    t.egress_steps.items = (struct tariff_egress *)(uintptr_t)steps;
    t.egress_steps.count = 1;
    struct rule rule = rule_of(&t);
    int64_t *fees[RULE_FEES_MAX], sum = 0;
    size_t count = rule_fees(&rule, fees);
    assert_int_equal(count, 9);
    for (size_t i = 0; i < count; i++)
        sum += *fees[i];
    assert_int_equal(sum, nano("255.0001"));
}
