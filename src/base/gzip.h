// SPDX-License-Identifier: Apache-2.0
// deflate: decompression (RFC 1951) in pieces, by zlib, which is opened on first use.
#ifndef FARE_BASE_GZIP_H
#define FARE_BASE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

enum deflate_form {
    DEFLATE_RAW,  // the bare stream, as in zip
    DEFLATE_GZIP, // with header, checksum and length (RFC 1952), which are checked
};

struct deflate {
    void *stream; // zlib's; null when not begun
};

int deflate_begin(struct deflate *deflate, enum deflate_form form, struct err *err) MUST_USE;
void deflate_release(struct deflate *deflate); // a zeroed struct is fine

// Reads from `*in`, advancing it and `*in_len`, and writes at most `size` bytes. 1: the stream has
// ended; 0: it continues; negative: an error that says what is wrong with the data.
int deflate_step(struct deflate *deflate, const uint8_t **in, size_t *in_len, void *out,
                 size_t size, size_t *made, struct err *err) MUST_USE;

// The CRC-32 of what came before (at first 0) and these bytes, fewer than 4 GiB. Only after a
// deflate_begin().
uint32_t deflate_crc(uint32_t crc, const void *bytes, size_t len);

// ==== gzip ====
// A file read from start to end, unpacked on the way where it is packed.
//
// The first two bytes decide whether it is packed, not its name. A small file that unpacks to a
// huge one does no harm: there is a cap, and memory grows only as bytes arrive. The SHA-256 of the
// unpacked bytes is computed on the way; it identifies data sets. Errors name the file; offsets
// are in the unpacked bytes unless the text says otherwise.

struct gzip {
    char *path;
    int fd;
    bool packed;
    bool ended;   // after the last byte
    int64_t size; // of the file, packed or not
    int64_t max;
    int64_t given; // unpacked bytes so far
    uint8_t *chunk;
    const uint8_t *next; // bytes of the file not yet used
    size_t left;
    int64_t taken; // bytes of the file read so far
    struct deflate deflate;
    bool inside;   // in the middle of a packed stream
    bool unsummed; // nobody wants the sum
    struct sha256 sha;
};

// Reading more than `max` unpacked bytes is an error. After a failure there is nothing to release,
// though releasing is harmless, as it is for a zeroed struct.
int gzip_open(struct gzip *gzip, const char *path, int64_t max, struct err *err) MUST_USE;
void gzip_release(struct gzip *gzip);

// 1 to `size` bytes (size > 0); 0 at the end; negative after a failure.
ptrdiff_t gzip_read(struct gzip *gzip, void *into, size_t size, struct err *err) MUST_USE;

// Exactly `len` bytes; fewer are an error that says where the file ends.
int gzip_exactly(struct gzip *gzip, void *into, size_t len, struct err *err) MUST_USE;

// The same into allocated memory, which grows as bytes arrive, so that a header that lies about a
// length costs nothing. The caller frees `*bytes`, null after a failure.
int gzip_read_all(struct gzip *gzip, size_t len, uint8_t **bytes, struct err *err) MUST_USE;

// Checks that the file is at its end, and gives the sum of all of it.
int gzip_end(struct gzip *gzip, uint8_t sum[SHA256_BYTES], struct err *err) MUST_USE;

// The whole file, appended to `out`, whose cap is raised to `max`. With a null `sum` none is
// computed.
int gzip_load(const char *path, int64_t max, struct buf *out, uint8_t sum[SHA256_BYTES],
              struct err *err) MUST_USE;

#endif
