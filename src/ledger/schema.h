// SPDX-License-Identifier: Apache-2.0
// schema: the ledger's tables and their versions. Internal to the ledger.
#ifndef FARE_LEDGER_SCHEMA_H
#define FARE_LEDGER_SCHEMA_H

#include "base/err.h"
#include "ledger/backend.h"

#define SCHEMA_VERSION 7

#define SCHEMA_INSERT_HEAD                                                                         \
    "INSERT INTO fare_head (run, head) VALUES ($1, $2) ON CONFLICT DO NOTHING"

// Brings the database to SCHEMA_VERSION in one transaction. A newer one is ERR_FORMAT and stays
// unchanged.
int schema_migrate(const struct backend *backend, void *db, const char *name,
                   struct err *err) MUST_USE;

#endif
