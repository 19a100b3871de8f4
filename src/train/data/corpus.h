// SPDX-License-Identifier: Apache-2.0
// corpus: texts of different lengths, as numbers one after the other, with a label each.
#ifndef FARE_TRAIN_DATA_CORPUS_H
#define FARE_TRAIN_DATA_CORPUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/gzip.h"

struct corpus { // a zeroed struct is an empty one
    int32_t *tokens;
    int64_t token_count;
    size_t token_capacity;
    int64_t *starts; // (count + 1): text i is tokens[starts[i] .. starts[i + 1])
    int32_t *labels; // (count)
    int64_t count, capacity;
};

void corpus_release(struct corpus *corpus);

// Adds a token to the text that is being written.
int corpus_add(struct corpus *corpus, int32_t token, struct err *err) MUST_USE;

// Ends it: of its tokens the last `keep` stay. A text may be empty.
int corpus_end(struct corpus *corpus, int32_t label, int64_t keep, struct err *err) MUST_USE;

// ==== vocabulary ====
// The words of a set of texts, numbered, counted and ranked.
//
// A new word gets the next number. Ranks go by frequency, the most frequent word first; equally
// frequent words are ranked in order of first appearance, as by Python's Counter.most_common().

#define VOCABULARY_WORD_MAX 4096 // bytes; the rest of a longer word is dropped

struct vocabulary { // a zeroed struct is an empty one
    struct index words;
    int64_t *met; // how often each was
    size_t capacity;
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

// ==== lines ====
// A text file, packed or not, line by line in constant memory.

struct lines {
    char *text; // the line, without its end (LF or CR LF), followed by a NUL; NULs in it are data
    size_t len;
    int64_t number; // of this line, from 1
    int64_t offset; // of its first byte in the unpacked file
    struct gzip gzip;
    // Bytes read ahead.
    char *buffer;
    size_t at, filled, size, max_line;
};

// A file of more than `max_bytes` unpacked, or a line of more than `max_line`, is an error.
int lines_open(struct lines *lines, const char *path, int64_t max_bytes, size_t max_line,
               struct err *err) MUST_USE;
void lines_release(struct lines *lines); // a zeroed struct is fine

// 1: there is one; 0: the end; negative: an error.
int lines_next(struct lines *lines, struct err *err) MUST_USE;

// Puts "'FILE', line N: " before the text of `err`; returns err->code.
int lines_context(const struct lines *lines, struct err *err);

#endif
