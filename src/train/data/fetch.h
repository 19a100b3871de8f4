// SPDX-License-Identifier: Apache-2.0
// fetch: public data sets, from their homes into the user's cache.
//
// A set appears under its name when all its files are there, unpacked, with the sums that sets.c
// gives; until then it lies in ".NAME.part" beside it. A file without a known sum is taken as it
// comes, and the result says so. got.csv in the set's folder records every file with its sum.
#ifndef FARE_TRAIN_DATA_FETCH_H
#define FARE_TRAIN_DATA_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "train/data/sets.h"

// Appends the folder for the set of this name, $XDG_CACHE_HOME/fare/data/NAME or
// ~/.cache/fare/data/NAME, whether it exists or not. Null: the folder of all sets.
int data_cache_dir(const char *name, struct buf *dir, struct err *err) MUST_USE;

struct data_get {
    const struct public_set *set;
    const char *cache_dir; // null: data_cache_dir(NULL)
    bool allow_file;       // addresses may begin with file://
    // (optional) Progress of a download; `total` is 0 while not known. False gives up.
    bool (*progress)(void *context, const char *file, int64_t done, int64_t total);
    void *context;
};

struct data_got {
    char *path;      // the set's folder
    bool already;    // it was there before
    int checked;     // files with the sum they must have
    int unchecked;   // files without a known sum:
    struct buf sums; // "SUM  FILE\n" for each of these
};

int data_get(const struct data_get *get, struct data_got *got, struct err *err) MUST_USE;
void data_got_release(struct data_got *got); // a zeroed struct is fine

#endif
