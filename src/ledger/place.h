// SPDX-License-Identifier: Apache-2.0
// place: where a ledger is, and where runs wait for it; for ledger.c, not for others.
#ifndef FARE_LEDGER_PLACE_H
#define FARE_LEDGER_PLACE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "ledger/backend.h"

enum { PLACE_SPOOLS = 2 };

struct place {
    bool named; // by this call, and not by FARE_LEDGER or as the user's own
    const struct backend *backend;
    char *where;                // a path or the whole URL
    char *name;                 // for people: without the password
    char *spools[PLACE_SPOOLS]; // in order of preference; the last is for a full or read-only disk
};

// `where` as ledger_new() takes it. Each ledger has its own folder in the spools, named by a sum
// over its public name, so that what was meant for a team does not land in a file at home.
int place_find(struct place *place, const char *where, struct err *err) MUST_USE;
void place_release(struct place *place);

// A URL without its password: that of "user:password@" goes, and the whole query if it holds one.
void place_public(const char *url, struct buf *out);

#endif
