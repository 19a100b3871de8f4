// SPDX-License-Identifier: Apache-2.0
#include "engine/dropout.h"

#include <assert.h>
#include <string.h>

#include "base/rng.h"
#include "engine/engine.h"

uint32_t engine_dropout_threshold(float rate)
{
    assert(rate >= 0 && rate < 1);
    return (uint32_t)((double)rate * 0x1p32 + 0.5); // a float below 1 stays below 2^32
}

void dropout_init(struct dropout *dropout, uint64_t seed, int layer, int64_t iteration, float rate)
{
    struct rng rng;
    rng_init(&rng, seed);
    rng_split(&rng, "dropout", (uint64_t)layer, &rng);
    rng_split(&rng, "iteration", (uint64_t)iteration, &rng);
    memcpy(dropout->key, rng.key, sizeof dropout->key);
    memcpy(dropout->stream, rng.stream, sizeof dropout->stream);
    dropout->threshold = engine_dropout_threshold(rate);
    dropout->scale = 1.0f / (1.0f - rate);
}

static void block_at(const struct dropout *dropout, uint64_t block, uint32_t words[4])
{
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), dropout->stream[0],
                                 dropout->stream[1]};
    rng_philox(counter, dropout->key, words);
}

void dropout_mask(const struct dropout *dropout, uint64_t first, int64_t count, uint8_t *kept)
{
    uint32_t words[4];
    for (int64_t i = 0; i < count; i++) {
        uint64_t index = first + (uint64_t)i;
        if (i == 0 || index % 4 == 0)
            block_at(dropout, index / 4, words);
        kept[i] = words[index % 4] >= dropout->threshold;
    }
}
