// SPDX-License-Identifier: Apache-2.0
// inside: declarations shared by the ledger's own files.
#ifndef FARE_LEDGER_INSIDE_H
#define FARE_LEDGER_INSIDE_H

#include "base/clock.h"
#include "ledger/file.h"
#include "ledger/ledger.h"
#include "ledger/place.h"

struct ledger {
    struct place place;
    void *db;         // null: not connected
    bool in_memory;   // `db` is empty and in memory because the file does not exist
    struct file file; // of SQLite
    bool only_look;   // nothing is delivered
};

int ledger_sql(struct ledger *ledger, const char *text, struct err *err) MUST_USE;
int ledger_begin(struct ledger *ledger, struct err *err) MUST_USE; // a transaction that writes
void ledger_roll_back(struct ledger *ledger);

// The date in the ledger's format, in which strings sort by time; "" if there is none.
void ledger_date(const char *text, char out[CLOCK_ISO_BYTES]);

// What is handed out of a stored record: corrected (record/correct.h) and, with `masks`, without
// the secrets that earlier versions stored. Appends nothing if the text stays as it is.
int ledger_text(const char *stored, bool masks, struct buf *out, struct err *err) MUST_USE;

// An argument for ledger_visit_row(), which passes the first two columns to `visit`.
struct ledger_visit {
    ledger_visit_fn *visit;
    void *arg;
    bool stored; // as in ledger_filter
};
int ledger_visit_row(void *arg, const char *const *values, struct err *err);

#endif
