// SPDX-License-Identifier: Apache-2.0
// kept: a small file of /proc or /sys that is opened once and read again and again.
//
// Opening costs several times what reading does, and an open file of /proc/PID stays that
// process's: when it is gone the read fails, whoever has its number by then. Nothing is allocated.
// A zeroed struct is closed.
#ifndef FARE_SAMPLE_KEPT_H
#define FARE_SAMPLE_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tree.h"

struct kept {
    bool open;
    int fd;
};

// A printf path below the tree's root. False where it is not there or may not be read.
bool kept_open(struct kept *kept, const struct tree *tree, const char *format, ...)
    PRINTF_LIKE(3, 4);
void kept_close(struct kept *kept);

// From its beginning on, up to size - 1 bytes, with a NUL behind; how many bytes. 0: unreadable.
size_t kept_read(const struct kept *kept, char *text, size_t size);

// What is larger is no count of bytes or ticks (two petabytes), and the sum of a thousand fits.
#define COUNT_MAX (INT64_MAX >> 12)

bool kept_int(const struct kept *kept, int64_t *out); // the whole file is one number

// The next number, past what stands before it on the same line; false at the line's end. Negative
// ones count; one too large for 63 bits is the largest.
bool text_number(const char **cursor, int64_t *out);

// The number behind "key" and white space or a colon, on the first line that begins so.
bool text_keyed(const char *text, const char *key, int64_t *out);

#endif
