// SPDX-License-Identifier: Apache-2.0
// tar: the plain files of a tar archive, packed with gzip or not, one after the other.
//
// POSIX ustar, with the long names of GNU tar and pax. Folders, links and devices are skipped.
// Nothing is written here; the caller must not trust a member's name.
#ifndef FARE_DATA_TAR_H
#define FARE_DATA_TAR_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/gzip.h"

struct tar {
    struct buf name; // of the member, as the archive has it
    int64_t size;
    int64_t left; // of its bytes, not yet read
    int64_t padding;
    struct gzip gzip;
};

int tar_open(struct tar *tar, const char *path, int64_t max_bytes, struct err *err) MUST_USE;
void tar_release(struct tar *tar); // a zeroed struct is fine

// The next plain file. 1: there is one; 0: the end; negative: an error.
int tar_next(struct tar *tar, struct err *err) MUST_USE;

// Its bytes: 1 to `size`; 0 at its end; negative after a failure.
ptrdiff_t tar_read(struct tar *tar, void *into, size_t size, struct err *err) MUST_USE;

#endif
