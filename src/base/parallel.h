// SPDX-License-Identifier: Apache-2.0
// parallel: a loop of independent rounds on several threads.
//
// For the work before a training (drawing, hashing, initial values); a training's own loops are the
// engine's.
#ifndef FARE_BASE_PARALLEL_H
#define FARE_BASE_PARALLEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

// Calls work(context, from, to) for pieces that together make up [0, count), and waits for all.
// At most 16 threads are used, which is enough for this work. Where a thread cannot be started, its
// pieces are done by the others.
void parallel_for(int threads, int64_t count, void (*work)(void *context, int64_t from, int64_t to),
                  void *context);

// ==== thread ====
// What every thread of fare's needs beside pthread.h.

// Starts a thread that gets no signals: they are for the one that started it. `stack_bytes` 0: as
// usual.
int thread_start(pthread_t *thread, size_t stack_bytes, void *(*work)(void *), void *context,
                 struct err *err) MUST_USE;

// A condition whose waits end at a time of clock_now_ns(), whatever happens to the date.
void moment_init(pthread_cond_t *condition);

// Waits for it, with the lock. False: `until_ns` came first.
bool moment_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t until_ns);

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
