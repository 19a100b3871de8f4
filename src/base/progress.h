// SPDX-License-Identifier: Apache-2.0
// progress: one line on a terminal that tells how far something is.
//
// The caller hands in the descriptor (stderr) and says how much is done as often as it likes; the
// line is redrawn at most ten times a second and wiped at the end. Where nobody looks (not a
// terminal, TERM=dumb, another job in the foreground, fewer than 20 columns) nothing is written.
// NO_COLOR is honoured. Failing to draw is no error: the line is decoration.
#ifndef FARE_BASE_PROGRESS_H
#define FARE_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    bool colour;
    bool unicode;
};

// The line for a terminal of `width` columns; takes at most width - 1 of them, so that no
// terminal wraps it. Parts that do not fit are left out, the share done last of all. Below
// PROGRESS_MIN_WIDTH it is empty.
void progress_render(const struct progress_view *view, size_t width, struct buf *out);

struct progress {
    struct progress_view view;
    int fd; // only meaningful while `on`
    bool on;
    bool drawn;
    int64_t begun_ns;
    int64_t drawn_ns;
};

// `label` must live until progress_end(). A zeroed struct is one that draws nothing.
void progress_begin(struct progress *progress, int fd, const char *label, enum progress_unit unit,
                    int64_t total);
void progress_update(struct progress *progress, int64_t done, int64_t total);
void progress_end(struct progress *progress);

#endif
