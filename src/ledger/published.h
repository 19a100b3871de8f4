// SPDX-License-Identifier: Apache-2.0
// published: results that others published, and ours from other machines, shipped with fare in
// share/published/*.jsonl: records like any other, each with its source. No ledger is needed to
// read them; importing them into one works like any import.
#ifndef FARE_LEDGER_PUBLISHED_H
#define FARE_LEDGER_PUBLISHED_H

#include "base/buf.h"
#include "base/err.h"
#include "ledger/ledger.h"

// Every record, file by file in the order of their names. `dir` null: the program's own.
int published_each(const char *dir, ledger_visit_fn *visit, void *arg, struct err *err) MUST_USE;

// Those of one set, named like its file: "2017-keras-backends". ERR_USAGE, and which there are.
int published_set(const char *dir, const char *set, ledger_visit_fn *visit, void *arg,
                  struct err *err) MUST_USE;

// The text of the one with this id, or the only one whose id begins so; ERR_MISSING otherwise.
int published_find(const char *dir, const char *word, struct buf *text, struct err *err) MUST_USE;

// A run's record by what the user called it, among the published or in the ledger.
int published_or_kept(struct ledger *ledger, const char *word, struct buf *text,
                      struct err *err) MUST_USE;

#endif
