// SPDX-License-Identifier: Apache-2.0
// dropout: which elements a dropout layer keeps, the same in every engine.
//
// The mask is a pure function of (seed, layer, iteration, index), so any part of it can be computed
// in any order, on any number of threads, on a GPU too. Nothing is stored: the backward pass draws
// it again.
//
// Exactly: `key` and `stream` come from base/rng: rng_init(seed), then rng_split by ("dropout",
// layer), then rng_split of that by ("iteration", iteration). They change once a step and are
// cheap. Element `index` then belongs to block b = index / 4 and is word index % 4 of
//     rng_philox({low 32 bits of b, high 32 bits of b, stream[0], stream[1]}, key)
// and is kept if that word >= threshold. One Philox call covers four elements, and a vector
// register of k lanes 4k, from the counters b, b + 1, ..., b + k - 1.
//
// `layer` is the layer's number in the net. `index` counts the numbers of the layer's output in
// the net's layout, the sample first: (sample, channels, height, width), (sample, time, features)
// or (sample, units), whatever the engine's own layout. So the masks of the first samples do not
// depend on how many follow.
#ifndef FARE_ENGINE_DROPOUT_H
#define FARE_ENGINE_DROPOUT_H

#include <stdint.h>

struct dropout {
    uint32_t key[2];
    uint32_t stream[2];
    uint32_t threshold; // engine_dropout_threshold(rate): rate × 2^32, rounded
    float scale;        // of kept elements: 1 / (1 - rate), in single precision
};

// 0 <= rate < 1.
void dropout_init(struct dropout *dropout, uint64_t seed, int layer, int64_t iteration, float rate);

// For elements first, first + 1, ...: 1 if kept, else 0.
void dropout_mask(const struct dropout *dropout, uint64_t first, int64_t count, uint8_t *kept);

#endif
