// SPDX-License-Identifier: Apache-2.0
// rates: a user's own prices: negotiated rates, discounts and credits from rates.csv in the
// configuration folder. Its columns are provider, offer, discount_percent, credit, rate, currency,
// from and to; fields may be empty.
//
// `offer` is the provider's name, with ":spot" for spot ("p4d.24xlarge:spot"). "p4d.*" matches all
// names with this start, spot included; empty matches all offers of the provider. `rate` is per
// hour of the whole machine; `currency` applies to `rate` and `credit` (empty: USD). `from` is the
// first valid date, `to` the first date after that (for a credit: its expiry).
#ifndef FARE_TABLES_RATES_H
#define FARE_TABLES_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct rates_row {
    char *provider, *offer; // belong to the table
    char *currency;
    int64_t discount_permille; // 0: none
    int64_t credit;            // nano-units; 0: none. See rates_credit()
    int64_t rate;              // nano-units per hour; -1: the list price
    int64_t from;              // the first valid day; 0: no limit
    int64_t to;                // the first day after the last valid one; INT64_MAX: no limit
    size_t line;               // in the file
};

struct rates;

// `path` null: the user's own file. A missing file is an empty table.
int rates_open(struct rates **out, const char *path, struct err *err) MUST_USE;
void rates_close(struct rates *rates); // null is fine

// The row for that offer ("p4d.24xlarge", "p4d.24xlarge:spot") on that day (days since 1970; 0:
// today); null if the list price applies. A row that names the offer wins over one for all of the
// provider's offers, then the later row over the earlier. A discount also applies to a negotiated
// rate. Skips rows with only a credit: they change no price.
const struct rates_row *rates_find(const struct rates *rates, const char *provider,
                                   const char *offer, int day);

// Iterates over the rows with a credit for that offer on that day: the first if `after` is null,
// else the next one after it; null at the end.
const struct rates_row *rates_credit(const struct rates *rates, const char *provider,
                                     const char *offer, int day, const struct rates_row *after);

// All rows; whether a row is valid on that day, and whether it applies to that offer.
size_t rates_count(const struct rates *rates);
const struct rates_row *rates_row(const struct rates *rates, size_t i);
bool rates_holds(const struct rates_row *row, int day);
bool rates_fits(const struct rates_row *row, const char *provider, const char *offer);

#endif
