// SPDX-License-Identifier: Apache-2.0
// tasks: the run's process, its descendants, and the resources they use.
//
// When a process ends and its parent waits for it, its use moves into the parent's counters. So the
// sum over living processes is nearly complete. Processes that nobody waits for (SIGCHLD ignored,
// parent dead) are carried over from their last reading. The sums never go back. A descendant stays
// one even if its parent dies.
//
// The first TASKS_KEPT processes keep their files open; later ones cost an open() per reading.
// Beyond TASKS_MAX a process counts only once its parent has waited for it.
//
// A worker is a process that the program forked without starting another one, as data loaders are:
// its command line is its parent's, or that of Python's multiprocessing.
//
// A scan for new processes runs only if the kernel has assigned a pid since the last one. It uses
// /proc/PID/task/*/children if present, otherwise all of /proc. Nothing is allocated after
// tasks_new().
#ifndef FARE_MACHINE_SAMPLE_TASKS_H
#define FARE_MACHINE_SAMPLE_TASKS_H

#include <sys/types.h>

#include "base/tree.h"
#include "record/field.h"

#define TASKS_KEPT 32
#define TASKS_MAX  512

struct tasks;

struct tasks_use {
    struct maybe_real cpu_s;
    struct maybe_real workers_cpu_s; // of that, by workers: see below
    struct maybe_real disk_wait_s;   // of main threads; absent if the kernel does not count it
    struct maybe_int read_bytes, write_bytes; // from and to disks
    struct maybe_int memory_bytes;            // resident; shared pages count for each process
    struct maybe_int memory_peak_bytes;       // highest reading, or the first process's own peak
};

int tasks_new(struct tasks **tasks, const struct tree *tree, pid_t pid, struct err *err) MUST_USE;
void tasks_free(struct tasks *tasks); // null is fine

// Takes a reading. The result is valid until the next call.
const struct tasks_use *tasks_read(struct tasks *tasks);
const struct tasks_use *tasks_use(const struct tasks *tasks); // the last reading

// True if `pid` is the run's process or a descendant. `visible`: it is in /proc. For the GPU lane,
// which shares no tables with other threads; it follows /proc/PID/stat upwards.
bool task_is_below(const struct tree *tree, pid_t pid, pid_t top, bool *visible);

#endif
