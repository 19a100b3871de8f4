// SPDX-License-Identifier: Apache-2.0
// Bills worked out by hand from docs/billing.md, published sums, and a nanosecond to either side of
// every unit and minimum.
#include "charging.h"
#include "record/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tariff by_second = {
    .rate = TEXT("0.90"), .minimum_s = {60, true}, .unit_ms = {1000, true}};
static const struct tariff by_hour = {
    .rate = TEXT("2.80"), .minimum_s = {3600, true}, .unit_ms = {3600000, true}};
static const struct tariff by_ten_minutes = {
    .rate = TEXT("0.01"), .minimum_s = {600, true}, .unit_ms = {60000, true}};

TEST(units_and_minimums)
{
    const struct {
        const struct tariff *tariff;
        int64_t length_ns;
        const char *cost;
    } cases[] = {
        {&by_second, 0, "0.015"}, // 60 s of 0.90 an hour
        {&by_second, 1, "0.015"},
        {&by_second, 60 * S - 1, "0.015"},
        {&by_second, 60 * S, "0.015"},
        {&by_second, 60 * S + 1, "0.01525"}, // 61 s
        {&by_second, 61 * S, "0.01525"},
        {&by_second, 61 * S + 1, "0.0155"},
        {&by_second, 13032 * S, "3.258"}, // 3.62 h
        {&by_hour, 0, "2.80"},
        {&by_hour, H - 1, "2.80"},
        {&by_hour, H, "2.80"},
        {&by_hour, H + 1, "5.60"},
        {&by_hour, 316 * H / 100, "11.20"}, // published: 3.16 h, $11.2
        {&by_ten_minutes, 120 * S, "0.001666667"},
        {&by_ten_minutes, 600 * S, "0.001666667"},
        {&by_ten_minutes, 600 * S + 1, "0.001833333"},
        {&by_ten_minutes, 660 * S, "0.001833333"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(cost(cases[i].tariff, cases[i].length_ns), cases[i].cost);
}

TEST(roundings)
{
    struct tariff t = {.rate = TEXT("60"), .unit_ms = {60000, true}, .rounding = TEXT("nearest")};
    assert_string_equal(cost(&t, 30 * S - 1), "0.00");
    assert_string_equal(cost(&t, 30 * S), "1.00");
    assert_string_equal(cost(&t, 90 * S - 1), "1.00");
    t.rounding = TEXT("down");
    assert_string_equal(cost(&t, 120 * S - 1), "1.00");
    t.unit_ms.v = 0;
    assert_string_equal(cost(&t, 120 * S - 1), "2.00"); // exactly, and then to a nano-unit
    t.unit_ms.v = 1;
    assert_string_equal(cost(&t, 1500 * 1000), "0.000016667"); // whole milliseconds, downwards: 1
}

TEST(other_rates)
{
    const struct tariff by_minute = {.rate = TEXT("0.02"), .per_s = {60, true}};
    assert_string_equal(cost(&by_minute, 7632 * S), "2.544"); // 2.12 h at 0.02 a minute
    const struct tariff four = {
        .rate = TEXT("4.02"), .minimum_s = {3600, true}, .unit_ms = {3600000, true}};
    assert_string_equal(cost(&four, 41 * H / 10), "20.10"); // published: 4.1 h, $20.1
}

// The cheapest public training of CIFAR-10 prorated a monthly price to 72 s; paid as a month it is
// the whole.
TEST(prorated_and_paid)
{
    const struct tariff monthly = {.rate = TEXT("765"),
                                   .per_s = {2592000, true},
                                   .unit_ms = {INT64_C(2592000000), true},
                                   .monthly_fee = TEXT("5"),
                                   .setup_fee = TEXT("99")};
    struct charge_use use = {.start_s = date("2018-03-05"), .length_ns = 72 * S, .prorated = true};
    struct charge charge = charge_of(&monthly, &use);
    assert_int_equal(charge.total, nano("0.02125"));
    use.prorated = false;
    charge = charge_of(&monthly, &use);
    assert_int_equal(charge.time, nano("765"));
    assert_int_equal(charge.monthly_fee, nano("5"));
    assert_int_equal(charge.setup_fee, nano("99"));
    assert_int_equal(charge.total, nano("869"));
}

static const struct tariff_tier quarters[] = {{{250, true}, {100, true}},
                                              {{500, true}, {80, true}},
                                              {{750, true}, {60, true}},
                                              {{1000, true}, {40, true}}};

static struct tariff sustained(void)
{
    struct tariff t = {.rate = TEXT("1")};
    t.tiers.items = (struct tariff_tier *)(uintptr_t)quarters;
    t.tiers.count = 4;
    return t;
}

// Each quarter of the month costs 20 points less: 30 % off a full month.
TEST(sustained_use)
{
    struct tariff t = sustained();
    const struct {
        int64_t hours;
        const char *cost;
    } june[] = {{180, "180"}, {360, "324"}, {540, "432"}, {720, "504"}};
    for (size_t i = 0; i < sizeof june / sizeof *june; i++) {
        const struct charge_use use = {.start_s = date("2018-06-01"),
                                       .length_ns = june[i].hours * H};
        assert_int_equal(charge_of(&t, &use).total, nano(june[i].cost));
    }
    // The second half of June, after the first was used: 0.6 and 0.4.
    const struct charge_use second = {
        .start_s = date("2018-06-16"), .length_ns = 360 * H, .used_ns = 360 * H};
    assert_int_equal(charge_of(&t, &second).total, nano("180"));
    // A month starts from zero: June's last hour and July's first are both at the full rate.
    const struct charge_use across = {.start_s = date("2018-06-30T23:00:00Z"), .length_ns = 2 * H};
    assert_int_equal(charge_of(&t, &across).total, nano("2"));
    // A whole February of 672 hours, and one nanosecond around its first quarter.
    const struct charge_use february = {.start_s = date("2018-02-01"), .length_ns = 672 * H};
    assert_int_equal(charge_of(&t, &february).total, nano("470.4"));
    t.unit_ms = (struct maybe_int){0, true};
    const struct charge_use after = {.start_s = date("2018-02-01"), .length_ns = 168 * H + 3600};
    assert_int_equal(charge_of(&t, &after).total, nano("168.000000001")); // 0.8 nano, rounded
}

TEST(monthly_caps)
{
    const struct tariff t = {.rate = TEXT("0.01"),
                             .minimum_s = {3600, true},
                             .unit_ms = {3600000, true},
                             .monthly_cap = TEXT("5")};
    const struct {
        const char *start;
        int64_t length_ns, used_ns;
        const char *cost;
    } cases[] = {
        {"2018-06-01", 500 * H, 0, "5"},         {"2018-06-01", 500 * H - 1, 0, "5"},
        {"2018-06-01", 499 * H, 0, "4.99"},      {"2018-06-01", 720 * H, 0, "5"},
        {"2018-06-16", 720 * H, 0, "7.20"},      // 360 h of each month: 3.60 and 3.60
        {"2018-06-21", 10 * H, 495 * H, "0.05"}, // 495 h were used: five more are charged
        {"2018-06-30T23:30:00Z", H, 0, "0.01"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct charge_use use = {.start_s = date(cases[i].start),
                                       .length_ns = cases[i].length_ns,
                                       .used_ns = cases[i].used_ns};
        assert_int_equal(charge_of(&t, &use).total, nano(cases[i].cost));
    }
}

TEST(fees_by_month)
{
    const struct tariff t = {.rate = TEXT("0"), .monthly_fee = TEXT("5")};
    const struct {
        const char *start;
        int64_t length_ns;
        const char *cost;
    } cases[] = {
        {"2018-02-10", 0, "5"},
        {"2018-02-28T23:00:00Z", H, "5"}, // ends when the month does
        {"2018-02-28T23:00:00Z", H + 1, "10"},
        {"2018-02-28T23:00:00Z", 31 * 24 * H + H, "10"},
        {"2018-12-31", 3 * 24 * H, "10"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct charge_use use = {.start_s = date(cases[i].start),
                                       .length_ns = cases[i].length_ns};
        assert_int_equal(charge_of(&t, &use).total, nano(cases[i].cost));
    }
}

TEST(interruptions)
{
    struct tariff now = by_second;
    now.spot_first_hour_free = (struct maybe_bool){true, true};
    struct charge_use use = {
        .start_s = date("2018-03-05"), .length_ns = H - 1, .interrupted = true};
    assert_int_equal(charge_of(&now, &use).total, 0);
    use.length_ns = H;
    assert_int_equal(charge_of(&now, &use).total, nano("0.90"));
    use.interrupted = false;
    use.length_ns = 1800 * S;
    assert_int_equal(charge_of(&now, &use).total, nano("0.45"));
    struct tariff then = by_hour;
    then.spot_partial_free = (struct maybe_bool){true, true};
    use.interrupted = true;
    use.length_ns = 5400 * S;
    assert_int_equal(charge_of(&then, &use).total, nano("2.80")); // the second hour is free
    use.length_ns = H - 1;
    assert_int_equal(charge_of(&then, &use).total, 0);
    use.interrupted = false;
    use.length_ns = 5400 * S;
    assert_int_equal(charge_of(&then, &use).total, nano("5.60")); // unless its user ends it
}

TEST(storage_and_traffic)
{
    static const struct tariff_step sizes[] = {{{32, true}}, {{64, true}}, {{128, true}}};
    struct tariff t = {.rate = TEXT("0"),
                       .storage_rate = TEXT("0.10"),
                       .storage_minimum_s = {60, true},
                       .egress_rate = TEXT("0.09"),
                       .egress_free_gb = {1, true},
                       .ingress_rate = TEXT("0.02")};
    struct charge_use use = {.start_s = date("2018-03-05"),
                             .storage_gb = 100,
                             .storage_ns = 86400 * S,
                             .egress_bytes = 6000000000,
                             .ingress_bytes = 500000000};
    struct charge charge = charge_of(&t, &use);
    assert_int_equal(charge.storage, nano("0.333333333")); // 0.10 × 100 / 30
    assert_int_equal(charge.egress, nano("0.45"));         // five of six GB
    assert_int_equal(charge.ingress, nano("0.01"));
    use.storage_ns = 10 * S; // as if it were 60 s
    assert_int_equal(charge_of(&t, &use).storage, nano("0.000231481"));
    t.storage_free_gb = (struct maybe_int){30, true};
    use.storage_ns = 30 * 86400 * S;
    assert_int_equal(charge_of(&t, &use).storage, nano("7"));
    t.storage_steps.items = (struct tariff_step *)(uintptr_t)sizes;
    t.storage_steps.count = 3;
    assert_int_equal(charge_of(&t, &use).storage, nano("9.8")); // 128 GB, 30 of them free
    use.storage_gb = 129;
    assert_int_equal(charge_of(&t, &use).storage, nano("9.9")); // larger than any: as it is
    t.gb_bytes = (struct maybe_int){1 << 30, true};
    use.egress_bytes = INT64_C(3) << 30;
    assert_int_equal(charge_of(&t, &use).egress, nano("0.18"));
}

// Every four hours for two minutes, a month of 30 days: published as $0.06 for the machine.
TEST(a_scheduled_task)
{
    const struct tariff t = {.rate = TEXT("0.01"), .minimum_s = {60, true}};
    const struct charge_use use = {.start_s = date("2018-11-01"), .length_ns = 120 * S};
    int64_t month = charge_of(&t, &use).total * 180;
    char text[MONEY_BYTES];
    money_rounded(month, 2, MONEY_HALF_UP, text);
    assert_string_equal(text, "0.06");
}

TEST(discounts_and_decimals)
{
    struct tariff t = {.rate = TEXT("1.111"), .decimals = {2, true}};
    struct charge_use use = {
        .start_s = date("2018-03-05"), .length_ns = H, .discount_permille = 100};
    struct charge charge = charge_of(&t, &use);
    assert_int_equal(charge.subtotal, nano("1.111"));
    assert_int_equal(charge.discount, nano("0.1111"));
    assert_int_equal(charge.total, nano("1.00")); // 0.9999
    assert_int_equal(charge.rounding, nano("0.0001"));
    use.discount_permille = 1000;
    assert_int_equal(charge_of(&t, &use).total, 0);
}

// Whatever the parts, they add up to the price of the time.
TEST(parts_add_up)
{
    const int64_t lengths[] = {61 * S + 7, 13 * S, 1000 * S + 1, 0, 3};
    struct tariff t = by_hour;
    struct charge_use use = {.start_s = date("2018-03-05")};
    for (size_t i = 0; i < 5; i++)
        use.length_ns += lengths[i];
    struct charge charge = charge_of(&t, &use);
    int64_t out[6], unused, sum = 0;
    struct err err = {0};
    assert_ok(charge_parts(&charge, 4, 1, lengths, 5, out, &unused, &err), &err);
    assert_int_equal(unused, nano("2.10")); // three of four GPUs
    for (size_t i = 0; i < 6; i++)
        sum += out[i];
    assert_int_equal(sum + unused, charge.time);
    assert_int_equal(out[3], 0);
    // The rest of the hour is idle: 0.70 × (3600 - 1074.000000011) / 3600.
    assert_int_equal(out[5], nano("0.491166667"));
    charge.time = 0;
    charge.charged_ns = 0;
    assert_ok(charge_parts(&charge, 0, 0, lengths, 0, out, &unused, &err), &err);
    assert_int_equal(out[0], 0);
}

TEST(long_and_far)
{
    const struct tariff t = {.rate = TEXT("98.32")};
    const struct charge_use month = {.start_s = date("2024-02-01"), .length_ns = 30 * 24 * H};
    assert_int_equal(charge_of(&t, &month).total, nano("70790.4"));
    // One price for 1,100 days, as a spot price that changed gives it; each of 37 months is
    // rounded.
    struct rule whole = rule_of(&t);
    const struct charge_use days = {.start_s = date("2019-01-01"), .length_ns = 1100 * 24 * H};
    struct charge all;
    struct err none = {0};
    whole.rate = nano("4404");
    whole.per_ns = days.length_ns;
    assert_ok(charge_use(&whole, &days, &all, &none), &none);
    assert_true(llabs(all.total - nano("4404")) <= 18);
    const struct tariff dear = {.rate = TEXT("9000000")};
    const struct charge_use year = {.start_s = date("2024-02-01"), .length_ns = 366 * 24 * H};
    struct rule rule = rule_of(&dear);
    struct charge charge;
    struct err err = {0};
    assert_int_equal(charge_use(&rule, &year, &charge, &err), ERR_OVERFLOW);
    const struct charge_use bad[] = {{.length_ns = -1},           {.start_s = INT64_MAX},
                                     {.discount_permille = 1001}, {.storage_gb = -5},
                                     {.stopped_ns = -1},          {.egress_used_bytes = -1},
                                     {.used_ns = 63 * 24 * H}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err why = {0};
        assert_int_equal(charge_use(&rule, &bad[i], &charge, &why), ERR_FORMAT);
    }
}

// Summer time moves no bill: the night of the change has as many seconds as any.
TEST(clocks_that_change)
{
    setenv("TZ", "Europe/Berlin", 1);
    const struct tariff t = {
        .rate = TEXT("1"), .minimum_s = {3600, true}, .unit_ms = {3600000, true}};
    const struct charge_use use = {.start_s = date("2018-03-24T22:00:00Z"), .length_ns = 6 * H};
    assert_int_equal(charge_of(&t, &use).total, nano("6"));
    unsetenv("TZ");
}

TEST(wrong_tariffs)
{
    static const struct tariff_tier falling[] = {{{500, true}, {100, true}},
                                                 {{250, true}, {80, true}}};
    struct tariff tiers = {.id = TEXT("x"), .rate = TEXT("1")};
    tiers.tiers.items = (struct tariff_tier *)(uintptr_t)falling;
    tiers.tiers.count = 2;
    const struct {
        struct tariff tariff;
        const char *text;
    } cases[] = {
        {{.id = TEXT("x")}, "tariff 'x', rate: expected one, since the offer has none"},
        {{.id = TEXT("x"), .rate = TEXT("-1")},
         "tariff 'x', rate: expected an amount such as 0.526, not below zero"},
        {{.id = TEXT("x"), .rate = TEXT("nan")},
         "tariff 'x', rate: expected an amount such as 0.526, not below zero"},
        {{.id = TEXT("x"), .rate = TEXT("1e400")},
         "tariff 'x', rate: expected an amount such as 0.526, not below zero"},
        {{.id = TEXT("x"), .rate = TEXT("1"), .per_s = {0, true}},
         "tariff 'x', per_s: expected a number that makes sense there"},
        {{.id = TEXT("x"), .rate = TEXT("1"), .unit_ms = {-1, true}},
         "tariff 'x', unit_ms: expected a number that makes sense there"},
        {{.id = TEXT("x"), .rate = TEXT("1"), .rounding = TEXT("sideways")},
         "tariff 'x', rounding: expected up, nearest or down"},
        {{.rate = TEXT("1"), .monthly_cap = TEXT("")},
         "tariff 'without a name', monthly_cap: expected an amount such as 0.526, not below zero"},
        {tiers,
         "tariff 'x', tiers: expected ascending upto_permille up to 1000, and a percent each"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rule rule;
        struct err err = {0};
        assert_int_equal(rule_read(&rule, &cases[i].tariff, (struct maybe_money){0}, &err),
                         ERR_FORMAT);
        assert_string_equal(err.text, cases[i].text);
    }
}

// ---- `test_charge lines`: a case per line on stdin, what it costs per line on stdout. For
// test_second.py, which knows it from elsewhere.

static int64_t number(json_t *use, const char *key)
{
    return json_integer_value(json_object_get(use, key));
}

static void answer(json_t *line)
{
    struct tariff tariff = {0};
    struct rule rule;
    struct charge c;
    struct err err = {0};
    json_t *u = json_object_get(line, "use"), *lengths = json_object_get(line, "lengths");
    const struct charge_use use = {
        .start_s = number(u, "start_s"),
        .length_ns = number(u, "length_ns"),
        .interrupted = json_is_true(json_object_get(u, "interrupted")),
        .prorated = json_is_true(json_object_get(u, "prorated")),
        .used_ns = number(u, "used_ns"),
        .storage_gb = number(u, "storage_gb"),
        .storage_ns = number(u, "storage_ns"),
        .stopped_ns = number(u, "stopped_ns"),
        .egress_used_bytes = number(u, "egress_used_bytes"),
        .egress_bytes = number(u, "egress_bytes"),
        .ingress_bytes = number(u, "ingress_bytes"),
        .discount_permille = number(u, "discount_permille"),
    };
    int64_t ns[16], out[17], unused;
    size_t count = json_array_size(lengths);
    for (size_t i = 0; i < count && i < 16; i++)
        ns[i] = json_integer_value(json_array_get(lengths, i));
    int rc = record_from_tree(tariff_fields, json_object_get(line, "tariff"), &tariff, &err);
    if (rc == 0)
        rc = rule_read(&rule, &tariff, (struct maybe_money){0}, &err);
    if (rc == 0)
        rc = charge_use(&rule, &use, &c, &err);
    if (rc == 0)
        rc = charge_parts(&c, number(line, "gpus"), number(line, "used"), ns, count, out, &unused,
                          &err);
    if (rc != 0) {
        printf("error %s\n", err.text);
    } else {
        const int64_t all[] = {c.charged_ns, c.time,    c.monthly_fee,     c.setup_fee, c.storage,
                               c.egress,     c.ingress, c.subtotal,        c.discount,  c.rounding,
                               c.total,      c.stopped, c.storage_stopped, unused};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            printf("%lld ", (long long)all[i]);
        for (size_t i = 0; i <= count; i++)
            printf("%lld%s", (long long)out[i], i < count ? " " : "\n");
    }
    record_release(tariff_fields, &tariff);
}

static int answer_lines(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        json_t *json = json_loads(line, 0, NULL);
        if (!json)
            return 1;
        answer(json);
        json_decref(json);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "lines") == 0)
        return answer_lines();
    return run_all_tests(NULL, NULL);
}
