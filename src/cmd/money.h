// SPDX-License-Identifier: Apache-2.0
// money: the end of bare `fare`: for each workload sampled here the time and power of its whole
// training, and the cheapest rented machines, measured or estimated.
#ifndef FARE_CMD_MONEY_H
#define FARE_CMD_MONEY_H

#include "cmd/out.h"
#include "bill/power.h"
#include "record/bill.h"
#include "record/run.h"

// One quote for each run whose whole training is known, with as many bills as the page shows.
struct money {
    struct quote_job *jobs;
    size_t count;
};

// Fills report->quotes too, with the few bills of each that are printed; they stay the jobs'.
// `ledger` may be null; `currency` (optional) is shown beside USD. The caller releases `money`,
// even after a failure, and before the report.
int money_make(struct money *money, struct report *report, struct ledger *ledger,
               struct market *market, const char *currency, struct err *err) MUST_USE;
void money_release(struct money *money, struct report *report);

// `power`: as the user gave it.
void money_show(struct out *out, const struct report *report, struct market *market,
                const struct power_given *power);

#endif
