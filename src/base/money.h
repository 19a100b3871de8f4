// SPDX-License-Identifier: Apache-2.0
// money: amounts and rates as int64_t nano-units (10^-9) of one currency, in integers only.
//
// The range is about ±9.2 thousand million units; whatever leaves it is an error, never a wrapped
// figure; sums over many records stay at its end instead (money_sum()). The currency is the
// caller's to remember. Prices are read exactly or not at all, sums are exact, and the one place
// that rounds, money_scale(), says how. Where a provider rounds is the caller's knowledge: round
// there, once.
#ifndef FARE_BASE_MONEY_H
#define FARE_BASE_MONEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define MONEY_UNIT INT64_C(1000000000) // one dollar, one euro

// How to round the part that does not fit. The names are those of Python's decimal module.
enum money_rounding {
    MONEY_DOWN,      // dropped: towards zero
    MONEY_UP,        // away from zero: every started unit counts
    MONEY_HALF_UP,   // to the nearest, a half away from zero: what invoices do
    MONEY_HALF_EVEN, // to the nearest, a half to the even neighbour: no drift in long sums
};

// Reads "12", "0.526", ".5", "-3.00", "+1". Refused: an exponent ("1e-3"), separators ("1,000"),
// a bare point ("1."), white space, currency signs, and decimals past the ninth that are not 0.
// ERR_FORMAT, or ERR_OVERFLOW for what is too large; *nano is untouched then.
int money_parse(const char *text, int64_t *nano, struct err *err) MUST_USE;

#define MONEY_BYTES 24 // the longest is "-9223372036.854775808"

// The exact amount, with at least two decimals: "0.526", "12.00", "-0.000000001". money_parse()
// reads it back to the same number.
void money_text(int64_t nano, char out[MONEY_BYTES]);

// Rounded to `decimals` (0 to 9): "12.35". A rounded zero has no sign.
void money_rounded(int64_t nano, int decimals, enum money_rounding rounding, char out[MONEY_BYTES]);

// For people, rounded half up: two decimals from one unit on ("27740.16"), at most three
// significant digits below ("0.526", "0.0213", "0.90"), "0.00" for zero.
void money_short(int64_t nano, char out[MONEY_BYTES]);

// The same in a currency ("JPY"; null: as USD), with as many decimals as it has: whole yen from 100
// on.
void money_short_in(int64_t nano, const char *currency, char out[MONEY_BYTES]);

#define MONEY_INTERVAL_BYTES (2 * MONEY_BYTES)

// As money_short(), with its interval: "0.52" and "0.51-0.53", "" where that does not show. No
// digit below a dollar is finer than a hundredth of the interval's width, but for what would be
// nought without it: "0.03" and "0.004-0.26".
void money_interval(int64_t nano, int64_t low, int64_t high, char amount[MONEY_BYTES],
                    char interval[MONEY_INTERVAL_BYTES]);

int money_add(int64_t a, int64_t b, int64_t *sum, struct err *err) MUST_USE;

#define MONEY_MOST INT64_MAX // of a sum; the least is its negative

// Adds to a sum that must not fail for one of its parts: it stays at its end. False if it did.
bool money_sum(int64_t *sum, int64_t more);

int money_sub(int64_t a, int64_t b, int64_t *difference, struct err *err) MUST_USE;

// rate × quantity / divisor, exact in 128 bits and then rounded once:
//     money_scale(per_hour, wall_ns, 3600 * NS_PER_S, MONEY_HALF_UP, &cost, err)
//     money_scale(1, wall_ns, 3600 * NS_PER_S, MONEY_UP, &started_hours, err)
//     money_scale(amount, rate_nano, MONEY_UNIT, MONEY_HALF_EVEN, &converted, err)
// A divisor that is not positive is an error too: it may come from a file. *out is untouched
// after an error.
int money_scale(int64_t rate_nano, int64_t quantity, int64_t divisor, enum money_rounding rounding,
                int64_t *out, struct err *err) MUST_USE;

#endif
