// SPDX-License-Identifier: Apache-2.0
// crontab: when and how often a task starts, by the five fields of cron.
//
// minute hour day-of-month month day-of-week, with lists (1,15), ranges (mon-fri), steps (*/4,
// 10-50/20, 5/15: from 5 on), names of months and days, Sunday as 0 or 7, and @hourly, @daily,
// @midnight, @weekly, @monthly, @yearly, @annually. If both day fields are restricted, a day
// that matches either counts; a field that begins with * is not restricted. All times are UTC.
#ifndef FARE_BILL_CRONTAB_H
#define FARE_BILL_CRONTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct crontab { // a bit for each value
    uint64_t minutes;
    uint32_t hours, days, months, weekdays; // days from bit 1, months from bit 1, Sunday is bit 0
    bool any_day, any_weekday;
};

// ERR_FORMAT names the field and its fault.
int crontab_parse(struct crontab *tab, const char *text, struct err *err) MUST_USE;

// Starts from `from_day` up to, not including, `to_day`, in days since 1970; 0 outside the years 1
// to 9999.
int64_t crontab_count(const struct crontab *tab, int64_t from_day, int64_t to_day);

// Starts in 146097 days (400 years), after which the calendar repeats: for averages.
#define CRONTAB_CYCLE_DAYS INT64_C(146097)
int64_t crontab_cycle(const struct crontab *tab);

// The shortest time between two starts; 0 if there are fewer than two.
int64_t crontab_gap_s(const struct crontab *tab);

#endif
