// SPDX-License-Identifier: Apache-2.0
// schedule: the monthly cost of scheduled tasks, each on a machine that is up only while it works,
// and of machines that are always up, for comparison.
//
// Amounts are nano-USD. A month is a given calendar month; or 30 days with the average number of
// starts; or, if the schedule names days of the month, the average calendar month.
#ifndef FARE_BILL_SCHEDULE_H
#define FARE_BILL_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "bill/crontab.h"
#include "bill/market.h"
#include "tables/extras.h"

struct schedule {
    struct crontab tab;
    int64_t up_ns;   // each time
    int64_t month_s; // the first second of a calendar month; -1: an average month
    struct priced priced;
    int64_t disk_gb; // of each machine, all month long; 0: none
    // Costs besides the machine; members below zero are unknown.
    struct scheduling extras;
};

struct schedule_line {
    bool known;
    int64_t price, free_price; // without and with the free allowances
};

struct schedule_bill {         // a month's
    int64_t starts, starts_in; // of one task: `starts` in `starts_in` months, so that it is exact
    int64_t up_ns;             // charged for each, on average
    bool by_day;               // the spot price changed in the month: each at that of its day
    struct schedule_line machine, fees, disk, rules, functions, discount, total;
};

// The bill of `tasks` tasks, each with its own machine, disk, rules and functions; they share the
// allowances. ERR_USAGE if a task starts again before it has ended.
int schedule_bill(const struct schedule *schedule, int64_t tasks, struct schedule_bill *bill,
                  struct err *err) MUST_USE;

// The same machine, always up, with one disk: 730 h, as price lists count a month, or the calendar
// month.
#define SCHEDULE_MONTH_H 730
int schedule_always(const struct schedule *schedule, struct schedule_line *line,
                    struct err *err) MUST_USE;

// How many tasks one machine can run one after the other before the first starts again.
int64_t schedule_capacity(const struct schedule *schedule);

// The fewest tasks that cost more than `price`, the price of one machine for all of them; -1: not
// even as many as that machine can run.
int schedule_break_even(const struct schedule *schedule, int64_t price, bool with_free,
                        int64_t *tasks, struct err *err) MUST_USE;

#endif
