// SPDX-License-Identifier: Apache-2.0
// backend: the interface between the ledger and a database. Each database is one file that ends in
// one such table.
//
// Values are strings (null is NULL); the database converts them to the column's type. The SQL is
// common to both databases; the table holds the words in which they differ.
#ifndef FARE_LEDGER_BACKEND_H
#define FARE_LEDGER_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

// Called for each row; a result other than 0 ends the query and is returned.
typedef int backend_row_fn(void *arg, const char *const *values, struct err *err);

struct backend {
    const char *name;
    const char *text_type;  // a TEXT column that compares byte by byte in every locale
    const char *keyed;      // follows CREATE TABLE (...): store rows in key order
    const char *begin;      // starts a transaction that writes
    const char *bulk_begin; // (optional) run before many runs are written
    const char *bulk_end;   // (optional) run after that
    const char *lock;       // (optional) run in a transaction before the schema changes
    const char *has_schema; // returns a row if the table fare_schema exists
    const char *member[2];  // before and after the name of a member of `record`: its value as text

    // `where` is a path or URL; errors show `public_name` instead.
    int (*open)(const char *where, const char *public_name, void **db, struct err *err);
    void (*close)(void *db);

    // Runs one statement with values for $1, $2, ..., which must appear in that order. `row`
    // and `changed` (rows inserted, updated or deleted) are optional. Prepared statements are
    // cached.
    int (*run)(void *db, const char *sql, const char *const *values, size_t count,
               backend_row_fn *row, void *arg, int64_t *changed, struct err *err);
};

extern const struct backend backend_sqlite, backend_postgres;

#endif
