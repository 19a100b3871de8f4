// SPDX-License-Identifier: Apache-2.0
// buf: bytes that grow, up to a cap.
//
// The adding functions return nothing: a failure (no memory, or the cap reached) sticks, later
// additions do nothing, and one buf_check() at the end reports it. So text is built line by line
// without an `if` after each. The bytes are always followed by a NUL that `len` does not count.
// A zeroed struct is an empty buffer with the default cap of 64 MiB.
#ifndef FARE_BASE_BUF_H
#define FARE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define BUF_DEFAULT_MAX ((size_t)64 << 20)

struct buf {
    char *data; // null while empty; read it through buf_str()
    size_t len;
    size_t cap;
    size_t max;  // 0: BUF_DEFAULT_MAX
    bool failed; // sticky
};

void buf_release(struct buf *buf);
void buf_drop(struct buf *to, struct buf *piece); // releases a piece; its failure becomes `to`'s
void buf_reset(struct buf *buf); // empties it and keeps the memory; clears a failure

const char *buf_str(const struct buf *buf); // never null

void buf_add(struct buf *buf, const void *bytes, size_t len);
void buf_adds(struct buf *buf, const char *text);
void buf_addc(struct buf *buf, char c);
void buf_fill(struct buf *buf, char c, size_t count);
void buf_printf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *buf, const char *format, va_list args) PRINTF_LIKE(2, 0);

// Space for `len` more bytes; returns where to write them, or null (and the failure sticks).
// buf_advance() then counts those that were written.
char *buf_reserve(struct buf *buf, size_t len);
void buf_advance(struct buf *buf, size_t len);

void buf_trim(struct buf *buf); // drops white space at the end

int buf_check(const struct buf *buf, struct err *err) MUST_USE;

// The text, to be freed by the caller; the buffer is empty afterwards. Null after a failure
// (then `err` is set).
char *buf_take(struct buf *buf, struct err *err) MUST_USE;

// A copy on the heap of `text`; null and `err` when there is no memory.
char *text_copy(const char *text, struct err *err) MUST_USE;

#endif
