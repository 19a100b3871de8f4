// SPDX-License-Identifier: Apache-2.0
// row: the part of a record that the ledger's columns hold. Internal to the ledger.
#ifndef FARE_LEDGER_ROW_H
#define FARE_LEDGER_ROW_H

#include "base/buf.h"
#include "base/err.h"
#include "record/run.h"

// A row is a run of which only these members were read, released by row_release().
// Checks the whole record and reads the row, corrected (record/run.h). ERR_FORMAT if it is not
// a run or its id is not valid: 1 to 120 letters, digits and . _ : - without a leading dot.
int row_read(const char *text, size_t len, struct run *row, struct err *err) MUST_USE;

// The same for an imported record: its values must be plausible too (record/judge.h), and its size
// within the bounds of record/run.h.
int row_judge(const char *text, size_t len, struct run *row, struct err *err) MUST_USE;
void row_release(struct run *row);

// The time of the whole training in seconds: measured if it ran to the end, otherwise projected.
// False if neither is known.
bool row_wall_s(const struct run *row, double *seconds);

// The record without the lists that grow with a run (samples, epochs) and with at most 32 of its
// step times, for reading many runs fast. The epochs stay if only they tell the training time.
// `row` was read from `text`. False, with an empty `head`, if the record is short or the head would
// be over half of it: the record then serves as its own head.
bool row_head(const struct run *row, const char *text, size_t len, struct buf *head);

// ==== mend ====
// Makes a record that every reader accepts of one that this program made. Internal to the
// ledger.
//
// What is stored is exported, pushed and published, and its readers check it (row_judge). So it is
// checked by the same function before it is stored. A fault in one figure must not lose the run.

// Checks the record `text` of `len` bytes, which ends in a NUL, and reads its row. If it is not
// acceptable as it is, `out` gets it without the members at fault, which `corrected` names in it;
// else `out` stays empty. ERR_FORMAT if it is not a run at all.
int mend_record(const char *text, size_t len, struct run *row, struct buf *out,
                struct err *err) MUST_USE;

#endif
