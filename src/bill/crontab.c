// SPDX-License-Identifier: Apache-2.0
#include "bill/crontab.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"

enum { DAY_MINUTES = 1440, FIELDS = 5, FIELD_MAX = 128 };
#define DAY_S INT64_C(86400)

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct kind {
    const char *name;
    int low, high;
    const char *const *names; // of low, low + 1, ...
} kinds[FIELDS] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of the month", 1, 31, NULL},
    {"month", 1, 12, months},
    {"day of the week", 0, 7, weekdays},
};

// ---- reading

static int wrong(const struct kind *kind, const char *field, const char *why, struct err *err)
{
    err_set(err, ERR_FORMAT, "the %s '%.40s' %s", kind->name, field, why);
    return err_hint(err, "five fields: minute hour day month weekday, such as '0 */4 * * *' or "
                         "'30 8 * * mon-fri'");
}

static bool take_value(const struct kind *kind, const char **p, int *value)
{
    if (isdigit((unsigned char)**p)) {
        *value = 0;
        for (int digits = 0; isdigit((unsigned char)**p); (*p)++) {
            if (++digits > 4)
                return false;
            *value = *value * 10 + (**p - '0');
        }
        return true;
    }
    for (int i = 0; kind->names && kind->names[i]; i++)
        if (strncasecmp(*p, kind->names[i], 3) == 0) {
            *p += 3;
            *value = kind->low + i;
            return true;
        }
    return false;
}

// One item of a list: "*", "5" or "1-10", with or without "/2".
static const char *take_item(const struct kind *kind, const char **p, uint64_t *bits)
{
    int from = kind->low, to = kind->high, step = 1;
    bool single = false;
    if (kind->names == weekdays)
        to = 6; // 7 is Sunday too
    if (**p == '*') {
        (*p)++;
    } else {
        if (!take_value(kind, p, &from))
            return "is not a number, a range, a list or '*'";
        single = **p != '-';
        if (!single) {
            (*p)++;
            if (!take_value(kind, p, &to))
                return "has a range without an end";
        }
    }
    if (**p == '/') {
        (*p)++;
        if (!isdigit((unsigned char)**p) || !take_value(kind, p, &step) || step == 0)
            return "has a step that is not a number above 0";
    } else if (single) {
        to = from;
    }
    if (from < kind->low || from > kind->high || to > kind->high)
        return "is out of range";
    if (from > to && !(single && from == 7))
        return "has a range that ends before it begins";
    for (int v = from; v <= to || v == from; v += step)
        *bits |= UINT64_C(1) << (kind->names == weekdays ? v % 7 : v);
    return NULL;
}

static int read_field(const struct kind *kind, const char *field, uint64_t *bits, struct err *err)
{
    const char *p = field;
    *bits = 0;
    do {
        const char *why = take_item(kind, &p, bits);
        if (why)
            return wrong(kind, field, why, err);
    } while (*p == ',' && p++);
    return *p ? wrong(kind, field, "is not a number, a range, a list or '*'", err) : 0;
}

static const char *of_word(const char *text)
{
    static const struct {
        const char *word, *means;
    } words[] = {{"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
                 {"@weekly", "0 0 * * 0"},  {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
                 {"@annually", "0 0 1 1 *"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i].word) == 0)
            return words[i].means;
    return NULL;
}

static int split(const char *text, char fields[FIELDS][FIELD_MAX], struct err *err)
{
    int count = 0;
    for (const char *p = text + strspn(text, " \t"); *p; count++) {
        size_t len = strcspn(p, " \t");
        if (count < FIELDS && len < FIELD_MAX) {
            memcpy(fields[count], p, len);
            fields[count][len] = '\0';
        } else if (count < FIELDS) {
            return err_set(err, ERR_FORMAT, "a field of the schedule has over %d characters",
                           FIELD_MAX - 1);
        }
        p += len;
        p += strspn(p, " \t");
    }
    if (count == FIELDS)
        return 0;
    err_set(err, ERR_FORMAT, "'%.60s' has %d fields; a schedule has five", text, count);
    return err_hint(err, "minute hour day month weekday, such as '0 */4 * * *', or @hourly, "
                         "@daily, @weekly, @monthly, @yearly");
}

int crontab_parse(struct crontab *tab, const char *text, struct err *err)
{
    char fields[FIELDS][FIELD_MAX];
    uint64_t bits[FIELDS];
    text += strspn(text, " \t");
    if (text[0] == '@') {
        const char *means = of_word(text);
        if (!means) {
            err_set(err, ERR_FORMAT, "'%.40s' is not a schedule", text);
            return err_hint(err,
                            "use five fields, or @hourly, @daily, @midnight, @weekly, @monthly, "
                            "@yearly or @annually");
        }
        text = means;
    }
    TRY(split(text, fields, err));
    for (int i = 0; i < FIELDS; i++)
        TRY(read_field(&kinds[i], fields[i], &bits[i], err));
    *tab = (struct crontab){
        .minutes = bits[0],
        .hours = (uint32_t)bits[1],
        .days = (uint32_t)bits[2],
        .months = (uint32_t)bits[3],
        .weekdays = (uint32_t)bits[4],
        .any_day = fields[2][0] == '*',
        .any_weekday = fields[4][0] == '*',
    };
    return 0;
}

// ---- counting

struct date {
    int year, month, day, weekday; // Sunday is 0
};

static bool date_of(int64_t day, struct date *date)
{
    char iso[CLOCK_ISO_BYTES];
    clock_iso(day * DAY_S, iso);
    if (!iso[0])
        return false;
    date->year = (int)strtol(iso, NULL, 10);
    date->month = (int)strtol(iso + 5, NULL, 10);
    date->day = (int)strtol(iso + 8, NULL, 10);
    date->weekday = (int)(((day + 4) % 7 + 7) % 7); // 1970-01-01 was a Thursday
    return true;
}

static int month_length(const struct date *date)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int y = date->year;
    bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    return lengths[date->month - 1] + (date->month == 2 && leap);
}

