// SPDX-License-Identifier: Apache-2.0
// utf8: characters in texts, the same whatever the locale.
//
// The part that reading data needs: walking, checking, lower case, white space and controls. Lower
// case is Unicode's simple mapping of one character at a time, in the blocks that hold nearly all
// letters with case: Latin up to Extended-A and Extended Additional, Greek, Cyrillic, Armenian.
// Others stay as they are.
#ifndef FARE_BASE_UTF8_H
#define FARE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_MAX 4 // bytes of one character

// The offset of the first byte that is not UTF-8 (overlong forms, surrogates and numbers above
// 10FFFF are not), or `len`.
size_t utf8_bad(const char *text, size_t len);

// The character at the start of `text`, which holds `len` > 0 bytes of checked UTF-8; its bytes.
size_t utf8_next(const char *text, size_t len, uint32_t *c);

// Writes `c`; returns the number of bytes.
size_t utf8_put(uint32_t c, char out[UTF8_MAX]);

uint32_t utf8_lower(uint32_t c);

// White space as Python's str.split() sees it: Unicode's, and the separators 1C to 1F.
bool utf8_space(uint32_t c);

// A character that controls the display instead of being shown: those that terminals obey (C0, DEL,
// C1), and those that change the direction of text (Unicode's Bidi_Control), which can disguise one
// name as another. They are removed from any text that comes from outside.
bool utf8_steers(uint32_t c);

// Makes '?' of those in a text, but for `except`, and of bytes that are no UTF-8.
void utf8_calm(char *text, size_t len, const char *except);

// Whether the terminal expects UTF-8, by LC_ALL, LC_CTYPE or LANG.
bool utf8_locale(void);

#endif
