// SPDX-License-Identifier: Apache-2.0
// memory: what a GPU that is not there has given out, and who used each word of it. Blocks of one
// launch have no order, nor have launches of one graph of which neither waits for the other. Where
// one of two such reads and the other writes, or both wrote what is read later, it is a fault. What
// both write and nobody reads is none.
#ifndef FARE_TESTS_ENGINE_PTX_MEMORY_H
#define FARE_TESTS_ENGINE_PTX_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/engine/ptx/ptx.h"

void *memory_give(size_t bytes);     // null where there is none
size_t memory_take_back(void *from); // its bytes; what was not given out ends the program
struct ptx_memory memory_find(uint64_t address);

// Nothing that was done before has to do with what follows.
void memory_begin(void);
// The launch that runs now is number `launch` of those since then, from 0. `is_before` says whether
// another one is over before this one begins.
void memory_launch(int launch, bool (*is_before)(int other, int launch));

// Notes that a block uses words of a piece that memory_find() found, `bytes` from each of `count`
// addresses on; false where another block or launch (`other`, or the same one) had one of them
// without an order. To ask again changes nothing.
bool memory_use(struct ptx_memory *piece, const uint64_t *at, uint32_t count, uint32_t bytes,
                uint32_t block, bool writes, int *other);

#endif
