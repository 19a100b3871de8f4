// SPDX-License-Identifier: Apache-2.0
// import_file: a file of runs into a ledger, between ledger_import_begin() and its end: records as
// JSON lines or as --json prints them, a log in one of the formats of import.h, an invoice, or a
// site (import_file.h).
//
// A record that is not valid or cannot be true is left out and named; the others are imported.
//
// Lines of an invoice that are for the same thing are counted over all files of a job, so that two
// such lines are two, and the same file twice is one.
#ifndef FARE_LEDGER_IMPORT_FILE_H
#define FARE_LEDGER_IMPORT_FILE_H

#include "base/array.h"
#include "base/buf.h"
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

// ==== import_site ====
// The runs of a site (record/site.h), from its address or its folder, as lines of
// JSON.
//
// A site may be anyone's. Its index and each record have bounds, and the sum and size that the
// index gives must be those of what came, or nothing is imported; a record that is as the index
// says, but not valid, is left out; addresses and paths stay below the site's; redirects lead
// to http and https only, and links in a folder nowhere.

struct import_site {
    const char *place;
    struct ledger *ledger; // (optional) runs that it has are not fetched
    int fd;                // records are appended here, a line each
    int (*refuse)(void *arg, const struct err *why, struct err *err); // told of each one left out
    void *refuse_arg;
    void (*progress)(void *arg, int64_t done, int64_t total); // (optional) runs fetched
    void *progress_arg;

    int64_t fetched, there; // runs
};

// The address of the site that a page or folder belongs to, with a slash at its end.
int import_site_base(const char *url, struct buf *out, struct err *err) MUST_USE;

// Checks a file of the site against its row in the index (ERR_FAIL if it is another one), and makes
// one line of a record (ERR_FORMAT if it is not that run's). `text` is changed. For tests too.
struct site_file;
int import_site_line(const struct site_file *file, struct buf *text, struct err *err) MUST_USE;

#endif
