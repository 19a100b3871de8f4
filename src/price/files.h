// SPDX-License-Identifier: Apache-2.0
// files: where the tables lie: what fare ships in share/, and the user's own in
// $XDG_CONFIG_HOME/fare (~/.config/fare), which come in front.
#ifndef FARE_PRICE_FILES_H
#define FARE_PRICE_FILES_H

#include "base/buf.h"
#include "base/err.h"

// Appends the path of `name` ("currencies.csv", "providers") in the one and in the other. The
// second appends nothing where there is no home; that is no error.
int files_shipped(const char *name, struct buf *path, struct err *err) MUST_USE;
int files_own(const char *name, struct buf *path, struct err *err) MUST_USE;

// Each file in a folder whose name ends so, in the order of the names; hidden ones are passed over.
// A folder that is not there has none.
typedef int files_visit_fn(void *arg, const char *path, struct err *err);
int files_each(const char *dir, const char *ending, files_visit_fn *visit, void *arg,
               struct err *err) MUST_USE;

#endif
