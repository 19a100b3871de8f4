// SPDX-License-Identifier: Apache-2.0
#include "fleet/emit_time.h"

#define ALL_DAYS 0xfffffffeU // bits 1 to 31
#define ALL_WEEK 0x7fU

static const char *const week[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
// systemd's week ends with Sunday: it knows Sat..Sun, but not Sun..Mon.
static const char *const week_from_monday[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

enum emit_days emit_days_of(const struct crontab *tab)
{
    bool days = (tab->days & ALL_DAYS) == ALL_DAYS, weekdays = tab->weekdays == ALL_WEEK;
    if (!tab->any_day && !tab->any_weekday)
        return days || weekdays ? EMIT_EVERY_DAY : EMIT_EITHER;
    if (days)
        return weekdays ? EMIT_EVERY_DAY : EMIT_BY_WEEKDAY;
    return weekdays ? EMIT_BY_DAY : EMIT_BOTH;
}

static void put(struct buf *out, int value, const char *const *names)
{
    if (names)
        buf_adds(out, names[value]);
    else
        buf_printf(out, "%d", value);
}

void emit_list(struct buf *out, uint64_t bits, int low, int high, const char *range,
               const char *const *names)
{
    uint64_t all = (UINT64_C(2) << high) - (UINT64_C(1) << low);
    const char *between = "";
    if ((bits & all) == all) {
        buf_addc(out, '*');
        return;
    }
    for (int v = low; v <= high; v++) {
        int last = v;
        if (!(bits >> v & 1))
            continue;
        while (last < high && bits >> (last + 1) & 1)
            last++;
        buf_adds(out, between);
        put(out, v, names);
        if (last > v) {
            buf_adds(out, last > v + 1 ? range : ",");
            put(out, last, names);
        }
        between = ",";
        v = last;
    }
}

void emit_crontab(struct buf *out, const struct crontab *tab)
{
    enum emit_days days = emit_days_of(tab);
    emit_list(out, tab->minutes, 0, 59, "-", NULL);
    buf_addc(out, ' ');
    emit_list(out, tab->hours, 0, 23, "-", NULL);
    buf_addc(out, ' ');
    emit_list(out, days == EMIT_BY_WEEKDAY || days == EMIT_EVERY_DAY ? ALL_DAYS : tab->days, 1, 31,
              "-", NULL);
    buf_addc(out, ' ');
    emit_list(out, tab->months, 1, 12, "-", NULL);
    buf_addc(out, ' ');
    emit_list(out, days == EMIT_BY_DAY || days == EMIT_EVERY_DAY ? ALL_WEEK : tab->weekdays, 0, 6,
              "-", NULL);
}

// ---- systemd

static void on_calendar(struct buf *out, const struct crontab *tab, uint32_t days,
                        uint32_t weekdays, const char *time_zone)
{
    buf_adds(out, "OnCalendar=");
    if (weekdays != ALL_WEEK) {
        emit_list(out, weekdays >> 1 | (weekdays & 1) << 6, 0, 6, "..", week_from_monday);
        buf_addc(out, ' ');
    }
    buf_adds(out, "*-");
    emit_list(out, tab->months, 1, 12, "..", NULL);
    buf_addc(out, '-');
    emit_list(out, days, 1, 31, "..", NULL);
    buf_addc(out, ' ');
    emit_list(out, tab->hours, 0, 23, "..", NULL);
    buf_addc(out, ':');
    emit_list(out, tab->minutes, 0, 59, "..", NULL);
    buf_printf(out, ":00 %s\n", time_zone);
}

void emit_on_calendar(struct buf *out, const struct crontab *tab, const char *time_zone)
{
    switch (emit_days_of(tab)) {
    case EMIT_EITHER:
        on_calendar(out, tab, tab->days, ALL_WEEK, time_zone);
        on_calendar(out, tab, ALL_DAYS, tab->weekdays, time_zone);
        return;
    case EMIT_EVERY_DAY:
        on_calendar(out, tab, ALL_DAYS, ALL_WEEK, time_zone);
        return;
    case EMIT_BY_DAY:
    case EMIT_BY_WEEKDAY:
    case EMIT_BOTH:
        on_calendar(out, tab, tab->days, tab->weekdays, time_zone);
    }
}

// ---- EventBridge Scheduler: one of the two day fields is always '?'

static void eventbridge(struct buf *out, const struct crontab *tab, bool by_weekday)
{
    buf_adds(out, "cron(");
    emit_list(out, tab->minutes, 0, 59, "-", NULL);
    buf_addc(out, ' ');
    emit_list(out, tab->hours, 0, 23, "-", NULL);
    buf_addc(out, ' ');
    if (by_weekday)
        buf_addc(out, '?');
    else
        emit_list(out, emit_days_of(tab) == EMIT_EVERY_DAY ? ALL_DAYS : tab->days, 1, 31, "-",
                  NULL);
    buf_addc(out, ' ');
    emit_list(out, tab->months, 1, 12, "-", NULL);
    buf_addc(out, ' ');
    if (by_weekday)
        emit_list(out, tab->weekdays, 0, 6, "-", week);
    else
        buf_addc(out, '?');
    buf_adds(out, " *)");
}

int emit_eventbridge(struct buf *first, struct buf *second, const struct crontab *tab,
                     struct err *err)
{
    enum emit_days days = emit_days_of(tab);
    if (days == EMIT_BOTH) {
        err_set(err, ERR_USAGE, "EventBridge has no schedule for days that match both day fields");
        return err_hint(err, "restrict the day of the month or the day of the week, not both");
    }
    eventbridge(first, tab, days == EMIT_BY_WEEKDAY);
    if (days == EMIT_EITHER)
        eventbridge(second, tab, true);
    return 0;
}
