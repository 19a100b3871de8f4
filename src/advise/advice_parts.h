// SPDX-License-Identifier: Apache-2.0
// Shared by the files of advice, and private to them.
#ifndef FARE_ADVISE_ADVICE_PARTS_H
#define FARE_ADVISE_ADVICE_PARTS_H

#include "advise/advice.h"

void advice_add_time(struct buf *out, double seconds);
void advice_add_money(struct buf *out, int64_t nano);    // "2500.00 USD"
const char *advice_machine(const struct quote_ask *ask); // of the first run; null: unknown
bool advice_is_own(const struct bill *bill);             // a bought machine

// "aws/g5.xlarge@us-east-1, 0.52 USD (0.51-0.53) in 31 min, estimated ±20 %", and whose time it is
// if not that of the run asked for.
void advice_add_bill(struct buf *out, const struct bill *bill);
// "at a price 30 days OLD": with every figure that is made from such a price.
void advice_add_age(struct buf *out, const struct bill *bill, const char *before,
                    const char *after);
void advice_add_whose(struct buf *out, const struct quote *quote, const struct bill *bill);
void advice_add_machine(struct buf *out,
                        const struct quote_ask *ask); // "the machine measured (k80)"

// The same of a lower bound, and why it is one.
void advice_add_bound(struct buf *out, const struct quote *quote, const char *before,
                      const struct bill *bill);

// Deadline and budget (advice_limits.c): the marks of bills, and a sentence each.
int advice_mark(const struct advice_wishes *wishes, struct quote *quote, struct err *err) MUST_USE;
int advice_say_deadline(const struct quote_ask *ask, const struct advice_wishes *wishes,
                        struct quote *quote, struct err *err) MUST_USE;
int advice_say_budget(const struct advice_wishes *wishes, struct quote *quote,
                      struct err *err) MUST_USE;

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
