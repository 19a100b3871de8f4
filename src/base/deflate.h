// SPDX-License-Identifier: Apache-2.0
// deflate: unpacking of compressed bytes (RFC 1951), in pieces. zlib is opened on first use.
//
// For gzip files and members of zip archives; nothing here knows of files.
#ifndef FARE_BASE_DEFLATE_H
#define FARE_BASE_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum deflate_form {
    DEFLATE_RAW,  // nothing around the data, as in zip
    DEFLATE_GZIP, // header, check sum and length around it (RFC 1952): they are checked
};

struct deflate {
    void *stream; // zlib's; null when not begun
};

int deflate_begin(struct deflate *deflate, enum deflate_form form, struct err *err) MUST_USE;
void deflate_release(struct deflate *deflate); // a zeroed struct is fine
void deflate_again(struct deflate *deflate);   // for the next stream of the same form

// Takes from `*in` (moving it and its length on), makes at most `room` bytes. 1: the stream is at
// its end; 0: it goes on; negative: an error that says what is wrong with the data.
int deflate_step(struct deflate *deflate, const uint8_t **in, size_t *in_len, void *out,
                 size_t room, size_t *made, struct err *err) MUST_USE;

#endif
