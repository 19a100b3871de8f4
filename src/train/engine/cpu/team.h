// SPDX-License-Identifier: Apache-2.0
// team: our loops on the same threads that oneDNN uses.
//
// oneDNN runs on GNU OpenMP, whose threads spin for a while after each piece of work. A second pool
// would compete with them for the cores, so our loops call the same runtime, opened at run time
// like other libraries; no compiler switch is needed, and both compilers build the same code.
// Without the runtime everything runs on one thread.
#ifndef FARE_TRAIN_ENGINE_CPU_TEAM_H
#define FARE_TRAIN_ENGINE_CPU_TEAM_H

#include <stdint.h>

// How many threads work from now on, oneDNN's too; 0: as many as this process may use (cgroup
// limit and affinity). Returns the number. Opens the runtime on the first call.
int team_set(int threads);
int team_size(void);

// Calls work(context, thread, threads) on every thread and waits for all. Work must be split by
// these two numbers alone, so that the same number of threads gives the same sums.
void team_run(void (*work)(void *context, int thread, int threads), void *context);

// The part of [0, count) that is this thread's, in multiples of `grain` except at the end.
void team_part(int64_t count, int64_t grain, int thread, int threads, int64_t *from, int64_t *to);

#endif
