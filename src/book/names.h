// SPDX-License-Identifier: Apache-2.0
// names: short names of machines, for people: "runpod/h200", "primeintellect/datacrunch-v100".
//
// Catalogues have identifiers ("datacrunch__1xV100_16GB__6__23__SPOT"). A machine gets a short name
// once and keeps it; no other machine of its provider ever gets it. share/names.csv has those of
// the shipped offers, BOOK.names those of imported ones. A machine in neither, as in a user's own
// tables, goes by its full name.
#ifndef FARE_BOOK_NAMES_H
#define FARE_BOOK_NAMES_H

#include "base/buf.h"
#include "base/err.h"
#include "tables/offer.h"

struct names;

// Appends the path of the names that belong to this imported layer; of none ("", "-") nothing.
void names_path(const char *book, struct buf *out);

// `own` (optional) is the file of names that were given here; it may be missing.
int names_open(struct names **out, const char *own, struct err *err) MUST_USE;
void names_close(struct names *names);     // null is fine
void names_close_at(struct names **names); // for SCOPED()

// Null: it has none. Of full names every letter counts; of short ones, case does not.
const char *names_short(const struct names *names, const char *provider, const char *name);
const char *names_full(const struct names *names, const char *provider, const char *short_name);

// Gives names to those of these machines that have none, as if they had come in the order of
// provider, GPU, size and name. The offers' texts are copied.
int names_give(struct names *names, const struct offer *offers, size_t count,
               struct err *err) MUST_USE;

// The table of all names, or of those that share/names.csv has not.
int names_table(const struct names *names, bool all, struct buf *out, struct err *err) MUST_USE;

#endif
