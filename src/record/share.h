// SPDX-License-Identifier: Apache-2.0
// share: a run's record for everyone, without what tells whose machine it was.
//
// Left out are the names of host and user, hashed ones too, since a hash of a short name is soon
// guessed; the machine's id on invoices; serial numbers (UUIDs) of GPUs; folders; the place of
// checkpoints. Everywhere else the names of this host and its user, and those that the record
// itself has, become ***. Secrets are masked as always (mask.h). Labels, project, command and
// script stay. What remains is kept byte for byte but for white space, keys of a newer fare too.
#ifndef FARE_RECORD_SHARE_H
#define FARE_RECORD_SHARE_H

#include "base/buf.h"
#include "base/err.h"

// `text` ends in a NUL and is a record of the ledger or of the published results; appends it to
// `out`, on one line without its end. `names`: those to hide, beside the record's own, null behind
// the last.
int share_record(const char *text, const char *const *names, struct buf *out,
                 struct err *err) MUST_USE;

// This host's and user's names, "" if unknown or if they tell nothing ("root", "localhost").
#define SHARE_NAME_BYTES 256
struct share_here {
    char host[SHARE_NAME_BYTES], user[SHARE_NAME_BYTES];
};
void share_here(struct share_here *here);

#endif
