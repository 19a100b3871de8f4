// SPDX-License-Identifier: Apache-2.0
// parallel: a loop of independent rounds on several threads.
//
// For the work before a training (drawing, hashing); a training's own loops are the engine's.
#ifndef FARE_DATA_PARALLEL_H
#define FARE_DATA_PARALLEL_H

#include <stdint.h>

// `threads` itself where it is positive, else as many as this process may use, at most 16.
int parallel_threads(int threads);

// Calls work(context, from, to) for pieces of [0, count), and waits for all. Where a thread cannot
// be started, the others do its work.
void parallel_for(int threads, int64_t count, void (*work)(void *context, int64_t from, int64_t to),
                  void *context);

#endif
