// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "test.h"

// From `date -u -d TEXT +%s` (GNU coreutils 9.1).
static const struct {
    const char *text;
    int64_t date_s;
} dates[] = {
    {"2017-09-18T08:22:00Z", INT64_C(1505722920)},
    {"1970-01-01T00:00:00Z", INT64_C(0)},
    {"1969-12-31T23:59:59Z", INT64_C(-1)},
    {"0001-01-01T00:00:00Z", INT64_C(-62135596800)},
    {"0004-02-29T00:00:00Z", INT64_C(-62035891200)},
    {"0400-12-31T00:00:00Z", INT64_C(-49512902400)},
    {"1582-10-15T00:00:00Z", INT64_C(-12219292800)},
    {"1600-02-29T00:00:00Z", INT64_C(-11670998400)},
    {"1900-02-28T23:59:59Z", INT64_C(-2203891201)},
    {"1900-03-01T00:00:00Z", INT64_C(-2203891200)},
    {"1999-12-31T23:59:59Z", INT64_C(946684799)},
    {"2000-02-29T12:00:00Z", INT64_C(951825600)},
    {"2000-12-31T23:59:59Z", INT64_C(978307199)},
    {"2017-10-02T00:00:00Z", INT64_C(1506902400)},
    {"2024-02-29T00:00:00Z", INT64_C(1709164800)},
    {"2038-01-19T03:14:08Z", INT64_C(2147483648)},
    {"2100-02-28T00:00:00Z", INT64_C(4107456000)},
    {"2100-03-01T00:00:00Z", INT64_C(4107542400)},
    {"2400-12-31T23:59:59Z", INT64_C(13601087999)},
    {"9999-12-31T23:59:59Z", INT64_C(253402300799)},
};

TEST(test_dates_of_coreutils)
{
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        int64_t date_s = 42;
        char text[CLOCK_ISO_BYTES];
        assert_true(clock_parse(dates[i].text, &date_s));
        assert_int_equal(date_s, dates[i].date_s);
        clock_iso(dates[i].date_s, text);
        assert_string_equal(text, dates[i].text);
    }
}

// The C library's calendar is the second implementation. The step is 17 days and a bit, so that
// over the 9999 years every day of the 400-year round and every hour is met.
TEST(test_dates_of_the_c_library)
{
    int64_t count = 0;
    for (int64_t s = INT64_C(-62135596800); s <= INT64_C(253402300799); s += 17 * 86400 + 3671) {
        struct tm tm;
        time_t t = s;
        char expected[64], text[CLOCK_ISO_BYTES];
        assert_non_null(gmtime_r(&t, &tm));
        snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        clock_iso(s, text);
        assert_string_equal(text, expected);
        int64_t back;
        assert_true(clock_parse(text, &back));
        assert_int_equal(back, s);
        count++;
    }
    assert_true(count > 200000);
}

TEST(test_years_that_cannot_be_written)
{
    const int64_t out_of_range[] = {INT64_C(-62135596801), INT64_C(253402300800), INT64_MIN,
                                    INT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        char text[CLOCK_ISO_BYTES] = "x";
        clock_iso(out_of_range[i], text);
        assert_string_equal(text, "");
    }
}

TEST(test_other_forms)
{
    // Also from `date -u -d TEXT +%s`.
    static const struct {
        const char *text;
        int64_t date_s;
    } forms[] = {
        {"2017-09-18", 1505692800},
        {"2017-09-18T08:22:00.123Z", 1505722920},
        {"2017-09-18T08:22:00.999999999999999999999Z", 1505722920},
        {"2017-09-18T08:22:00+02:00", 1505715720},
        {"2017-09-18T08:22:00-05:30", 1505742720},
        {"2017-09-18T08:22:00.5+00:00", 1505722920},
        {"2026-03-01T00:17:55+00:00", 1772324275}, // as AWS's spot price history writes it
        {"2000-01-01T00:00:00+23:59", 946598460},
        {"2022-10-26T22:05:04.000Z", 1666821904},
        {"1969-12-31T23:59:59.9Z", -1}, // dropped, not rounded
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        int64_t date_s = 42;
        if (!clock_parse(forms[i].text, &date_s))
            fail_msg("refused: %s", forms[i].text);
        assert_int_equal(date_s, forms[i].date_s);
    }
}

