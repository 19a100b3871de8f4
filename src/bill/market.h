// SPDX-License-Identifier: Apache-2.0
// market: everything with a price, opened once: the book of offers, device specifications, billing
// rules, currencies, the user's own rates, start-up times, ready images, hosts' power and
// scheduling prices; and the published runs, whose times are priced.
//
// Only bill/market.h turns an offer into a priced rule. Each part is opened on first use, so an
// unused market costs nothing. Not thread-safe: use one market per thread.
#ifndef FARE_BILL_MARKET_H
#define FARE_BILL_MARKET_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/money.h"
#include "bill/charge.h"
#include "book/book.h"
#include "book/tariffs.h"
#include "ledger/ledger.h"
#include "machine/probe.h"
#include "record/field.h"
#include "tables/currency.h"
#include "tables/device.h"
#include "tables/extras.h"

struct market;

// Opens no file. `book`: the imported layer, as in book_open(). `share` (optional): a folder with
// providers/ and currencies.csv that replaces the program's and the user's tables; the user's own
// rates are then left out too. Both texts must outlive the market.
int market_open(struct market **out, const char *book, const char *share, struct err *err) MUST_USE;
void market_close(struct market *market); // null is fine

// Changes when a file changes that a market of this book reads: for one that stays open. 0 if out
// of memory.
uint64_t market_stamp(const char *book);

// The parts. They belong to the market.
int market_book(struct market *market, const struct book **out, struct err *err) MUST_USE;
int market_devices(struct market *market, const struct devices **out, struct err *err) MUST_USE;
int market_tariffs(struct market *market, const struct tariff_book **out, struct err *err) MUST_USE;
int market_currencies(struct market *market, const struct currencies **out,
                      struct err *err) MUST_USE;
int market_startups(struct market *market, const struct startups **out, struct err *err) MUST_USE;
int market_links(struct market *market, const struct links **out, struct err *err) MUST_USE;
int market_boot_images(struct market *market, const struct boot_images **out,
                       struct err *err) MUST_USE;
int market_schedulings(struct market *market, const struct schedulings **out,
                       struct err *err) MUST_USE;
struct support;
int market_support(struct market *market, const struct support **out, struct err *err) MUST_USE;
int market_hosts(struct market *market, const struct hosts **out, struct err *err) MUST_USE;
int market_rates(struct market *market, const struct rates **out, struct err *err) MUST_USE;
int market_published(struct market *market, const struct published **out, struct err *err) MUST_USE;

// A run's record by its name, as published_or_ledger() does.
int market_run(struct market *market, struct ledger *ledger, const char *word, struct buf *text,
               struct err *err) MUST_USE;

// An offer by its name on a day (0: today), as book_find() does.
int market_find(struct market *market, const char *name, int day, struct offer *out,
                struct err *err) MUST_USE;

// The same machine in the same region, on demand; `*found` tells whether the book has it. Spot
// offers have zones, on-demand ones mostly do not.
int market_on_demand(struct market *market, const struct offer *spot, int day, struct offer *out,
                     bool *found, struct err *err) MUST_USE;

// ---- desk ----
//
// desk: the ledger, the market and the machine that one command, request or thread works with.
//
// Each is opened once, when it is first needed, and handed down: a function that needs only a
// market takes a market. cmd/frame.c makes the desk of a command; serve/site.c lends ledgers and
// markets to the desk of a request. Not thread-safe: use one desk per thread.

struct desk {
    const char *where;      // the ledger, as ledger_new() takes it
    struct market *market;  // always there: it opens its files when they are needed
    struct ledger *ledger;  // null: not asked for yet; see desk_ledger()
    struct machine machine; // see desk_machine()
    bool inspected;         // `machine` is known
    uint64_t stamp;         // of a lent market (serve/site.c), see market_stamp()
};

// Opens no file. `book` as in market_open(). The texts must outlive the desk.
int desk_open(struct desk *desk, const char *where, const char *book, struct err *err) MUST_USE;
void desk_close(struct desk *desk); // a zeroed one is fine

// Opens no file either: the functions of ledger.h connect. Fails as ledger_new() does.
int desk_ledger(struct desk *desk, struct ledger **out, struct err *err) MUST_USE;

// Inspects this machine, unless it was inspected before. The record stays the desk's.
int desk_machine(struct desk *desk, const struct inspect_options *options,
                 const struct machine **out, struct err *err) MUST_USE;

// ==== prices ====
// price: an offer's price, or the user's own, in its provider's billing rule. market_price() is the
// only way from an offer to money: quotes, comparisons, schedules, live bills and spending limits
// all use its result.

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
