// SPDX-License-Identifier: Apache-2.0
// spool: holds runs as files on local disk until the database has them. Internal to the ledger.
//
// A run is ID.json in a folder that belongs to the ledger. It is written atomically and removed
// once the database has it. The removal is not synced: a file that reappears after a power cut is
// delivered again, which adds nothing.
#ifndef FARE_LEDGER_SPOOL_H
#define FARE_LEDGER_SPOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "ledger/inside.h"

// Writes a run into the first folder that works; the caller frees `*path`.
int spool_put(const struct ledger_place *place, const char *id, const char *text, size_t len,
              char **path, struct err *err) MUST_USE;

// Makes one of the folders if needed. The one in /tmp must belong to this user alone.
int spool_folder(const struct ledger_place *place, int number, struct err *err) MUST_USE;

// Turns the journals of killed processes (journal.h) into spooled runs.
void spool_adopt(const struct ledger_place *place);

// The paths of the spooled runs, sorted. A missing folder holds none.
struct spool_list {
    char **paths;
    size_t count;
};
int spool_list(const struct ledger_place *place, struct spool_list *list, struct err *err) MUST_USE;
void spool_list_release(struct spool_list *list);

// The paths of the journals (journal.h) of running processes. `*dead` is set if there is a journal
// whose process has ended.
int spool_running(const struct ledger_place *place, struct spool_list *list, bool *dead,
                  struct err *err) MUST_USE;

#endif
