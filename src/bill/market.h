// SPDX-License-Identifier: Apache-2.0
// market: everything with a price, opened once: the book of offers, device specifications, billing
// rules, currencies, the user's own rates, start-up times, hosts' power and scheduling prices; and
// the published runs, whose times are priced.
//
// Only bill/price.h turns an offer into a priced rule. Each part is opened on first use, so an
// unused market costs nothing. Not thread-safe: use one market per thread.
#ifndef FARE_BILL_MARKET_H
#define FARE_BILL_MARKET_H

#include <stdint.h>

#include "base/err.h"
#include "ledger/published.h"
#include "tables/device.h"
#include "book/book.h"
#include "tables/currency.h"
#include "tables/hosts.h"
#include "tables/rates.h"
#include "tables/scheduling.h"
#include "tables/startup.h"
#include "book/tariffs.h"

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
int market_schedulings(struct market *market, const struct schedulings **out,
                       struct err *err) MUST_USE;
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

#endif
