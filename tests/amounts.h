// SPDX-License-Identifier: Apache-2.0
// Dates and money as tests write them.
#ifndef FARE_TESTS_AMOUNTS_H
#define FARE_TESTS_AMOUNTS_H

#include "test.h"

#include "base/clock.h"
#include "base/money.h"

// Since 1970.
static inline int day(const char *date)
{
    int64_t s;
    assert_true(clock_parse(date, &s));
    return (int)(s / 86400);
}

// In billionths of its currency.
static inline int64_t nano(const char *text)
{
    int64_t n;
    assert_int_equal(money_parse(text, &n, NULL), 0);
    return n;
}

#endif
