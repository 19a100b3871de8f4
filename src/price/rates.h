// SPDX-License-Identifier: Apache-2.0
// rates: what a user pays instead of the list price: negotiated rates, discounts, credits.
// rates.csv in the configuration folder, with the columns provider, offer, discount_percent,
// credit, rate, currency, from, to; a field may be empty.
//
// `offer` is the provider's name for it, with ":spot" behind for spot ("p4d.24xlarge:spot");
// "p4d.*" is all that begin so, spot too; empty is all of the provider's. `rate` is for an hour of
// the whole machine, `currency` that of `rate` and `credit` (empty: USD), `from` the first date on
// which it holds, `to` the first on which it does not any more: of a credit, when it expires.
#ifndef FARE_PRICE_RATES_H
#define FARE_PRICE_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct rates_row {
    const char *provider, *offer; // belong to the table
    const char *currency;
    int64_t discount_permille; // 0: none
    int64_t credit;            // nano-units; 0: none. See rates_credit()
    int64_t rate;              // nano-units an hour; -1: the list price
    int64_t from;              // the first day on which it holds; 0: always did
    int64_t to;                // the first day on which it does not hold any more; INT64_MAX: none
    size_t line;               // of the file
};

struct rates;

// `path` null: the user's own. A file that is not there is an empty table.
int rates_open(struct rates **out, const char *path, struct err *err) MUST_USE;
void rates_close(struct rates *rates); // null is fine

// The row for that offer ("p4d.24xlarge", "p4d.24xlarge:spot") on that day (days since 1970; 0:
// today); null where the list price holds. A row that names the offer wins over one for all of the
// provider's, then the later row over the earlier. A discount is taken off a negotiated rate too.
// Rows that have nothing but a credit are passed over: they change no price.
const struct rates_row *rates_find(const struct rates *rates, const char *provider,
                                   const char *offer, int day);

// The credits for that offer on that day, all rows that have one: the first with `after` null, then
// the one behind `after`; null: no more.
const struct rates_row *rates_credit(const struct rates *rates, const char *provider,
                                     const char *offer, int day, const struct rates_row *after);

// All rows, one after the other, and whether one holds on that day, and for that offer.
size_t rates_count(const struct rates *rates);
const struct rates_row *rates_row(const struct rates *rates, size_t i);
bool rates_holds(const struct rates_row *row, int day);
bool rates_fits(const struct rates_row *row, const char *provider, const char *offer);

#endif
