// SPDX-License-Identifier: Apache-2.0
// gzip: a file read from its start to its end, unpacked on the way where it is packed.
//
// Whether it is packed is told by its first two bytes, not by its name. A file that says little and
// unpacks to much cannot do harm: there is a cap, and memory grows only as bytes really come. The
// SHA-256 of the unpacked bytes is found on the way; it is what a data set is known by.
// Errors name the file; offsets in them are of the unpacked bytes unless they say otherwise.
#ifndef FARE_BASE_GZIP_H
#define FARE_BASE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/deflate.h"
#include "base/err.h"
#include "base/sha256.h"

struct gzip {
    char *path;
    int fd;
    bool packed;
    bool ended;   // the last byte was given
    int64_t size; // of the file as it lies there
    int64_t max;
    int64_t given; // unpacked bytes so far
    uint8_t *chunk;
    const uint8_t *next; // bytes of the file not yet used
    size_t left;
    int64_t taken; // bytes of the file read so far
    struct deflate deflate;
    bool inside; // in the middle of a packed stream
    struct sha256 sha;
};

// More than `max` unpacked bytes are an error when they come. After a failure there is nothing to
// release, though releasing is harmless, as it is for a zeroed struct.
int gzip_open(struct gzip *gzip, const char *path, int64_t max, struct err *err) MUST_USE;
void gzip_release(struct gzip *gzip);

// 1 to `room` bytes (room > 0); 0 at the end; negative after a failure.
ptrdiff_t gzip_read(struct gzip *gzip, void *into, size_t room, struct err *err) MUST_USE;

// Exactly `len` bytes; fewer are an error that says where the file ends.
int gzip_exactly(struct gzip *gzip, void *into, size_t len, struct err *err) MUST_USE;

// The same into memory of its own, which grows as bytes come, so that a header that lies about
// a length costs nothing. The caller frees `*bytes`, null after a failure.
int gzip_read_all(struct gzip *gzip, size_t len, uint8_t **bytes, struct err *err) MUST_USE;

// The file must be at its end; what follows is an error. Then the sum of all of it.
int gzip_end(struct gzip *gzip, uint8_t sum[SHA256_BYTES], struct err *err) MUST_USE;

#endif
