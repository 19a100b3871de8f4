// SPDX-License-Identifier: Apache-2.0
// run_history: measured runs of any training, and which of them are the same training. Estimates
// learn from trainings that were measured on two devices.
#ifndef FARE_ADVISE_RUN_HISTORY_H
#define FARE_ADVISE_RUN_HISTORY_H

#include "advise/evidence.h"
#include "ledger/ledger.h"
#include "ledger/published.h"

#define HISTORY_OWN 201 // at most: the newest 200 of the ledger and one more

struct run_history {
    LIST_OF(struct run) runs; // with a known time; the ledger's, newest first, then published ones
    size_t own;               // of these: the ledger's
    size_t lent;              // the last of these: belong to the published set
};

// Reads the newest runs of the ledger (optional) that `which` (optional) selects, without their
// long lists. `first` (optional): the record of a run of the ledger that may be older.
int run_history_load(struct run_history *history, struct ledger *ledger,
                     const struct ledger_filter *which, const char *first,
                     struct err *err) MUST_USE;

// Adds a run that is known by its record: for ledger_each().
ledger_visit_fn run_history_add;

// Adds the published runs, after the ledger's. They must outlive the history.
int run_history_lend(struct run_history *history, const struct published *all,
                     struct err *err) MUST_USE;

void run_history_release(struct run_history *history);

// The runs as proofs, in trainings numbered by their first run: workload or command, framework,
// precision, batch, data and length are equal as far as known. The user's come first.
struct trials {
    struct quote_evidence *evidence;
    struct proof *items;
    struct proof *all[2]; // what proof.again points to: of the user's runs, of others
    size_t count, own;
    const struct devices *devices;
};
int trials_make(struct trials *trials, const struct run_history *history, struct market *market,
                struct err *err) MUST_USE;
void trials_release(struct trials *trials);

// No library, apart from the driver, has another version (of two numbers) in the two runs, and they
// are at most a year apart.
bool run_history_same_software(const struct run *a, const struct run *b);

#endif
