// SPDX-License-Identifier: Apache-2.0
// scan: reads a JSON text (RFC 8259) once from front to back, without building a tree.
//
// For the headers of safetensors files, which are untrusted and may have 100 MB: scanning allocates
// nothing beyond what the caller keeps (a tree of "[[],[],..." costs forty times its text), and a
// lack of memory is never reported as a syntax error, as by jansson's parser. Errors give the byte.
// The caller knows what may come next and asks for it.
#ifndef FARE_CHECKPOINT_SCAN_H
#define FARE_CHECKPOINT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SCAN_DEPTH_MAX 64 // nesting of skipped values

struct scan {
    const char *text; // the caller's; it must outlive the struct
    size_t len, at;
    size_t origin; // number of the first byte, for errors
};

// Checks that the text is UTF-8; the other functions rely on it.
int scan_init(struct scan *scan, const char *text, size_t len, size_t origin,
              struct err *err) MUST_USE;

// Each skips white space first.

bool scan_is(struct scan *scan, char c); // whether `c` comes next, without reading it

int scan_expect(struct scan *scan, char c, struct err *err) MUST_USE; // reads it

// Lists and objects: after the '[' or '{', call it before each item. 1: another item follows (the
// comma was read); 0: the end (`close` was read); negative: an error.
int scan_item(struct scan *scan, char close, bool first, struct err *err) MUST_USE;

// The text replaces the contents of `out`. A NUL inside is an error.
int scan_text(struct scan *scan, struct buf *out, struct err *err) MUST_USE;
int scan_key(struct scan *scan, struct buf *out, struct err *err) MUST_USE; // and its colon

// A whole number of 0 or more, without exponent, that fits int64_t.
int scan_whole(struct scan *scan, int64_t *out, struct err *err) MUST_USE;

int scan_null(struct scan *scan, struct err *err) MUST_USE;
int scan_skip(struct scan *scan, struct err *err) MUST_USE; // any value
int scan_end(struct scan *scan, struct err *err) MUST_USE;  // fails unless only white space is left

#endif
