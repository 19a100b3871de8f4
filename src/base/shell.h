// SPDX-License-Identifier: Apache-2.0
// shell: words for a POSIX shell, and words of a variable without any shell.
//
// Programs are started with argument vectors (call.h), so nothing needs quoting on this machine.
// Only text that a shell elsewhere reads does.
#ifndef FARE_BASE_SHELL_H
#define FARE_BASE_SHELL_H

#include "base/buf.h"

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

#endif
