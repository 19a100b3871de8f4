// SPDX-License-Identifier: Apache-2.0
// renew: fetches the public catalogues of prices, all at once, and adds them to the book.
//
//     struct renewal r = {.options.book = path, .again = false};
//     rc = renewal_open(&r, NULL, 0, err);          the sources, and what is known of them
//     rc = rc == 0 ? renewal_run(&r, err) : rc;     fetches, imports, keeps what to ask next time
//     renewal_release(&r);
//
// renewal_soon() does the same in a process of its own, for commands that only want young prices.
//
// The sources are addresses given, those in the user's price-sources (one on a line), or
// share/price-sources.csv, which has a row for each provider: its catalogue, or why there is none.
// BOOK.sources keeps for each address what its server calls this version (ETag, Last-Modified) and
// when it was asked. The next request names that version, so an unchanged catalogue is not sent
// again. But prices count as seen when they were fetched: a catalogue that is made daily is
// fetched again after six days, so that its spot prices do not grow old (book.h) while it still
// lists them. A catalogue kept by hand is not: there, nobody looked at the prices since. Where a
// file is the one that the table knows (by its SHA-256), its prices have the table's date.
//
// A source that fails keeps the others from nothing. A catalogue is imported whole or not at all,
// and the book changes once, atomically, under the importer's lock. Requests name fare's version
// and nothing about the user.
#ifndef FARE_BOOK_RENEW_H
#define FARE_BOOK_RENEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "book/import.h"

struct renewal_source {
    char *provider, *url; // of a row of the table without `url`, `none` says why
    char *none;
    char *kept;  // "daily" or "by hand"; null: unknown
    char *known; // SHA-256 of the file that fare knows, in hexadecimal; null: none
    int64_t known_day;
    char *source;
    // from BOOK.sources; 0 or null: never, unknown
    char *etag, *modified;
    int64_t fetched_s, asked_s, answered_s;
    // the outcome of this renewal
    bool unchanged; // the server has no newer version
    struct import_report report;
    struct err err; // code 0: it answered
};

struct renewal {
    struct price_import_options options;
    bool again; // fetch what has not changed too
    // (optional) Called while files arrive, with the bytes so far of all; false gives up.
    bool (*progress)(void *context, int64_t done, int64_t total);
    void *context;
    // the result
    struct renewal_source *items;
    size_t count;
    size_t asked, failed;        // requests; those that led to nothing
    struct importing *importing; // null: nothing was imported
    struct stock_counts counts;
    // internal
    struct buf book, state; // the paths of the book and of BOOK.sources
    struct renewal_request *requests;
    bool due; // ask only those that were not asked lately
    size_t cap;
};

// `urls`: null for the user's list or the table. ERR_FORMAT names the line of a wrong table.
int renewal_open(struct renewal *r, const char *const *urls, size_t count,
                 struct err *err) MUST_USE;

// Errors of one source are in its `err`; only what concerns all is returned.
int renewal_run(struct renewal *r, struct err *err) MUST_USE;
void renewal_release(struct renewal *r); // a zeroed struct is fine

// Renews the user's book if that was not done for a day, and not tried for an hour. `say` is called
// when the first bytes arrive, with the number of sources. Returns when all is done, when nothing
// has arrived after half a second, or after three seconds; what is left goes on in a process
// without terminal and pipes, whatever becomes of this one. Where there is no network it says
// nothing, and takes that half second once an hour at most.
//
// Does nothing if FARE_OFFLINE or CI is set, FARE_BOOK is "-", or the user's file `config` says
// "prices.update = never". Failures of the network are none. ERR_USAGE names the line of `config`
// that is wrong.
int renewal_soon(void (*say)(size_t sources), struct err *err) MUST_USE;

#endif
