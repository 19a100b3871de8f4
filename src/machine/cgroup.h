// SPDX-License-Identifier: Apache-2.0
// cgroup: the CPU and memory limits of this process's control group.
//
// A limit applies to a group and all below it, so the smallest one between the process's group and
// the mount's root counts. Reads versions 1 and 2 and mixtures of both. Inside a container the
// mount starts at the container's own group.
#ifndef FARE_MACHINE_CGROUP_H
#define FARE_MACHINE_CGROUP_H

#include <sys/types.h>

#include "base/tree.h"
#include "record/field.h"

struct cgroup {
    const char *version;          // "v1", "v2" (mixed counts as v1); null: no cgroups
    struct maybe_real limit_cpus; // absent: no limit
    struct maybe_int limit_bytes; // of memory; absent: no limit
    struct maybe_int used_bytes;  // of that limit, without reclaimable page cache
};

// Fails only when memory runs out.
int cgroup_read(struct tree *tree, struct cgroup *out, struct err *err) MUST_USE;

// Calls `each` with the folder of the group that limits the CPU time of process `pid` (0: this
// one), then with its ancestors; for both versions if both are mounted.
int cgroup_each_cpu(struct tree *tree, pid_t pid,
                    void (*each)(struct tree *tree, const char *dir, void *arg), void *arg,
                    struct err *err) MUST_USE;

#endif
