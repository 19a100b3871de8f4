// SPDX-License-Identifier: Apache-2.0
// counters: chooses between several step counters (progress bars, the `step` of events). The first
// one counts, unless another moves ten times as fast: then the first was a bar of epochs. A zeroed
// struct is empty.
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
    size_t chosen;
};

// The steps since the last number of the event's counter; -1: this counter is not the chosen one.
// `*first` is set for a counter's first number, which means no steps.
int64_t counters_advance(struct counters *counters, const struct event *event, bool *first);

#endif
