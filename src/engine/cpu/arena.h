// SPDX-License-Identifier: Apache-2.0
// arena: one piece of memory for many tensors, each of which lives for a while.
//
// A room is a size and a span of times, both ends included. Rooms whose spans overlap lie apart;
// others may share memory. Placing is by size, the largest first, each at the lowest place that is
// free: for nets that is within a few per cent of the least possible.
#ifndef FARE_ENGINE_CPU_ARENA_H
#define FARE_ENGINE_CPU_ARENA_H

#include <stddef.h>

#include "base/err.h"

#define ARENA_ALIGN ((size_t)64)

struct room {
    size_t bytes;
    int from, to;  // to < from: it is not used, and gets no memory
    size_t offset; // in the arena
};

struct arena {
    struct room *rooms;
    int count, cap;
    size_t bytes; // after arena_place()
    char *data;   // after arena_allocate()
    void *block;  // what free() gets
};

void arena_release(struct arena *arena);

// The new room's number, or -1 without memory (and `err` is set).
int arena_add(struct arena *arena, size_t bytes, int from, int to, struct err *err);

int arena_place(struct arena *arena, struct err *err) MUST_USE;
int arena_allocate(struct arena *arena, struct err *err) MUST_USE;

void *arena_at(const struct arena *arena, int room); // null for a room that is not used

// Zeroed memory that begins at a multiple of ARENA_ALIGN, in large pages where it is large.
// `*block` is for free(). Null and `err` without memory.
void *arena_memory(size_t bytes, void **block, struct err *err);

#endif
