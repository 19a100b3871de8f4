// SPDX-License-Identifier: Apache-2.0
// topology: counts sockets, cores, hardware threads, caches and NUMA nodes of the whole machine,
// not only those this process may use.
//
// hwloc runs in a child process, because it needs environment variables (unsafe to change in a
// threaded program), prints warnings and loads slowly. If it is missing or incomplete, the files
// below /sys and /proc are counted instead.
#ifndef FARE_MACHINE_CPU_H
#define FARE_MACHINE_CPU_H

#include <stdint.h>

#include "base/proc.h"
#include "base/tree.h"
#include "record/field.h"

enum { TOPOLOGY_CACHES = 16 };

enum topology_cache_kind { CACHE_UNIFIED, CACHE_DATA, CACHE_INSTRUCTION };

struct topology_cache {
    int64_t level;
    enum topology_cache_kind kind;
    int64_t size_bytes; // of one cache; 0: unknown
    int64_t count;
};

struct topology { // 0: unknown
    int64_t sockets;
    int64_t cores;
    int64_t threads;
    int64_t numa_nodes;
    int64_t cache_count; // of `caches`; by level, data before instructions
    struct topology_cache caches[TOPOLOGY_CACHES];
};

// Collects hwloc's answer and counts anything missing. A zeroed child (not started) is fine.
int topology_finish(struct tree *tree, struct proc *child, struct topology *out,
                    struct err *err) MUST_USE;

// Counts the numbers in a list such as "0-3,8,10-11"; absent if the text is no such list.
struct maybe_int cpu_list_count(const char *list);

// The lowest bit set in a mask such as "00000000,00000c00"; -1 if none.
int64_t cpu_mask_first(const char *mask);

// ==== speed ====
// How fast one thread of this machine is, by a short, fixed piece of arithmetic.

#define SPEED_LOOP_OPS 64000 // multiply-adds of one loop: some tens of microseconds

// Runs the loop once. Sixteen independent chains of multiply-adds are limited by the core's clock
// and throughput, so that a neighbour on the same core shows up.
void speed_loop(void);

// Multiply-adds per second of one thread: the fastest loop within five milliseconds.
double speed_thread(void);

#endif
