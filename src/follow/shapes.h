// SPDX-License-Identifier: Apache-2.0
// shapes: finds a counter in lines of no known format: lines that are equal but for their numbers,
// of which one rises steadily. "a/b" with a constant b is its total.
//
// Memory is fixed: the SHAPES_MAX kinds of line seen last. A zeroed struct is empty; there is
// nothing to release.
#ifndef FARE_FOLLOW_SHAPES_H
#define FARE_FOLLOW_SHAPES_H

#include "follow/event.h"

#define SHAPES_MAX     32
#define SHAPES_NUMBERS 8   // of a line; later ones are ignored
#define SHAPES_LINES   4   // before a number is called a counter
#define SHAPES_BYTES   512 // longer lines are ignored

struct line_shape {
    uint32_t id;   // 0: free
    uint64_t used; // when
    uint32_t lines;
    uint32_t counter; // the number that counts, from 1; 0: none known
    int64_t usual;    // its step
    uint32_t misses;  // of late, lines in which it rose by another
    struct {
        int64_t last;
        int64_t step;   // between the last two
        uint32_t rises; // in a row
        uint32_t even;  // of them, by as much as before
        bool fixed;     // never changed
        bool below;     // always at most the next number, which stands behind a slash
    } numbers[SHAPES_NUMBERS];
};

struct shapes {
    struct line_shape items[SHAPES_MAX];
    uint64_t clock;
};

// EVENT_READ if the line has a counter: its `step`, `total_steps` and `bar`, with the source
// "regular lines".
enum event_result shapes_read(struct shapes *shapes, const char *line, size_t len,
                              struct event *event);

// ---- columns: a log of comma-separated values with a header, such as "epoch,loss,val_loss" above
// "0,4.0,3.9". Lines of the last header's number of columns count.
//
// A zeroed struct is empty; there is nothing to release.

struct log_columns {
    int count;       // 0: no header yet
    int step, epoch; // their places, from 1; 0: none
    int loss, test_loss, accuracy, test_accuracy;
};

// EVENT_READ if the line is a row with a counter.
enum event_result columns_read(struct log_columns *columns, const char *line, size_t len,
                               struct event *event);

#endif
