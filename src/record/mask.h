// SPDX-License-Identifier: Apache-2.0
// mask: hides secrets (base/secret.h) in a run's record.
//
// Every record passes here before it is stored, exported or sent: fare's own when it is made, those
// from elsewhere when they are imported or pushed. All texts are masked alike, those of keys that
// this version does not know too. The value of a label or key is judged by its name, a word of a
// command by the word before it.
#ifndef FARE_RECORD_MASK_H
#define FARE_RECORD_MASK_H

#include "base/secret.h"
#include "record/run.h"

// Masks a record as JSON text, which ends in a NUL. Only texts with a secret change; if none has
// one, `out` stays empty. Text that is not JSON stays as it is, for its reader to refuse.
int mask_json(const struct secrets *own, const char *text, struct buf *out,
              struct err *err) MUST_USE;

// Masks a record in place; texts of it that others point to may move.
int mask_run(const struct secrets *own, struct run *run, struct err *err) MUST_USE;

#endif