TEST(test_hostile_dates)
{
    static const char *const bad[] = {
        "",
        " ",
        "2017",
        "2017-09",
        "2017-9-18",
        "2017-09-18 ",
        " 2017-09-18",
        "2017-09-18\n",
        "17-09-18",
        "02017-09-18",
        "-017-09-18",
        "+2017-09-18",
        "0000-01-01",
        "10000-01-01",
        "2017-00-18",
        "2017-13-18",
        "2017-09-00",
        "2017-09-31",
        "2017-04-31",
        "1900-02-29",
        "2100-02-29",
        "2017-02-29",
        "2000-02-30",
        "2017/09/18",
        "2017-09-18T",
        "2017-09-18T08",
        "2017-09-18T08:22",
        "2017-09-18T08:22Z",
        "2017-09-18T08:22:00",
        "2017-09-18 08:22:00Z",
        "2017-09-18t08:22:00Z",
        "2017-09-18T08:22:00z",
        "2017-09-18T24:00:00Z",
        "2017-09-18T08:60:00Z",
        "2017-09-18T08:22:60Z",
        "2016-12-31T23:59:60Z", // a real leap second: POSIX time has none
        "2017-09-18T08:22:00.Z",
        "2017-09-18T08:22:00,5Z",
        "2017-09-18T08:22:00ZZ",
        "2017-09-18T08:22:00Z ",
        "2017-09-18T08:22:00+2:00",
        "2017-09-18T08:22:00+0200",
        "2017-09-18T08:22:00+02",
        "2017-09-18T08:22:00+24:00",
        "2017-09-18T08:22:00+02:60",
        "2017-09-18T-8:22:00Z",
        "2017-09-18T+8:22:00Z",
        "2017-09-18T 8:22:00Z",
        "0001-01-01T00:00:00+00:01", // the year 0
        "9999-12-31T23:59:00-00:01", // the year 10000
        "\xd9\xa2\xd9\xa0\xd9\xa1\xd9\xa7-09-18",
        "none",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t date_s = 42;
        if (clock_parse(bad[i], &date_s))
            fail_msg("accepted: '%s'", bad[i]);
        assert_int_equal(date_s, 42); // untouched
    }
}

TEST(test_words)
{
    const int64_t ms = NS_PER_MS, s = NS_PER_S;
    // The forms the header promises; the figures by hand.
    const struct {
        int64_t ns;
        const char *words;
    } cases[] = {
        {0, "0 s"},
        {999, "999 ns"},
        {1499, "1 us"},
        {1500, "2 us"},
        {999499, "999 us"},
        {999500, "1 ms"},
        {850 * ms, "850 ms"},
        {999 * ms, "999 ms"},
        {999 * ms + 500000, "1.0 s"},
        {12340 * ms, "12.3 s"},
        {12350 * ms, "12.4 s"},
        {59940 * ms, "59.9 s"},
        {59960 * ms, "1 min 00 s"},
        {245 * s, "4 min 05 s"},
        {3599 * s + 400 * ms, "59 min 59 s"},
        {3599 * s + 500 * ms, "1 h 00 min"},
        {3 * 3600 * s + 7 * 60 * s, "3 h 07 min"},
        {86400 * s - 31 * s, "23 h 59 min"},
        {86400 * s - 30 * s, "1 d 00 h"},
        {52 * 3600 * s, "2 d 04 h"},
        {-12340 * ms, "-12.3 s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[64];
        clock_words(cases[i].ns, words, sizeof words);
        assert_string_equal(words, cases[i].words);
    }
}

TEST(test_words_at_the_ends)
{
    char words[64], small[6];
    // 2^63 ns = 106751 d 23 h 47 min 16.85 s, which rounds to 106752 d.
    clock_words(INT64_MAX, words, sizeof words);
    assert_string_equal(words, "106752 d 00 h");
    clock_words(INT64_MIN, words, sizeof words);
    assert_string_equal(words, "-106752 d 00 h");
    clock_words(245 * NS_PER_S, small, sizeof small); // cut, not overrun
    assert_string_equal(small, "4 min");
}

TEST(test_durations)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {
        {"60s", INT64_C(60000000000)},
        {"1.5h", INT64_C(5400000000000)},
        {"250ms", INT64_C(250000000)},
        {"2d", INT64_C(172800000000000)},
        {"90", INT64_C(90000000000)},
        {"5m", INT64_C(300000000000)},
        {"5min", INT64_C(300000000000)},
        {"0", 0},
        {"0s", 0},
        {"007s", INT64_C(7000000000)},
        {".5h", INT64_C(1800000000000)},
        {"0.000000001", 1},
        {"0.0000000019", 1},                      // less than a nanosecond is dropped
        {"36525d", INT64_C(3155760000000000000)}, // 100 years
        {"3155760000", INT64_C(3155760000000000000)},
        {"876600h", INT64_C(3155760000000000000)},
        {"3w", INT64_C(1814400000000000)},
        {"1h30m", INT64_C(5400000000000)},
        {"1d12h30min5.5s250ms", INT64_C(131405750000000)}, // 86400 + 43200 + 1800 + 5.75 s
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t ns = -1;
        if (!clock_parse_duration(good[i].text, &ns))
            fail_msg("refused: %s", good[i].text);
        assert_int_equal(ns, good[i].ns);
    }
    static const char *const bad[] = {
        "",
        ".",
        "s",
        "h",
        "-1",
        "-1s",
        "+1s",
        "1.",
        "1.s",
        "1..5s",
        "1.5.5",
        "1,5h",
        "1 s",
        " 1s",
        "1s ",
        "1S",
        "1H",
        "1sec",
        "1hour",
        "1us",
        "1W",
        "1mo",
        "1e3",
        "0x10",
        "inf",
        "nan",
        "1h30",
        "30m1h",
        "1h1h",
        "5m5min",
        "1h 30m",
        "1h-30m",
        "1h.",
        "1h30m20",
        "36525d1s",
        "5217w6d1s",
        "99999w99999d",
        "36526d",
        "3155760001",
        "36525.00001d",
        "99999999999999999999d",
        "1000000000000000",
        "9223372036854775807",
        "0.0000000000000001s",
        "1\n",
        "\xc2\xbdh",
        "1ms1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t ns = 42;
        if (clock_parse_duration(bad[i], &ns))
            fail_msg("accepted: '%s'", bad[i]);
        assert_int_equal(ns, 42);
    }
}