// Days from `date` to the end of its month, but not more than `most`.
static int days_left(const struct date *date, int64_t most)
{
    int days = month_length(date) - date->day + 1;
    return days < most ? days : (int)most;
}

// The first of the next month.
static void next_month(struct date *date)
{
    date->weekday = (date->weekday + days_left(date, 31)) % 7;
    date->day = 1;
    date->year += date->month == 12;
    date->month = date->month % 12 + 1;
}

// The matching ones of `days` days of one month, a bit each; the lowest is `date`.
static uint32_t matching(const struct crontab *tab, const struct date *date, int days)
{
    const uint64_t weeks = UINT64_C(0x810204081); // a bit every seven: repeats a week six times
    if (!(tab->months >> date->month & 1))
        return 0;
    uint64_t by_weekday = (uint64_t)tab->weekdays * weeks >> date->weekday;
    uint64_t by_day = tab->days >> date->day, within = (UINT64_C(1) << days) - 1;
    bool either = !tab->any_day && !tab->any_weekday;
    return (uint32_t)((either ? by_day | by_weekday : by_day & by_weekday) & within);
}

int64_t crontab_count(const struct crontab *tab, int64_t from_day, int64_t to_day)
{
    struct date date;
    int64_t count = 0;
    if (!date_of(from_day, &date))
        return 0;
    for (int64_t day = from_day; day < to_day; next_month(&date)) {
        int days = days_left(&date, to_day - day);
        count += __builtin_popcount(matching(tab, &date, days));
        day += days;
    }
    return count * __builtin_popcountll(tab->minutes) * __builtin_popcount(tab->hours);
}

int64_t crontab_cycle(const struct crontab *tab)
{
    return crontab_count(tab, 0, CRONTAB_CYCLE_DAYS);
}

// The fewest days from one matching day to the next; 0 if there are fewer than two.
static int64_t days_apart(const struct crontab *tab)
{
    // Every two years that can follow each other do so within 28; where weekdays do not count, two
    // leap years come within 7.
    const int64_t end = (tab->any_weekday ? 9 : 30) * 366;
    struct date date;
    int64_t before = -1, apart = 0;
    if (!date_of(0, &date))
        return 0;
    for (int64_t day = 0; day < end && apart != 1; next_month(&date)) {
        int days = days_left(&date, end - day);
        for (uint32_t left = matching(tab, &date, days); left; left &= left - 1) {
            int64_t now = day + __builtin_ctz(left);
            if (before >= 0 && (apart == 0 || now - before < apart))
                apart = now - before;
            before = now;
        }
        day += days;
    }
    return apart;
}

int64_t crontab_gap_s(const struct crontab *tab)
{
    int first = -1, last = -1, within = 0;
    for (uint32_t hours = tab->hours; hours; hours &= hours - 1)
        for (uint64_t minutes = tab->minutes; minutes; minutes &= minutes - 1) {
            int m = __builtin_ctz(hours) * 60 + __builtin_ctzll(minutes);
            if (last >= 0 && (within == 0 || m - last < within))
                within = m - last;
            first = first < 0 ? m : first;
            last = m;
        }
    int64_t days = days_apart(tab);
    if (days == 0)
        return 0;
    int64_t over = days * DAY_MINUTES - last + first; // midnight
    return (within > 0 && within < over ? within : over) * 60;
}
