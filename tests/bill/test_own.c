// SPDX-License-Identifier: Apache-2.0
// A machine that is bought: published and hand-made sums. `test_own PURCHASE RENT OWN RENTED`
// prints the break-even in seconds, for test_published_bills.py.
#include "amounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bill/own.h"

static struct own_machine bought(const char *purchase)
{
    return (struct own_machine){.purchase = nano(purchase),
                                .life_months = 36,
                                .use_s_a_month = 720 * 3600,
                                .busy_mw = -1,
                                .idle_mw = -1,
                                .kwh = -1};
}

// 2500 / (0.90 × 24 × 167/43) = 29.8 days (published April 2017).
TEST(published_break_even)
{
    struct err err = {0};
    struct own_machine m = bought("2500");
    const struct own_rent rent = {nano("0.90"), 167, 43};
    int64_t use_s, tenths;
    assert_ok(own_break_even(&m, &rent, &use_s, &err), &err);
    assert_int_equal(use_s, 2574851); // 2500 × 43 × 3600 / (0.9 × 167) = 2574850.3
    assert_ok(own_break_even_days(&m, use_s, &tenths, &err), &err);
    assert_int_equal(tenths, 298);
    m.use_s_a_month = 240 * 3600; // eight hours a day: three times as long
    assert_ok(own_break_even_days(&m, use_s, &tenths, &err), &err);
    assert_int_equal(tenths, 894);
}

// 2000 less 500 over 30 months of 100 h is 0.5 an hour; 300 W at 0.30 is 0.09; 620 h of 30 W idle
// over 100 h of use is 0.0558.
TEST(an_hour)
{
    struct err err = {0};
    struct own_machine m = {.purchase = nano("2000"),
                            .resale = nano("500"),
                            .life_months = 30,
                            .use_s_a_month = 100 * 3600,
                            .busy_mw = 300000,
                            .idle_mw = 30000,
                            .kwh = nano("0.30")};
    struct own_hour hour;
    struct offer offer;
    struct buf words = {0};
    assert_ok(own_hour(&m, &hour, &err), &err);
    assert_int_equal(hour.purchase, nano("0.5"));
    assert_int_equal(hour.power, nano("0.09"));
    assert_int_equal(hour.idle, nano("0.0558"));
    assert_int_equal(hour.total, nano("0.6458"));
    own_words(&m, &hour, "USD", &words);
    assert_string_equal(
        buf_str(&words),
        "0.646 USD an hour of use: 0.50 of 2000.00 less a resale of 500.00, over 30 "
        "months of 100 h, and 0.09 for 300 W, and 0.0558 for 30 W while it is idle");
    buf_reset(&words);
    assert_ok(own_offer(&m, "desk", &offer, &err), &err);
    assert_string_equal(offer.provider, "own");
    assert_int_equal(offer.rate, nano("0.6458"));
    assert_int_equal(offer.per_s, 3600);
    m.kwh = -1;
    assert_ok(own_hour(&m, &hour, &err), &err);
    assert_false(hour.power_known);
    assert_int_equal(hour.total, nano("0.5"));
    own_words(&m, &hour, "USD", &words);
    assert_non_null(strstr(buf_str(&words), "; power is unknown and left out"));
    buf_release(&words);
}

// Idle time that is no whole number of seconds per hour of use: 7 s of use a month.
TEST(hardly_used)
{
    struct err err = {0};
    struct own_machine m = bought("0");
    struct own_hour hour;
    m.use_s_a_month = 7;
    m.busy_mw = 0;
    m.idle_mw = 1000000; // a kilowatt, at 1 a kWh: (2592000 - 7) / 7 hours of it
    m.kwh = nano("1");
    assert_ok(own_hour(&m, &hour, &err), &err);
    assert_int_equal(hour.idle, INT64_C(370284714285714)); // 370284.714285714...
}

// Power eats what is saved: 0.90 of rent against 0.60 of power leaves 0.30 an hour.
TEST(power_counts)
{
    struct err err = {0};
    struct own_machine m = bought("300");
    struct own_rent rent = {nano("0.90"), 1, 1};
    int64_t use_s;
    m.busy_mw = 2000000;
    m.kwh = nano("0.30");
    assert_ok(own_break_even(&m, &rent, &use_s, &err), &err);
    assert_int_equal(use_s, 1000 * 3600);
    rent.rate = nano("0.60");
    assert_ok(own_break_even(&m, &rent, &use_s, &err), &err);
    assert_int_equal(use_s, -1);
    rent.rate = nano("0.600000001"); // a nano-dollar an hour: never in this world
    assert_ok(own_break_even(&m, &rent, &use_s, &err), &err);
    assert_int_equal(use_s, -1);
    m.resale = m.purchase; // nothing is lost: at once
    assert_ok(own_break_even(&m, &rent, &use_s, &err), &err);
    assert_int_equal(use_s, 0);
}

// Interest on the mean of purchase and resale, 3,000 at 12 % a year: 30 a month of 100 h. And where
// their sum leaves 64 bits: 10 % of 5,000,000,000 over 8,640 h.
TEST(interest_counts)
{
    struct err err = {0};
    struct own_machine m = bought("4000");
    struct own_hour hour;
    int64_t use_s;
    m.resale = nano("2000");
    m.interest = 1200;
    m.use_s_a_month = 100 * 3600;
    assert_ok(own_hour(&m, &hour, &err), &err);
    assert_int_equal(hour.interest, nano("0.30"));
    m = bought("5000000000");
    m.resale = m.purchase;
    m.interest = 1000;
    assert_ok(own_hour(&m, &hour, &err), &err);
    assert_int_equal(hour.interest, nano("57870.370370370"));
    const struct own_rent rent = {nano("50000"), 1, 1};
    assert_ok(own_break_even(&m, &rent, &use_s, &err), &err);
    assert_int_equal(use_s, -1);
}

TEST(what_cannot_be)
{
    struct own_machine bad[7];
    for (size_t i = 0; i < 7; i++)
        bad[i] = bought("100");
    bad[0].purchase = -1;
    bad[1].resale = nano("101");
    bad[2].life_months = 0;
    bad[3].use_s_a_month = 0;
    bad[4].use_s_a_month = 721 * 3600;
    bad[5].busy_mw = -2;
    bad[6].kwh = -2;
    for (size_t i = 0; i < 7; i++) {
        struct err err = {0};
        struct own_hour hour;
        assert_int_equal(own_hour(&bad[i], &hour, &err), ERR_FORMAT);
        assert_true(err.text[0] != '\0');
    }
    struct own_machine good = bought("100");
    const struct own_rent rents[] = {{-1, 1, 1}, {1, 0, 1}, {1, 1, 0}};
    for (size_t i = 0; i < 3; i++) {
        struct err err = {0};
        int64_t use_s;
        assert_int_equal(own_break_even(&good, &rents[i], &use_s, &err), ERR_FORMAT);
    }
}

int main(int argc, char **argv)
{
    if (argc == 5) {
        struct err err = {0};
        struct own_machine m = bought(argv[1]);
        const struct own_rent rent = {nano(argv[2]), strtoll(argv[3], NULL, 10),
                                      strtoll(argv[4], NULL, 10)};
        int64_t use_s;
        int rc = own_break_even(&m, &rent, &use_s, &err);
        printf("%lld\n", (long long)use_s);
        return rc != 0;
    }
    return run_all_tests(NULL, NULL);
}
