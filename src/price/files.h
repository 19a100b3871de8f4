// SPDX-License-Identifier: Apache-2.0
// files: finds the tables: those shipped in share/, and the user's own in $XDG_CONFIG_HOME/fare
// (~/.config/fare), which have precedence.
#ifndef FARE_PRICE_FILES_H
#define FARE_PRICE_FILES_H

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

#endif
