// SPDX-License-Identifier: Apache-2.0
// topology: counts sockets, cores, hardware threads, caches and NUMA nodes of the whole machine,
// not only those this process may use.
//
// hwloc runs in a child process, because it needs environment variables (unsafe to change in a
// threaded program), prints warnings and loads slowly. If it is missing or incomplete, the files
// below /sys and /proc are counted instead.
#ifndef FARE_MACHINE_TOPOLOGY_H
#define FARE_MACHINE_TOPOLOGY_H

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

// Starts hwloc on the machine below the tree's root. Does not wait.
int topology_start(struct tree *tree, struct proc *child, struct err *err) MUST_USE;

// Collects hwloc's answer and counts anything missing. A zeroed child (not started) is fine.
int topology_finish(struct tree *tree, struct proc *child, struct topology *out,
                    struct err *err) MUST_USE;

// Counts the numbers in a list such as "0-3,8,10-11"; absent if the text is no such list.
struct maybe_int cpu_list_count(const char *list);

// The lowest bit set in a mask such as "00000000,00000c00"; -1 if none.
int64_t cpu_mask_first(const char *mask);

#endif
