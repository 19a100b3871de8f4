// SPDX-License-Identifier: Apache-2.0
// words: a short text by value, for use in arguments. Longer texts are cut.
#ifndef FARE_BASE_WORDS_H
#define FARE_BASE_WORDS_H

#include "base/err.h"

struct words {
    char s[512];
};

struct words words(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
