// SPDX-License-Identifier: Apache-2.0
// market: everything with a price, opened once: the book of offers, device specifications, billing
// rules, currencies, the user's own rates, start-up times, ready images, hosts' power and
// scheduling prices; and the published runs, whose times are priced.
//
// Only bill/price.h turns an offer into a priced rule. Each part is opened on first use, so an
// unused market costs nothing. Not thread-safe: use one market per thread.
#ifndef FARE_BILL_MARKET_H
#define FARE_BILL_MARKET_H

#include <stdint.h>

#include "base/err.h"
#include "book/book.h"
#include "book/tariffs.h"
#include "ledger/ledger.h"
#include "ledger/published.h"
#include "machine/probe.h"
#include "tables/currency.h"
#include "tables/device.h"
#include "tables/extras.h"
#include "tables/rates.h"

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

#endif
