// SPDX-License-Identifier: Apache-2.0
// folder: the names in a folder, and the file that a data set's part is in.
#ifndef FARE_DATA_FOLDER_H
#define FARE_DATA_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct folder {
    char **names; // sorted by their bytes; without those that begin with a dot
    size_t count;
    char *path;
};

// After a failure there is nothing to release. A folder that is not one is ERR_MISSING.
int folder_open(struct folder *folder, const char *path, struct err *err) MUST_USE;
void folder_release(struct folder *folder); // a zeroed struct is fine

// Whether `name` ends in `ending` (capitals and small letters alike), apart from a ".gz" behind.
bool folder_ends(const char *name, const char *ending);

// The only file whose name ends in one of `endings` (a null at their end), ".gz" behind it or not;
// where both lie there, the unpacked one. Its path is put into `path`. None is ERR_MISSING, two
// are ERR_FORMAT; both say what was looked for.
int folder_find(const struct folder *folder, const char *const *endings, struct buf *path,
                struct err *err) MUST_USE;

// The path of a name in it: replaces what `path` held.
int folder_path(const struct folder *folder, const char *name, struct buf *path,
                struct err *err) MUST_USE;

bool folder_is(const char *path);       // a folder lies there
bool folder_has_file(const char *path); // anything but a folder lies there

#endif
