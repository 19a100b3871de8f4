// SPDX-License-Identifier: Apache-2.0
// Tokens with the frequencies of English words: the token of rank r (from 0) is as frequent as
// 1 / (r + 3.7), the law of Zipf and Mandelbrot. Half of them are drawn from it; the others are one
// of four successors of the token before, which a net can learn. The successors follow the same
// law, so the frequencies stay.
#include <stdlib.h>

#include "machine/parallel.h"
#include "data/synth.h"
#include "data/tokens.h"

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

struct making {
    const struct law *law;
    uint64_t seed;
    bool test;
    uint16_t *stream;
    int64_t count;
};

static void make_blocks(void *making_, int64_t from, int64_t to)
{
    const struct making *m = making_;
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

static int make_part(const struct data_options *o, const struct law *law, bool test,
                     int64_t windows, struct data_pair *pair, struct err *err)
{
    int context = o->context > 0 ? o->context : TOKENS_CONTEXT;
    int64_t count = windows * context + 1;
    uint16_t *stream = malloc((size_t)count * sizeof *stream);
    if (!stream)
        return err_memory(err);
    pair->memory[test] = (struct token_memory){stream, 0, false};
    struct making making = {law, o->seed, test, stream, count};
    parallel_for(o->threads, (count + BLOCK - 1) / BLOCK, make_blocks, &making);
    return tokens_windows(stream, count, context, test ? &pair->test : &pair->train, err);
}

int synth_make_tokens(const struct data_options *o, int64_t train, int64_t test,
                      struct data_pair *pair, struct err *err)
{
    struct law *law = malloc(sizeof *law);
    if (!law)
        return err_memory(err);
    law_init(law, o->seed);
    int rc = make_part(o, law, false, train, pair, err);
    if (rc == 0 && test > 0)
        rc = make_part(o, law, true, test, pair, err);
    free(law);
    return rc;
}
