// SPDX-License-Identifier: Apache-2.0
#include "train/data/synth.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/utf8.h"
#include "train/data/images.h"
#include "train/data/sentiment.h"
#include "train/data/text.h"

// ==== synth_sentences ====
// Sentences of common and rare words, among which the words of a few pairs stand side by side. In
// a sentence of label 1 the first word of each pair comes first, in one of label 0 the second; all
// else is drawn the same way for both labels, so the words alone tell nothing.

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

// Writes the words to `tokens` (at most `longest`); returns their number.
static int synth_sentence(const struct synth_sentence *form, uint64_t seed, bool test, int64_t i,
                          int32_t *tokens, int32_t *label)
{
    struct rng rng;
    synth_rng(&rng, form->name, seed, test, i);
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

// ==== synth_grammar ====
// Aphorisms from a fixed grammar, numbered as in the book they stand in for. The alphabet is its
// 57 characters, in order; words with the rare ones come now and then.

// A token is an index into it.
enum { SYNTH_ALPHABET = 57 };
static const uint32_t synth_alphabet[SYNTH_ALPHABET] = {
    '\n', ' ', '!', '"', '\'', '(', ')', ',', '-',  '.',  '0',  '1',  '2', '3', '4',
    '5',  '6', '7', '8', '9',  ':', ';', '=', '?',  '[',  ']',  '_',  'a', 'b', 'c',
    'd',  'e', 'f', 'g', 'h',  'i', 'j', 'k', 'l',  'm',  'n',  'o',  'p', 'q', 'r',
    's',  't', 'u', 'v', 'w',  'x', 'y', 'z', 0xE4, 0xE6, 0xE9, 0xEB,
};

struct grammar_writer {
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

static void put_text(struct grammar_writer *w, const char *text)
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
static bool one_in(struct grammar_writer *w, uint64_t n)
{
    return rng_below(&w->rng, n) == 0;
}

static void put_word(struct grammar_writer *w, const char *const *words, size_t count)
{
    put_text(w, words[rng_below(&w->rng, count)]);
}
#define PUT_ONE(w, words) put_word(w, words, sizeof words / sizeof *words)

static void noun_phrase(struct grammar_writer *w)
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
        put_text(w, " ");
    }
    PUT_ONE(w, nouns);
}

static void clause(struct grammar_writer *w)
{
    static const char *const verbs[] = {" loves ",  " seeks ",    " conceals ", " overcomes ",
                                        " judges ", " believes ", " creates ",  " forgives ",
                                        " mocks ",  " exceeds "};
    noun_phrase(w);
    PUT_ONE(w, verbs);
    noun_phrase(w);
}

static void sentence(struct grammar_writer *w)
{
    static const char *const links[] = {", and ", ", but ", "; for ", ": ", "--"};
    static const char *const end_marks[] = {".", ".", ".", "!", "?"};
    bool quoted = one_in(w, 8);
    if (quoted)
        put_text(w, "\"");
    clause(w);
    while (one_in(w, 3)) {
        PUT_ONE(w, links);
        clause(w);
    }
    if (one_in(w, 10)) {
        put_text(w, " (");
        noun_phrase(w);
        put_text(w, ")");
    }
    PUT_ONE(w, end_marks);
    if (quoted)
        put_text(w, "\"");
}

static void aphorism(struct grammar_writer *w)
{
    static const char *const asides[] = {" [_noëma_ = thought]", " this is man's lot.",
                                         " so it was, so it is."};
    char number[16];
    snprintf(number, sizeof number, "%d. ", ++w->number % 1000);
    put_text(w, number);
    do {
        sentence(w);
        put_text(w, one_in(w, 3) ? "\n" : " ");
    } while (!one_in(w, 5));
    if (one_in(w, 6))
        PUT_ONE(w, asides);
    put_text(w, "\n\n");
}

static void synth_grammar(uint64_t seed, int32_t *tokens, int64_t count)
{
    struct grammar_writer w = {.tokens = tokens, .count = count};
    synth_rng(&w.rng, "text", seed, false, 0);
    while (w.at < count)
        aphorism(&w);
}

// ==== synth ====

void synth_rng(struct rng *rng, const char *name, uint64_t seed, bool test, int64_t i)
{
    struct rng root;
    rng_init(&root, seed);
    rng_split(&root, name, (uint64_t)i * 2 + test, rng);
}

double synth_between(struct rng *rng, double low, double high)
{
    return low + (high - low) * (double)rng_float(rng);
}

