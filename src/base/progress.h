// SPDX-License-Identifier: Apache-2.0
// progress: one line on a terminal that shows how far something has got.
//
// The caller passes the descriptor (stderr) and reports progress as often as it likes; the line is
// redrawn at most ten times a second, if it has changed, and cleared at the end. Nothing is written
// where nobody looks (not a terminal, TERM=dumb, another job in the foreground, fewer than 20
// columns), and a stopped terminal (Ctrl-S) is not waited for. NO_COLOR is honoured. The line is
// decoration: failing to draw it is not an error.
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
    PROGRESS_TIME, // no amounts are shown, only the time left
};

#define PROGRESS_MIN_WIDTH 20

struct progress_view {
    const char *label;
    enum progress_unit unit;
    int64_t done;
    int64_t total; // 0: not known
    int64_t elapsed_ns;
    int64_t left_ns;   // 0: by the mean pace so far; below 0: not known
    bool at_most;      // it may end earlier
    const char *end;   // (optional) the time of the end: "10:32"
    const char *cost;  // (optional) the cost so far: "0.0123 USD"
    const char *costs; // (optional) with the cost in the end: "0.0123 of 0.0345 USD"
    const char *note;  // (optional) further figures, separated by two spaces
    bool colour;
    bool unicode;
};

// The line for a terminal of `width` columns. It takes at most width - 1 of them, so that no
// terminal wraps it. Parts that do not fit are left out; the last to go is the share done, or,
// without a total, the amount, or for PROGRESS_TIME the time so far. Below PROGRESS_MIN_WIDTH it is
// empty.
void progress_render(const struct progress_view *view, size_t width, struct buf *out);

struct progress {
    struct progress_view view;
    int fd;      // only meaningful while `on`
    pid_t group; // draw while this process group is in the foreground; 0: none
    bool on;
    bool drawn;
    int64_t begun_ns;
    int64_t drawn_ns;
    struct buf line, shown; // the next line and the current one; reused, so nothing is allocated
};

// `label` must live until progress_end(). A zeroed struct is one that draws nothing.
void progress_begin(struct progress *progress, int fd, const char *label, enum progress_unit unit,
                    int64_t total);
void progress_update(struct progress *progress, int64_t done, int64_t total);

// Whether an update now would be drawn, for callers whose figures are costly to compute.
bool progress_due(const struct progress *progress);

// Clears the line until the next update, because something else is about to be written.
void progress_hide(struct progress *progress);

void progress_end(struct progress *progress);

#endif
