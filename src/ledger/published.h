// SPDX-License-Identifier: Apache-2.0
// published: results shipped with fare in share/published/*.jsonl: published by others, or measured
// by us on other machines. They are ordinary run records, each with its source, and need no ledger.
#ifndef FARE_LEDGER_PUBLISHED_H
#define FARE_LEDGER_PUBLISHED_H

#include "base/buf.h"
#include "base/err.h"
#include "ledger/ledger.h"

// Visits every record, file by file in name order. `dir` null: the shipped folder.
int published_each(const char *dir, ledger_visit_fn *visit, void *arg, struct err *err) MUST_USE;

// Visits the records of one set, named like its file: "2017-keras-backends". ERR_USAGE lists the
// sets that exist.
int published_set(const char *dir, const char *set, ledger_visit_fn *visit, void *arg,
                  struct err *err) MUST_USE;

// Finds the record with this id or unique prefix of one; ERR_MISSING otherwise.
int published_find(const char *dir, const char *word, struct buf *text, struct err *err) MUST_USE;

// Finds a run's record among the published ones if `word` starts with "published-", otherwise (or
// if that fails) in the ledger.
int published_or_ledger(struct ledger *ledger, const char *word, struct buf *text,
                        struct err *err) MUST_USE;

#endif
