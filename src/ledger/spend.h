// SPDX-License-Identifier: Apache-2.0
// spend: one row per use of a machine, with what sums of bills need.
//
// The ledger writes the rows with the records (ledger.h), so that 100,000 bills are summed without
// reading a record. A use is a run. If a job was saved and resumed (`saving` of its record), each
// of its starts is a use too; a start whose own run is in this ledger counts by that run, and only
// once, however many records of the job list it.
#ifndef FARE_LEDGER_SPEND_H
#define FARE_LEDGER_SPEND_H

#include "ledger/backend.h"
#include "ledger/ledger.h"
#include "ledger/row.h"

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
    bool corrected;   // its record had a false cost; this is the right one (record/correct.h)
};

typedef int ledger_spend_fn(void *arg, const struct ledger_spend *spend, struct err *err);

// Visits the uses that a filter selects, in no order. `host`, `user` and `since` apply to each use,
// the rest of the filter to the run that tells it; `sort` and `heads` are ignored.
int ledger_spend_each(struct ledger *ledger, const struct ledger_filter *filter,
                      ledger_spend_fn *visit, void *arg, struct err *err) MUST_USE;

// For the ledger's own files: the rows of a record that was added, in the open transaction.
int spend_insert(const struct backend *backend, void *db, const struct row *row,
                 struct err *err) MUST_USE;

#endif
