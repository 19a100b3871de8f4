// SPDX-License-Identifier: Apache-2.0
// The rules that fare ships, by date, against sums worked out by hand.
#include "test.h"

#include "base/clock.h"
#include "bill/charge.h"
#include "price/tariffs.h"

#define S INT64_C(1000000000)
#define H (3600 * S)

static struct tariff_book *book;

static int open_book(void **state)
{
    (void)state;
    struct err err = {0};
    return tariff_book_read(&book, TESTS_DIR "/../share/providers", NULL, &err);
}

static int close_book(void **state)
{
    (void)state;
    tariff_book_close(book);
    return 0;
}

static int64_t date(const char *text)
{
    int64_t s;
    assert_true(clock_parse(text, &s));
    return s;
}

static int64_t nano(const char *text)
{
    int64_t n;
    assert_int_equal(money_parse(text, &n, NULL), 0);
    return n;
}

struct bill_case {
    const char *provider;
    enum offer_kind kind;
    const char *name, *start, *rate;
    int64_t length_ns;
    bool interrupted;
    const char *cost;
};

// The rule that holds when the use starts.
static struct charge charge_of(const struct bill_case *c, const char *monthly_cap)
{
    const struct offer offer = {.provider = c->provider, .name = c->name, .kind = c->kind};
    const struct charge_use use = {
        .start_s = date(c->start), .length_ns = c->length_ns, .interrupted = c->interrupted};
    bool assumed;
    struct rule rule;
    struct charge charge;
    struct err err = {0};
    const struct tariff *t = tariff_for(book, &offer, (int)(use.start_s / 86400), &assumed);
    assert_false(assumed);
    assert_ok(rule_read(&rule, t, c->rate, &err), &err);
    if (monthly_cap)
        rule.monthly_cap = nano(monthly_cap);
    assert_ok(charge_use(&rule, &use, &charge, &err), &err);
    return charge;
}

static void check(const struct bill_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t got = charge_of(&cases[i], NULL).total;
        if (got != nano(cases[i].cost)) {
            char text[MONEY_BYTES];
            money_text(got, text);
            fail_msg("%s %s, %lld ns: %s, not %s", cases[i].provider, cases[i].start,
                     (long long)cases[i].length_ns, text, cases[i].cost);
        }
    }
}
#define CHECK(cases) check(cases, sizeof(cases) / sizeof *(cases))

#define AWS "aws", OFFER_ON_DEMAND, "p2.xlarge"
static void aws(void **state)
{
    (void)state;
    static const struct bill_case cases[] = {
        {AWS, "2017-10-01", "0.90", 1, false, "0.90"},
        {AWS, "2017-10-01", "0.90", H, false, "0.90"},
        {AWS, "2017-10-01", "0.90", H + 1, false, "1.80"},
        {AWS, "2017-10-01", "0.90", 13032 * S, false, "3.60"}, // 3.62 h: four started hours
        {AWS, "2017-10-02", "0.90", 1, false, "0.015"},        // 60 s
        {AWS, "2017-10-02", "0.90", 13032 * S, false, "3.258"},
        {AWS, "2026-11-15", "0.90", 0, false, "0.015"},
        {AWS, "2026-11-01", "0.90", 30 * 24 * H, false, "648"},
    };
    CHECK(cases);
}

#define SPOT "aws", OFFER_SPOT, "p2.xlarge"
static void aws_spot(void **state)
{
    (void)state;
    static const struct bill_case cases[] = {
        // Now: the first hour is free where the provider ends it; otherwise the seconds.
        {SPOT, "2026-11-15", "0.36", H - 1, true, "0"},
        {SPOT, "2026-11-15", "0.36", H, true, "0.36"},
        {SPOT, "2026-11-15", "0.36", 5400 * S, true, "0.54"},
        {SPOT, "2026-11-15", "0.36", 1800 * S, false, "0.18"},
        {SPOT, "2026-11-15", "0.36", 1, false, "0.006"},
        // Until October 2017: the partial hour is free where the provider ends it, full otherwise.
        {SPOT, "2017-09-30", "0.36", H - 1, true, "0"},
        {SPOT, "2017-09-30", "0.36", 5400 * S, true, "0.36"},
        {SPOT, "2017-09-30", "0.36", 5400 * S, false, "0.72"},
        {SPOT, "2017-09-30", "0.36", 1, false, "0.36"},
    };
    CHECK(cases);
}

