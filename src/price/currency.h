// SPDX-License-Identifier: Apache-2.0
// currency: rates by date, from share/currencies.csv and the user's own file of that name, which
// comes in front: a currency that it lists is looked up there alone.
//
// The columns are date, currency, usd (how many USD one unit is worth) and source. The rate of a
// day is the last one on or before it; before the first, the first.
#ifndef FARE_PRICE_CURRENCY_H
#define FARE_PRICE_CURRENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct currencies;

int currencies_open(struct currencies **out, struct err *err) MUST_USE;
void currencies_close(struct currencies *currencies); // null is fine

// The same from these files; null or "": none, and the second may be absent.
int currencies_read(struct currencies **out, const char *shipped, const char *own,
                    struct err *err) MUST_USE;

// `amount` nano-units of `from` on that day (days since 1970; 0: today) in nano-USD, rounded once,
// half to even. `*rate` (nano-USD for one unit) and `*source`, both optional, say what was used:
// "1.228 USD on 2018-02-01, derived from ..."; one that is over 45 days from the day begins with
// "OLD: ". It belongs to `currencies`. For USD the source is "". ERR_MISSING for a currency that is
// not listed.
int currency_to_usd(const struct currencies *currencies, const char *from, int day, int64_t amount,
                    int64_t *usd, int64_t *rate, const char **source, struct err *err) MUST_USE;

#endif
