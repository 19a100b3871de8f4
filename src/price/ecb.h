// SPDX-License-Identifier: Apache-2.0
// ecb: the European Central Bank's reference rates for the euro, a column for each currency and a
// row for each day, as in its own eurofxref-hist.csv. Its XML files are read too.
//
// share/ecb-rates.csv has the month ends; imported days are kept beside the book. A zeroed struct
// is empty.
#ifndef FARE_PRICE_ECB_H
#define FARE_PRICE_ECB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

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

// The value of one unit in nano-USD on the last day up to `day`; before the first, on the first.
bool ecb_find(const struct ecb *ecb, const char *currency, int day, int *on, int64_t *usd);

#endif
