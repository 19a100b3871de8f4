// SPDX-License-Identifier: Apache-2.0
// vocabulary: the words of a set of texts, numbered, counted and ranked.
//
// A new word gets the next number. Ranks go by frequency, the most frequent word first; equally
// frequent words are ranked in order of first appearance, as by Python's Counter.most_common().
#ifndef FARE_DATA_VOCABULARY_H
#define FARE_DATA_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define VOCABULARY_WORD_MAX 4096 // bytes; the rest of a longer word is dropped

struct vocabulary_word {
    uint64_t hash;
    size_t at; // where in the pool it begins
    uint32_t len;
    int64_t met;
};

struct vocabulary_slot {
    uint32_t hash;  // its upper half, compared before the word itself
    int32_t number; // -1: empty
};

struct vocabulary { // a zeroed struct is an empty one
    struct vocabulary_word *words;
    int32_t count, capacity;
    char *pool; // the words one after the other, each with a NUL
    size_t pool_len, pool_capacity;
    struct vocabulary_slot *slots; // a hash table
    size_t slot_count;
};

void vocabulary_release(struct vocabulary *vocabulary);

// Counts the word once more; its number.
int vocabulary_add(struct vocabulary *vocabulary, const char *word, size_t len, int32_t *number,
                   struct err *err) MUST_USE;

// The word's number, or -1.
int32_t vocabulary_find(const struct vocabulary *vocabulary, const char *word, size_t len);

// ranks[number] is the word's rank, from 0. The caller frees it.
int vocabulary_rank(const struct vocabulary *vocabulary, int32_t **ranks, struct err *err) MUST_USE;

// What each token stands for, in one piece of memory that the caller frees: token t < first is
// special[t], token first + r the word of rank r; `total` in all.
int vocabulary_words(const struct vocabulary *vocabulary, const int32_t *ranks,
                     const char *const *special, int32_t first, int32_t total, char ***words,
                     struct err *err) MUST_USE;

#endif