void synth_turn(double t, double *cosine, double *sine)
{
    // With h = tan(angle / 2), which is about 0.4142 t at a quarter, both are rational in h; that
    // the angle is not quite proportional to t does not matter here.
    double h = t * 0.41421356237309503, square = h * h;
    *cosine = (1 - square) / (1 + square);
    *sine = 2 * h / (1 + square);
    // Twice that angle, so that 1 is a quarter of a circle.
    double c = *cosine * *cosine - *sine * *sine;
    *sine = 2 * *cosine * *sine;
    *cosine = c;
}

// ---- sample by sample ----

struct synth_part { // the training or the test part of a set
    const struct synth *synth;
    uint64_t seed;
    bool test;
    struct dataset *set;
};

static void write_sentence(const struct synth_part *p, int64_t i)
{
    int time = p->set->time;
    int32_t words[REVIEWS_TIME], *row = p->set->tokens + i * time;
    int len = synth_sentence(p->synth->sentences, p->seed, p->test, i, words, p->set->labels + i);
    memset(row, 0, (size_t)time * sizeof *row);
    if (!p->synth->sentences->packed) { // reviews: a start token, zeros before
        row += time - len;
        row[-1] = REVIEWS_START;
    }
    memcpy(row, words, (size_t)len * sizeof *row);
}

static void make_samples(void *part, int64_t from, int64_t to)
{
    const struct synth_part *p = part;
    struct dataset *set = p->set;
    int64_t bytes = (int64_t)set->channels * set->height * set->width;
    for (int64_t i = from; i < to; i++)
        if (p->synth->draw)
            p->synth->draw(p->seed, p->test, i, set->pixels + i * bytes, set->labels + i);
        else if (p->synth->photo)
            set->labels[i] = p->synth->photo_label(p->seed, p->test, i);
        else
            write_sentence(p, i);
}

// Most of a million and a half padded tweets would be padding, so it is removed.
static int pack(struct dataset *set, struct err *err)
{
    set->starts = malloc((size_t)(set->count + 1) * sizeof *set->starts);
    if (!set->starts)
        return err_memory(err);
    int64_t at = 0;
    for (int64_t i = 0; i < set->count; i++) {
        const int32_t *row = set->tokens + i * set->time;
        set->starts[i] = at;
        for (int k = 0; k < set->time && row[k] != 0; k++)
            set->tokens[at++] = row[k];
    }
    set->starts[set->count] = at;
    set->token_stride = 0;
    int32_t *less = realloc(set->tokens, (size_t)(at ? at : 1) * sizeof *less);
    if (!less)
        return err_memory(err);
    set->tokens = less;
    return 0;
}

static int make_samples_of(struct synth_part p, const struct dataset *shape, int64_t count,
                           int threads, struct err *err)
{
    struct dataset *set = p.set;
    *set = *shape;
    set->count = count;
    set->token_stride = set->time;
    set->labels = malloc((size_t)count * sizeof *set->labels);
    if (p.synth->photo)
        set->files = calloc(1, sizeof *set->files);
    else if (p.synth->draw)
        set->pixels = malloc((size_t)count * (size_t)(set->channels * set->height * set->width));
    else
        set->tokens = malloc((size_t)count * (size_t)set->time * sizeof *set->tokens);
    if (!set->labels || (!set->files && !set->pixels && !set->tokens))
        return err_memory(err);
    if (set->files)
        *set->files = (struct image_files){
            .count = count, .draw = p.synth->photo, .seed = p.seed, .test = p.test};
    parallel_for(threads, count, make_samples, &p);
    return p.synth->sentences && p.synth->sentences->packed ? pack(set, err) : 0;
}

int synth_make(const struct synth *synth, const struct dataset *shape, const struct data_options *o,
               int64_t train, int64_t test, struct data_pair *pair, struct err *err)
{
    if (synth->whole)
        return synth->whole(o, train, test, pair, err);
    struct synth_part part = {synth, o->seed, false, &pair->train};
    TRY(make_samples_of(part, shape, train, o->threads, err));
    part.test = true;
    part.set = &pair->test;
    return make_samples_of(part, shape, test, o->threads, err);
}

const struct synth_sentence synth_reviews = {
    .name = "reviews",
    .shortest = 40,
    .longest = REVIEWS_TIME - 1,
    .pairs_min = 8,
    .pairs_max = 14,
    .first = REVIEWS_FIRST,
    .vocabulary = REVIEWS_VOCABULARY,
};

const struct synth_sentence synth_tweets = {
    .name = "tweets",
    .shortest = 10,
    .longest = TWEETS_TIME,
    .pairs_min = 3,
    .pairs_max = 4,
    .first = 1,
    .vocabulary = TWEETS_VOCABULARY,
    .packed = true,
};

