// SPDX-License-Identifier: Apache-2.0
// site_job: what the files of a site share. Internal to report/.
#ifndef FARE_VIEW_SITE_JOB_H
#define FARE_VIEW_SITE_JOB_H

#include <pthread.h>

#include "base/array.h"
#include "base/sha256.h"
#include "record/site.h"
#include "view/run_list.h"
#include "view/site.h"

// ==== the folder ====
// The folder of a site, changed from one state to the next (site_store.c).
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

// ==== the job ====

struct site_run {
    char *id, *started;
    char name[SITE_NAME_BYTES]; // of its files
    size_t training;
};

#define SITE_WORDS 160

// All runs of a workload, or of a command's name.
struct site_training {
    char *title;
    char name[SITE_NAME_BYTES]; // of its comparison's files
    size_t runs, newest;        // number of them; the first in `site_job.runs`
    bool compared;              // it has a page
    // "2.4 s on H200 + fare", "0.018 USD on k80 + tensorflow"; "": unknown
    char fastest[SITE_WORDS], lowest[SITE_WORDS];
};

struct site_job {
    const struct site_ask *ask;
    struct site_store store;
    pthread_mutex_t lock;  // guards the store, and the next two
    size_t next;           // run whose page is to be made
    bool stops;            // one could not be made
    struct site_run *runs; // the newest first
    size_t run_count, run_space;
    struct site_training *trainings; // those with the most runs first
    size_t training_count, training_space;
    struct index ids, titles, machines;
    int64_t wall_ns; // measured in all runs
};

// Comparisons have pages of their own, as many as this.
enum { SITE_COMPARED_MOST = 500 };

// Adds the pages to the store (site_pages.c). Those of runs by several threads, each with a market.
int site_run_page(struct site_job *job, struct market *market, const struct site_run *run,
                  struct err *err) MUST_USE;
int site_compare_page(struct site_job *job, size_t training, struct err *err) MUST_USE;
// The overview and the list of comparisons, and the lists of runs (site_lists.c).
int site_overview(struct site_job *job, struct err *err) MUST_USE;
int site_lists(struct site_job *job, struct err *err) MUST_USE;

// The hash of what pages of runs are made of beside their records (site_inputs.c).
int site_inputs(const struct site_ask *ask, char out[SHA256_HEX_BYTES], struct err *err) MUST_USE;

// page_make() for one run, or all runs of a training (SIZE_MAX: all of the site).
int site_page_make(struct site_job *job, struct market *market, const struct site_run *only,
                   size_t training, struct page *page, struct err *err) MUST_USE;

// Reads the record of a run as the site has it.
int site_record(struct site_job *job, const struct site_run *run, struct buf *out,
                struct err *err) MUST_USE;

#define SITE_PLOTS_UNTIL 200000 // bytes of a page: what follows is small

// Keeps the page of a run that is there already, made of the same: `*kept`. Not that of the only
// run of a training, which says something about the training.
int site_keep(struct site_job *job, const struct site_run *run, const char *path, bool *kept,
              struct err *err) MUST_USE;

// Adds a file to the store.
int site_put(struct site_job *job, const char *path, const struct buf *bytes,
             struct err *err) MUST_USE;

// From the doctype to <main>, and the end. `up`: "" or "../", before addresses; `here`: the page
// among those of the navigation, or null.
void site_begin(struct buf *out, const char *up, const char *here, const char *title);
// A null `page`: no provenance. `sources`: of each run too.
void site_end(struct buf *out, const struct page *page, bool sources);
void site_json_link(struct buf *out, const char *href); // escaped

// The newest runs as rows, for pages at the top of the site and a folder below.
int site_rows(struct site_job *job, const size_t *numbers, size_t count, bool below,
              struct buf *out, struct err *err) MUST_USE;

#endif
