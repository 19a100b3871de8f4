// SPDX-License-Identifier: Apache-2.0
// import_file: a file of runs into a ledger, between ledger_import_begin() and its end: records as
// JSON lines or as --json prints them, a log in one of the formats of import.h, an invoice, or a
// site (import_site.h).
//
// A record that is not valid or cannot be true is left out and named; the others are imported.
//
// Lines of an invoice that are for the same thing are counted over all files of a job, so that two
// such lines are two, and the same file twice is one.
#ifndef FARE_LEDGER_IMPORT_FILE_H
#define FARE_LEDGER_IMPORT_FILE_H

#include "base/buf.h"
#include "base/index.h"
#include "ledger/import.h"
#include "ledger/ledger.h"

struct import_job {
    struct ledger *ledger;
    const char *format;          // (optional) an importer's name, or "fare"
    struct import_options known; // for logs
    int64_t added, there;        // runs, so far
    int64_t refused;             // records that were left out
    struct err refusal;          // the first of them, and why
    struct buf ids;              // of logs' runs: "ID  NAME" lines, of the first IMPORT_IDS_MOST
    int64_t named;               // of them, those in `ids`
    struct buf says;             // what was left out, a line each
    int64_t charges, changed, charges_there; // lines of invoices: new, with another amount, known
    struct index lines;                      // of all files: what they are for
    int64_t *occurrences;                    // of each
    size_t line_space;
    void (*progress)(void *arg, int64_t done, int64_t total); // (optional) of a site's runs
    void *progress_arg;
};

enum { IMPORT_IDS_MOST = 20, IMPORT_REFUSED_MOST = 20 }; // named; the others are counted

void import_job_release(struct import_job *job);

// Call it before ledger_import_begin(): a pipe, terminal or device is copied to a temporary file,
// so that no transaction waits for its writer; so are the records of a site that are not in the
// ledger. The path "-" is standard input. `*fd` is the copy's, or -1 for a file, which
// import_file() opens.
int import_open(struct import_job *job, const char *path, int *fd, struct err *err) MUST_USE;

// Imports the file, or the copy, and closes it.
int import_file(struct import_job *job, const char *path, int fd, struct err *err) MUST_USE;

// "fare" and the importers' names; null behind the last.
const char *import_file_format(size_t i);

#endif
