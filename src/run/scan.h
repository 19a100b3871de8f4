// SPDX-License-Identifier: Apache-2.0
// scan: reads a JSON text (RFC 8259) once from front to back, without building a tree.
//
// For the headers of safetensors files, which may be hostile and have 100 MB. It needs no memory
// beyond what the caller stores (a tree of "[[],[],..." takes forty times its text) and, unlike
// jansson, never reports lack of memory as a syntax error. Errors name the byte. The caller asks
// for the kind of value it expects next.
#ifndef FARE_RUN_SCAN_H
#define FARE_RUN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SCAN_DEPTH_MAX 64 // nesting of skipped values

struct scan {
    const char *text; // the caller's; it must outlive the struct
    size_t len, at;
    size_t origin; // the number of the first byte in errors
};

// Checks that the text is UTF-8; the other functions rely on it.
int scan_init(struct scan *scan, const char *text, size_t len, size_t origin,
              struct err *err) MUST_USE;

// All of them skip white space first.

bool scan_is(struct scan *scan, char c); // true if `c` is next; does not advance

int scan_expect(struct scan *scan, char c, struct err *err) MUST_USE; // skips it

// For lists and objects: after the '[' or '{', call it before each item. 1: another item follows
// (its comma is skipped); 0: the end (`close` is skipped); negative: an error.
int scan_item(struct scan *scan, char close, bool first, struct err *err) MUST_USE;

// A string, which replaces the contents of `out`. A NUL in it is an error.
int scan_text(struct scan *scan, struct buf *out, struct err *err) MUST_USE;
int scan_key(struct scan *scan, struct buf *out, struct err *err) MUST_USE; // and its colon

// A whole number of 0 or more, without exponent, that fits int64_t.
int scan_whole(struct scan *scan, int64_t *out, struct err *err) MUST_USE;

int scan_null(struct scan *scan, struct err *err) MUST_USE;
int scan_skip(struct scan *scan, struct err *err) MUST_USE; // any value
int scan_end(struct scan *scan, struct err *err) MUST_USE;  // fails unless only white space is left

#endif
