// SPDX-License-Identifier: Apache-2.0
// charge: lines of providers' invoices, kept beside the runs (import_focus.c reads them).
//
// The id is a hash of what a line is for, not of its amount: a line that a provider issues again
// with another amount replaces the earlier one, and the same line twice is one line.
#ifndef FARE_LEDGER_CHARGE_H
#define FARE_LEDGER_CHARGE_H

#include "ledger/ledger.h"

struct ledger_charge {
    const char *id;
    const char *began, *ended; // the time it is for: "2026-11-01T08:00:00Z"
    const char *category;      // Usage, Purchase, Tax, Credit, Adjustment
    const char *provider;      // as the invoice names it; the texts that follow are "" if absent
    const char *resource, *name, *region;
    const char *product;       // the machine's type
    const char *what;          // description
    const char *run, *project; // from its tags
    const char *source;        // the file
    const char *currency;
    int64_t billed;    // nano-units; below 0: a credit or refund
    int64_t effective; // with commitments spread over their time
    bool effective_known;
};

enum charge_change { CHARGE_ADDED, CHARGE_CHANGED, CHARGE_THERE };

// Between ledger_import_begin() and its end.
int ledger_charge_put(struct ledger *ledger, const struct ledger_charge *charge,
                      enum charge_change *change, struct err *err) MUST_USE;

// Visits those that end after `since` (a date; null: all), in the order of their beginnings.
typedef int ledger_charge_fn(void *arg, const struct ledger_charge *charge, struct err *err);
int ledger_charge_each(struct ledger *ledger, const char *since, ledger_charge_fn *visit, void *arg,
                       struct err *err) MUST_USE;

// Removes the lines of a file, named as when it was imported, without its folder.
int ledger_charge_remove(struct ledger *ledger, const char *source, int64_t *removed,
                         struct err *err) MUST_USE;

#endif
