// SPDX-License-Identifier: Apache-2.0
// rings: reads one traced process's ring (trace/ring.h) into a window of its newest records,
// sorted. The file is the command's: every figure in it is checked, and it is read, never mapped,
// since it could be cut short at any time.
#ifndef FARE_TRACE_RINGS_H
#define FARE_TRACE_RINGS_H

#include <stdbool.h>

#include "trace/classes.h"
#include "trace/pattern.h"

enum { RING_WINDOW = 1 << 18 }; // records kept

struct ring {
    int fd;       // -1: not open
    bool damaged; // not read any more
    struct trace_header header;
    int64_t opened_ns; // soon after the process began to use CUDA
    uint64_t read;     // records
    struct kernel_class classes[TRACE_NAMES];
    uint32_t names;           // classified
    uint64_t base_ns;         // CUPTI's time of the first record
    struct trace_item *items; // times from there on
    size_t count, sorted;
};

// Zero if there is none (yet), one if it is open now.
int ring_open(struct ring *ring, const char *folder, int number);
void ring_close(struct ring *ring);

int ring_read(struct ring *ring, struct err *err) MUST_USE;
void ring_sort(struct ring *ring);
void ring_want(const struct ring *ring, uint32_t records);

// An item's time on CLOCK_MONOTONIC.
int64_t ring_clock(const struct ring *ring, int64_t item_ns);

#endif
