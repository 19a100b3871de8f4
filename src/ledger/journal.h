// SPDX-License-Identifier: Apache-2.0
// journal: what is known so far of a run that is not over, on local disk, in case its process is
// killed.
//
// Beside the spool's files lie, while a run is measured, ID.lock, which its process holds locked,
// and ID.part, the record as it would be were the run killed now; it is replaced whole. A lock ends
// with its process, however that ended, so whoever next opens the ledger and gets the lock knows
// that nobody will finish the record, makes a spooled run of it and has it delivered. Only one can
// have the lock, and a run's id is delivered once: two that start at the same time do no harm.
//
// The writing, with its fsync(), is done by a thread: a slow disk, or a home folder on a network
// that hangs, does not hold up the run.
#ifndef FARE_LEDGER_JOURNAL_H
#define FARE_LEDGER_JOURNAL_H

#include "base/buf.h"
#include "ledger/ledger.h"

struct journal;

// Takes the lock, in the first of the spool's folders where that works. Writes nothing yet.
int journal_open(struct journal **out, const struct ledger *ledger, const char *id,
                 struct err *err) MUST_USE;

// Hands over the record as one line of JSON; `text` is empty afterwards. What was handed over
// before and is not written yet is left out.
void journal_put(struct journal *journal, struct buf *text);

// Ends the thread when it has written; the files stay. For a process that measured for another,
// which has opened the journal and will close it. Null is fine.
void journal_rest(struct journal *journal);

// What was written last, as it would be found after a kill. ERR_MISSING: nothing was.
int journal_read(const struct journal *journal, struct buf *text, struct err *err) MUST_USE;

// The run is over. Removes the files, or, where its record could not be written, leaves them to the
// next start: what is in them is better than nothing. Where writing them had failed, a sentence in
// `says`, once. A null journal is fine.
void journal_close(struct journal *journal, bool leave, struct buf *says);

#endif
