// SPDX-License-Identifier: Apache-2.0
// synth: learnable sets made from a seed, for machines without data.
//
// Each has the shapes of the public set it stands in for. Sample i is a function of (seed, part, i)
// alone: a small set is the beginning of a large one, and threads may make samples in any order.
// Only the four operations and square roots are used, so every machine gets the same bytes.
//   digits     strokes, bent, slanted, turned and moved; 28x28
//   shapes     five shapes in two textures, in any colours, over a background; 3x32x32
//   sentences  the label is the order of the words of a pair; both orders are equally frequent, so
//              counting words is no better than guessing
//   grammar    sentences from a fixed grammar over the 57 characters of the real text
//   tokens     tokens with the frequencies of English words, half of them by the one before
//   flowers    flowers of five kinds, drawn when needed; 3x299x299
#ifndef FARE_TRAIN_DATA_SYNTH_H
#define FARE_TRAIN_DATA_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "train/data/dataset.h"

typedef int synth_whole_fn(const struct data_options *options, int64_t train, int64_t test,
                           struct data_pair *pair, struct err *err);

// How a set is made: one of these.
struct synth {
    void (*draw)(uint64_t seed, bool test, int64_t i, uint8_t *pixels, int32_t *label);
    const struct synth_sentence *sentences;
    void (*photo)(uint64_t seed, bool test, int64_t i, uint8_t *pixels); // drawn when needed
    int32_t (*photo_label)(uint64_t seed, bool test, int64_t i);
    synth_whole_fn *whole;
};

// Makes both parts of a set of this shape. After a failure the caller releases `pair`.
int synth_make(const struct synth *synth, const struct dataset *shape,
               const struct data_options *options, int64_t train, int64_t test,
               struct data_pair *pair, struct err *err) MUST_USE;

synth_whole_fn synth_make_text, synth_make_tokens;

// One sample each.
void synth_digit(uint64_t seed, bool test, int64_t i, uint8_t *pixels, int32_t *label);
void synth_shape(uint64_t seed, bool test, int64_t i, uint8_t *pixels, int32_t *label);
void synth_flower(uint64_t seed, bool test, int64_t i, uint8_t *pixels);
int32_t synth_flower_label(uint64_t seed, bool test, int64_t i);

struct synth_sentence {
    const char *name;
    int shortest, longest; // in words
    int pairs_min, pairs_max;
    int32_t first, vocabulary; // words are the tokens first ... vocabulary - 1
    bool packed;               // without padding
};
extern const struct synth_sentence synth_reviews, synth_tweets;

// A sample's own generator, and a number from `low` to `high` from it.
void synth_rng(struct rng *rng, const char *name, uint64_t seed, bool test, int64_t i);
double synth_between(struct rng *rng, double low, double high);

// Cosine and sine of a turn of t in -1 ... 1, in quarters of a circle, by rational functions.
void synth_turn(double t, double *cosine, double *sine);

#endif
