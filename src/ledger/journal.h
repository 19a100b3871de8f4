// SPDX-License-Identifier: Apache-2.0
// journal: saves the record of an unfinished run on local disk, in case its process is killed.
//
// While a run is measured, the spool folder holds two more files: ID.lock, locked by the process,
// and ID.part, the record as it would be if the run were killed now. ID.part is replaced as a
// whole. The lock ends with its process. The next process that opens the ledger and gets the lock
// turns ID.part into a spooled run and delivers it. Only one process can get the lock and an id is
// delivered once, so two processes that start together do no harm.
//
// A thread writes and calls fsync(): a slow disk or a hanging network home does not delay the run.
#ifndef FARE_LEDGER_JOURNAL_H
#define FARE_LEDGER_JOURNAL_H

#include "base/buf.h"
#include "ledger/ledger.h"

struct journal;

// Takes the lock in the first spool folder where that works. Writes nothing yet.
int journal_open(struct journal **out, const struct ledger *ledger, const char *id,
                 struct err *err) MUST_USE;

// Hands over the record as one line of JSON; `text` is empty afterwards. Replaces an earlier
// record that is not written yet.
void journal_put(struct journal *journal, struct buf *text);

// Ends the thread once it has written; the files stay. For a child process that measures a run
// whose parent opened the journal and will close it. Null is fine.
void journal_rest(struct journal *journal);

// Reads the last record written, as a kill would leave it. ERR_MISSING if there is none.
int journal_read(const struct journal *journal, struct buf *text, struct err *err) MUST_USE;

// Ends the run. Removes the files, unless `leave`: then the record could not be saved, and the
// next start delivers the files instead. If writing the journal failed, appends a warning to
// `says`. A null journal is fine.
void journal_close(struct journal *journal, bool leave, struct buf *says);

#endif
