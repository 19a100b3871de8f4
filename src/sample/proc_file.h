// SPDX-License-Identifier: Apache-2.0
// proc_file: a small file of /proc or /sys that is opened once and read many times.
//
// Opening costs several times as much as reading. An open file of /proc/PID stays with its process:
// once that is gone reads fail, even if its pid is reused. Nothing is allocated. A zeroed struct is
// closed.
#ifndef FARE_SAMPLE_PROC_FILE_H
#define FARE_SAMPLE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tree.h"

struct proc_file {
    bool open;
    int fd;
};

// Opens a printf path below the tree's root. False if it does not exist or cannot be read.
bool proc_file_open(struct proc_file *file, const struct tree *tree, const char *format, ...)
    PRINTF_LIKE(3, 4);
void proc_file_close(struct proc_file *file);

// Reads up to size - 1 bytes from the start and terminates them. Returns the length; 0: unreadable.
size_t proc_file_read(const struct proc_file *file, char *text, size_t size);

// A larger value (two petabytes) is no count of bytes or ticks. A thousand of these can be added.
#define COUNT_MAX (INT64_MAX >> 12)

bool proc_file_int(const struct proc_file *file, int64_t *out); // the whole file is one number

// The next number on the line, skipping other text; false at the line's end. Reads negative
// numbers; one beyond 63 bits becomes INT64_MAX.
bool text_number(const char **cursor, int64_t *out);

// The number after "key" and white space or a colon, on the first such line.
bool text_keyed(const char *text, const char *key, int64_t *out);

#endif
