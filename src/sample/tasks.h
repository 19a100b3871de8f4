// SPDX-License-Identifier: Apache-2.0
// tasks: the run's process and all its descendants, and what they used.
//
// What a process used lives on, after it ended and its parent waited for it, in the parent's
// counters. So the sum over the living is nearly everything; what is missing is what processes used
// that nobody waited for (SIGCHLD ignored, the parent dead), and that is carried over here from the
// last time they were seen. The sums never go back. Who once was a descendant stays one, also when
// his parent dies.
//
// The first TASKS_KEPT processes have their files kept open; those after them cost an open() each
// look. Beyond TASKS_MAX a process counts only when its parent has waited for it.
//
// New processes are looked for when the kernel has given out a process number since, by
// /proc/PID/task/*/children where it has that, otherwise by reading all of /proc. Nothing is
// allocated after tasks_new().
#ifndef FARE_SAMPLE_TASKS_H
#define FARE_SAMPLE_TASKS_H

#include <sys/types.h>

#include "base/tree.h"
#include "record/field.h"

#define TASKS_KEPT 32
#define TASKS_MAX  512

struct tasks;

struct tasks_use {
    struct maybe_real cpu_s;
    struct maybe_int read_bytes, write_bytes; // from and to disks
    struct maybe_int memory_bytes; // resident; pages that processes share count for each of them
    struct maybe_int memory_peak_bytes; // the most at one look, or of the first process at any time
};

int tasks_new(struct tasks **tasks, const struct tree *tree, pid_t pid, struct err *err) MUST_USE;
void tasks_free(struct tasks *tasks); // null is fine

// Looks. The answer is valid until the next call.
const struct tasks_use *tasks_read(struct tasks *tasks);
const struct tasks_use *tasks_use(const struct tasks *tasks); // the last answer

int tasks_count(const struct tasks *tasks); // alive and known at the last look

// Is `pid` the run's process or below it? `visible`: it is in /proc at all. For the GPU lane, which
// must not share tables with another thread; it reads /proc/PID/stat up to the top.
bool task_is_below(const struct tree *tree, pid_t pid, pid_t top, bool *visible);

struct task_stat { // of /proc/PID/stat (proc_pid_stat(5)); times in clock ticks
    pid_t parent;
    char state;
    int64_t own_ticks, children_ticks; // user and system; children: those waited for
    int64_t start_ticks;               // when it started: with the pid, its identity
    int64_t resident_pages;
};
bool task_stat_parse(const char *text, struct task_stat *out);

#endif
