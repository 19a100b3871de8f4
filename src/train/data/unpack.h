// SPDX-License-Identifier: Apache-2.0
// tar: the plain files of a tar archive, packed with gzip or not, one after the other.
//
// POSIX ustar, with the long names of GNU tar and pax. Folders, links and devices are skipped.
// Nothing is written here; the caller must not trust a member's name.
#ifndef FARE_TRAIN_DATA_UNPACK_H
#define FARE_TRAIN_DATA_UNPACK_H

#include <stdbool.h>
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

// ==== zip ====
// One member of a zip archive, unpacked (APPNOTE 6.3; stored or deflated, below 4 GiB).

struct zip {
    const char *path; // the caller's
    uint8_t *bytes;   // of the archive, which is mapped: its list of members is at the end
    size_t len;
    size_t at;         // of the member, for errors
    const uint8_t *in; // its packed bytes that are left
    size_t left;
    size_t size, given; // unpacked: in all, and so far
    uint32_t crc, sum;  // the same
    bool packed, ended;
    struct deflate deflate;
};

// No such member is ERR_MISSING, one of more than `max_bytes` ERR_FORMAT. After a failure there is
// nothing to release, though releasing is harmless.
int zip_open(struct zip *zip, const char *path, const char *member, int64_t max_bytes,
             struct err *err) MUST_USE;
void zip_release(struct zip *zip);

// 1 to `size` bytes of the member; 0 at its end; negative after a failure. Its length and checksum
// are compared with the archive's before the end is reported.
ptrdiff_t zip_read(struct zip *zip, void *into, size_t size, struct err *err) MUST_USE;

#endif
