// SPDX-License-Identifier: Apache-2.0
// tree: small text files below a root, as /proc and /sys hold them.
//
// All files that describe a machine are read through here, with paths relative to a root: "" in
// use, the folder of a recorded machine in tests. A file that is absent or
// unreadable is a normal case (false), never an error. Running out of memory is one: it sticks
// in the struct, the readers return false from then on, and one tree_check() at the end reports it.
#ifndef FARE_BASE_TREE_H
#define FARE_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define TREE_FILE_MAX ((size_t)4 << 20) // /proc/cpuinfo of a 512-thread machine is 800 kB

struct tree {
    const char *root; // "" or a folder, without a slash at the end
    bool failed;      // sticky: out of memory
};

int tree_check(const struct tree *tree, struct err *err) MUST_USE;

// Each takes a printf path below the root, which starts with a slash:
//     tree_int(tree, &pages, "/sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu, index)

bool tree_exists(struct tree *tree, const char *format, ...) PRINTF_LIKE(2, 3);

// The whole file, replacing what `out` held; white space at the end dropped.
bool tree_text(struct tree *tree, struct buf *out, const char *format, ...) PRINTF_LIKE(3, 4);

// The file's first word as a number: decimal, or hexadecimal after 0x.
bool tree_int(struct tree *tree, int64_t *out, const char *format, ...) PRINTF_LIKE(3, 4);

// Where a symbolic link points (its text, not resolved).
bool tree_link(struct tree *tree, struct buf *out, const char *format, ...) PRINTF_LIKE(3, 4);

// The names in a folder, sorted as version numbers are (cpu2 before cpu10), without . and ..;
// each followed by a newline. Walk them with text_line().
bool tree_list(struct tree *tree, struct buf *out, const char *format, ...) PRINTF_LIKE(3, 4);

// "key : value" in texts such as /proc/meminfo or /proc/cpuinfo: the first line that begins
// with `key` (then white space, then `separator`). Copies the value, trimmed, to `out`.
bool tree_value(struct tree *tree, const char *text, const char *key, char separator,
                struct buf *out);

// The next line of `*cursor` (terminated in place, so the text must be writable); null at the end.
char *text_line(char **cursor);

// Whether a list has the word between two of these characters, or at an end.
bool text_has_word(const char *list, const char *word, char separator);

// Decimal, or hexadecimal after 0x, with white space around it and nothing else.
bool text_int(const char *text, int64_t *out);

#endif
