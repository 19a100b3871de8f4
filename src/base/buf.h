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

// A line and its end. No name in it makes it two lines or steers a terminal: utf8_calm().
void buf_line(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);

// Space for `len` more bytes; returns where to write them, or null (and the failure sticks).
// buf_advance() then counts those that were written.
char *buf_reserve(struct buf *buf, size_t len);
void buf_advance(struct buf *buf, size_t len);

void buf_trim(struct buf *buf); // drops white space at the end

int buf_check(const struct buf *buf, struct err *err) MUST_USE;

// A failure for lack of memory sticks to the thread as well: a name that a line was made of and
// nobody checked is missing in the answer. The code that hands out an answer (a command, a page, a
// file at its final name) asks for ERR_MEMORY here, in the thread that made it. Work that goes on
// for days and can do without a text, as a measured run can, forgets the loss.
int buf_lost(struct err *err) MUST_USE;
void buf_lost_forget(void);

// The text, to be freed by the caller; the buffer is empty afterwards. Null after a failure
// (then `err` is set).
char *buf_take(struct buf *buf, struct err *err) MUST_USE;

// A copy on the heap of `text`; null and `err` when there is no memory.
char *text_copy(const char *text, struct err *err) MUST_USE;

bool text_ends(const char *text, const char *end); // "a.csv" in ".csv"

// ==== words ====
// A short text by value, for use in arguments. Longer texts are cut.

struct short_text {
    char s[512];
};

struct short_text short_text(const char *format, ...) PRINTF_LIKE(1, 2);

bool text_same(const char *a, const char *b); // null is the empty text

// ==== shell ====
// Words for a POSIX shell, and words of a variable without any shell.
//
// Programs are started with argument vectors (call.h), so nothing needs quoting on this machine.
// Only text that a shell elsewhere reads does.

// Appends `word` so that sh reads it as exactly one word with these bytes: inside single quotes,
// each single quote as '\''. Newlines, dollars, backslashes and leading dashes stay what they are.
void shell_quote(struct buf *out, const char *word);

// The same, without quotes where the shell needs none, for people to read: "aws/p3.2xlarge".
void shell_word(struct buf *out, const char *word);

// Appends each word of a null-terminated list, quoted, with a space before it.
void shell_quote_all(struct buf *out, char *const *words);

// Appends NAME='value' and a newline. `name` must be a name (letters, digits, '_').
void shell_set(struct buf *out, const char *name, const char *value);

// The words of a variable such as FARE_SSH="ssh -F config", split at spaces; nothing else is
// special. A null-terminated list on the heap, all in one piece of memory: free() it. Null if
// there is no word or no memory.
char **shell_split(const char *text);

// ==== base64 ====
// Bytes as letters that every text format carries (RFC 4648, with padding).

void base64_write(struct buf *out, const void *bytes, size_t len);

// Appends the bytes of `len` letters. False: they are not whole base64; some bytes may be there.
bool base64_read(const char *text, size_t len, struct buf *out);

// The six bits of a letter; -1: it is none.
int base64_value(char c);

#endif
