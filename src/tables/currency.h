// SPDX-License-Identifier: Apache-2.0
// currency: exchange rates by date: the European Central Bank's (ecb.h), those in
// share/currencies.csv, and the user's own file of that name. A currency in the user's file is
// looked up only there.
//
// The columns of a currencies.csv are date, currency, usd (the value of one unit in USD) and
// source. The rate for a day is the last one on or before it; before the first, the first.
#ifndef FARE_TABLES_CURRENCY_H
#define FARE_TABLES_CURRENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct currencies;

int currencies_open(struct currencies **out, struct err *err) MUST_USE;
void currencies_close(struct currencies *currencies); // null is fine

// The same from these files alone, without the bank's rates; null or "": none. `own` may be
// missing.
int currencies_read(struct currencies **out, const char *shipped, const char *own,
                    struct err *err) MUST_USE;

struct currency_rate {
    int64_t usd;        // nano-USD for one unit
    int64_t day;        // days since 1970
    const char *source; // belongs to `currencies`; "" for USD
    bool old;           // over 45 days from the day asked for
};

// Converts `amount` nano-units of `from` on that day (days since 1970; 0: today) to nano-USD,
// rounded once, half to even. `*rate` is optional. ERR_MISSING for an unlisted currency.
int currency_to_usd(const struct currencies *currencies, const char *from, int day, int64_t amount,
                    int64_t *usd, struct currency_rate *rate, struct err *err) MUST_USE;

// "OLD: 1.228 USD on 2018-02-01", and with its source ", derived from ...".
void currency_words(const struct currency_rate *rate, bool with_source, struct buf *out);

// ERR_USAGE, with similar names, for a currency without any rate. USD is fine.
int currency_check(const struct currencies *currencies, const char *name, struct err *err) MUST_USE;

// Three capital letters.
bool currency_is_name(const char *text);

// The day of its first rate, in days since 1970; of USD, and of one without any, INT_MIN.
int64_t currency_begins(const struct currencies *currencies, const char *name);

// The other way round: nano-USD to nano-units of `to`.
int currency_from_usd(const struct currencies *currencies, const char *to, int day, int64_t usd,
                      int64_t *amount, struct err *err) MUST_USE;

// ecb: the European Central Bank's reference rates for the euro, a column for each currency and a
// row for each day, as in its own eurofxref-hist.csv. Its XML files are read too.
//
// share/ecb-rates.csv has the month ends; imported days are kept beside the book. A zeroed struct
// is empty.

enum { ECB_CURRENCIES = 64, ECB_DAYS = 40000 }; // at most

struct ecb_day {
    int day;                          // days since 1970
    int64_t per_euro[ECB_CURRENCIES]; // nano-units; 0: none
};

struct ecb {
    char names[ECB_CURRENCIES][4];
    size_t name_count;
    struct ecb_day *days; // in order
    size_t count, cap;
};

void ecb_release(struct ecb *ecb);

// Whether a file that starts like this is one of them; `head` ends in a NUL.
bool ecb_knows(const char *head);

// Adds the days of a file's text; a day that is there already is replaced. `*rows` (optional): how
// many. `text` ends in a NUL.
int ecb_read(struct ecb *ecb, const char *name, const char *text, size_t len, size_t *rows,
             struct err *err) MUST_USE;
int ecb_load(struct ecb *ecb, const char *path, struct err *err) MUST_USE;

// As eurofxref-hist.csv, newest day first.
int ecb_text(const struct ecb *ecb, struct buf *out, struct err *err) MUST_USE;

// Appends the path of the file with imported days, in the user's data folder.
int ecb_path(struct buf *out, struct err *err) MUST_USE;

#endif
