// SPDX-License-Identifier: Apache-2.0
// words: texts that are kept once each and known by a number; for the rest of this room.
//
// A catalogue says "us-east-1" fifty thousand times. Numbers are given in the order of arrival;
// word 0 is the empty one. words_rank() gives the order of the alphabet.
#ifndef FARE_PRICE_WORDS_H
#define FARE_PRICE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct words {
    struct buf text; // all of them, each with its NUL
    uint32_t *at;    // where in `text` each begins
    size_t count, room;
    uint32_t *slots; // a hash table of numbers plus one; 0: free
    size_t slot_count;
};

// A zeroed struct is an empty list. Pointers from words_text() hold until the next words_add().
void words_release(struct words *words);
int words_add(struct words *words, const char *text, uint32_t *number, struct err *err) MUST_USE;
const char *words_text(const struct words *words, uint32_t number);

// ranks[number]: its place in the order of strcmp(). The caller frees it; null without memory.
uint32_t *words_rank(const struct words *words, struct err *err) MUST_USE;

#endif
