// SPDX-License-Identifier: Apache-2.0
// local: amounts in a currency that the user asked for beside USD (--currency), at the rate of the
// day of the bill. Every command converts with these functions.
//
// A null currency asks for nothing. Before the first known rate of a currency its amounts are
// unknown.
#ifndef FARE_BILL_LOCAL_H
#define FARE_BILL_LOCAL_H

#include "base/buf.h"
#include "base/money.h"
#include "bill/market.h"
#include "record/field.h"

// ERR_USAGE, with similar names, for a currency that has no rate on any day.
int local_check(struct market *market, const char *currency, struct err *err) MUST_USE;

// Nano-USD on a day (days since 1970; 0: today) to nano-units, rounded once, half to even; -1:
// unknown, or more than fits (7 million USD are too many won for money.h).
int local_amount(struct market *market, const char *currency, int day, int64_t usd, int64_t *amount,
                 struct err *err) MUST_USE;

// The same for members of records; unknown USD and an unknown amount leave `*out` alone.
int local_money(struct market *market, const char *currency, int day, struct maybe_money usd,
                struct maybe_money *out, struct err *err) MUST_USE;

// Appends "1 EUR = 1.1172 USD on 2026-10-30, ECB reference rate", or why there is none.
int local_words(struct market *market, const char *currency, int day, struct buf *out,
                struct err *err) MUST_USE;

#endif
