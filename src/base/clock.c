// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_S     INT64_C(86400)
#define DAYS_400Y 146097 // the Gregorian calendar repeats every 400 years
#define DAYS_100Y 36524
#define DAYS_4Y   1461
#define EPOCH_DAY 719162                              // days from 0001-01-01 to 1970-01-01
#define FIRST_S   (-EPOCH_DAY * DAY_S)                // 0001-01-01T00:00:00Z
#define LAST_S    ((3652059 - EPOCH_DAY) * DAY_S - 1) // 9999-12-31T23:59:59Z

int64_t clock_now_ns(void)
{
    struct timespec now;
    int rc = clock_gettime(CLOCK_MONOTONIC, &now);
    assert(rc == 0); // every Linux has this clock
    (void)rc;
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_thread_ns(void)
{
    struct timespec now;
    int rc = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    assert(rc == 0);
    (void)rc;
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static struct {
    pthread_once_t once;
    bool set;
    int64_t date_s;
} pinned = {.once = PTHREAD_ONCE_INIT};

static void read_pinned(void)
{
    const char *text = getenv("FARE_TEST_NOW");
    pinned.set = text && clock_parse(text, &pinned.date_s);
}

int64_t clock_date_s(void)
{
    pthread_once(&pinned.once, read_pinned);
    if (pinned.set)
        return pinned.date_s;
    struct timespec now;
    int rc = clock_gettime(CLOCK_REALTIME, &now);
    assert(rc == 0);
    (void)rc;
    return now.tv_sec;
}

void clock_sleep_ns(int64_t ns)
{
    if (ns <= 0)
        return;
    int64_t until_ns;
    if (__builtin_add_overflow(clock_now_ns(), ns, &until_ns))
        until_ns = INT64_MAX;
    // An absolute time, so that interruptions do not add up.
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

// `month` is 1 to 12.
static int days_in_month(int year, int month)
{
    static const signed char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

// Days since 0001-01-01.
static int day_of_date(int year, int month, int day)
{
    int before = year - 1;
    int days = before * 365 + before / 4 - before / 100 + before / 400;
    for (int m = 1; m < month; m++)
        days += days_in_month(year, m);
    return days + day - 1;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void date_of_day(int days, int *year, int *month, int *day)
{
    // The last year of a 400-year and of a 4-year round is a day longer than the others, so a
    // plain division would count that day as a further century or year: hence the minimum.
    int rounds = days / DAYS_400Y;
    days %= DAYS_400Y;
    int centuries = least(days / DAYS_100Y, 3);
    days -= centuries * DAYS_100Y;
    int fours = days / DAYS_4Y;
    days %= DAYS_4Y;
    int years = least(days / 365, 3);
    days -= years * 365;

    *year = rounds * 400 + centuries * 100 + fours * 4 + years + 1;
    *month = 1;
    while (days >= days_in_month(*year, *month))
        days -= days_in_month(*year, (*month)++);
    *day = days + 1;
}

bool clock_month(int64_t date_s, int months, int64_t *first_s)
{
    if (date_s < FIRST_S || date_s > LAST_S || months < -120000 || months > 120000)
        return false;
    int year, month, day;
    date_of_day((int)((date_s - FIRST_S) / DAY_S), &year, &month, &day);
    int count = year * 12 + month - 1 + months; // since the year 0
    if (count < 12 || count >= 10000 * 12)
        return false;
    *first_s = FIRST_S + (int64_t)day_of_date(count / 12, count % 12 + 1, 1) * DAY_S;
    return true;
}

void clock_iso(int64_t date_s, char out[CLOCK_ISO_BYTES])
{
    out[0] = '\0';
    if (date_s < FIRST_S || date_s > LAST_S)
        return;
    int64_t since = date_s - FIRST_S; // never negative, so division rounds the right way
    int year, month, day;
    date_of_day((int)(since / DAY_S), &year, &month, &day);
    int second = (int)(since % DAY_S);
    const int parts[] = {year / 100,    year % 100,       month,      day,
                         second / 3600, second / 60 % 60, second % 60};
    static const char after[] = {0, '-', '-', 'T', ':', ':', 'Z'};
    for (size_t i = 0; i < sizeof after; i++) {
        *out++ = (char)('0' + parts[i] / 10);
        *out++ = (char)('0' + parts[i] % 10);
        if (after[i])
            *out++ = after[i];
    }
    *out = '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Exactly `count` digits that give a number from `low` to `high`.
static bool take_number(const char **p, int count, int low, int high, int *out)
{
    int value = 0;
    for (; count > 0; count--, (*p)++) {
        if (!is_digit(**p))
            return false;
        value = value * 10 + (**p - '0');
    }
    *out = value;
    return value >= low && value <= high;
}

static bool take_char(const char **p, char c)
{
    if (**p != c)
        return false;
    (*p)++;
    return true;
}

// "Z", "+02:00" or "-05:30", as seconds to subtract.
static bool take_zone(const char **p, int *offset_s)
{
    *offset_s = 0;
    if (take_char(p, 'Z'))
        return true;
    bool west = **p == '-';
    if (!west && **p != '+')
        return false;
    (*p)++;
    int hour, minute;
    if (!take_number(p, 2, 0, 23, &hour) || !take_char(p, ':') ||
        !take_number(p, 2, 0, 59, &minute))
        return false;
    *offset_s = (hour * 3600 + minute * 60) * (west ? -1 : 1);
    return true;
}

static bool take_time(const char **p, int *second_s)
{
    int hour, minute, second, offset_s;
    if (!take_number(p, 2, 0, 23, &hour) || !take_char(p, ':') ||
        !take_number(p, 2, 0, 59, &minute) || !take_char(p, ':') ||
        !take_number(p, 2, 0, 59, &second))
        return false;
    if (take_char(p, '.')) {
        if (!is_digit(**p))
            return false;
        while (is_digit(**p))
            (*p)++;
    }
    if (!take_zone(p, &offset_s))
        return false;
    *second_s = hour * 3600 + minute * 60 + second - offset_s;
    return true;
}

bool clock_parse(const char *text, int64_t *date_s)
{
    const char *p = text;
    int year, month, day, second_s = 0;
    if (!take_number(&p, 4, 1, 9999, &year) || !take_char(&p, '-') ||
        !take_number(&p, 2, 1, 12, &month) || !take_char(&p, '-') ||
        !take_number(&p, 2, 1, days_in_month(year, month), &day))
        return false;
    if (take_char(&p, 'T') && !take_time(&p, &second_s))
        return false;
    if (*p != '\0')
        return false;
    int64_t result = FIRST_S + day_of_date(year, month, day) * DAY_S + second_s;
    if (result < FIRST_S || result > LAST_S) // an offset can lead out of the years we can write
        return false;
    *date_s = result;
    return true;
}

// Rounds half up; `ns` is not near the end of its range.
static uint64_t in_units(uint64_t ns, uint64_t unit)
{
    return (ns + unit / 2) / unit;
}

void clock_words(int64_t ns, char *out, size_t size)
{
    const char *sign = ns < 0 ? "-" : "";
    uint64_t all = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    const uint64_t s = NS_PER_S;
    uint64_t n;
    // Each unit is tried on the rounded figure: 59.96 s is "1 min 00 s", never "60.0 s".
    if (all == 0)
        snprintf(out, size, "0 s");
    else if (all < 1000)
        snprintf(out, size, "%s%" PRIu64 " ns", sign, all);
    else if ((n = in_units(all, 1000)) < 1000)
        snprintf(out, size, "%s%" PRIu64 " us", sign, n);
    else if ((n = in_units(all, 1000000)) < 1000)
        snprintf(out, size, "%s%" PRIu64 " ms", sign, n);
    else if ((n = in_units(all, s / 10)) < 600)
        snprintf(out, size, "%s%" PRIu64 ".%" PRIu64 " s", sign, n / 10, n % 10);
    else if ((n = in_units(all, s)) < 3600)
        snprintf(out, size, "%s%" PRIu64 " min %02" PRIu64 " s", sign, n / 60, n % 60);
    else if ((n = in_units(all, 60 * s)) < 24 * 60)
        snprintf(out, size, "%s%" PRIu64 " h %02" PRIu64 " min", sign, n / 60, n % 60);
    else {
        n = in_units(all, 3600 * s);
        snprintf(out, size, "%s%" PRIu64 " d %02" PRIu64 " h", sign, n / 24, n % 24);
    }
}

static bool unit_of(const char *text, size_t len, int64_t *unit_ns)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {
        {"", NS_PER_S},          {"ms", NS_PER_MS},           {"s", NS_PER_S},
        {"m", 60 * NS_PER_S},    {"min", 60 * NS_PER_S},      {"h", 3600 * NS_PER_S},
        {"d", DAY_S * NS_PER_S}, {"w", 7 * DAY_S * NS_PER_S},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i].name) == len && memcmp(text, units[i].name, len) == 0) {
            *unit_ns = units[i].ns;
            return true;
        }
    }
    return false;
}

// One figure with its unit, such as the "1.5h" of "1.5h30m"; returns what follows, or null.
static const char *parse_part(const char *text, __int128 *ns, int64_t *unit_ns)
{
    const char *digits = text;
    // The figure without its point and the power of ten that the point stands for. 15 digits
    // are more than anybody means, and times a week in nanoseconds they still fit 128 bits.
    int64_t figure = 0, scale = 1;
    int count = 0;
    bool point = false;
    for (; is_digit(*text) || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        if (++count > 15)
            return NULL;
        figure = figure * 10 + (*text - '0');
        scale *= point ? 10 : 1;
    }
    size_t len = strcspn(text, "0123456789.");
    if (count == 0 || (text > digits && text[-1] == '.') || !unit_of(text, len, unit_ns))
        return NULL;
    *ns = (__int128)figure * *unit_ns / scale;
    return text + len;
}

bool clock_parse_duration(const char *text, int64_t *ns)
{
    const int64_t longest_ns = 36525 * DAY_S * NS_PER_S; // 100 years with their leap days
    __int128 sum = 0, part;
    int64_t unit_ns, last_ns = INT64_MAX;
    bool first = true;
    do {
        const char *rest = parse_part(text, &part, &unit_ns);
        bool bare = rest && (rest == text || is_digit(rest[-1]));
        if (!rest || unit_ns >= last_ns || (bare && !first))
            return false;
        sum += part;
        if (sum > longest_ns)
            return false;
        last_ns = unit_ns;
        first = false;
        text = rest;
    } while (*text);
    *ns = (int64_t)sum;
    return true;
}
