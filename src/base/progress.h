// SPDX-License-Identifier: Apache-2.0
// progress: one line on a terminal that tells how far something is.
//
// The caller hands in the descriptor (stderr) and says how much is done as often as it likes; the
// line is redrawn at most ten times a second, where it has changed, and wiped at the end. Where
// nobody looks (not a terminal, TERM=dumb, another job in the foreground, fewer than 20 columns)
// nothing is written, and a terminal that takes nothing (Ctrl-S) is not waited for. NO_COLOR is
// honoured. Failing to draw is no error: the line is decoration.
#ifndef FARE_BASE_PROGRESS_H
#define FARE_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

enum progress_unit {
    PROGRESS_COUNT,
    PROGRESS_BYTES,
    PROGRESS_TIME, // the amounts are not shown: what is left says it
};

#define PROGRESS_MIN_WIDTH 20

struct progress_view {
    const char *label;
    enum progress_unit unit;
    int64_t done;
    int64_t total; // 0: not known
    int64_t elapsed_ns;
    int64_t left_ns;   // 0: by the mean pace so far; below 0: not known
    bool at_most;      // it may end earlier than that
    const char *end;   // (optional) when that is: "10:32"
    const char *cost;  // (optional) what it has cost: "0.0123 USD"
    const char *costs; // (optional) the same with what it will: "0.0123 of 0.0345 USD"
    const char *note;  // (optional) more about it, in pieces with two spaces between them
    bool colour;
    bool unicode;
};

// The line for a terminal of `width` columns; takes at most width - 1 of them, so that no
// terminal wraps it. Parts that do not fit are left out, the share done last of all, or, where the
// whole is not known, the amount, or of PROGRESS_TIME the time so far. Below PROGRESS_MIN_WIDTH it
// is empty.
void progress_render(const struct progress_view *view, size_t width, struct buf *out);

struct progress {
    struct progress_view view;
    int fd;      // only meaningful while `on`
    pid_t group; // whose turn on the terminal is ours too; 0: nobody's
    bool on;
    bool drawn;
    int64_t begun_ns;
    int64_t drawn_ns;
    struct buf line, shown; // what is drawn next, and what is there: kept, to allocate nothing
};

// `label` must live until progress_end(). A zeroed struct is one that draws nothing.
void progress_begin(struct progress *progress, int fd, const char *label, enum progress_unit unit,
                    int64_t total);
void progress_update(struct progress *progress, int64_t done, int64_t total);

// Whether an update now would be drawn: for those whose figures cost something to make.
bool progress_due(const struct progress *progress);

// Wipes the line, until the next update: something else is about to be written there.
void progress_hide(struct progress *progress);

void progress_end(struct progress *progress);

#endif
