// SPDX-License-Identifier: Apache-2.0
// cgroup: the CPU and memory limits of this process's control group.
//
// A limit applies to a group and all below it, so the smallest one between the process's group and
// the mount's root counts. Reads versions 1 and 2 and mixtures of both. Inside a container the
// mount starts at the container's own group.
#ifndef FARE_MACHINE_CGROUP_H
#define FARE_MACHINE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
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

// ==== mounts ====
// Parses /proc/self/mountinfo (proc_pid_mountinfo(5)).
//
// Used for cgroup limits, the size of /dev/shm and the disk under a folder. The text is parsed in
// place and modified; a struct mount points into it. Nothing is allocated.

struct mount {
    unsigned major, minor;     // of the device; major 0 without a block device
    const char *root;          // the mounted folder of the file system; "/" for all of it
    const char *point;         // where it is mounted
    const char *type;          // "ext4", "cgroup2", "fuse.sshfs"
    const char *source;        // "/dev/vda1", "server:/export", "tmpfs"
    const char *super_options; // "rw,cpu,cpuacct"
};

// Reads the table below the root of `tree`.
bool mounts_read(struct tree *tree, struct buf *text);

// The next mount; false at the end. Malformed lines are skipped.
bool mounts_next(char **cursor, struct mount *mount);

// True if `path` is `above` or below it. Both are absolute.
bool path_is_below(const char *path, const char *above);

// The mount that holds the absolute `path`: the longest prefix, and of equals the last, which hides
// the others.
bool mounts_over(char *text, const char *path, struct mount *mount);

// True if the file system has this option, alone or as "option=value". *value is not terminated; it
// has *len bytes.
bool mount_option(const struct mount *mount, const char *option, const char **value, size_t *len);

// ==== cpus ====
// How many CPUs this process may use: the affinity mask, and the cgroup's quota within it.

// The smaller of the threads it may run on and the quota; absent where neither is known.
struct maybe_real cpus_within(struct maybe_int threads, struct maybe_real limit);

// Whole CPUs of this process, at least 1: the number of threads for work that keeps them busy.
int cpus_usable(void);

#endif
