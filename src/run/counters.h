// SPDX-License-Identifier: Apache-2.0
// counters: the things that count steps side by side, progress bars or the `step` of events, and
// which of them counts: the first, unless another moves ten times as fast. Then the first was the
// bar of the epochs around it. A zeroed struct has none.
#ifndef FARE_RUN_COUNTERS_H
#define FARE_RUN_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "run/event.h"

#define COUNTERS_MAX 8

struct counter {
    uint32_t bar;
    int64_t last;
    int64_t made;
    int64_t usual; // steps between two reports
};

struct counters {
    struct counter items[COUNTERS_MAX];
    size_t count;
    size_t chosen; // the one that counts
};

// The steps that the event's `step` means beyond the last number of its counter; -1: it does not
// count. `*first`: it is that counter's first number, which means none.
int64_t counters_advance(struct counters *counters, const struct event *event, bool *first);

#endif
