// SPDX-License-Identifier: Apache-2.0
// cron: the monthly cost of a scheduled task on a machine that is up only while it works, as a
// record: the offer, its priced rule, the bill line by line, and machines that are always up.
#ifndef FARE_BILL_CRON_H
#define FARE_BILL_CRON_H

#include "bill/crontab.h"
#include "bill/power.h"
#include "tables/extras.h"
#include "record/run.h"
#include "record/schedule.h"

struct cron_ask {
    const char *schedule;  // as the user wrote it
    const char *time_zone; // (optional) of the schedule; months are counted in UTC
    struct crontab tab;
    int64_t up_ns;
    const struct run *run; // (optional) gives the up-time, instead of `up_ns`
    const char *offer;     // PROVIDER/NAME, for spot PROVIDER/NAME:spot
    int64_t rate;          // nano-USD an hour, replaces the book's price; -1: not given
    int day;               // of prices and rules, in days since 1970
    const char *month;     // "2026-02"; null: a month of 30 days
    int64_t month_s;       // its first second; -1 without `month`
    int64_t tasks;
    int64_t disk_gb;
    struct scheduling extras; // given by the user; -1: the provider's, if known
    struct power_given power; // of a machine of the user's own, for comparison
    int64_t idle_mw;          // between the tasks; -1: it is off then
    const char *currency;     // (optional) of the totals, beside USD
};

// ERR_USAGE for a malformed offer, or one that has only a spot price when spot was not asked for;
// ERR_MISSING if the book has no price for it.
int cron_make(struct market *market, const struct cron_ask *ask, struct schedule_record *out,
              struct err *err) MUST_USE;

#endif
