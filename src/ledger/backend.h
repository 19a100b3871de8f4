// SPDX-License-Identifier: Apache-2.0
// backend: what the ledger needs of a database; one file per database ends in one such table.
//
// Values go in and out as texts (null is NULL): the databases convert them to the column's type.
// SQL is what both understand; where they differ, the table holds the words.
#ifndef FARE_LEDGER_BACKEND_H
#define FARE_LEDGER_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

// Given each row; a value other than 0 ends the query and is returned.
typedef int backend_row_fn(void *arg, const char *const *values, struct err *err);

struct backend {
    const char *name;
    // Stands for TEXT in the schema: texts are compared byte by byte, whatever the locale.
    const char *text_type;
    const char *keyed; // behind CREATE TABLE (...): rows lie in the order of the key
    const char *begin; // a transaction that will write
    // (optional) Run before many runs are written, and after.
    const char *many_begin, *many_end;
    const char *lock;       // (optional) run in a transaction before the schema changes
    const char *has_schema; // gives a row where the table fare_schema is there

    // `where` is a path or URL; `public_name` is how errors call it.
    int (*open)(const char *where, const char *public_name, void **db, struct err *err);
    void (*close)(void *db);

    // One statement, with values for $1, $2, ... which must appear in that order. `row`
    // and `changed` (rows inserted, updated or deleted) are optional. Statements are prepared
    // and kept: they are few.
    int (*run)(void *db, const char *sql, const char *const *values, size_t count,
               backend_row_fn *row, void *arg, int64_t *changed, struct err *err);
};

extern const struct backend backend_sqlite, backend_postgres;

#endif
