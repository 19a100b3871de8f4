// SPDX-License-Identifier: Apache-2.0
// folders: where a user's files are, by the XDG base directory standard.
#ifndef FARE_BASE_FOLDERS_H
#define FARE_BASE_FOLDERS_H

#include "base/buf.h"
#include "base/err.h"

// Append $XDG_DATA_HOME/fare (~/.local/share/fare) or $XDG_CONFIG_HOME/fare (~/.config/fare). The
// standard says that relative ones are ignored. ERR_MISSING where there is no home either.
// FARE_HOME, if it is an absolute path, is the folder of data itself: measurements that leave
// nothing behind set it.
int folder_data(struct buf *out, struct err *err) MUST_USE;
int folder_config(struct buf *out, struct err *err) MUST_USE;

// Appends the folder of the data that comes with the program: FARE_SHARE, or share/ beside it.
int folder_share(struct buf *out, struct err *err) MUST_USE;

// Appends a path with ~ for the user's home.
void folder_short(struct buf *out, const char *path);

#endif
