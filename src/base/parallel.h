// SPDX-License-Identifier: Apache-2.0
// parallel: a loop of independent rounds on several threads.
//
// For the work before a training (drawing, hashing, initial values); a training's own loops are the
// engine's.
#ifndef FARE_BASE_PARALLEL_H
#define FARE_BASE_PARALLEL_H

#include <stdint.h>

// Calls work(context, from, to) for pieces that together make up [0, count), and waits for all.
// At most 16 threads are used, which is enough for this work. Where a thread cannot be started, its
// pieces are done by the others.
void parallel_for(int threads, int64_t count, void (*work)(void *context, int64_t from, int64_t to),
                  void *context);

// ==== part ====
// Some things divided among several, in contiguous parts that differ by at most one.

// Part `index` of `parts` (at least 1) is [*first, *first + *size) of [0, count); it may be empty.
static inline void part_of(int64_t count, int index, int parts, int64_t *first, int64_t *size)
{
    int64_t each = count / parts, more = count % parts;
    *first = index * each + (index < more ? index : more);
    *size = each + (index < more);
}

#endif
