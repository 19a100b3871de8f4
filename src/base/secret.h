// SPDX-License-Identifier: Apache-2.0
// secret: hides keys, tokens and passwords in a text before it is stored or shown.
//
// Hidden are values of known forms (hf_..., ghp_..., AKIA..., JWTs, PEM keys), values whose name
// says so (--hf-token X, API_KEY=X, "password": "X"), passwords in URLs, and everything that a
// pattern of the user matches. Names of harmless values (--max-tokens 512, --pad-token <pad>,
// --sort-key loss) and hashes without such a name stay. A value of no known form and with no
// telling name is not recognised.
#ifndef FARE_BASE_SECRET_H
#define FARE_BASE_SECRET_H

#include <regex.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define SECRET_MASK "***"

// The user's own patterns; a zeroed struct has none.
struct secrets {
    regex_t *items;
    size_t count;
};

// POSIX extended regular expressions. ERR_USAGE for one that is invalid, too long or too large;
// `own` can be released then too.
int secrets_init(struct secrets *own, const char *const *patterns, size_t count,
                 struct err *err) MUST_USE;
void secrets_release(struct secrets *own);

// Appends `text`, each secret in it replaced by SECRET_MASK; a password in a URL is left out, with
// its colon: "postgresql://me@host/db". `name` (optional): the option, variable or key whose value
// the text is. `own` may be null.
void secret_mask(const struct secrets *own, const char *name, const char *text, struct buf *out);

// The same for a word of a command line; `before` (optional) is the word before it.
void secret_mask_word(const struct secrets *own, const char *before, const char *word,
                      struct buf *out);

#endif
