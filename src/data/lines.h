// SPDX-License-Identifier: Apache-2.0
// lines: a text file, packed or not, line by line in constant memory.
#ifndef FARE_DATA_LINES_H
#define FARE_DATA_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/gzip.h"

struct lines {
    char *text; // the line, without its end (LF or CR LF), followed by a NUL; NULs in it are data
    size_t len;
    int64_t number; // of this line, from 1
    int64_t offset; // of its first byte in the unpacked file
    struct gzip gzip;
    // Bytes read ahead.
    char *buffer;
    size_t at, filled, size, max_line;
};

// A file of more than `max_bytes` unpacked, or a line of more than `max_line`, is an error.
int lines_open(struct lines *lines, const char *path, int64_t max_bytes, size_t max_line,
               struct err *err) MUST_USE;
void lines_release(struct lines *lines); // a zeroed struct is fine

// 1: there is one; 0: the end; negative: an error.
int lines_next(struct lines *lines, struct err *err) MUST_USE;

// Puts "'FILE', line N: " before the text of `err`; returns err->code.
int lines_context(const struct lines *lines, struct err *err);

#endif
