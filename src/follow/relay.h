// SPDX-License-Identifier: Apache-2.0
// relay: copies a command's output to fare's, byte for byte, and shows it to a callback.
//
// The command writes to a pipe, or to a pseudo-terminal if fare's output is a terminal, so that
// bars and colours look as without fare. Output is passed on at once. A slow reader slows the
// command down, as without fare; fare never blocks in a write. If the reader is gone or the disk is
// full, further output is dropped and the command continues: a training is worth more than its log.
// But without a reader no more than RELAY_DROP_MAX is dropped: then the command gets SIGPIPE, so
// that one which only writes ends.
#ifndef FARE_FOLLOW_RELAY_H
#define FARE_FOLLOW_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fs.h"

struct relay {
    int from;    // fare's end; -1 at the end of the stream
    int inside;  // the command's end; -1 once it has it
    int to;      // fare's output
    int pipe;    // if that is a pipe: opened a second time, so that writes to it never wait; or -1
    size_t most; // bytes in one write
    bool terminal;
    char *buffer;                         // RELAY_BYTES; null: the relay is not open
    size_t at, len;                       // bytes read and not written yet
    char last;                            // the last byte written
    int lost;                             // errno of a failed write: output is dropped since
    int64_t dropped;                      // bytes
    bool cut;                             // too many: `from` is closed
    int64_t blocked_ns, waiting_since_ns; // time spent waiting for the reader of our output
    void (*before)(void *context);        // (optional) called before each write
    void *context;
};
typedef void relay_fn(void *context, const char *bytes, size_t len);

// A zeroed struct is not open. `to` is one of fare's descriptors.
int relay_open(struct relay *relay, int to, struct err *err) MUST_USE;
void relay_release(struct relay *relay);
void relay_started(struct relay *relay); // the command has its end: close our copy

// Reads and writes without waiting; calls `each` with the bytes read. `writable`: poll() reported
// that `to` is.
void relay_work(struct relay *relay, bool writable, relay_fn *each, void *context);

// Ends a line that the command left unfinished, so that our message starts a new one.
void relay_end_line(struct relay *relay);

bool relay_pending(const struct relay *relay); // there are bytes to write

// Passes on a change of the terminal's size. True if it has changed.
bool relay_resize(struct relay *relay);

// ---- tail: reads the file or descriptor named by FARE_EVENTS.
//
// By default it is a file in a private folder: any process of the command can append to it without
// waiting for fare, and fare appends lines for the command (tail_tell), which it passes over when
// it reads them. Everybody appends whole lines, each with one write(). Space that was read is freed
// on disk. "fd:N" is a pipe whose write end the command gets as descriptor N.

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
