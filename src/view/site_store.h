// SPDX-License-Identifier: Apache-2.0
// site_store: the folder of a site, changed from one state to the next.
//
// Files are first written below STAGE in the folder. When all are there and on the disk, they are
// renamed to where they belong: new ones first, then those that replace others, then the overview
// and the index; only then are files of the site before removed. So a full disk, an error or a kill
// at any time leaves a site all of whose links lead somewhere, and the next time completes it. A
// file whose bytes are the same is not touched.
//
// What fare wrote is known from the index (record/site.h), and after a kill from the list in STAGE.
// Any other file is neither replaced (ERR_USAGE, before anything is changed) nor removed; nor is
// one that was changed since removed.
#ifndef FARE_VIEW_SITE_STORE_H
#define FARE_VIEW_SITE_STORE_H

#include "base/array.h"
#include "record/site.h"

struct site_store {
    char *folder;
    int dir, stage;             // descriptors, -1: not open
    struct site_index was, now; // the site that is there, and the next
    struct index was_paths, was_files, now_paths;
    bool *staged; // for each file of `now`: it is STAGE/NUMBER
    size_t staged_space;
    bool made;                       // the folder is new
    bool again;                      // `was` is complete and made of the same inputs
    bool begun;                      // renaming has begun: STAGE stays if it fails
    int64_t written, removed, bytes; // files, files, bytes of all files
};

// Creates the folder if need be. Call site_store_close() even after a failure. ERR_USAGE: the
// folder has an index of something else, or another fare is writing there.
int site_store_open(struct site_store *store, const char *folder, struct err *err) MUST_USE;

// A file of the next site. `run` (optional): the id of the run whose record it is.
int site_store_put(struct site_store *store, const char *path, const char *run,
                   const struct buf *bytes, struct err *err) MUST_USE;

// Pages made of the same inputs (a hash) as those of the site that is there may be kept as they
// are, if their records are the same too. Call it before the first put.
int site_store_inputs(struct site_store *store, const char *inputs, struct err *err) MUST_USE;

// Whether the site that is there has this file, if it is complete and was made of the same inputs;
// and the same bytes as the file that was put.
bool site_store_had(const struct site_store *store, const char *path);
bool site_store_same(const struct site_store *store, const char *path);

// Whether that file is still as fare wrote it. Several threads may call it, while others put files.
int site_store_intact(const struct site_store *store, const char *path, bool *intact,
                      struct err *err) MUST_USE;
// Puts it as it is.
int site_store_keep(struct site_store *store, const char *path, struct err *err) MUST_USE;

// Replaces what `out` held by the bytes of a file that was put.
int site_store_read(struct site_store *store, const char *path, struct buf *out,
                    struct err *err) MUST_USE;

// From the one state to the other.
int site_store_commit(struct site_store *store, struct err *err) MUST_USE;

void site_store_close(struct site_store *store);

#endif
