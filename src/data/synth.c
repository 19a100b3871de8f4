// SPDX-License-Identifier: Apache-2.0
#include "data/synth.h"

#include <stdlib.h>
#include <string.h>

#include "data/images.h"
#include "machine/parallel.h"
#include "data/reviews.h"
#include "data/text.h"
#include "data/tweets.h"

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

// ---- images in memory ----

struct drawing {
    void (*draw)(uint64_t seed, bool test, int64_t i, uint8_t *pixels, int32_t *label);
    uint64_t seed;
    bool test;
    struct dataset *set;
};

static void draw_some(void *drawing_, int64_t from, int64_t to)
{
    const struct drawing *d = drawing_;
    int64_t bytes = (int64_t)d->set->channels * d->set->height * d->set->width;
    for (int64_t i = from; i < to; i++)
        d->draw(d->seed, d->test, i, d->set->pixels + i * bytes, d->set->labels + i);
}

static int draw_set(struct drawing d, int channels, int side, int64_t count, int threads,
                    struct err *err)
{
    struct dataset *set = d.set;
    set->channels = channels;
    set->height = set->width = side;
    set->classes = 10;
    set->pixels = malloc((size_t)count * (size_t)(channels * side * side));
    set->labels = malloc((size_t)count * sizeof *set->labels);
    if (!set->pixels || !set->labels)
        return err_memory(err);
    set->count = count;
    parallel_for(threads, count, draw_some, &d);
    return 0;
}

// ---- texts ----

struct writing {
    const struct synth_sentence *form;
    const char *name;
    uint64_t seed;
    bool test;
    bool pre_padded; // reviews: a start token, zeros before
    struct dataset *set;
};

static void write_some(void *writing_, int64_t from, int64_t to)
{
    const struct writing *w = writing_;
    int time = w->set->time;
    int32_t words[REVIEWS_TIME];
    for (int64_t i = from; i < to; i++) {
        int len = synth_sentence(w->form, w->name, w->seed, w->test, i, words, w->set->labels + i);
        int32_t *row = w->set->tokens + i * time;
        memset(row, 0, (size_t)time * sizeof *row);
        int32_t *at = w->pre_padded ? row + time - len : row;
        memcpy(at, words, (size_t)len * sizeof *row);
        if (w->pre_padded)
            at[-1] = REVIEWS_START;
    }
}

static int write_set(struct writing w, int time, int64_t count, int threads, struct err *err)
{
    struct dataset *set = w.set;
    set->time = time;
    set->token_stride = time;
    set->vocabulary = w.form->vocabulary;
    set->classes = 2;
    set->tokens = malloc((size_t)count * (size_t)time * sizeof *set->tokens);
    set->labels = malloc((size_t)count * sizeof *set->labels);
    if (!set->tokens || !set->labels)
        return err_memory(err);
    set->count = count;
    parallel_for(threads, count, write_some, &w);
    return 0;
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

// ---- sets ----

int synth_make_digits(const struct data_options *o, int64_t train, int64_t test,
                      struct data_pair *pair, struct err *err)
{
    struct drawing d = {.draw = synth_digit, .seed = o->seed, .set = &pair->train};
    int rc = draw_set(d, 1, 28, train, o->threads, err);
    d.test = true;
    d.set = &pair->test;
    return rc == 0 ? draw_set(d, 1, 28, test, o->threads, err) : rc;
}

int synth_make_shapes(const struct data_options *o, int64_t train, int64_t test,
                      struct data_pair *pair, struct err *err)
{
    struct drawing d = {.draw = synth_shape, .seed = o->seed, .set = &pair->train};
    int rc = draw_set(d, 3, 32, train, o->threads, err);
    d.test = true;
    d.set = &pair->test;
    return rc == 0 ? draw_set(d, 3, 32, test, o->threads, err) : rc;
}

int synth_make_reviews(const struct data_options *o, int64_t train, int64_t test,
                       struct data_pair *pair, struct err *err)
{
    static const struct synth_sentence form = {
        .shortest = 40,
        .longest = REVIEWS_TIME - 1,
        .pairs_min = 8,
        .pairs_max = 14,
        .first = REVIEWS_FIRST,
        .vocabulary = REVIEWS_VOCABULARY,
    };
    struct writing w = {&form, "reviews", o->seed, false, true, &pair->train};
    int rc = write_set(w, REVIEWS_TIME, train, o->threads, err);
    w.test = true;
    w.set = &pair->test;
    return rc == 0 ? write_set(w, REVIEWS_TIME, test, o->threads, err) : rc;
}

int synth_make_tweets(const struct data_options *o, int64_t train, int64_t test,
                      struct data_pair *pair, struct err *err)
{
    static const struct synth_sentence form = {
        .shortest = 10,
        .longest = TWEETS_TIME,
        .pairs_min = 3,
        .pairs_max = 4,
        .first = 1,
        .vocabulary = TWEETS_VOCABULARY,
    };
    struct writing w = {&form, "tweets", o->seed, false, false, &pair->train};
    int rc = write_set(w, TWEETS_TIME, train, o->threads, err);
    w.test = true;
    w.set = &pair->test;
    if (rc == 0)
        rc = write_set(w, TWEETS_TIME, test, o->threads, err);
    if (rc == 0)
        rc = pack(&pair->train, err);
    return rc == 0 ? pack(&pair->test, err) : rc;
}

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

static int make_flower_set(uint64_t seed, bool test, int64_t count, struct dataset *set,
                           struct err *err)
{
    set->files = calloc(1, sizeof *set->files);
    set->labels = malloc((size_t)count * sizeof *set->labels);
    if (!set->files || !set->labels)
        return err_memory(err);
    set->count = set->files->count = count;
    set->files->draw = synth_flower;
    set->files->seed = seed;
    set->files->test = test;
    set->classes = 5;
    set->channels = 3;
    set->height = set->width = IMAGES_SIZE;
    for (int64_t i = 0; i < count; i++)
        set->labels[i] = synth_flower_label(seed, test, i);
    return 0;
}

int synth_make_flowers(const struct data_options *o, int64_t train, int64_t test,
                       struct data_pair *pair, struct err *err)
{
    TRY(make_flower_set(o->seed, false, train, &pair->train, err));
    return make_flower_set(o->seed, true, test, &pair->test, err);
}
