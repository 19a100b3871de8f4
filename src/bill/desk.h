// SPDX-License-Identifier: Apache-2.0
// desk: the ledger, the market and the machine that one command, request or thread works with.
//
// Each is opened once, when it is first needed, and handed down: a function that needs only a
// market takes a market. cmd/frame.c makes the desk of a command; serve/site.c lends ledgers and
// markets to the desk of a request. Not thread-safe: use one desk per thread.
#ifndef FARE_BILL_DESK_H
#define FARE_BILL_DESK_H

#include "ledger/ledger.h"
#include "machine/probe.h"
#include "bill/market.h"

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
