// SPDX-License-Identifier: Apache-2.0
// query: a filter (ledger.h) as SQL, with its values. Internal to the ledger.
#ifndef FARE_LEDGER_QUERY_H
#define FARE_LEDGER_QUERY_H

#include "base/clock.h"
#include "ledger/backend.h"
#include "ledger/ledger.h"

enum { QUERY_VALUES_MOST = 32 };

// A zeroed one is empty. It must stay where it is: the values point into it.
struct ledger_query {
    struct buf sql;
    const char *values[QUERY_VALUES_MOST + 8]; // labels leave room for the rest
    size_t count;
    bool conditions;        // there is a WHERE
    struct buf patterns[2]; // for LIKE
    char hashed[4][RUN_HASHED_BYTES];
    size_t hashed_count;
    char since[2][CLOCK_ISO_BYTES];
    size_t since_count;
    struct buf keys[QUERY_VALUES_MOST / 2];
    size_t key_count;
};

// Appends the conditions on fare_run.
int query_filter(struct ledger_query *query, const struct backend *backend,
                 const struct ledger_filter *filter, struct err *err) MUST_USE;

// `select` and the conditions on fare_spend: ledger_spend_each() has their meaning.
int query_spend(struct ledger_query *query, const char *select, const struct backend *backend,
                const struct ledger_filter *filter, struct err *err) MUST_USE;

// ERR_MEMORY if a part could not be written.
int query_check(const struct ledger_query *query, struct err *err) MUST_USE;
void query_release(struct ledger_query *query);

#endif
