// SPDX-License-Identifier: Apache-2.0
// inside: what the files of the ledger share; not for others.
#ifndef FARE_LEDGER_INSIDE_H
#define FARE_LEDGER_INSIDE_H

#include "ledger/ledger.h"
#include "ledger/place.h"

struct ledger {
    struct place place;
    void *db;     // null: not connected
    bool nowhere; // `db` is an empty one in memory, in the place of a file that is not there
};

int ledger_sql(struct ledger *ledger, const char *text, struct err *err) MUST_USE;
int ledger_begin(struct ledger *ledger, struct err *err) MUST_USE; // a transaction that will write
void ledger_roll_back(struct ledger *ledger);

#endif
