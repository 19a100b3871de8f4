// SPDX-License-Identifier: Apache-2.0
// Sentences of common and rare words, among which the words of a few pairs stand side by side. In
// a sentence of label 1 the first word of each pair comes first, in one of label 0 the second; all
// else is drawn the same way for both labels, so the words alone tell nothing.

#include "data/synth.h"

enum { PAIRS = 2 }; // their words are the most frequent ones

// A word that is the rarer the higher its number, about as 1/number: half as many of each next
// power of two, each power as likely.
static int32_t any_word(struct rng *rng, int32_t first, int32_t vocabulary)
{
    int32_t words = vocabulary - first - 2 * PAIRS;
    int bits = 0;
    while (words >> bits)
        bits++;
    for (;;) {
        int32_t half = 1 << rng_below(rng, (uint64_t)bits);
        int32_t rank = half - 1 + (int32_t)rng_below(rng, (uint64_t)half);
        if (rank < words)
            return first + 2 * PAIRS + rank;
    }
}

int synth_sentence(const struct synth_sentence *form, const char *name, uint64_t seed, bool test,
                   int64_t i, int32_t *tokens, int32_t *label)
{
    struct rng rng;
    synth_rng(&rng, name, seed, test, i);
    *label = (int32_t)rng_below(&rng, 2);
    int len = form->shortest + (int)rng_below(&rng, (uint64_t)(form->longest - form->shortest) + 1);
    int pairs =
        form->pairs_min + (int)rng_below(&rng, (uint64_t)(form->pairs_max - form->pairs_min) + 1);
    for (int k = 0; k < len; k++)
        tokens[k] = any_word(&rng, form->first, form->vocabulary);
    // One pair in each part of the sentence, so that none is written over another.
    for (int p = 0; p < pairs; p++) {
        int from = len * p / pairs, to = len * (p + 1) / pairs;
        int at = from + (int)rng_below(&rng, (uint64_t)(to - from) - 1);
        int32_t pair = form->first + 2 * (int32_t)rng_below(&rng, PAIRS);
        tokens[at] = *label ? pair : pair + 1;
        tokens[at + 1] = *label ? pair + 1 : pair;
    }
    return len;
}
