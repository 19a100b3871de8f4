// SPDX-License-Identifier: Apache-2.0
// streams: a command's output and its events file, while it runs: relayed, split into lines and
// passed to follow/follow.h.
//
// Relaying comes first. Reading lines may take an eighth of the time; of output that comes faster,
// whole blocks are relayed unread, so that a program that prints a million lines a second is not
// slowed down. Events, and output that --step-pattern must match line by line, are read in any
// case.
#ifndef FARE_MEASURE_STREAMS_H
#define FARE_MEASURE_STREAMS_H

#include <poll.h>

#include "follow/follow.h"
#include "follow/relay.h"

#define STREAMS_FDS  4
#define STREAMS_LAST 512 // bytes kept of each stream's end

struct streams {
    struct relay out, err; // err is not open if both go to the same place
    struct tail tail;
    struct event_lines out_lines, err_lines, event_lines;
    struct follow *follow;                          // null: relay only
    void (*event)(void *context, const char *line); // (optional) gets each line of FARE_EVENTS too
    void *context;                                  // for `event`
    bool every_line;                                // none may be skipped
    bool modes;        // the command has set terminal modes, such as a second screen
    int64_t credit_ns; // time for reading lines
    int64_t credit_at_ns;
    struct streams_last {
        char bytes[STREAMS_LAST];
        size_t len;
        bool unread; // it was relayed only
    } out_last, err_last;
};

// A zeroed struct is closed. The command's stdout goes to `to`, stdout or stderr.
int streams_open(struct streams *streams, int to, struct err *err) MUST_USE;
void streams_release(struct streams *streams);
void streams_started(struct streams *streams); // the command has its ends: close our copies

// For poll(): what to wait for, and then the work, without waiting.
void streams_poll(const struct streams *streams, struct pollfd fds[STREAMS_FDS]);
void streams_work(struct streams *streams, const struct pollfd fds[STREAMS_FDS]);

bool streams_pending(const struct streams *streams); // there is output to write
bool streams_reading(const struct streams *streams); // the command's ends are open
void streams_end_lines(struct streams *streams);     // lines without newline at the very end

// The stream that goes to fare's stderr, where messages are.
struct relay *streams_beside(struct streams *streams);

// The last line with text of the command's stderr, else of its stdout, without control sequences.
// Empty if there is none.
void streams_last_line(struct streams *streams, char *out, size_t size);

#endif
