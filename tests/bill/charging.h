// SPDX-License-Identifier: Apache-2.0
// Charging in one line, for tests.
#ifndef FARE_TESTS_BILL_CHARGING_H
#define FARE_TESTS_BILL_CHARGING_H

#include "test.h"

#include "base/clock.h"
#include "bill/charge.h"

#define S             INT64_C(1000000000)
#define H             (3600 * S)
#define TEXT(literal) ((char *)(uintptr_t)(literal))

static inline struct rule rule_of(const struct tariff *tariff)
{
    struct rule rule;
    struct err err = {0};
    assert_ok(rule_read(&rule, tariff, (struct maybe_money){0}, &err), &err);
    return rule;
}

static inline struct charge charge_of(const struct tariff *tariff, const struct charge_use *use)
{
    struct rule rule = rule_of(tariff);
    struct charge charge;
    struct err err = {0};
    assert_ok(charge_use(&rule, use, &charge, &err), &err);
    return charge;
}

static inline int64_t date(const char *text)
{
    int64_t s;
    assert_true(clock_parse(text, &s));
    return s;
}

static inline int64_t nano(const char *text)
{
    int64_t n;
    assert_int_equal(money_parse(text, &n, NULL), 0);
    return n;
}

// What a length costs from a date on, as text.
static inline const char *cost(const struct tariff *tariff, int64_t length_ns)
{
    static char text[MONEY_BYTES];
    const struct charge_use use = {.start_s = date("2018-03-05"), .length_ns = length_ns};
    struct charge charge = charge_of(tariff, &use);
    money_text(charge.total, text);
    return text;
}

#endif