// ---- as a whole ----

int synth_make_text(const struct data_options *o, int64_t train, int64_t test,
                    struct data_pair *pair, struct err *err)
{
    (void)test; // there is none
    int64_t count = (train - 1) * TEXT_STEP + TEXT_TIME + 1;
    int32_t *tokens = malloc((size_t)count * sizeof *tokens);
    if (!tokens)
        return err_memory(err);
    synth_grammar(o->seed, tokens, count);
    TRY(text_windows(tokens, count, SYNTH_ALPHABET, &pair->train, err));
    TRY(text_words(synth_alphabet, SYNTH_ALPHABET, &pair->words, err));
    pair->word_count = SYNTH_ALPHABET;
    return 0;
}

// ==== synth_tokens ====
// Tokens with the frequencies of English words: the token of rank r (from 0) is as frequent as
// 1 / (r + 3.7), the law of Zipf and Mandelbrot. Half of them are drawn from it; the others are one
// of four successors of the token before, which a net can learn. The successors follow the same
// law, so the frequencies stay.

#define MANDELBROT 2.7
#define SUCCESSORS 4
#define BLOCK      4096 // tokens that are made together
#define GUIDES     4096

struct law {
    double sums[TOKENS_VOCABULARY]; // of the frequencies up to this rank, of 1 in all
    uint16_t guides[GUIDES + 1];    // the rank at which each share begins
    struct rng successors;
};

static void law_init(struct law *law, uint64_t seed)
{
    double sum = 0;
    for (int r = 0; r < TOKENS_VOCABULARY; r++)
        law->sums[r] = sum += 1 / (r + 1 + MANDELBROT);
    int at = 0;
    for (int r = 0; r < TOKENS_VOCABULARY; r++) {
        law->sums[r] /= sum;
        while (at <= GUIDES && (double)at / GUIDES <= law->sums[r])
            law->guides[at++] = (uint16_t)r;
    }
    while (at <= GUIDES)
        law->guides[at++] = TOKENS_VOCABULARY - 1;
    synth_rng(&law->successors, "successors", seed, false, 0);
}

// The token at share `word` / 2^32 of all.
static uint16_t token_at(const struct law *law, uint32_t word)
{
    double share = word * 0x1p-32;
    int r = law->guides[word >> 20];
    while (r < TOKENS_VOCABULARY - 1 && law->sums[r] <= share)
        r++;
    return (uint16_t)r;
}

static uint16_t successor(const struct law *law, uint16_t token, uint32_t which)
{
    return token_at(law, rng_word(&law->successors, (uint64_t)token * SUCCESSORS + which));
}

struct token_work {
    const struct law *law;
    uint64_t seed;
    bool test;
    uint16_t *stream;
    int64_t count;
};

static void make_blocks(void *work, int64_t from, int64_t to)
{
    const struct token_work *m = work;
    for (int64_t block = from; block < to; block++) {
        struct rng rng;
        synth_rng(&rng, "tokens", m->seed, m->test, block);
        int64_t end = (block + 1) * BLOCK < m->count ? (block + 1) * BLOCK : m->count;
        uint16_t token = 0;
        for (int64_t i = block * BLOCK; i < end; i++) {
            uint32_t choice = rng_u32(&rng);
            token = choice >> 31 ? token_at(m->law, rng_u32(&rng))
                                 : successor(m->law, token, choice % SUCCESSORS);
            m->stream[i] = token;
        }
    }
}

static int make_tokens_of(const struct data_options *o, const struct law *law, bool test,
                          int64_t windows, struct data_pair *pair, struct err *err)
{
    int context = o->context > 0 ? o->context : TOKENS_CONTEXT;
    int64_t count = windows * context + 1;
    uint16_t *stream = malloc((size_t)count * sizeof *stream);
    if (!stream)
        return err_memory(err);
    pair->memory[test] = (struct token_memory){stream, 0, false};
    struct token_work work = {law, o->seed, test, stream, count};
    parallel_for(o->threads, (count + BLOCK - 1) / BLOCK, make_blocks, &work);
    return tokens_windows(stream, count, context, test ? &pair->test : &pair->train, err);
}

int synth_make_tokens(const struct data_options *o, int64_t train, int64_t test,
                      struct data_pair *pair, struct err *err)
{
    SCOPED(free_pointer) struct law *law = malloc(sizeof *law);
    if (!law)
        return err_memory(err);
    law_init(law, o->seed);
    TRY(make_tokens_of(o, law, false, train, pair, err));
    return test > 0 ? make_tokens_of(o, law, true, test, pair, err) : 0;
}
