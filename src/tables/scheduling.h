// SPDX-License-Identifier: Apache-2.0
// scheduling: the cost of starting and stopping a machine on a schedule, besides the machine: disk,
// scheduler rules, function calls, and free quotas. Read from share/scheduling.csv; the user's own
// file of that name has precedence.
#ifndef FARE_TABLES_SCHEDULING_H
#define FARE_TABLES_SCHEDULING_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct scheduling {                       // amounts are nano-USD; -1: unknown
    int64_t disk_rate, free_disk_gb;      // per GB and month
    int64_t rules, rule_rate, free_rules; // number per task; price of each per month
    int64_t function_ms;                  // per start, and again per stop
    int64_t function_rate, function_unit_ms, free_function_ms;
    int64_t fixed_server;      // a small server that is always up, per month
    const char *source;        // with the row's start date; belongs to the table
    int since;                 // that date, in days since 1970
    int64_t disk_stopped_rate; // of a machine that is off; -1: the same
};

#define SCHEDULING_UNKNOWN                                                                         \
    ((struct scheduling){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, NULL, 0, -1})

struct schedulings;

// `shipped` and `own` null: the default files. ERR_FORMAT names the file, line and column.
int schedulings_open(struct schedulings **out, const char *shipped, const char *own,
                     struct err *err) MUST_USE;
void schedulings_close(struct schedulings *schedulings); // null is fine

// The provider's newest row that starts on or before that day (since 1970; 0: today), or else its
// first row; all unknown if there is none.
struct scheduling scheduling_find(const struct schedulings *schedulings, const char *provider,
                                  int day);

#endif
