// SPDX-License-Identifier: Apache-2.0
// published: results shipped with fare in share/published/*.jsonl: published by others, or measured
// by us on other machines. They are ordinary run records, each with its source, and need no ledger.
#ifndef FARE_LEDGER_PUBLISHED_H
#define FARE_LEDGER_PUBLISHED_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "ledger/ledger.h"
#include "record/run.h"

// Visits every record, file by file in name order. `dir` null: the shipped folder.
int published_each(const char *dir, ledger_visit_fn *visit, void *arg, struct err *err) MUST_USE;

// Visits the records of one set, named like its file: "2017-keras-backends". ERR_USAGE lists the
// sets that exist.
int published_set(const char *dir, const char *set, ledger_visit_fn *visit, void *arg,
                  struct err *err) MUST_USE;

// All records, read once. It does not change, so that threads may share it.
struct published;
int published_open(struct published **out, const char *dir, struct err *err) MUST_USE;
void published_close(struct published *all); // null is fine
size_t published_count(const struct published *all);
const struct run *published_run(const struct published *all, size_t i); // belongs to `all`

// Finds the record with this id or unique prefix of one; ERR_MISSING otherwise.
int published_find(const struct published *all, const char *word, struct buf *text,
                   struct err *err) MUST_USE;

// Whether a run with this name may be among them: it starts with "published-".
bool published_has_name(const char *word);

// Finds a run's record among the published ones if it may be there, otherwise (or if that fails) in
// the ledger. `all` null: reads the shipped ones if it needs them.
int published_or_ledger(const struct published *all, struct ledger *ledger, const char *word,
                        struct buf *text, struct err *err) MUST_USE;

#endif
