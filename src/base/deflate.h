// SPDX-License-Identifier: Apache-2.0
// deflate: decompression (RFC 1951) in pieces, by zlib, which is opened on first use.
#ifndef FARE_BASE_DEFLATE_H
#define FARE_BASE_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum deflate_form {
    DEFLATE_RAW,  // the bare stream, as in zip
    DEFLATE_GZIP, // with header, checksum and length (RFC 1952), which are checked
};

struct deflate {
    void *stream; // zlib's; null when not begun
};

int deflate_begin(struct deflate *deflate, enum deflate_form form, struct err *err) MUST_USE;
void deflate_release(struct deflate *deflate); // a zeroed struct is fine
void deflate_again(struct deflate *deflate);   // begins the next stream of the same form

// Reads from `*in`, advancing it and `*in_len`, and writes at most `size` bytes. 1: the stream has
// ended; 0: it continues; negative: an error that says what is wrong with the data.
int deflate_step(struct deflate *deflate, const uint8_t **in, size_t *in_len, void *out,
                 size_t size, size_t *made, struct err *err) MUST_USE;

// The CRC-32 of what came before (at first 0) and these bytes, fewer than 4 GiB. Only after a
// deflate_begin().
uint32_t deflate_crc(uint32_t crc, const void *bytes, size_t len);

#endif
