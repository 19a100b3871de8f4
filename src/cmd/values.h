// SPDX-License-Identifier: Apache-2.0
// values: option values that opt.h does not parse: amounts, days, a machine to buy.
//
// Each fails with ERR_USAGE and the option's name. An option that was not given (null) changes
// nothing.
#ifndef FARE_CMD_VALUES_H
#define FARE_CMD_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "advise/quote_job.h"
#include "base/err.h"
#include "bill/own.h"
#include "bill/power.h"

#define LIFE_MONTHS 36

// --json or --format, or `otherwise` without either.
int value_format(bool json, const char *format, const char *otherwise, const char **out,
                 struct err *err) MUST_USE;

// --date, in days since 1970.
int value_day(const char *text, int *day, struct err *err) MUST_USE;

extern const char *const value_rules[];         // of --rule: "paid", "prorated"
extern const char *const value_compare_rules[]; // of comparisons: these, and "published"

#define LEDGER_VARIABLE                                                                            \
    {                                                                                              \
        "FARE_LEDGER",                                                                             \
            "The ledger: a SQLite file or a postgresql:// URL. Without it, ledger.db in "          \
            "XDG_DATA_HOME/fare or ~/.local/share/fare"                                            \
    }

// The options of a machine to buy; begins as OWN_DEFAULTS.
struct own_options {
    const char *buy, *resale, *kwh, *interest;
    int64_t watts, idle_watts, life;
    int64_t hours_per_month; // -1: always
};
// clang-format off
#define OWN_DEFAULTS {.watts = -1, .idle_watts = -1, .life = LIFE_MONTHS, .hours_per_month = -1}

// Rows for the table of a command whose macro AT() gives the offset of a member.
#define LEDGER_ROW \
    {"ledger", 0, OPT_TEXT, "URL", NULL, AT(ledger), NULL, \
     "a SQLite file or postgresql://USER@HOST/DATABASE, instead of FARE_LEDGER or your own ledger"}
#define BOOK_ROW \
    {"book", 0, OPT_TEXT, "FILE", NULL, AT(book), NULL, \
     "imported prices, instead of FARE_BOOK or your own; - for none"}
#define CURRENCY_ROW(at, group) \
    {"currency", 0, OPT_TEXT, "CODE", NULL, at, group, \
     "show costs in this currency too, such as EUR, at the rate of the day of the prices"}

// For a command with `own`, a machine to buy: all but --hours-per-month, which may mean more.
#define OWN_ROWS(group) \
    {"buy", 0, OPT_TEXT, "USD", NULL, AT(own.buy), group, \
     "compare renting with buying a machine like the one measured for this much"}, \
    {"resale", 0, OPT_TEXT, "USD", NULL, AT(own.resale), group, \
     "its resale value at the end of its life"}, \
    {"watts", 0, OPT_COUNT, "W", NULL, AT(own.watts), group, \
     "its power under load (default: as the run measured it)"}, \
    {"idle-watts", 0, OPT_COUNT, "W", NULL, AT(own.idle_watts), group, \
     "its power while idle (default: it is switched off)"}, \
    {"interest", 0, OPT_TEXT, "P%", NULL, AT(own.interest), group, \
     "cost of capital a year, on the mean of price and resale (default 0)"}, \
    {"kwh", 0, OPT_TEXT, "USD", NULL, AT(own.kwh), group, "the price of a kilowatt-hour"}, \
    {"life", 0, OPT_COUNT, "MONTHS", NULL, AT(own.life), group, \
     "how long it is kept (default 36): its price is spread over the hours of use in that time", \
     .least = 1}
// clang-format on

// The other options of such a machine need --buy; with `power_alone`, those of its power do not.
int value_own(const struct own_options *options, bool power_alone, struct own_machine *own,
              struct err *err) MUST_USE;

// The electricity of this machine; begins as POWER_DEFAULTS.
struct power_options {
    const char *kwh;
    int64_t watts;
};
// clang-format off
#define POWER_DEFAULTS {.watts = -1}
#define POWER_ROWS(at, group) /* at(member): its offset */ \
    {"watts", 0, OPT_COUNT, "W", NULL, at(power.watts), group, \
     "power of the whole machine under load (default: as measured, with the share of the host " \
     "from power.csv)"}, \
    {"kwh", 0, OPT_TEXT, "USD", NULL, at(power.kwh), group, \
     "price of a kilowatt-hour, for the electricity of the trainings"}
// clang-format on

int value_power(const struct power_options *options, struct power_given *given,
                struct err *err) MUST_USE;

// Renews the user's book (book/renew.h) for a command that shows current prices from it: not for
// those of another book or date, if these are not null.
int prices_renew(const char *book, const char *date, struct err *err) MUST_USE;

#endif
