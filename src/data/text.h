// SPDX-License-Identifier: Apache-2.0
// text: one long text of UTF-8, for a net that predicts the next character.
//
// Characters are put into lower case (utf8.h); tokens number the distinct ones in the order of
// their code points. A sample is 40 characters, its label the next one; samples begin at 0, 3, 6,
// ..., so n characters give (n - 40) / 3 of them, rounded up. There is no test part.
#ifndef FARE_DATA_TEXT_H
#define FARE_DATA_TEXT_H

#include "base/err.h"
#include "data/dataset.h"

enum { TEXT_TIME = 40, TEXT_STEP = 3 };

// The set in a folder, or in a file. See sets.h.
int text_open(const char *path, const struct data_options *options, struct data_pair *pair,
              struct err *err) MUST_USE;

// Makes windows over `count` tokens, which `set` takes (also when it fails).
int text_windows(int32_t *tokens, int64_t count, int vocabulary, struct dataset *set,
                 struct err *err) MUST_USE;

// What each of `count` tokens stands for, in one piece of memory that the caller frees.
int text_words(const uint32_t *characters, int count, char ***words, struct err *err) MUST_USE;

#endif
