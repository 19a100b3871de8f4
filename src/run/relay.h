// SPDX-License-Identifier: Apache-2.0
// relay: a command's output on its way to ours, byte for byte, with somebody who reads along.
//
// The command writes into a pipe, or into a terminal of its own where ours is one, so that bars
// and colours are as they would be without us. What it wrote is handed on at once. Whoever reads
// our output slowly slows the command down, as without us; we never wait in a write. Where nobody
// reads any more, or the disk is full, the rest is dropped and the command goes on.
#ifndef FARE_RUN_RELAY_H
#define FARE_RUN_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RELAY_ROOM ((size_t)64 << 10)

struct relay {
    int from;   // our end; -1 at the end of the stream
    int inside; // the command's end; -1 once it has it
    int to;     // ours
    bool terminal;
    char *room;
    size_t at, len;                       // what was read and not written yet
    char last;                            // byte that was written
    int lost;                             // errno of the write that failed: output is dropped since
    int64_t blocked_ns, waiting_since_ns; // waiting for whoever reads our output
    void (*before)(void *context);        // (optional) called before something is written
    void *context;
};
typedef void relay_fn(void *context, const char *bytes, size_t len);

// A zeroed struct is none. `to` is one of our descriptors.
int relay_open(struct relay *relay, int to, struct err *err) MUST_USE;
void relay_release(struct relay *relay);
void relay_started(struct relay *relay); // the command has its end: ours of it is closed

// Reads and writes what can be without waiting; what was read is shown to `each`. `writable` is
// whether poll() said that `to` is.
void relay_work(struct relay *relay, bool writable, relay_fn *each, void *context);

// On a terminal, ends a line that the command left open, so that what we say begins one.
void relay_end_line(struct relay *relay);

bool relay_pending(const struct relay *relay); // there is something to write

// The terminal's size may have changed. True where it has.
bool relay_resize(struct relay *relay);

#endif
