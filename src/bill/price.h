// SPDX-License-Identifier: Apache-2.0
// price: an offer's price, or the user's own, in its provider's billing rule. market_price() is the
// only way from an offer to money: quotes, comparisons, schedules, live bills and spending limits
// all use its result.
#ifndef FARE_BILL_PRICE_H
#define FARE_BILL_PRICE_H

#include "base/buf.h"
#include "base/money.h"
#include "bill/charge.h"
#include "bill/market.h"
#include "record/field.h"

struct wishes {               // all zero: the machine alone, now, as its provider charges it
    int64_t start_s;          // when the use begins, in seconds since 1970; 0: now
    enum charge_clock clock;  // whether the time of day of the start is known
    bool prorated;            // rate × time, without units, minimums and fees
    int64_t machines;         // alike, which train together; 0: one. A disk each, traffic in all
    int64_t commit_months;    // committed use; 0: none
    int64_t used_ns;          // time on the same machine already charged this month
    int64_t storage_gb;       // in addition to the offer's own disk
    struct maybe_int keep_ns; // the machine and its disk exist at least this long from the start on
    // Traffic of each run; `runs` runs follow each other in one rental (0: one).
    int64_t egress_bytes, ingress_bytes, runs;
    bool interrupted;              // the provider takes the machine away at the end
    bool without_credit;           // a credit pays one bill, not many
    bool rate_given;               // the user gave the offer's rate, which overrides rates.csv
    bool list_price;               // without the user's own rates, discounts and credits
    bool without_history;          // a spot price stays as it is on the day of the price
    const char *currency;          // (optional) shows bills in this one beside USD
    struct maybe_int hour_of_mine; // nano-USD for an hour of waiting; absent: not counted
};

// The day of the prices and rules, in days since 1970; 0: today.
int wishes_day(const struct wishes *wishes);

// How long the machine is kept, stopped, after a use of `length_ns`.
int64_t wishes_stopped_ns(const struct wishes *wishes, int64_t length_ns);

struct priced {
    struct market *market;
    struct offer offer;
    int64_t start_s;
    int day;
    const struct tariff *tariff;
    bool assumed;                // the provider's rules are unknown
    const struct rates_row *own; // (optional) the user's own rate, discount or credit
    bool own_rate, rate_given;   // the rate is that of `own`, or one that the user gave
    int64_t committed;           // months of the commitment in the rate; 0: none
    const struct tariff_commitment *commitment; // with `committed`
    int64_t rate, per_s; // what is paid for the time, in `paid_in`, in its region
    const char *paid_in;
    const char *fees_in;   // currency of the fees, if it was another and was converted; else null
    struct rule rule;      // all amounts in `currency`
    const char *currency;  // `paid_in`, or USD if the fees were in another
    int64_t unit_nano_usd; // value of one unit of `currency`
};

int market_price(struct market *market, const struct offer *offer, const struct wishes *wishes,
                 struct priced *out, struct err *err) MUST_USE;

// One use of the machine for `length_ns`, in `currency`. The price of a spot machine is integrated
// over the changes that its history has in that time, to the second where the book knows them;
// `start_s` may lie after the day of the price.
int priced_charge(const struct priced *priced, const struct wishes *wishes, int64_t length_ns,
                  struct charge *charge, struct err *err) MUST_USE;

// The same in nano-USD, as a total before credits. Rounded once.
int priced_total(const struct priced *priced, const struct wishes *wishes, int64_t length_ns,
                 int64_t *nano_usd, struct err *err) MUST_USE;

int priced_usd(const struct priced *priced, int64_t amount, int64_t *nano_usd,
               struct err *err) MUST_USE;

// The list price of an hour, in nano-USD.
int priced_hour(const struct priced *priced, int64_t *nano_usd, struct err *err) MUST_USE;

// The average cost of an hour if the machine is used for `use_s` of a month of 30 days, without
// set-up fees: discounts, sustained use, caps and monthly fees included.
#define PRICED_MONTH_S INT64_C(1527811200) // 2018-06-01, the start of a month of 30 days
int priced_average_hour(const struct priced *priced, int64_t use_s, int64_t *nano_usd,
                        struct err *err) MUST_USE;

// The longest use, up to `most_ns`, that costs at most `budget` nano-USD before credits; 0 if
// the start alone costs more.
int priced_longest(const struct priced *priced, const struct wishes *wishes, int64_t budget,
                   int64_t most_ns, int64_t *longest_ns, struct err *err) MUST_USE;

bool priced_boots_free(const struct priced *priced);

// The use that is charged for a run of `wall_ns`: that, and the boot of a machine that fare ordered
// for it (run_ordered_ns(); else 0), unless the provider gives boots away. Bills of runs, live and
// when they end, --max-spend, the ledger's sums and comparisons all charge this.
int64_t priced_use_ns(const struct priced *priced, int64_t ordered_ns, int64_t wall_ns);

// Whole months are charged, not hours of them.
bool priced_by_month(const struct priced *priced);

// The rule in words, appended.
void priced_words(const struct priced *priced, bool prorated, struct buf *out);

// The name of an offer in rates.csv: "p4d.24xlarge", "p4d.24xlarge:spot".
void rates_name(const struct offer *offer, char *out, size_t size);

// ---- local ----
//
// local: amounts in a currency that the user asked for beside USD (--currency), at the rate of the
// day of the bill. Every command converts with these functions.
//
// A null currency asks for nothing. Before the first known rate of a currency its amounts are
// unknown.

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
