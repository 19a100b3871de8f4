// SPDX-License-Identifier: Apache-2.0
// crontab: when a task starts: the five fields of cron, and how often that is.
//
// minute hour day-of-month month day-of-week, with lists (1,15), ranges (mon-fri), steps (*/4,
// 10-50/20, 5/15: from 5 on), names of months and days, Sunday as 0 or 7, and @hourly, @daily,
// @midnight, @weekly, @monthly, @yearly, @annually. Where both day fields are restricted, a day
// that fits either counts; a field that begins with * is not restricted. All times are UTC.
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

// ERR_FORMAT says which field and what is wrong with it.
int crontab_parse(struct crontab *tab, const char *text, struct err *err) MUST_USE;

// Starts from one day to before another, both since 1970; 0 outside the years 1 to 9999.
int64_t crontab_count(const struct crontab *tab, int64_t from_day, int64_t to_day);

// How often on average: starts in the 146097 days, 400 years, after which the calendar repeats.
#define CRONTAB_CYCLE_DAYS INT64_C(146097)
int64_t crontab_cycle(const struct crontab *tab);

// The shortest time between two starts; 0 where there are not two.
int64_t crontab_gap_s(const struct crontab *tab);

#endif
