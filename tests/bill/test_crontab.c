// SPDX-License-Identifier: Apache-2.0
// Schedules: what is understood, what is refused, and counts by hand. `test_crontab lines` answers
// test_crontab.py, which counts minute by minute.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bill/crontab.h"

static int64_t day(const char *date)
{
    int64_t s;
    assert_true(clock_parse(date, &s));
    return s / 86400;
}

static int64_t count(const char *text, const char *from, const char *to)
{
    struct crontab tab;
    struct err err = {0};
    assert_ok(crontab_parse(&tab, text, &err), &err);
    return crontab_count(&tab, day(from), day(to));
}

TEST(counts)
{
    // February 2026 begins on a Sunday and has 28 days.
    const struct {
        const char *text;
        int64_t starts;
    } february[] = {
        {"0 */4 * * *", 28 * 6},
        {"@hourly", 28 * 24},
        {"@daily", 28},
        {"@midnight", 28},
        {"@weekly", 4},
        {"@monthly", 1},
        {"@yearly", 0},
        {"@Annually", 0},
        {"* * * * *", 28 * 1440},
        {"30 8 * * mon-fri", 20},
        {"30 8 * feb MON-Fri", 20},
        {"30 8 * jan,mar-dec *", 0},
        {"0,15,30,45 9-17 * * 1-5", 4 * 9 * 20},
        {"*/7 * * * *", 9 * 24 * 28}, // 0, 7, ... 56
        {"5/15 0 * * *", 4 * 28},     // 5, 20, 35, 50
        {"10-50/20 0 * * *", 3 * 28},
        {"0 0 1,15 * *", 2},
        {"0 0 29 2 *", 0},
        {"0 0 * * 0", 4},
        {"0 0 * * 7", 4},
        {"0 0 * * 5-7", 12},
        {"0 0 * * sun,0,7", 4},
        {"0 0 13 * 5", 4},  // either: the Fridays 6, 13, 20 and 27, of which one is the 13th
        {"0 0 1 * 5", 5},   // the 1st, and four Fridays
        {"0 0 */2 * 5", 2}, // a field that begins with *, so both: the odd Fridays 13 and 27
        {"  0   0 * *\t*  ", 28},
    };
    for (size_t i = 0; i < sizeof february / sizeof *february; i++) {
        int64_t starts = february[i].starts;
        int64_t got = count(february[i].text, "2026-02-01", "2026-03-01");
        if (got != starts)
            fail_msg("%s: %lld, not %lld", february[i].text, (long long)got, (long long)starts);
    }
    assert_int_equal(count("0 0 29 2 *", "2024-01-01", "2028-01-01"), 1);
    assert_int_equal(count("0 0 29 2 *", "1896-03-01", "1904-02-28"), 0); // 1900 had none
    // Berlin's summer time moves nothing: schedules are in UTC.
    setenv("TZ", "Europe/Berlin", 1);
    assert_int_equal(count("30 2 * * *", "2026-03-01", "2026-04-01"), 31);
    unsetenv("TZ");
}

TEST(averages)
{
    const struct {
        const char *text;
        int64_t starts, gap_s;
    } cases[] = {
        {"0 */4 * * *", 146097 * 6, 4 * 3600},
        {"@hourly", 146097 * 24, 3600},
        {"@weekly", 146097 / 7, 7 * 86400},
        {"@monthly", 4800, 28 * 86400},
        {"@yearly", 400, 365 * 86400},
        {"0 0 29 2 *", 97, 4 * 365 * 86400 + 86400},
        {"0 0 30 2 *", 0, 0},
        {"*/7 * * * *", INT64_C(146097) * 24 * 9, 4 * 60}, // from 56 to the next hour
        {"0 23,1 * * *", 146097 * 2, 2 * 3600},            // over midnight
        {"0 23,1 * * 1", 146097 / 7 * 2, 22 * 3600},
        {"59 23 31 12 *", 400, 365 * 86400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crontab tab;
        struct err err = {0};
        assert_ok(crontab_parse(&tab, cases[i].text, &err), &err);
        assert_int_equal(crontab_cycle(&tab), cases[i].starts);
        assert_int_equal(crontab_gap_s(&tab), cases[i].gap_s);
    }
}

TEST(refused)
{
    const struct {
        const char *text, *error;
    } cases[] = {
        {"", "'' has 0 fields; a schedule has five"},
        {"0 0 * *", "'0 0 * *' has 4 fields; a schedule has five"},
        {"0 0 * * * *", "'0 0 * * * *' has 6 fields; a schedule has five"},
        {"@reboot", "'@reboot' is not a schedule"},
        {"60 0 * * *", "the minute '60' is out of range"},
        {"0 24 * * *", "the hour '24' is out of range"},
        {"0 0 0 * *", "the day of the month '0' is out of range"},
        {"0 0 32 * *", "the day of the month '32' is out of range"},
        {"0 0 * 13 *", "the month '13' is out of range"},
        {"0 0 * * 8", "the day of the week '8' is out of range"},
        {"0 0 * * mo", "the day of the week 'mo' is not a number, a range, a list or '*'"},
        {"0 0 * * monday", "the day of the week 'monday' is not a number, a range, a list or '*'"},
        {"5-1 0 * * *", "the minute '5-1' has a range that ends before it begins"},
        {"0 0 * * sat-sun", "the day of the week 'sat-sun' has a range that ends before it begins"},
        {"*/0 0 * * *", "the minute '*/0' has a step that is not a number above 0"},
        {"*/ 0 * * *", "the minute '*/' has a step that is not a number above 0"},
        {"*/-1 0 * * *", "the minute '*/-1' has a step that is not a number above 0"},
        {"1,,2 0 * * *", "the minute '1,,2' is not a number, a range, a list or '*'"},
        {"1, 0 * * *", "the minute '1,' is not a number, a range, a list or '*'"},
        {"1- 0 * * *", "the minute '1-' has a range without an end"},
        {"99999999999 0 * * *", "the minute '99999999999' is not a number, a range, a list or '*'"},
        {"0 0 L * *", "the day of the month 'L' is not a number, a range, a list or '*'"},
        {"0 0 ? * *", "the day of the month '?' is not a number, a range, a list or '*'"},
        {"0 0 * * 5#3", "the day of the week '5#3' is not a number, a range, a list or '*'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crontab tab;
        struct err err = {0};
        assert_int_equal(crontab_parse(&tab, cases[i].text, &err), ERR_FORMAT);
        assert_string_equal(err.text, cases[i].error);
    }
    char longest[512];
    memset(longest, '1', sizeof longest);
    memcpy(longest + 400, " * * * *", 9);
    struct crontab tab;
    struct err err = {0};
    assert_int_equal(crontab_parse(&tab, longest, &err), ERR_FORMAT);
}

// A line is "FROM TO EXPRESSION", in days since 1970.
static int answer_lines(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        struct crontab tab;
        struct err err = {0};
        char *rest;
        int64_t from = strtoll(line, &rest, 10), to = strtoll(rest, &rest, 10);
        rest[strcspn(rest, "\n")] = '\0';
        if (crontab_parse(&tab, rest + 1, &err) != 0)
            printf("error %s\n", err.text);
        else
            printf("%lld %lld\n", (long long)crontab_count(&tab, from, to),
                   (long long)crontab_gap_s(&tab));
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
