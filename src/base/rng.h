// SPDX-License-Identifier: Apache-2.0
// rng: random numbers that are the same on every machine, thread and engine.
//
// Philox4x32-10 (Salmon et al., SC 2011): a block of four 32-bit words is a pure function of a
// key and a counter, so there is no state to pass around and word i of a stream can be computed
// anywhere, on a GPU too, without the words before it, as dropout masks and parallel shuffles need.
// A generator is a key, a stream number and a position.
//
// Split one off for every purpose ("shuffle", epoch; "dropout", layer). It depends on the parent's
// seed, the name and the number, not on what was drawn before. No function here
// uses the C library's mathematics, whose last bit depends on the CPU. Not for secrets.
#ifndef FARE_BASE_RNG_H
#define FARE_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint32_t key[2];
    uint32_t stream[2];
    uint64_t position; // words drawn so far
    uint32_t block[4]; // the block that `position` is in the middle of
};

// The words are those of the blocks with counter {0,0,0,0}, {1,0,0,0}, ... and the key `seed`
// (low half first).
void rng_init(struct rng *rng, uint64_t seed);

// A generator that is practically independent of the parent and of every other split: 128 bits tell
// them apart. `child` may be `parent`.
void rng_split(const struct rng *parent, const char *name, uint64_t number, struct rng *child);

uint32_t rng_u32(struct rng *rng);                   // one word
uint64_t rng_u64(struct rng *rng);                   // two, the low one first
uint64_t rng_below(struct rng *rng, uint64_t bound); // 0 to bound-1, without bias; bound > 0
float rng_float(struct rng *rng);                    // [0, 1) in steps of 2^-24, one word
double rng_double(struct rng *rng);                  // [0, 1) in steps of 2^-53, two words
double rng_normal(struct rng *rng);                  // mean 0, variance 1; two words

// Puts `count` items of `size` bytes in random order (Fisher-Yates; every order as likely).
void rng_shuffle(struct rng *rng, void *items, size_t count, size_t size);

// Word `index` of the stream, wherever the position is.
uint32_t rng_word(const struct rng *rng, uint64_t index);

// Unpredictable bytes from the kernel, for unique names. Independent of any seed.
void rng_entropy(void *bytes, size_t len);

// The bare function, for other implementations to compare with.
void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

// x such that a normal variable is below it with probability p, 0 < p < 1; relative error about
// 1e-16 (Wichura 1988, algorithm AS 241).
double rng_normal_quantile(double p);

#endif
