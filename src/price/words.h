// SPDX-License-Identifier: Apache-2.0
// words: interned strings, each known by a number. Internal to price/.
//
// A catalogue repeats "us-east-1" fifty thousand times. Numbers follow the order of insertion; word
// 0 is the empty string. words_rank() gives the alphabetical order.
#ifndef FARE_PRICE_WORDS_H
#define FARE_PRICE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct words {
    struct buf text; // all words, each with its NUL
    uint32_t *at;    // the offset of each word in `text`
    size_t count, cap;
    uint32_t *slots; // a hash table of number + 1; 0: free
    size_t slot_count;
};

// A zeroed struct is empty. Pointers from words_text() are valid until the next words_add().
void words_release(struct words *words);
int words_add(struct words *words, const char *text, uint32_t *number, struct err *err) MUST_USE;
const char *words_text(const struct words *words, uint32_t number);

// ranks[number] is the word's position in strcmp() order. The caller frees it; null if out of
// memory.
uint32_t *words_rank(const struct words *words, struct err *err) MUST_USE;

#endif
