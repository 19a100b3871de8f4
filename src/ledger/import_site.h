// SPDX-License-Identifier: Apache-2.0
// import_site: the runs of a site (record/site.h), from its address or its folder, as lines of
// JSON.
//
// A site may be anyone's. Its index and each record have bounds, and the sum and size that the
// index gives must be those of what came, or nothing is imported; a record that is as the index
// says, but not valid, is left out; addresses and paths stay below the site's; redirects lead
// to http and https only, and links in a folder nowhere.
#ifndef FARE_LEDGER_IMPORT_SITE_H
#define FARE_LEDGER_IMPORT_SITE_H

#include "ledger/ledger.h"

// An address (http://, https://), or a folder.
bool import_is_site(const char *place);

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
int import_site(struct import_site *site, struct err *err) MUST_USE;

// The address of the site that a page or folder belongs to, with a slash at its end.
int import_site_base(const char *url, struct buf *out, struct err *err) MUST_USE;

// Checks a file of the site against its row in the index (ERR_FAIL if it is another one), and makes
// one line of a record (ERR_FORMAT if it is not that run's). `text` is changed. For tests too.
struct site_file;
int import_site_line(const struct site_file *file, struct buf *text, struct err *err) MUST_USE;

#endif
