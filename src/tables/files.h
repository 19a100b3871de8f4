// SPDX-License-Identifier: Apache-2.0
// files: finds the tables: those shipped in share/, and the user's own in $XDG_CONFIG_HOME/fare
// (~/.config/fare), which have precedence.
#ifndef FARE_TABLES_FILES_H
#define FARE_TABLES_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

// Append the path of `name` ("currencies.csv", "providers") in the shipped and in the user's
// folder. Without a home folder files_own() appends nothing and succeeds.
int files_shipped(const char *name, struct buf *path, struct err *err) MUST_USE;
int files_own(const char *name, struct buf *path, struct err *err) MUST_USE;

// Visits the files in a folder whose names end in `ending`, in byte order; skips hidden ones. A
// missing folder is empty.
typedef int files_visit_fn(void *arg, const char *path, struct err *err);
int files_each(const char *dir, const char *ending, files_visit_fn *visit, void *arg,
               struct err *err) MUST_USE;

// A date in a table, "2026-01-31", in days since 1970. ERR_FORMAT for anything else.
int files_day(const char *text, int64_t *day, struct err *err) MUST_USE;

// Chooses between two dated rows: true if that of day `a` applies on `day` rather than that of `b`.
// A row on or before the day beats a later one, then the nearer wins; of one date, `a`.
bool files_applies(int64_t a, int64_t b, int64_t day);

#endif
