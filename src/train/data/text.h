// SPDX-License-Identifier: Apache-2.0
// text: one long text of UTF-8, for a net that predicts the next character.
//
// Characters are put into lower case (utf8.h); tokens number the distinct ones in the order of
// their code points. A sample is 40 characters, its label the next one; samples begin at 0, 3, 6,
// ..., so n characters give (n - 40) / 3 of them, rounded up. There is no test part.
#ifndef FARE_TRAIN_DATA_TEXT_H
#define FARE_TRAIN_DATA_TEXT_H

#include "base/err.h"
#include "train/data/dataset.h"

enum { TEXT_TIME = 40, TEXT_STEP = 3 };

// The set in a folder, or in a file. See sets.h.
int text_open(const char *path, const struct data_options *options, struct data_pair *pair,
              struct err *err) MUST_USE;

// Makes windows over `count` tokens, which `set` takes (also when it fails).
int text_windows(int32_t *tokens, int64_t count, int vocabulary, struct dataset *set,
                 struct err *err) MUST_USE;

// What each of `count` tokens stands for, in one piece of memory that the caller frees.
int text_words(const uint32_t *characters, int count, char ***words, struct err *err) MUST_USE;

// ==== tokens ====
// A long text as tokens of GPT-2, for a net that predicts each next token.
//
// Sample i is the window of `context` tokens from i × context on; its labels are the tokens one
// further on. So windows of context + 1 tokens overlap by one, and every token but the first is a
// label once.
//
// A file is read as what it is:
//   NAME.bin   little-endian uint16 tokens, as nanoGPT writes them; or, if it begins with the magic
//              number 20240520, with the header of llm.c: 256 int32 (magic, version 1, number of
//              tokens, zeros), then the tokens. Mapped, not read: it may be larger than memory.
//   others     any bytes, packed with gzip or not: a byte becomes the token that GPT-2's vocabulary
//              has for this byte (the tokens 0 to 255), so that the net is the same for all data
//
// A folder has one file whose name holds "train" and one with "val" (or "test") for the held-out
// part: train.bin and val.bin, tiny_shakespeare_train.bin and tiny_shakespeare_val.bin; or one file
// alone, of which the last tenth is held out. At most TOKENS_HELD_OUT windows are held out.
//
// The identity of a file of more than TOKENS_HASHED bytes is that of its size and of pieces spread
// over it: reading all of a large one would take longer than many trainings.

enum { TOKENS_VOCABULARY = 50257, TOKENS_CONTEXT = 1024, TOKENS_HELD_OUT = 1024 };
#define TOKENS_HASHED (INT64_C(1) << 30)

// The set in a folder, or in a file. See sets.h.
int tokens_open(const char *path, const struct data_options *options, struct data_pair *pair,
                struct err *err) MUST_USE;

// A set with windows over `count` tokens, which must outlive it. ERR_FORMAT if there is not one.
int tokens_windows(const uint16_t *stream, int64_t count, int context, struct dataset *set,
                   struct err *err) MUST_USE;

// GPT-2's token for each byte: 0 to 255.
uint16_t tokens_of_byte(uint8_t byte);

#endif
