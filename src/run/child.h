// SPDX-License-Identifier: Apache-2.0
// child: a user's command and all that comes of it, to be signalled, waited for and ended as one.
//
// Between us and the command stands a keeper: a forked process that does nothing but start the
// command and reap. Orphans of the command become the keeper's children, not init's, so nothing
// of the tree is lost to the sampler or to child_signal_all(), and none of our own helpers is in
// it. The keeper outlives the command and ends with the last process of the tree. Where we are
// killed, the command goes on: the keeper then hands on its output, which nobody else would read.
//
// In a terminal's foreground the command shares our process group, so that the terminal's keys
// reach it and it can read from it; elsewhere it leads a group of its own.
#ifndef FARE_RUN_CHILD_H
#define FARE_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct child_options {
    char *const *argv;
    char *const *env;
    int out, err; // what its stdout and stderr are to be
    struct child_stream {
        int from, to; // the other end of each, and where we hand on what comes; -1: none
    } streams[2];
    int extra, extra_as; // one more descriptor for it, and its number there; -1: none
    bool own_group;
    const sigset_t *mask; // of signals it starts with blocked
};

struct child {
    pid_t keeper; // 0: none
    pid_t pid;    // the command
    int status;   // readable when something is to be told; -1 when the whole tree is gone
    bool own_group;

    bool ended; // the command itself; the members below are then valid
    int wait_status;
    long max_rss_kib; // of it and the children it waited for
};

// To be called with all signals blocked. A program that cannot be started is an error here.
int child_start(struct child *child, const struct child_options *options, struct err *err) MUST_USE;

// Reads what the keeper told, without waiting.
void child_read(struct child *child);

// To the command's process group.
void child_signal(const struct child *child, int number);

// To every process of the tree, whatever its group; how many there were, or -1 where /proc cannot
// be read.
int child_signal_all(const struct child *child, int number);

// Forgets it, and collects the keeper where it is gone.
void child_release(struct child *child);

#endif
