// SPDX-License-Identifier: Apache-2.0
// fetch: the public data sets, from their homes into the user's cache.
//
// A set appears under its name when all of it is there, unpacked, and has the sums that
// share/data/sets.csv gives; until then it lies in ".NAME.part" beside it. Files whose sum nobody
// here knows are taken as they come, and the result says so; got.csv in the set's folder records
// every file with its sum, so that a later doubt can be settled.
#ifndef FARE_DATA_FETCH_H
#define FARE_DATA_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "data/dataset.h"
#include "data/sets.h"

// The public set behind a kind of data: "mnist", "cifar10", "imdb", "tweets", "nietzsche",
// "flowers".
const char *data_set_name(enum data_kind kind);

// Appends where a set of this name is kept: $XDG_CACHE_HOME/fare/data/NAME, or
// ~/.cache/fare/data/NAME. `name` null: the folder of all. Nothing need be there.
int data_cache_dir(const char *name, struct buf *dir, struct err *err) MUST_USE;

struct data_get {
    const char *name;
    const char *cache_dir; // null: data_cache_dir(NULL)
    const char *sets_path; // null: share/data/sets.csv
    bool allow_file;       // addresses may begin with file://, for tests
    // (optional) How far the file is; `total` is 0 while not known. False gives up.
    bool (*progress)(void *context, const char *file, int64_t done, int64_t total);
    void *context;
};

struct data_got {
    char *path;      // the set's folder
    bool already;    // it was there before
    int checked;     // files whose sums were known, and right
    int unchecked;   // files that could only be recorded,
    struct buf sums; // which are these: "SUM  FILE\n" each
};

int data_get(const struct data_get *get, struct data_got *got, struct err *err) MUST_USE;
void data_got_release(struct data_got *got); // a zeroed struct is fine

#endif
