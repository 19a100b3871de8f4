// SPDX-License-Identifier: Apache-2.0
// money: the end of bare `fare`: for each workload sampled here the time and power of its whole
// training, and the cheapest rented machines, measured or estimated.
#ifndef FARE_CMD_MONEY_H
#define FARE_CMD_MONEY_H

#include "cmd/out.h"
#include "market/power.h"
#include "record/bill.h"
#include "record/run.h"

// Fills report->quotes: one for each run whose whole training is known. `ledger` as in ledger.h;
// `currency` (optional) is shown beside USD.
int money_make(struct report *report, const char *ledger, const char *currency,
               struct err *err) MUST_USE;

// `power`: as the user gave it.
void money_show(struct out *out, const struct report *report, const struct power_given *power);

#endif
