// SPDX-License-Identifier: Apache-2.0
// mend: makes a record that every reader accepts of one that this program made. Internal to the
// ledger.
//
// What is stored is exported, pushed and published, and its readers check it (row_judge). So it is
// checked by the same function before it is stored. A fault in one figure must not lose the run.
#ifndef FARE_LEDGER_MEND_H
#define FARE_LEDGER_MEND_H

#include "base/buf.h"
#include "base/err.h"
#include "ledger/row.h"

// Checks the record `text` of `len` bytes, which ends in a NUL, and reads its row. If it is not
// acceptable as it is, `out` gets it without the members at fault, which `corrected` names in it;
// else `out` stays empty. ERR_FORMAT if it is not a run at all.
int mend_record(const char *text, size_t len, struct row *row, struct buf *out,
                struct err *err) MUST_USE;

#endif
