// SPDX-License-Identifier: Apache-2.0
// zip: one member of a zip archive, unpacked (APPNOTE 6.3; stored or deflated, below 4 GiB).
#ifndef FARE_DATA_ZIP_H
#define FARE_DATA_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/deflate.h"
#include "base/err.h"

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
