// SPDX-License-Identifier: Apache-2.0
// Shared by the files of advice, and private to them.
#ifndef FARE_ADVISE_ADVICE_PARTS_H
#define FARE_ADVISE_ADVICE_PARTS_H

#include "advise/advice.h"

void advice_add_time(struct buf *out, double seconds);
void advice_add_money(struct buf *out, int64_t nano);    // "2500.00 USD"
const char *advice_machine(const struct quote_ask *ask); // of the first run; null: unknown
bool advice_is_own(const struct bill *bill);             // a bought machine

// Estimates count with the end of their interval.
double advice_counted_s(const struct bill *bill);

// The most it may cost. Nothing is cheap by an assumed rule alone.
int64_t advice_dearest(const struct bill *bill);

// The ends of an estimated training time as shares of it; 1 and 1: it is not estimated.
void advice_spread(const struct bill *bill, double *low, double *high);

// Several runs, and use by the month, as far as asked for (advice_runs.c).
int advice_several(const struct quote_ask *ask, const struct advice_wishes *wishes,
                   struct quote *quote, struct err *err) MUST_USE;

// Electricity on the machine of the run asked for, and rent or buy (advice_buy.c).
int advice_power(const struct quote_ask *ask, const struct advice_wishes *wishes,
                 struct quote *quote, struct err *err) MUST_USE;
int advice_buy(const struct quote_ask *ask, const struct advice_wishes *wishes, struct quote *quote,
               struct err *err) MUST_USE;

#endif
