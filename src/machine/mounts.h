// SPDX-License-Identifier: Apache-2.0
// mounts: parses /proc/self/mountinfo (proc_pid_mountinfo(5)).
//
// Used for cgroup limits, the size of /dev/shm and the disk under a folder. The text is parsed in
// place and modified; a struct mount points into it. Nothing is allocated.
#ifndef FARE_MACHINE_MOUNTS_H
#define FARE_MACHINE_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/tree.h"

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

#endif
