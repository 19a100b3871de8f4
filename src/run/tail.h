// SPDX-License-Identifier: Apache-2.0
// tail: the file or descriptor that FARE_EVENTS names, from the reader's side.
//
// Unless the user named a place, it is a file in a folder of our own that only this user can read:
// any process of the command can append to it, and nothing waits for us. What was read of it is
// given back to the disk. "fd:N" is a pipe whose writing end the command gets as descriptor N.
#ifndef FARE_RUN_TAIL_H
#define FARE_RUN_TAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct tail {
    char *path;   // the file; null for a descriptor
    char *folder; // ours, to be removed; null where the user named the file
    int fd;       // -1: not there (yet)
    int inside;   // "fd:N": the command's end; -1: none
    int inside_as;
    int watch; // an inotify descriptor that tells of writing; -1: to be asked for
    int64_t at;
    int64_t freed;
};
typedef void tail_fn(void *context, const char *bytes, size_t len);

// `named` is the user's FARE_EVENTS, or null. A folder that cannot be made is no error: there are
// then no events, and tail->path is null.
int tail_open(struct tail *tail, const char *named, struct err *err) MUST_USE;
void tail_release(struct tail *tail); // a zeroed struct is fine
void tail_started(struct tail *tail); // the command has its end

// Shows what was written since, up to a megabyte of it.
void tail_read(struct tail *tail, tail_fn *each, void *context);

// Where the file ends now: tail->at once all of it was read. 0 where it is no file.
int64_t tail_written(struct tail *tail);

#endif
