// SPDX-License-Identifier: Apache-2.0
// values: option values that opt.h does not parse: amounts, days, a machine to buy.
//
// Each fails with ERR_USAGE and the option's name. Where the option was not given (null), nothing
// is changed.
#ifndef FARE_CMD_VALUES_H
#define FARE_CMD_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bill/own.h"

#define LIFE_MONTHS 36

// "'--date' takes a date such as 2026-11-01, not 'x'".
int value_bad(const char *option, const char *text, const char *expected, struct err *err) MUST_USE;

// Money of 0 or more, in nano-units.
int value_amount(const char *option, const char *text, int64_t *nano, struct err *err) MUST_USE;

// --json or --format, or what it is without either.
int value_format(bool json, const char *format, const char *otherwise, const char **out,
                 struct err *err) MUST_USE;

// --date, in days since 1970.
int value_day(const char *text, int *day, struct err *err) MUST_USE;

// A machine that is bought, as its options say; begins as OWN_DEFAULTS.
struct own_options {
    const char *buy, *resale, *kwh;
    int64_t watts, life;
    int64_t hours_per_month; // -1: always
};
// clang-format off
#define OWN_DEFAULTS {.watts = -1, .life = LIFE_MONTHS, .hours_per_month = -1}

// Their rows in the table of a command that has them as `own` and an AT() that says where a member
// is; but for --hours-per-month, which may mean more.
#define OWN_ROWS(group) \
    {"buy", 0, OPT_TEXT, "USD", NULL, AT(own.buy), group, \
     "rent, or buy a machine like the one measured for this much: after how long it has paid for " \
     "itself"}, \
    {"resale", 0, OPT_TEXT, "USD", NULL, AT(own.resale), group, \
     "what it still brings at its end"}, \
    {"watts", 0, OPT_COUNT, "W", NULL, AT(own.watts), group, \
     "its power at work (default: what the run measured, where it did)"}, \
    {"kwh", 0, OPT_TEXT, "USD", NULL, AT(own.kwh), group, "the price of a kilowatt-hour"}, \
    {"life", 0, OPT_COUNT, "MONTHS", NULL, AT(own.life), group, \
     "how long it is kept (default 36): its price is spread over the hours of use in that time", \
     .least = 1}
// clang-format on

// The other options of such a machine need --buy.
int value_own(const struct own_options *options, struct own_machine *own, struct err *err) MUST_USE;

#endif
