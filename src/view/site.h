// SPDX-License-Identifier: Apache-2.0
// site: runs as static pages for any web host: an overview, lists, a page for each run,
// comparisons, and JSON beside each. Links are relative, so that the folder works from a disk or
// anywhere on a host; no page loads anything.
//
// Pages are made from the records that the site publishes (record/share.h) and from published
// results, never from other runs of the ledger: nothing else can show through.
#ifndef FARE_VIEW_SITE_H
#define FARE_VIEW_SITE_H

#include "view/page.h"

struct site_ask {
    const char *folder;
    struct page_ask page; // which runs, and their prices
    const char *book;     // as in market_open(), for the markets of other threads
    bool keep_names;      // of hosts and users, and folders
    void (*progress)(void *arg, int64_t done, int64_t total); // (optional) pages of runs
    void *progress_arg;
};

struct site_done {
    int64_t runs, files, bytes;
    int64_t written, removed; // files
};

// Writes the site, or changes the one that is there (site_job.h). No runs are no failure; `done`
// says so, and nothing is written.
int site_write(const struct site_ask *ask, struct site_done *done, struct err *err) MUST_USE;

#endif
