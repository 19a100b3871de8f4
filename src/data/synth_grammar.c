// SPDX-License-Identifier: Apache-2.0
// Aphorisms from a fixed grammar, numbered as in the book they stand in for. The alphabet is its
// 57 characters, in order; words with the rare ones come now and then.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "data/synth.h"

const uint32_t synth_alphabet[SYNTH_ALPHABET] = {
    '\n', ' ', '!', '"', '\'', '(', ')', ',', '-',  '.',  '0',  '1',  '2', '3', '4',
    '5',  '6', '7', '8', '9',  ':', ';', '=', '?',  '[',  ']',  '_',  'a', 'b', 'c',
    'd',  'e', 'f', 'g', 'h',  'i', 'j', 'k', 'l',  'm',  'n',  'o',  'p', 'q', 'r',
    's',  't', 'u', 'v', 'w',  'x', 'y', 'z', 0xE4, 0xE6, 0xE9, 0xEB,
};

struct writer {
    struct rng rng;
    int32_t *tokens;
    int64_t at, count;
    int number;
};

static int32_t token_of(uint32_t c)
{
    int32_t t = 0;
    while (t < SYNTH_ALPHABET && synth_alphabet[t] != c)
        t++;
    assert(t < SYNTH_ALPHABET); // every word of the grammar is written with its alphabet
    return t;
}

static void put(struct writer *w, const char *text)
{
    for (size_t len = strlen(text); len > 0 && w->at < w->count;) {
        uint32_t c;
        size_t bytes = utf8_next(text, len, &c);
        w->tokens[w->at++] = token_of(c);
        text += bytes;
        len -= bytes;
    }
}

// In one of `n` cases.
static bool one_in(struct writer *w, uint64_t n)
{
    return rng_below(&w->rng, n) == 0;
}

static void put_word(struct writer *w, const char *const *words, size_t count)
{
    put(w, words[rng_below(&w->rng, count)]);
}
#define PUT_ONE(w, words) put_word(w, words, sizeof words / sizeof *words)

static void noun_phrase(struct writer *w)
{
    static const char *const articles[] = {"the ", "a ", "every ", "no ", "our ", "that "};
    static const char *const adjectives[] = {"free",  "noble", "weary",     "hidden", "subtle",
                                             "young", "quiet", "dangerous", "joyful", "æsthetic",
                                             "naked", "exact", "zealous"};
    static const char *const nouns[] = {"spirit",  "man",   "thinker", "woman",  "truth",
                                        "will",    "god",   "body",    "mask",   "question",
                                        "teacher", "soul",  "virtue",  "cliché", "hermit",
                                        "träumer", "judge", "skeptic"};
    PUT_ONE(w, articles);
    if (one_in(w, 2)) {
        PUT_ONE(w, adjectives);
        put(w, " ");
    }
    PUT_ONE(w, nouns);
}

static void clause(struct writer *w)
{
    static const char *const verbs[] = {" loves ",  " seeks ",    " conceals ", " overcomes ",
                                        " judges ", " believes ", " creates ",  " forgives ",
                                        " mocks ",  " exceeds "};
    noun_phrase(w);
    PUT_ONE(w, verbs);
    noun_phrase(w);
}

static void sentence(struct writer *w)
{
    static const char *const links[] = {", and ", ", but ", "; for ", ": ", "--"};
    static const char *const end_marks[] = {".", ".", ".", "!", "?"};
    bool quoted = one_in(w, 8);
    if (quoted)
        put(w, "\"");
    clause(w);
    while (one_in(w, 3)) {
        PUT_ONE(w, links);
        clause(w);
    }
    if (one_in(w, 10)) {
        put(w, " (");
        noun_phrase(w);
        put(w, ")");
    }
    PUT_ONE(w, end_marks);
    if (quoted)
        put(w, "\"");
}

static void aphorism(struct writer *w)
{
    static const char *const asides[] = {" [_noëma_ = thought]", " this is man's lot.",
                                         " so it was, so it is."};
    char number[16];
    snprintf(number, sizeof number, "%d. ", ++w->number % 1000);
    put(w, number);
    do {
        sentence(w);
        put(w, one_in(w, 3) ? "\n" : " ");
    } while (!one_in(w, 5));
    if (one_in(w, 6))
        PUT_ONE(w, asides);
    put(w, "\n\n");
}

void synth_grammar(uint64_t seed, int32_t *tokens, int64_t count)
{
    struct writer w = {.tokens = tokens, .count = count};
    synth_rng(&w.rng, "text", seed, false, 0);
    while (w.at < count)
        aphorism(&w);
}
