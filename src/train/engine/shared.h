// SPDX-License-Identifier: Apache-2.0
// shared: what engines share: dropout's masks, the order of their tensors, timing a product.
#ifndef FARE_TRAIN_ENGINE_SHARED_H
#define FARE_TRAIN_ENGINE_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "train/engine/engine.h"

// ---- dropout: which elements a layer keeps, the same in every engine ----
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

// ---- tensors: the parameters, then the optimizer's states of each trained one ----

struct tensors {
    const struct net_param *first; // the others follow, `distance` apart
    size_t distance;               // bytes
    int count;
    int states; // of each trained one
};

int tensors_count(const struct tensors *t);

// The parameter that tensor `index` belongs to; *state is -1 if it is the parameter itself.
int tensors_find(const struct tensors *t, int index, int *state);

void tensors_describe(const struct tensors *t, int index, struct engine_tensor *out);

// ---- products: times one of square matrices, for the rate that an engine reaches ----

#define PRODUCT_SIZE_MIN 512
#define PRODUCT_SIZE_MAX 4096

struct product_work {
    void *context;
    // The following products are size × size × size.
    int (*prepare)(void *context, int64_t size, struct err *err);
    // `times` products in a row; `seconds`: of all of them.
    int (*run)(void *context, int64_t times, double *seconds, struct err *err);
};

// Doubles the size until a product would take over a tenth of a second, and at most to
// PRODUCT_SIZE_MAX; then takes the best of five rounds of a tenth of a second. Fills size and
// seconds.
int product_time(const struct product_work *work, struct engine_product *out,
                 struct err *err) MUST_USE;

// Times `least` and its doubles up to `most`, as long as a product should take under a tenth of a
// second, for a quarter of a second each. Keeps the size with the highest rate.
int product_time_best(const struct product_work *work, int64_t least, int64_t most,
                      struct engine_product *out, struct err *err) MUST_USE;

// Numbers from -1 to 1: a product of zeros draws less power, and runs at higher clocks.
void product_fill(float *to, int64_t count);

#endif
