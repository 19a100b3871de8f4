// SPDX-License-Identifier: Apache-2.0
// currency: rates by date, from share/currencies.csv and the user's own file of that name.
#ifndef FARE_PRICE_CURRENCY_H
#define FARE_PRICE_CURRENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct currencies;

int currencies_open(struct currencies **out, struct err *err) MUST_USE;
void currencies_close(struct currencies *currencies); // null is fine

// `amount` nano-units of `from` on that day in nano-USD, rounded once, half to even. `*rate` and
// `*source` (both optional) say what was used; a rate that is derived or old is said in `source`.
// ERR_MISSING for a currency that is not listed.
int currency_to_usd(const struct currencies *currencies, const char *from, int day, int64_t amount,
                    int64_t *usd, int64_t *rate, const char **source, struct err *err) MUST_USE;

#endif
