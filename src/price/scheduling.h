// SPDX-License-Identifier: Apache-2.0
// scheduling: what starting and stopping a machine by the clock costs beside the machine itself:
// its disk, the rules of the scheduler, the functions it calls; and what of that is free.
// share/scheduling.csv, and the user's own file of that name in front of it.
#ifndef FARE_PRICE_SCHEDULING_H
#define FARE_PRICE_SCHEDULING_H

#include <stdint.h>

#include "base/err.h"

struct scheduling {                       // amounts are nano-USD; -1 where nothing is known
    int64_t disk_rate, free_disk_gb;      // a GB and month
    int64_t rules, rule_rate, free_rules; // so many for a task; each a month
    int64_t function_ms;                  // for a start, and again for a stop
    int64_t function_rate, function_unit_ms, free_function_ms;
    int64_t fixed_server;      // a small server that is always up, a month
    char *source;              // with the date from which the row holds; on the heap
    int since;                 // that date, in days since 1970
    int64_t disk_stopped_rate; // of a machine that is off; -1: the same
};

// The provider's newest row that begins on or before that day (since 1970; 0: today), or its first;
// all unknown where there is none. `shipped` and `own` null: the program's and the user's.
int scheduling_find(struct scheduling *out, const char *shipped, const char *own,
                    const char *provider, int day, struct err *err) MUST_USE;
void scheduling_release(struct scheduling *scheduling);

#endif
