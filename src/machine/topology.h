// SPDX-License-Identifier: Apache-2.0
// topology: how many sockets, cores, hardware threads, caches and memory nodes there are.
//
// hwloc tells, in a child process: it is steered by environment variables, which a program with
// threads must not change, prints warnings about odd machines, and takes long to load. Where it is
// missing or says less, the same files below /sys and /proc are counted here. Both count the whole
// machine, not what this process may use of it.
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
    int64_t size_bytes; // of one of them; 0: not known
    int64_t count;
};

struct topology { // 0: not known
    int64_t sockets;
    int64_t cores;
    int64_t threads;
    int64_t numa_nodes;
    int64_t cache_count; // of `caches`; level by level, data before instructions
    struct topology_cache caches[TOPOLOGY_CACHES];
};

// Begins to ask hwloc about the machine below the tree's root; other things can be done meanwhile.
int topology_start(struct tree *tree, struct proc *child, struct err *err) MUST_USE;

// Takes its answer, and counts what is missing from it. A child that was not started (zeroed) is
// fine: then everything is counted here.
int topology_finish(struct tree *tree, struct proc *child, struct topology *out,
                    struct err *err) MUST_USE;

// How many numbers a list such as "0-3,8,10-11" names; absent where the text is no such list.
struct maybe_int cpu_list_count(const char *list);

// The lowest bit of a mask such as "00000000,00000c00", -1 where there is none.
int64_t cpu_mask_first(const char *mask);

#endif
