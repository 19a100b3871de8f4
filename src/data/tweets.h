// SPDX-License-Identifier: Apache-2.0
// tweets: short texts with a label, 0 or 1, in one of two public formats.
//
//     label,text                                       quoted where it must be
//     ItemID,Sentiment,SentimentSource,SentimentText   the text is the rest of the line: the
//                                                      published file does not quote its commas
// Bytes above 7F, whose encoding in the second file is unknown, are dropped by the cleaning.
//
// Cleaning and splitting, in this order (they are Y. Kim's, 2014, with the second step added):
// letters and digits of ASCII and ( ) , ! ? ' ` stay, everything else becomes a space; of a run of
// one character two stay; 's 've n't 're 'd 'll begin a new token, and each of , ! ( ) ? is one;
// lower case; split at spaces. The third step sees capitals still: "IT'S" is one token.
//
// Words are ranked over all tweets (vocabulary.h): token 0 is padding, 1 + rank a word. The seed
// shuffles the tweets, and the last tenth is the test part. `time` is the length of the longest one
// in the training part; shorter ones are padded at the end, longer ones cut.
#ifndef FARE_DATA_TWEETS_H
#define FARE_DATA_TWEETS_H

#include <stddef.h>

#include "base/err.h"
#include "data/dataset.h"

enum { TWEETS_TIME = 50, TWEETS_VOCABULARY = 274562 }; // of the public set

// Calls `word` for each token of a text. A negative result of `word` ends the loop and is returned.
typedef int tweets_word_fn(void *context, const char *word, size_t len, struct err *err);
int tweets_split(const char *text, size_t len, tweets_word_fn *word, void *context,
                 struct err *err) MUST_USE;

// The set in a file, or in the largest .csv of a folder; `source` says which. See sets.h.
int tweets_open(const char *path, const struct data_options *options, struct data_pair *pair,
                struct err *err) MUST_USE;

#endif
