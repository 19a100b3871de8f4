// SPDX-License-Identifier: Apache-2.0
// reviews: the Large Movie Review Dataset (Maas et al. 2011), as two tables or as it was published.
//
// A table is lines of label (0 or 1), rating, number and text, with tabs between. Published it is a
// folder of one file per review, NUMBER_RATING.txt, in train/pos, train/neg, test/pos, test/neg,
// read by number, negative before positive, so that both forms give the same samples. Texts are
// UTF-8.
//
// How a review becomes tokens: "<br />", tabs and !"#$%&()*+,-./:;<=>?@[\]^_`{|}~ become spaces, it
// is put into lower case and split at white space (utf8.h). Words are ranked by their frequency in
// the training part (corpus.h). Token 0 is padding, 1 the start of a review, 2 a word beyond
// the first 19,997, and 3 + rank a word: 20,000 tokens in all. A sample is the last 100 tokens of a
// review, with zeros before a shorter one.
#ifndef FARE_TRAIN_DATA_SENTIMENT_H
#define FARE_TRAIN_DATA_SENTIMENT_H

#include <stddef.h>

#include "base/err.h"
#include "train/data/dataset.h"

enum {
    REVIEWS_TIME = 100,
    REVIEWS_VOCABULARY = 20000,
    REVIEWS_START = 1,
    REVIEWS_UNKNOWN = 2,
    REVIEWS_FIRST = 3, // the most frequent word
};

// Calls `word` for each word of a text of UTF-8, which is modified. A negative result of `word`
// ends the loop and is returned.
typedef int reviews_word_fn(void *context, const char *word, size_t len, struct err *err);
int reviews_split(char *text, size_t len, reviews_word_fn *word, void *context,
                  struct err *err) MUST_USE;

// See sets.h.
int reviews_open(const char *dir, const struct data_options *options, struct data_pair *pair,
                 struct err *err) MUST_USE;

// ==== tweets ====
// Short texts with a label, 0 or 1, in one of two public formats.
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
// Words are ranked over all tweets (corpus.h): token 0 is padding, 1 + rank a word. The seed
// shuffles the tweets, and the last tenth is the test part. `time` is the length of the longest one
// in the training part; shorter ones are padded at the end, longer ones cut.

enum { TWEETS_TIME = 50, TWEETS_VOCABULARY = 274562 }; // of the public set

// Calls `word` for each token of a text. A negative result of `word` ends the loop and is returned.
typedef int tweets_word_fn(void *context, const char *word, size_t len, struct err *err);
int tweets_split(const char *text, size_t len, tweets_word_fn *word, void *context,
                 struct err *err) MUST_USE;

// The set in a file, or in the largest .csv of a folder; `source` says which. See sets.h.
int tweets_open(const char *path, const struct data_options *options, struct data_pair *pair,
                struct err *err) MUST_USE;

#endif
