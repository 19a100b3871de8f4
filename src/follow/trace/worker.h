// SPDX-License-Identifier: Apache-2.0
// worker: a process's place in a parallel job, by the variables that its launcher set: torchrun
// (and accelerate, deepspeed), mpirun of Open MPI and MPICH, srun. Used by fare and by the
// libraries that it loads into commands, so it needs the C library alone.
#ifndef FARE_FOLLOW_TRACE_WORKER_H
#define FARE_FOLLOW_TRACE_WORKER_H

#include <stdbool.h>

enum { WORKER_SIZE_MOST = 1 << 16 };

struct worker {
    const char *by; // "torchrun", "mpirun", "srun"; null: it has none
    int rank, size;
    int nodes; // machines; 0: unknown
};

// `get` returns a variable's value, or null.
typedef const char *worker_get(const void *context, const char *name);

// The place in the largest job, where launchers started launchers. Variables that are no numbers or
// contradict each other, such as a rank beyond the size, do not count. False: there are none.
bool worker_find(worker_get *get, const void *context, struct worker *place);

// Variables of this process, and of an environment as /proc has it: "A=1\0B=2\0", and a last zero.
const char *worker_own(const void *unused, const char *name);
const char *worker_block(const void *block, const char *name);

#endif
