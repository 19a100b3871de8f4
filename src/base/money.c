// SPDX-License-Identifier: Apache-2.0
// Integers only: a test looks for the names of the inexact types in this file.
#include "base/money.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DECIMALS 9

typedef unsigned __int128 wide;

// |INT64_MIN| is one more than INT64_MAX.
#define MAGNITUDE_MAX(negative) ((uint64_t)INT64_MAX + (negative))

static uint64_t magnitude(int64_t n)
{
    return n < 0 ? -(uint64_t)n : (uint64_t)n;
}

static int64_t with_sign(uint64_t size, bool negative)
{
    return negative ? (int64_t)-size : (int64_t)size;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int too_large(const char *text, struct err *err)
{
    return err_set(err, ERR_OVERFLOW, "'%.40s' is more money than fits", text);
}

static int bad_amount(const char *text, struct err *err)
{
    err_set(err, ERR_FORMAT, "'%.40s' is not an amount of money", text);
    err_hint(err, "write it as 1234.56: digits and one point, no separators, no exponent");
    return ERR_FORMAT;
}

int money_parse(const char *text, int64_t *nano, struct err *err)
{
    const char *p = text;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    uint64_t size = 0; // in nano-units
    uint64_t max = MAGNITUDE_MAX(negative);
    bool digits = false, overflow = false, too_fine = false;

    for (; is_digit(*p); p++) {
        digits = true;
        uint64_t add = (uint64_t)(*p - '0') * MONEY_UNIT;
        // Going on after an overflow: text that is no number at all is the greater fault.
        if (!overflow && size <= (max - add) / 10)
            size = size * 10 + add;
        else
            overflow = true;
    }
    if (*p == '.') {
        p++;
        if (!is_digit(*p))
            return bad_amount(text, err);
        uint64_t worth = MONEY_UNIT;
        for (; is_digit(*p); p++) {
            digits = true;
            worth /= 10;
            uint64_t add = (uint64_t)(*p - '0') * worth;
            too_fine |= worth == 0 && *p != '0';
            if (!overflow && size <= max - add)
                size += add;
            else
                overflow = true;
        }
    }
    if (!digits || *p != '\0')
        return bad_amount(text, err);
    if (overflow)
        return too_large(text, err);
    if (too_fine)
        return err_set(err, ERR_FORMAT, "'%.40s' has more than nine decimals", text);
    *nano = with_sign(size, negative);
    return 0;
}

// Writes `size` units of 10^-decimals.
static void print(bool negative, uint64_t size, int decimals, char out[MONEY_BYTES])
{
    uint64_t unit = 1;
    for (int i = 0; i < decimals; i++)
        unit *= 10;
    const char *sign = negative && size != 0 ? "-" : "";
    if (decimals == 0)
        snprintf(out, MONEY_BYTES, "%s%" PRIu64, sign, size);
    else
        snprintf(out, MONEY_BYTES, "%s%" PRIu64 ".%0*" PRIu64, sign, size / unit, decimals,
                 size % unit);
}

void money_text(int64_t nano, char out[MONEY_BYTES])
{
    uint64_t size = magnitude(nano);
    int decimals = DECIMALS;
    while (decimals > 2 && size % 10 == 0) {
        size /= 10;
        decimals--;
    }
    print(nano < 0, size, decimals, out);
}

// size / divisor, rounded. The sign does not matter: all four modes are symmetric about zero.
static wide divide(wide size, uint64_t divisor, enum money_rounding rounding)
{
    wide quotient = size / divisor;
    uint64_t rest = (uint64_t)(size % divisor);
    bool up = false;
    // Compared as "rest with what is missing", since twice the rest might not fit.
    uint64_t missing = divisor - rest;
    switch (rounding) {
    case MONEY_DOWN:
        break;
    case MONEY_UP:
        up = rest > 0;
        break;
    case MONEY_HALF_UP:
        up = rest >= missing;
        break;
    case MONEY_HALF_EVEN:
        up = rest > missing || (rest == missing && quotient % 2 == 1);
        break;
    }
    return quotient + up;
}

static uint64_t unit_at(int decimals)
{
    uint64_t unit = 1;
    for (int i = decimals; i < DECIMALS; i++)
        unit *= 10;
    return unit;
}

void money_rounded(int64_t nano, int decimals, enum money_rounding rounding, char out[MONEY_BYTES])
{
    assert(decimals >= 0 && decimals <= DECIMALS);
    uint64_t size = (uint64_t)divide(magnitude(nano), unit_at(decimals), rounding);
    print(nano < 0, size, decimals, out);
}

#define CENTS 2

// ISO 4217: currencies whose smallest unit is not a hundredth.
static int currency_decimals(const char *currency)
{
    static const char none[] =
        "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF";
    static const char three[] = "BHD IQD JOD KWD LYD OMR TND";
    return !currency || strlen(currency) != 3 ? CENTS
           : strstr(none, currency)           ? 0
           : strstr(three, currency)          ? 3
                                              : CENTS;
}

// `cents` decimals from a hundred of the smallest units on, below as many as three significant
// digits need.
static int significant_decimals(uint64_t size, int cents)
{
    int decimals = cents;
    uint64_t hundred = unit_at(cents) * 100;
    // One decimal more for each zero after the point. The bound is where three figures round up
    // to the next power of ten, so that 0.9996 is "1.00" and not "1.000".
    for (uint64_t power = hundred; size > 0 && decimals < DECIMALS; power /= 10) {
        if (size >= power - power / 2000)
            break;
        decimals++;
    }
    return decimals;
}

// Whether the last of `decimals` is a zero beyond the cents.
static bool ends_in_zero(int64_t nano, int decimals, int cents)
{
    uint64_t digits = (uint64_t)divide(magnitude(nano), unit_at(decimals), MONEY_HALF_UP);
    return decimals > cents && digits % 10 == 0;
}

static void print_short(int64_t nano, int cents, char out[MONEY_BYTES])
{
    int decimals = significant_decimals(magnitude(nano), cents);
    while (ends_in_zero(nano, decimals, cents))
        decimals--;
    money_rounded(nano, decimals, MONEY_HALF_UP, out);
}

void money_short(int64_t nano, char out[MONEY_BYTES])
{
    print_short(nano, CENTS, out);
}

void money_short_in(int64_t nano, const char *currency, char out[MONEY_BYTES])
{
    print_short(nano, currency_decimals(currency), out);
}

// With more decimals where the rounded text would be nought and the amount is not.
static void print_above_zero(int64_t nano, int decimals, char out[MONEY_BYTES])
{
    while (nano != 0 && decimals < DECIMALS &&
           divide(magnitude(nano), unit_at(decimals), MONEY_HALF_UP) == 0)
        decimals++;
    money_rounded(nano, decimals, MONEY_HALF_UP, out);
}

void money_interval(int64_t nano, int64_t low, int64_t high, char amount[MONEY_BYTES],
                    char interval[MONEY_INTERVAL_BYTES])
{
    char from[MONEY_BYTES], to[MONEY_BYTES];
    int decimals = significant_decimals(magnitude(nano), CENTS);
    uint64_t width = high > low ? (uint64_t)high - (uint64_t)low : 0;
    int least = magnitude(nano) >= MONEY_UNIT ? 2 : 0;
    while (decimals > least && unit_at(decimals) < width / 100)
        decimals--;
    while (decimals > least && ends_in_zero(nano, decimals, CENTS) &&
           ends_in_zero(low, decimals, CENTS) && ends_in_zero(high, decimals, CENTS))
        decimals--;
    print_above_zero(nano, decimals, amount);
    print_above_zero(low, decimals, from);
    print_above_zero(high, decimals, to);
    bool shows = strcmp(from, to) != 0;
    snprintf(interval, MONEY_INTERVAL_BYTES, "%s%s%s", shows ? from : "", shows ? "-" : "",
             shows ? to : "");
    if (!shows)
        money_short(nano, amount);
}

int money_add(int64_t a, int64_t b, int64_t *sum, struct err *err)
{
    int64_t result;
    if (__builtin_add_overflow(a, b, &result))
        return err_set(err, ERR_OVERFLOW, "a sum of money is too large");
    *sum = result;
    return 0;
}

bool money_sum(int64_t *sum, int64_t more)
{
    int64_t result;
    bool fits = !__builtin_add_overflow(*sum, more, &result) && result >= -MONEY_MOST;
    *sum = fits ? result : more < 0 ? -MONEY_MOST : MONEY_MOST;
    return fits;
}

int money_sub(int64_t a, int64_t b, int64_t *difference, struct err *err)
{
    int64_t result;
    if (__builtin_sub_overflow(a, b, &result))
        return err_set(err, ERR_OVERFLOW, "a difference of money is too large");
    *difference = result;
    return 0;
}

int money_scale(int64_t rate_nano, int64_t quantity, int64_t divisor, enum money_rounding rounding,
                int64_t *out, struct err *err)
{
    if (divisor <= 0)
        return err_set(err, ERR_FORMAT, "cannot divide money by %" PRId64, divisor);
    bool negative = (rate_nano < 0) != (quantity < 0);
    wide product = (wide)magnitude(rate_nano) * magnitude(quantity);
    wide size = divide(product, (uint64_t)divisor, rounding);
    if (size > MAGNITUDE_MAX(negative))
        return err_set(err, ERR_OVERFLOW, "an amount of money is too large");
    *out = with_sign((uint64_t)size, negative);
    return 0;
}
