// SPDX-License-Identifier: Apache-2.0
// place: where a ledger is and where its spool is. Internal to the ledger.
#ifndef FARE_LEDGER_PLACE_H
#define FARE_LEDGER_PLACE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "ledger/backend.h"

enum { PLACE_SPOOLS = 2 };

struct place {
    bool named; // by the caller; otherwise FARE_LEDGER or the user's default
    const struct backend *backend;
    char *where;                // a path or the whole URL
    char *name;                 // for display: without the password
    char *spools[PLACE_SPOOLS]; // folders; the last is used if the disk is full or read-only
};

// `where` is as in ledger_new(). Each ledger has its own spool folders, named by a hash of its
// public name, so that runs for a team's ledger never end up in a private one.
int place_find(struct place *place, const char *where, struct err *err) MUST_USE;
void place_release(struct place *place);

// Appends a URL without its password: removes it from "user:password@", and removes the query if it
// holds one.
void place_public(const char *url, struct buf *out);

#endif
