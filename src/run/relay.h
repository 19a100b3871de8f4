// SPDX-License-Identifier: Apache-2.0
// relay: copies a command's output to fare's, byte for byte, and shows it to a callback.
//
// The command writes to a pipe, or to a pseudo-terminal if fare's output is a terminal, so that
// bars and colours look as without fare. Output is passed on at once. A slow reader slows the
// command down, as without fare; fare never blocks in a write. If the reader is gone or the disk is
// full, further output is dropped and the command continues: a training is worth more than its log.
// But without a reader no more than RELAY_DROP_MAX is dropped: then the command gets SIGPIPE, so
// that one which only writes ends.
#ifndef FARE_RUN_RELAY_H
#define FARE_RUN_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RELAY_BYTES    ((size_t)64 << 10)
#define RELAY_DROP_MAX (INT64_C(64) << 20)

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

#endif
