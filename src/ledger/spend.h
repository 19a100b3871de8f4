// SPDX-License-Identifier: Apache-2.0
// spend: one row per use of a machine, with what sums of bills need.
//
// The ledger writes the rows with the records (ledger.h), so that 100,000 bills are summed without
// reading a record. A use is a run. If a job was saved and resumed (`saving` of its record), each
// of its starts is a use too; a start whose own run is in this ledger counts by that run, and only
// once, however many records of the job list it.
#ifndef FARE_LEDGER_SPEND_H
#define FARE_LEDGER_SPEND_H

#include "ledger/ledger.h"

struct ledger_spend {
    const char *id;             // of the run; of a start without one "JOB#NUMBER"
    const char *run;            // the run whose record tells it
    const char *started;        // "2026-11-01T08:00:00Z"
    const char *ended;          // the other texts are "" if unknown
    const char *user, *host;    // plain or hashed, as recorded
    const char *project;        //
    const char *offer;          // PROVIDER/NAME@REGION:KIND, as far as known
    const char *price_per_hour; // USD, given by a label
    const char *resource;       // the provider's id of the machine, plain or hashed
    int64_t gpus;               // below 0: unknown, as the numbers that follow
    int64_t wall_ns;
    int64_t boot_ns;  // charged: of a machine that fare ordered for it
    int64_t nano_usd; // as computed when it ended; an old row's may be out of range
    bool corrected;   // its record had a false cost; this is the right one (record/run.h)
};

typedef int ledger_spend_fn(void *arg, const struct ledger_spend *spend, struct err *err);

// Visits the uses that a filter selects, in no order. `host`, `user` and `since` apply to each use,
// the rest of the filter to the run that tells it; `sort` and `heads` are ignored.
int ledger_spend_each(struct ledger *ledger, const struct ledger_filter *filter,
                      ledger_spend_fn *visit, void *arg, struct err *err) MUST_USE;

// ==== charge ====
// Lines of providers' invoices, kept beside the runs (import_focus.c reads them).
//
// The id is a hash of what a line is for, not of its amount: a line that a provider issues again
// with another amount replaces the earlier one, and the same line twice is one line.

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

// ==== budget ====
// Amounts that a team means to spend, kept in its ledger.

struct ledger_budget {
    const char *kind;     // "project", "user", "host", or "all"
    const char *name;     // of the project ...; "": each one without a budget of its own
    const char *period;   // "month", "week", "day", "total"
    const char *currency; // "USD"
    int64_t nano;         // the amount
};

// Replaces the budget with the same kind, name and period.
int ledger_budget_set(struct ledger *ledger, const struct ledger_budget *budget,
                      struct err *err) MUST_USE;

// Removes the budgets of that kind and name; `period` null: all periods. `*removed`: how many.
int ledger_budget_remove(struct ledger *ledger, const char *kind, const char *name,
                         const char *period, int64_t *removed, struct err *err) MUST_USE;

// Visits all of them, sorted by kind, name and period.
typedef int ledger_budget_fn(void *arg, const struct ledger_budget *budget, struct err *err);
int ledger_budget_each(struct ledger *ledger, ledger_budget_fn *visit, void *arg,
                       struct err *err) MUST_USE;

#endif
