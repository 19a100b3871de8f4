// SPDX-License-Identifier: Apache-2.0
// mounts: what is mounted where, from /proc/self/mountinfo (proc_pid_mountinfo(5)).
//
// The limits of a cgroup, the size of /dev/shm and the disk under a folder all begin with this
// table. It is walked line by line in the text that was read, which is changed on the way; the
// members of a struct mount point into it and live as long as it does. Nothing is allocated.
#ifndef FARE_MACHINE_MOUNTS_H
#define FARE_MACHINE_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/tree.h"

struct mount {
    unsigned major, minor;     // of the device; major 0 where there is no block device
    const char *root;          // the folder of that file system that is mounted: "/" for all of it
    const char *point;         // where
    const char *type;          // "ext4", "cgroup2", "fuse.sshfs"
    const char *source;        // "/dev/vda1", "server:/export", "tmpfs"
    const char *super_options; // "rw,cpu,cpuacct"
};

// Reads the table below the root of `tree`.
bool mounts_read(struct tree *tree, struct buf *text);

// The next mount; false at the end. Lines that do not follow the format are passed over.
bool mounts_next(char **cursor, struct mount *mount);

// Is `path` the same as `above`, or below it? Both absolute; "/" is above all.
bool path_is_below(const char *path, const char *above);

// The mount that holds the absolute `path`: the longest that is above it; of equals the last,
// which lies on top of the others.
bool mounts_over(char *text, const char *path, struct mount *mount);

// Is `option` one of the file system's options, alone or before "="? Its value, if it has one, is
// at *value, *len bytes long.
bool mount_option(const struct mount *mount, const char *option, const char **value, size_t *len);

#endif