TEST(test_now)
{
    int64_t before = clock_now_ns();
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_now_ns();
        assert_true(now >= before);
        before = now;
    }
    time_t outside = time(NULL);
    int64_t date_s = clock_date_s();
    assert_true(date_s >= outside && date_s <= outside + 60);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
    (void)signal;
    alarms++;
}

TEST(test_sleep_past_interruptions)
{
    struct sigaction action = {.sa_handler = on_alarm}, old;
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    struct itimerval every_5ms = {{0, 5000}, {0, 5000}}, off = {{0, 0}, {0, 0}};
    assert_int_equal(setitimer(ITIMER_REAL, &every_5ms, NULL), 0);
    int64_t start = clock_now_ns();
    clock_sleep_ns(60 * NS_PER_MS);
    int64_t slept = clock_now_ns() - start;
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &old, NULL);
    assert_true(slept >= 60 * NS_PER_MS);
    assert_true(alarms >= 2); // it was interrupted
    clock_sleep_ns(0);
    clock_sleep_ns(-5);
    clock_sleep_ns(INT64_MIN);
}

// Against dates that a calendar shows.
TEST(months)
{
    const struct {
        const char *date;
        int months;
        const char *first;
    } cases[] = {
        {"2018-03-05T12:34:56Z", 0, "2018-03-01T00:00:00Z"},
        {"2018-03-01T00:00:00Z", 0, "2018-03-01T00:00:00Z"},
        {"2018-02-28T23:59:59Z", 1, "2018-03-01T00:00:00Z"},
        {"2020-02-29T23:59:59Z", 0, "2020-02-01T00:00:00Z"},
        {"2018-12-31T23:59:59Z", 1, "2019-01-01T00:00:00Z"},
        {"2018-01-15T00:00:00Z", -1, "2017-12-01T00:00:00Z"},
        {"2018-01-15T00:00:00Z", 25, "2020-02-01T00:00:00Z"},
        {"0001-01-02T00:00:00Z", 0, "0001-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t date_s, expected_s, first_s;
        assert_true(clock_parse(cases[i].date, &date_s));
        assert_true(clock_parse(cases[i].first, &expected_s));
        assert_true(clock_month(date_s, cases[i].months, &first_s));
        assert_int_equal(first_s, expected_s);
    }
    int64_t s;
    assert_false(clock_month(INT64_MAX, 0, &s));
    assert_true(clock_parse("9999-12-31", &s));
    assert_false(clock_month(s, 1, &s));
    assert_true(clock_parse("0001-01-31", &s));
    assert_false(clock_month(s, -1, &s));
}