#define N1    "gcp", OFFER_ON_DEMAND, "n1-standard-4"
#define A3    "gcp", OFFER_ON_DEMAND, "a3-highgpu-8g"
#define N2    "gcp", OFFER_ON_DEMAND, "n2-standard-4"
#define GSPOT "gcp", OFFER_SPOT, "n1-standard-1"
static void gcp(void **state)
{
    (void)state;
    static const struct bill_case cases[] = {
        {GSPOT, "2017-09-25", "0.60", 120 * S, false, "0.10"}, // ten minutes
        {GSPOT, "2017-09-25", "0.60", 600 * S + 1, false, "0.11"},
        {GSPOT, "2017-09-26", "0.60", 120 * S, false, "0.02"},
        {GSPOT, "2017-09-26", "0.60", 120 * S + 1, false, "0.020166667"},
        {GSPOT, "2017-09-26", "0.60", 1, false, "0.01"},
        // A quarter, a half, three quarters and the whole of a June of 720 h.
        {N1, "2018-06-01", "1", 180 * H, false, "180"},
        {N1, "2018-06-01", "1", 360 * H, false, "324"},
        {N1, "2018-06-01", "1", 540 * H, false, "432"},
        {N1, "2018-06-01", "1", 720 * H, false, "504"},
        {N1, "2017-06-01", "1", 720 * H, false, "504"},
        {A3, "2026-06-01", "1", 720 * H, false, "720"}, // no sustained use
        {N2, "2026-06-01", "1", 720 * H, false, "576"}, // 20 % off
        {GSPOT, "2018-06-01", "1", 720 * H, false, "720"},
    };
    CHECK(cases);
}

static void others(void **state)
{
    (void)state;
    static const struct bill_case cases[] = {
        {"azure", OFFER_ON_DEMAND, "x", "2018-02-15", "0.60", 61 * S, false, "0.02"},
        {"azure", OFFER_ON_DEMAND, "x", "2026-02-15", "0.36", 61 * S, false, "0.0061"},
        {"azure", OFFER_ON_DEMAND, "x", "2026-02-15", "0.36", S, false, "0.006"}, // 60 s, in doubt
        {"lambda", OFFER_ON_DEMAND, "x", "2026-02-15", "0.60", 60 * S + 1, false, "0.02"},
        {"runpod", OFFER_ON_DEMAND, "x", "2026-02-15", "0.36", S + 1, false, "0.0002"},
        {"vast", OFFER_ON_DEMAND, "x", "2026-02-15", "0.36", S, false, "0.0001"},
        {"paperspace", OFFER_ON_DEMAND, "x", "2018-02-15", "3.6", 1000001, false, "5.000002"},
        {"softlayer", OFFER_ON_DEMAND, "x", "2018-02-15", "2.80", 11376 * S, false, "11.2"},
        {"softlayer", OFFER_ON_DEMAND, "x", "2018-02-15", "4.02", 14760 * S, false, "20.1"},
        {"softlayer", OFFER_ON_DEMAND, "x", "2019-02-15", "0.60", 61 * S, false, "0.02"},
        {"leadergpu", OFFER_ON_DEMAND, "x", "2018-02-15", "0.02", 7632 * S, false, "2.544"},
        {"nimbix", OFFER_ON_DEMAND, "x", "2015-05-15", "5", 1800 * S, false, "2.5"},
        {"own", OFFER_ON_DEMAND, "x", "2026-02-15", "3.6", 1500000000, false, "0.0015"},
        {"hetzner", OFFER_MONTHLY, "ex51", "2018-02-15", "100", 8172 * S, false, "100"},
        {"hetzner", OFFER_MONTHLY, "ex51", "2018-02-15", "100", 30 * 24 * H + 1, false, "200"},
    };
    CHECK(cases);
}

// Hetzner's cloud: started hours, and at most the offer's monthly price in a calendar month.
static void monthly_cap(void **state)
{
    (void)state;
#define CLOUD "hetzner", OFFER_ON_DEMAND, "cx11"
    static const struct bill_case cases[] = {
        {CLOUD, "2026-06-01", "0.01", 1, false, "0.01"},
        {CLOUD, "2026-06-01", "0.01", 499 * H, false, "4.99"},
        {CLOUD, "2026-06-01", "0.01", 499 * H + 1, false, "5"},
        {CLOUD, "2026-06-01", "0.01", 720 * H, false, "5"},
        {CLOUD, "2026-06-01", "0.01", 720 * H + 1, false, "5.01"}, // and an hour of July
        {CLOUD, "2026-06-16", "0.01", 720 * H, false, "7.20"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(charge_of(&cases[i], "5").total, nano(cases[i].cost));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aws),    cmocka_unit_test(aws_spot),    cmocka_unit_test(gcp),
        cmocka_unit_test(others), cmocka_unit_test(monthly_cap),
    };
    return cmocka_run_group_tests(tests, open_book, close_book);
}
