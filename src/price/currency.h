// SPDX-License-Identifier: Apache-2.0
// currency: exchange rates by date: the European Central Bank's (ecb.h), those in
// share/currencies.csv, and the user's own file of that name. A currency in the user's file is
// looked up only there.
//
// The columns of a currencies.csv are date, currency, usd (the value of one unit in USD) and
// source. The rate for a day is the last one on or before it; before the first, the first.
#ifndef FARE_PRICE_CURRENCY_H
#define FARE_PRICE_CURRENCY_H

#include <stdint.h>

#include "base/err.h"

struct currencies;

int currencies_open(struct currencies **out, struct err *err) MUST_USE;
void currencies_close(struct currencies *currencies); // null is fine

// The same from these files alone, without the bank's rates; null or "": none. `own` may be
// missing.
int currencies_read(struct currencies **out, const char *shipped, const char *own,
                    struct err *err) MUST_USE;

// Converts `amount` nano-units of `from` on that day (days since 1970; 0: today) to nano-USD,
// rounded once, half to even. `*rate` (nano-USD per unit) and `*source` are optional. The source
// reads "1.228 USD on 2018-02-01, derived from ...", starts with "OLD: " if it is over 45 days from
// the day, is "" for USD, and belongs to `currencies`. ERR_MISSING for an unlisted currency.
int currency_to_usd(const struct currencies *currencies, const char *from, int day, int64_t amount,
                    int64_t *usd, int64_t *rate, const char **source, struct err *err) MUST_USE;

// ERR_USAGE, with similar names, for a currency without any rate. USD is fine.
int currency_check(const struct currencies *currencies, const char *name, struct err *err) MUST_USE;

// The day of its first rate, in days since 1970; of USD, and of one without any, INT_MIN.
int64_t currency_begins(const struct currencies *currencies, const char *name);

// The other way round: nano-USD to nano-units of `to`.
int currency_from_usd(const struct currencies *currencies, const char *to, int day, int64_t usd,
                      int64_t *amount, const char **source, struct err *err) MUST_USE;

#endif
