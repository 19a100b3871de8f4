// SPDX-License-Identifier: Apache-2.0
// cgroup: how much of the machine this process may use, by the kernel's control groups.
//
// A limit holds for a group and everything below it, so the smallest on the way from the
// process's own group to the top of what is mounted here counts. Versions 1 and 2 and mixtures of
// the two are read; inside a container the mount begins at the container's own group.
#ifndef FARE_MACHINE_CGROUP_H
#define FARE_MACHINE_CGROUP_H

#include <sys/types.h>

#include "base/tree.h"
#include "record/field.h"

struct cgroup {
    const char *version;          // "v1", "v2" (mixed counts as v1), null: no cgroups
    struct maybe_real limit_cpus; // absent: no limit
    struct maybe_int limit_bytes; // of memory; absent: no limit
    struct maybe_int used_bytes;  // of that limit, less what the kernel can drop from its cache
};

// Fails only when memory runs out.
int cgroup_read(struct tree *tree, struct cgroup *out, struct err *err) MUST_USE;

// Calls `each` with the folder of the group that limits the CPU time of process `pid` (0: our own),
// then with those above it. Both versions' where both are mounted; none where there are no cgroups.
int cgroup_each_cpu(struct tree *tree, pid_t pid,
                    void (*each)(struct tree *tree, const char *dir, void *arg), void *arg,
                    struct err *err) MUST_USE;

#endif
