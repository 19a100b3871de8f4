// SPDX-License-Identifier: Apache-2.0
// tail: reads the file or descriptor named by FARE_EVENTS.
//
// By default it is a file in a private folder: any process of the command can append to it without
// waiting for fare, and fare appends lines for the command (tail_tell), which it passes over when
// it reads them. Everybody appends whole lines, each with one write(). Space that was read is freed
// on disk. "fd:N" is a pipe whose write end the command gets as descriptor N.
#ifndef FARE_RUN_TAIL_H
#define FARE_RUN_TAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/scratch.h"

struct tail {
    char *path;            // the file; null for a descriptor
    struct scratch folder; // has no path if the user named the file
    int fd;                // -1: does not exist yet
    int inside;            // "fd:N": the command's end; -1: none
    int inside_as;
    int watch; // an inotify descriptor for writes; -1: the file must be polled
    int64_t at;
    int64_t freed;
};
typedef void tail_fn(void *context, const char *bytes, size_t len);

// `named` is the user's FARE_EVENTS, or null. If no folder can be made there are no events and
// tail->path is null; that is not an error.
int tail_open(struct tail *tail, const char *named, struct err *err) MUST_USE;
void tail_release(struct tail *tail); // a zeroed struct is fine
void tail_started(struct tail *tail); // the command has its end

// Calls `each` with the bytes written since the last call, at most a megabyte.
void tail_read(struct tail *tail, tail_fn *each, void *context);

// Appends `line`, which ends in a newline, for the command to read. False: not a file, or it is
// gone.
bool tail_tell(struct tail *tail, const char *line);

// The current size of the file, which is tail->at once all is read; 0 if it is not a file.
int64_t tail_written(struct tail *tail);

#endif
