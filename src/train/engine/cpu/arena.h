// SPDX-License-Identifier: Apache-2.0
// arena: one piece of memory for many buffers with limited lifetimes.
//
// A buffer is a size and a span of times, both ends included. Buffers with overlapping spans lie
// apart; others may share memory. Buffers are placed by size, the largest first, each at the lowest
// free offset: for nets that is within a few per cent of the optimum.
#ifndef FARE_TRAIN_ENGINE_CPU_ARENA_H
#define FARE_TRAIN_ENGINE_CPU_ARENA_H

#include <stddef.h>

#include "base/err.h"

#define ARENA_ALIGN ((size_t)64)

struct buffer {
    size_t bytes;
    int from, to;  // to < from: unused, gets no memory
    size_t offset; // in the arena
    void *pointer; // (optional) of a pointer to it, which a plan sets
};

struct arena {
    struct buffer *buffers;
    int count;
    size_t cap;
    size_t bytes; // after arena_place()
    char *data;   // after arena_allocate()
    void *block;  // for free()
};

void arena_release(struct arena *arena);

// The new buffer's number, or -1 and `err` if memory runs out.
int arena_add(struct arena *arena, size_t bytes, int from, int to, struct err *err);

int arena_place(struct arena *arena, struct err *err) MUST_USE;
int arena_allocate(struct arena *arena, struct err *err) MUST_USE;

void *arena_at(const struct arena *arena, int buffer); // null for an unused buffer

// Zeroed memory aligned to ARENA_ALIGN, in huge pages if it is large. `*block` is for free(). Null
// and `err` if memory runs out.
void *arena_memory(size_t bytes, void **block, struct err *err);

#endif
