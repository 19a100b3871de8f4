// SPDX-License-Identifier: Apache-2.0
#include "base/money.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "test.h"

static int64_t nano_of(const char *text)
{
    struct err err = {0};
    int64_t nano = 0;
    assert_ok(money_parse(text, &nano, &err), &err);
    return nano;
}

TEST(test_parse)
{
    // The nano-units are the text with the point moved nine places, by hand.
    static const struct {
        const char *text;
        int64_t nano;
    } good[] = {
        {"0", 0},
        {"-0", 0},
        {"-0.00", 0},
        {"12", INT64_C(12000000000)},
        {"0.526", 526000000},
        {".5", 500000000},
        {"-.5", -500000000},
        {"+1.25", 1250000000},
        {"-3.00", INT64_C(-3000000000)},
        {"0.000000001", 1},
        {"-0.000000001", -1},
        {"0.0000000010000000000000000000000", 1},
        {"0000000000000000000000000000000012.340", INT64_C(12340000000)},
        {"98.32", INT64_C(98320000000)},
        {"9223372036.854775807", INT64_MAX},
        {"9223372036.8547758070", INT64_MAX},
        {"-9223372036.854775807", -INT64_MAX},
        {"-9223372036.854775808", INT64_MIN},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(nano_of(good[i].text), good[i].nano);
}

TEST(test_parse_refuses)
{
    static const struct {
        const char *text;
        int code;
    } bad[] = {
        {"", ERR_FORMAT},
        {"-", ERR_FORMAT},
        {"+", ERR_FORMAT},
        {".", ERR_FORMAT},
        {"-.", ERR_FORMAT},
        {"1.", ERR_FORMAT},
        {"--1", ERR_FORMAT},
        {"+-1", ERR_FORMAT},
        {"1e-3", ERR_FORMAT},
        {"1E3", ERR_FORMAT},
        {"1,000", ERR_FORMAT},
        {"1'000", ERR_FORMAT},
        {"1_000", ERR_FORMAT},
        {"1 000", ERR_FORMAT},
        {"1.2.3", ERR_FORMAT},
        {"1,5", ERR_FORMAT},
        {" 1", ERR_FORMAT},
        {"1 ", ERR_FORMAT},
        {"1\n", ERR_FORMAT},
        {"\t1", ERR_FORMAT},
        {"$1", ERR_FORMAT},
        {"1$", ERR_FORMAT},
        {"\xe2\x82\xac 1", ERR_FORMAT},
        {"1 USD", ERR_FORMAT},
        {"0x10", ERR_FORMAT},
        {"nan", ERR_FORMAT},
        {"inf", ERR_FORMAT},
        {"None", ERR_FORMAT},
        {"-1-", ERR_FORMAT},
        {"(1.00)", ERR_FORMAT},
        {"\xd9\xa1", ERR_FORMAT}, // an Arabic-Indic one
        {"0.0000000001", ERR_FORMAT},
        {"1.2345678901", ERR_FORMAT},
        {"99999999999999999999999x", ERR_FORMAT}, // no number, before it is too large
        {"9223372036.854775808", ERR_OVERFLOW},
        {"-9223372036.854775809", ERR_OVERFLOW},
        {"9223372037", ERR_OVERFLOW},
        {"-9223372037", ERR_OVERFLOW},
        {"10000000000", ERR_OVERFLOW},
        {"18446744073.709551616", ERR_OVERFLOW}, // 2^64 nano-units
        {"18446744074", ERR_OVERFLOW},
        {"340282366920938463463374607431768211456", ERR_OVERFLOW},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        int64_t nano = 42;
        int rc = money_parse(bad[i].text, &nano, &err);
        if (rc != bad[i].code)
            fail_msg("'%s' gave %d", bad[i].text, rc);
        assert_int_equal(err.code, bad[i].code);
        assert_int_equal(nano, 42);
        assert_int_equal(money_parse(bad[i].text, &nano, NULL), bad[i].code);
    }
    struct err err = {0};
    int64_t nano;
    assert_int_equal(money_parse("1,000", &nano, &err), ERR_FORMAT);
    assert_string_equal(err.text, "'1,000' is not an amount of money");
}

TEST(test_text)
{
    static const struct {
        int64_t nano;
        const char *text;
    } cases[] = {
        {0, "0.00"},
        {1, "0.000000001"},
        {-1, "-0.000000001"},
        {526000000, "0.526"},
        {500000000, "0.50"},
        {INT64_C(12000000000), "12.00"},
        {INT64_C(-12340000000), "-12.34"},
        {INT64_C(1000000010), "1.00000001"},
        {INT64_MAX, "9223372036.854775807"},
        {INT64_MIN, "-9223372036.854775808"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[MONEY_BYTES];
        money_text(cases[i].nano, text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(nano_of(text), cases[i].nano);
    }
}

// In the order of enum money_rounding; from Python 3.11's decimal, Decimal(text).quantize() with
// ROUND_DOWN, ROUND_UP, ROUND_HALF_UP, ROUND_HALF_EVEN; the sign of a zero taken off.
TEST(test_rounded)
{
    static const struct {
        const char *text;
        int decimals;
        const char *expected[4];
    } cases[] = {
        {"0", 2, {"0.00", "0.00", "0.00", "0.00"}},
        {"0.005", 0, {"0", "1", "0", "0"}},
        {"0.005", 2, {"0.00", "0.01", "0.01", "0.00"}},
        {"0.015", 2, {"0.01", "0.02", "0.02", "0.02"}},
        {"0.025", 2, {"0.02", "0.03", "0.03", "0.02"}},
        {"0.025", 4, {"0.0250", "0.0250", "0.0250", "0.0250"}},
        {"-0.005", 2, {"0.00", "-0.01", "-0.01", "0.00"}},
        {"-0.0049", 2, {"0.00", "-0.01", "0.00", "0.00"}},
        {"1.995", 2, {"1.99", "2.00", "2.00", "2.00"}},
        {"12.345", 2, {"12.34", "12.35", "12.35", "12.34"}},
        {"-12.345", 2, {"-12.34", "-12.35", "-12.35", "-12.34"}},
        {"0.000000001", 4, {"0.0000", "0.0001", "0.0000", "0.0000"}},
        {"0.9999", 2, {"0.99", "1.00", "1.00", "1.00"}},
        {"2.5", 0, {"2", "3", "3", "2"}},
        {"3.5", 0, {"3", "4", "4", "4"}},
        {"-2.5", 0, {"-2", "-3", "-3", "-2"}},
        {"9223372036.854775807", 0, {"9223372036", "9223372037", "9223372037", "9223372037"}},
        {"-9223372036.854775808",
         2,
         {"-9223372036.85", "-9223372036.86", "-9223372036.85", "-9223372036.85"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int mode = MONEY_DOWN; mode <= MONEY_HALF_EVEN; mode++) {
            char text[MONEY_BYTES];
            money_rounded(nano_of(cases[i].text), cases[i].decimals, (enum money_rounding)mode,
                          text);
            assert_string_equal(text, cases[i].expected[mode]);
        }
    }
    char text[MONEY_BYTES];
    money_rounded(INT64_MIN, 9, MONEY_UP, text);
    assert_string_equal(text, "-9223372036.854775808");
}

TEST(test_short)
{
    static const struct {
        const char *amount, *expected;
    } cases[] = {
        {"0", "0.00"},
        {"1234.565", "1234.57"},
        {"1", "1.00"},
        {"0.526", "0.526"},
        {"0.5264", "0.526"},
        {"0.5265", "0.527"},
        {"0.0212", "0.0212"},
        {"27740.16", "27740.16"},
        {"0.02134", "0.0213"},
        {"0.001312", "0.00131"},
        {"0.9", "0.90"}, // no zeros at the end beyond cents
        {"0.1", "0.10"},
        {"0.1003", "0.10"},
        {"0.05999996", "0.06"},
        {"0.0020", "0.002"},
        {"0.09995", "0.10"},
        {"0.099949", "0.0999"},
        {"0.9996", "1.00"},
        {"0.9994", "0.999"},
        {"0.00000384", "0.00000384"},
        {"0.000000001", "0.000000001"},
        {"-0.0212", "-0.0212"},
        {"-0.6", "-0.60"},
        {"-9223372036.854775808", "-9223372036.85"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[MONEY_BYTES];
        money_short(nano_of(cases[i].amount), text);
        assert_string_equal(text, cases[i].expected);
    }
}

// ISO 4217: a yen and a won have no smaller unit, a Kuwaiti dinar has thousandths.
TEST(test_short_in)
{
    static const struct {
        const char *amount, *currency, *expected;
    } cases[] = {
        {"1714.541704656", "JPY", "1715"},
        {"100", "JPY", "100"},
        {"99.96", "JPY", "100"},
        {"99.94", "JPY", "99.9"},
        {"10.42", "JPY", "10.4"},
        {"90", "JPY", "90"},
        {"0.0213", "JPY", "0.0213"},
        {"0", "JPY", "0"},
        {"14559.4", "KRW", "14559"},
        {"12.3456", "KWD", "12.346"},
        {"0.5264", "KWD", "0.526"},
        {"9.7594", "EUR", "9.76"},
        {"0.0213", "EUR", "0.0213"},
        {"1234.565", NULL, "1234.57"},
        {"1.5", "J", "1.50"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[MONEY_BYTES];
        money_short_in(nano_of(cases[i].amount), cases[i].currency, text);
        assert_string_equal(text, cases[i].expected);
    }
}

TEST(test_intervals)
{
    static const struct {
        const char *amount, *low, *high, *shown, *interval;
    } cases[] = {
        {"0.52", "0.51", "0.53", "0.52", "0.51-0.53"},
        {"0.75", "0.735", "0.765", "0.750", "0.735-0.765"},
        {"0.75", "0.74999", "0.75001", "0.75", ""},
        {"0.52", "0.52", "1.04", "0.52", "0.52-1.04"}, // a started hour more
        {"0.0213", "0.0213", "0.0213", "0.0213", ""},  // no interval
        {"0.02134", "0.02130", "0.02138", "0.0213", "0.0213-0.0214"},
        {"0.02134", "0.02131", "0.02134", "0.0213", ""}, // too narrow to show
        {"52.31", "48", "57", "52.31", "48.00-57.00"},   // two decimals from a dollar on
        {"27740.16", "27000", "28500", "27740.16", "27000.00-28500.00"},
        {"0.0213", "0.0019", "0.9", "0.02", "0.002-0.90"},  // 0.898 wide: hundredths
        {"0.0281", "0.0035", "0.26", "0.03", "0.004-0.26"}, // no bill is 0
        {"0.0004", "0.00031", "0.75", "0.0004", "0.0003-0.75"},
        {"0.02", "0", "0.9", "0.02", "0.00-0.90"}, // free is
        {"0", "0", "0", "0.00", ""},
    };
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        money_interval(nano_of(cases[i].amount), nano_of(cases[i].low), nano_of(cases[i].high),
                       amount, interval);
        assert_string_equal(amount, cases[i].shown);
        assert_string_equal(interval, cases[i].interval);
    }
    money_interval(0, INT64_MIN, INT64_MAX, amount, interval);
    assert_string_equal(amount, "0");
    assert_string_equal(interval, "-9223372037-9223372037");
}

TEST(test_sums)
{
    struct err err = {0};
    int64_t n = 42;
    assert_ok(money_add(1, 2, &n, &err), &err);
    assert_int_equal(n, 3);
    assert_ok(money_sub(1, 2, &n, &err), &err);
    assert_int_equal(n, -1);
    assert_ok(money_add(INT64_MAX, INT64_MIN, &n, &err), &err);
    assert_int_equal(n, -1);
    assert_ok(money_sub(-1, INT64_MAX, &n, &err), &err);
    assert_int_equal(n, INT64_MIN);
    n = 42;
    assert_int_equal(money_add(INT64_MAX, 1, &n, &err), ERR_OVERFLOW);
    assert_int_equal(err.code, ERR_OVERFLOW);
    assert_int_equal(money_add(INT64_MIN, -1, &n, NULL), ERR_OVERFLOW);
    assert_int_equal(money_sub(INT64_MIN, 1, &n, NULL), ERR_OVERFLOW);
    assert_int_equal(money_sub(0, INT64_MIN, &n, NULL), ERR_OVERFLOW);
    assert_int_equal(n, 42);
    n = INT64_MAX - 1;
    assert_true(money_sum(&n, 1));
    assert_false(money_sum(&n, 1)); // it stays at its end
    assert_true(n == INT64_MAX);
    assert_true(money_sum(&n, -1));
    n = 0;
    assert_false(money_sum(&n, INT64_MIN)); // its negative is an amount too
    assert_true(n == -INT64_MAX);
}

// From Python 3.11's decimal with 80 digits: (Decimal(rate) * quantity / divisor).quantize(1), in
// the order of enum money_rounding. The lower half was drawn at random.
TEST(test_scale)
{
    static const struct {
        int64_t rate, quantity, divisor, expected[4];
    } cases[] = {
        {5, 1, 10, {0, 1, 1, 0}},
        {15, 1, 10, {1, 2, 2, 2}},
        {25, 1, 10, {2, 3, 3, 2}},
        {-25, 1, 10, {-2, -3, -3, -2}},
        {-15, 1, 10, {-1, -2, -2, -2}},
        {-5, 1, 10, {0, -1, -1, 0}},
        {1, 1, 3, {0, 1, 0, 0}},
        {2, 1, 3, {0, 1, 1, 1}},
        {-1, 1, 3, {0, -1, 0, 0}},
        {INT64_MAX, INT64_MAX, INT64_MAX, {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}},
        {1, INT64_MAX, INT64_MAX - 1, {1, 2, 1, 1}},
        {1, INT64_C(4611686018427387903), INT64_MAX - 1, {0, 1, 1, 0}}, // exactly a half
        {3, INT64_C(4611686018427387903), INT64_MAX - 1, {1, 2, 2, 2}},
        {-814622143706,
         1522317285716804,
         3600000000000,
         {-344475936303145, -344475936303146, -344475936303145, -344475936303145}},
        {242560300481,
         8634498714055930,
         3000000001,
         {698128867295361870, 698128867295361871, 698128867295361871, 698128867295361871}},
        {-372482408788,
         3584851071972001,
         1073741824,
         {-1243589410962886070, -1243589410962886071, -1243589410962886071, -1243589410962886071}},
        {-456826530496,
         5154292537261568,
         1000000000,
         {-2354617576958626910, -2354617576958626911, -2354617576958626910, -2354617576958626910}},
        {564182107096,
         8646284073507578,
         2592000000000000,
         {1881974833002, 1881974833003, 1881974833002, 1881974833002}},
        {-168289590467,
         7867270068968821,
         2592000000000000,
         {-510794621141, -510794621142, -510794621142, -510794621142}},
        {212634932017,
         3648255336789488,
         1073741824,
         {722470251395264845, 722470251395264846, 722470251395264845, 722470251395264845}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int mode = MONEY_DOWN; mode <= MONEY_HALF_EVEN; mode++) {
            struct err err = {0};
            int64_t n = 0;
            assert_ok(money_scale(cases[i].rate, cases[i].quantity, cases[i].divisor,
                                  (enum money_rounding)mode, &n, &err),
                      &err);
            assert_int_equal(n, cases[i].expected[mode]);
            // The sign may stand at either factor.
            assert_ok(money_scale(-cases[i].rate, -cases[i].quantity, cases[i].divisor,
                                  (enum money_rounding)mode, &n, &err),
                      &err);
            assert_int_equal(n, cases[i].expected[mode]);
        }
    }
}

TEST(test_scale_refuses)
{
    int64_t n = 42;
    struct err err = {0};
    assert_int_equal(money_scale(1, 1, 0, MONEY_DOWN, &n, &err), ERR_FORMAT);
    assert_string_equal(err.text, "cannot divide money by 0");
    assert_int_equal(money_scale(1, 1, -1, MONEY_DOWN, &n, NULL), ERR_FORMAT);
    assert_int_equal(money_scale(INT64_MAX, 2, 1, MONEY_DOWN, &n, NULL), ERR_OVERFLOW);
    assert_int_equal(money_scale(INT64_MIN, INT64_MIN, 1, MONEY_DOWN, &n, NULL), ERR_OVERFLOW);
    assert_int_equal(money_scale(INT64_MIN, -1, 1, MONEY_DOWN, &n, NULL), ERR_OVERFLOW);
    assert_int_equal(n, 42);
    assert_int_equal(money_scale(INT64_MIN, 1, 1, MONEY_UP, &n, NULL), 0);
    assert_int_equal(n, INT64_MIN);
    // 2^63 - 1/2: what rounding does decides whether it fits.
    const int64_t third = INT64_C(6148914691236517205); // (2^64 - 1) / 3
    assert_int_equal(money_scale(third, 3, 2, MONEY_DOWN, &n, NULL), 0);
    assert_int_equal(n, INT64_MAX);
    assert_int_equal(money_scale(third, 3, 2, MONEY_UP, &n, NULL), ERR_OVERFLOW);
    assert_int_equal(money_scale(third, 3, 2, MONEY_HALF_UP, &n, NULL), ERR_OVERFLOW);
    assert_int_equal(money_scale(-third, 3, 2, MONEY_UP, &n, NULL), 0);
    assert_int_equal(n, INT64_MIN);
}

static int64_t scaled(const char *rate, int64_t quantity, int64_t divisor, enum money_rounding r)
{
    struct err err = {0};
    int64_t n = 0;
    assert_ok(money_scale(nano_of(rate), quantity, divisor, r, &n, &err), &err);
    return n;
}

static void assert_money(int64_t nano, const char *expected)
{
    char text[MONEY_BYTES];
    money_text(nano, text);
    assert_string_equal(text, expected);
}

TEST(test_rules_of_providers)
{
    const int64_t hour_ns = 3600 * NS_PER_S, month_s = 86400 * 30;

    // EBS: rate × GB × seconds / (86400 × 30). AWS's own example: 2,000 GB at $0.10 for 12 hours
    // of a 30-day month is $3.33; the digits from Python's decimal.
    int64_t ebs = scaled("0.10", 2000 * 43200, month_s, MONEY_HALF_EVEN);
    assert_money(ebs, "3.333333333");
    char text[MONEY_BYTES];
    money_rounded(ebs, 2, MONEY_HALF_UP, text);
    assert_string_equal(text, "3.33");
    // 30 GB for 24 hours are one GB-month (AWS's knowledge center).
    assert_money(scaled("0.08", 30 * 86400, month_s, MONEY_DOWN), "0.08");
    assert_money(scaled("0.08", 500 * 60, month_s, MONEY_HALF_EVEN), "0.000925926");

    // Hetzner: min(started hours × hourly, monthly cap). At €0.0063 an hour and €3.92 a month the
    // cap holds from hour 623 on: 622 × 0.0063 = 3.9186, 623 × 0.0063 = 3.9249.
    const struct {
        int64_t wall_ns;
        const char *cost;
    } hetzner[] = {{1, "0.0063"},
                   {hour_ns, "0.0063"},
                   {hour_ns + 1, "0.0126"},
                   {622 * hour_ns, "3.9186"},
                   {622 * hour_ns + 1, "3.92"},
                   {720 * hour_ns, "3.92"}};
    for (size_t i = 0; i < sizeof hetzner / sizeof *hetzner; i++) {
        int64_t hours = 0;
        assert_int_equal(money_scale(1, hetzner[i].wall_ns, hour_ns, MONEY_UP, &hours, NULL), 0);
        int64_t cost = scaled("0.0063", hours, 1, MONEY_DOWN);
        int64_t cap = nano_of("3.92");
        assert_money(cost < cap ? cost : cap, hetzner[i].cost);
    }

    // The cheapest CIFAR-10 training of DAWNBench: a monthly price prorated to 72 seconds. $765 a
    // month of 30 days is $0.02125 for them (765 × 72 / 2592000).
    assert_money(scaled("765", 72, month_s, MONEY_HALF_EVEN), "0.02125");
    // A second on p2.xlarge at $0.90 an hour is exactly $0.00025.
    assert_money(scaled("0.90", NS_PER_S, hour_ns, MONEY_HALF_EVEN), "0.00025");
    // $7.30 = 730 × $0.01.
    assert_money(scaled("0.01", 730, 1, MONEY_DOWN), "7.30");
}

// No binary fraction touches money.
TEST(test_no_binary_fractions_in_the_source)
{
    static const char *const words[] = {"double", "float", "<math.h>", "strtod", "%f", "%g"};
    struct buf source = {0};
    struct err err = {0};
    assert_ok(fs_read(TESTS_DIR "/../src/base/money.c", 1 << 20, &source, &err), &err);
    assert_non_null(strstr(buf_str(&source), "int64_t"));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(buf_str(&source), words[i]))
            fail_msg("money.c holds '%s'", words[i]);
    buf_release(&source);
}
