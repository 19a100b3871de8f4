// SPDX-License-Identifier: Apache-2.0
// spool: runs as files on local disk, on their way into the database; for ledger.c, not for others.
//
// A run is ID.json in a folder of the ledger's own; it appears whole or not at all and is removed
// when the database has it. Removing is not forced to the disk: a file that comes back after a
// power cut is delivered again, and that adds nothing.
#ifndef FARE_LEDGER_SPOOL_H
#define FARE_LEDGER_SPOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "ledger/place.h"

// Into the first folder that takes it; `*path` is then where, to be freed.
int spool_put(const struct place *place, const char *id, const char *text, size_t len, char **path,
              struct err *err) MUST_USE;

// Makes one of its folders, where it is not there; that below /tmp must be this user's alone.
int spool_folder(const struct place *place, int number, struct err *err) MUST_USE;

// What killed processes left behind (journal.h) becomes spooled runs.
void spool_adopt(const struct place *place);

// The files that wait, sorted, as paths; free each and the list. A folder that is not there
// holds none.
struct spool_list {
    char **paths;
    size_t count;
};
int spool_list(const struct place *place, struct spool_list *list, struct err *err) MUST_USE;
void spool_list_release(struct spool_list *list);

// What is known of runs whose processes still go on (journal.h): the paths of those files, as
// spool_list() gives them. True in `*dead` where there is one whose process does not.
int spool_going(const struct place *place, struct spool_list *list, bool *dead,
                struct err *err) MUST_USE;

#endif
