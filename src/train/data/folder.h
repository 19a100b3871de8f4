// SPDX-License-Identifier: Apache-2.0
// folder: the names in a folder, and finding the file that holds a part of a data set.
#ifndef FARE_TRAIN_DATA_FOLDER_H
#define FARE_TRAIN_DATA_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

struct folder {
    char **names; // sorted by their bytes; without those that begin with a dot
    size_t count;
    char *path;
};

// After a failure there is nothing to release. A folder that is not one is ERR_MISSING.
int folder_open(struct folder *folder, const char *path, struct err *err) MUST_USE;
void folder_release(struct folder *folder); // a zeroed struct is fine

// Whether `name` ends in `ending`, in either case, with or without ".gz" behind.
bool folder_ends(const char *name, const char *ending);

// The only file whose name ends in one of `endings` (null-terminated), with or without ".gz"
// behind; where both exist, the unpacked one. `path` becomes its path. None is ERR_MISSING, two are
// ERR_FORMAT.
int folder_find(const struct folder *folder, const char *const *endings, struct buf *path,
                struct err *err) MUST_USE;

// The path of a name in it: replaces what `path` held.
int folder_path(const struct folder *folder, const char *name, struct buf *path,
                struct err *err) MUST_USE;

bool folder_is(const char *path);       // a folder
bool folder_has_file(const char *path); // anything else

// ==== identity ====
// A sum that identifies a data set, whatever its folder, file names and packing.
//
// The SHA-256 of a list with one line per file, "SUM  NAME\n", where SUM is the SHA-256 of its
// unpacked contents and NAME its name in the public set: what `sha256sum FILES | sha256sum` prints.
// Names and order: pixels.c, pixels.c, sentiment.c (train before test); "tweets.csv"; "text.txt";
// CLASS/FILE.jpg, sorted.

struct identity {
    struct sha256 sha;
};

void identity_init(struct identity *identity);
void identity_add(struct identity *identity, const uint8_t sum[SHA256_BYTES], const char *name);

// The text, to be freed by the caller; null and `err` when there is no memory.
char *identity_text(struct identity *identity, struct err *err) MUST_USE;

#endif
