// SPDX-License-Identifier: Apache-2.0
// import_file: a file of runs into a ledger, between ledger_import_begin() and its end: records as
// JSON lines or as --json prints them, or a log in one of the formats of import.h.
#ifndef FARE_LEDGER_IMPORT_FILE_H
#define FARE_LEDGER_IMPORT_FILE_H

#include "base/buf.h"
#include "ledger/import.h"
#include "ledger/ledger.h"

struct import_job {
    struct ledger *ledger;
    const char *format;          // (optional) an importer's name, or "fare"
    struct import_options known; // for logs
    int64_t added, there;        // runs, so far
    struct buf ids;              // of logs' runs: "ID  NAME" lines; the caller releases it
};

// Call it before ledger_import_begin(): a pipe, terminal or device is copied to a temporary file,
// so that no transaction waits for its writer. The path "-" is standard input. `*fd` is the copy's,
// or -1 for a file, which import_file() opens.
int import_open(const char *path, int *fd, struct err *err) MUST_USE;

// Imports the file, or the copy, and closes it.
int import_file(struct import_job *job, const char *path, int fd, struct err *err) MUST_USE;

// "fare" and the importers' names; null behind the last.
const char *import_file_format(size_t i);

#endif
