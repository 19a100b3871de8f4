// SPDX-License-Identifier: Apache-2.0
// mask: hides secrets (base/secret.h) in a run's record.
//
// Every record passes here before it is stored: fare's own when it is made, those from elsewhere
// when they are imported or pushed; and again when it is read, since earlier versions stored
// secrets. All texts are masked alike, those of keys that this version does not know too. The value
// of a label or key is judged by its name, a word of a command by the word before it.
#ifndef FARE_RECORD_MASK_H
#define FARE_RECORD_MASK_H

#include "base/secret.h"
#include "record/run.h"

// Masks a record as JSON text, which ends in a NUL. Only texts with a secret change; if none has
// one, `out` stays empty. Text that is not JSON stays as it is, for its reader to refuse.
int mask_json(const struct secrets *own, const char *text, struct buf *out,
              struct err *err) MUST_USE;

// The same for a record of the ledger, which an earlier version may have stored with its secrets.
// It put none into the names and figures that it measured itself: they are skipped, for speed.
int mask_stored(const char *text, struct buf *out, struct err *err) MUST_USE;

// Masks a record in place; texts of it that others point to may move.
int mask_run(const struct secrets *own, struct run *run, struct err *err) MUST_USE;

#endif
