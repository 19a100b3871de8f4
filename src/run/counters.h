// SPDX-License-Identifier: Apache-2.0
// counters: which of several counters is the training. A counter is a progress bar, the numbers of
// one kind of log line, or the `step` of events.
//
// The choice follows from how the counters move:
// - One that counts files or examples, or contradicts the given total, is never the training.
// - One that restarts whenever another advances is inside it: it counts steps, the other epochs.
// - One with a loss, a word for steps or the announced total comes before one without.
// - One that ended and is followed by another was loading, unless it had a loss or an epoch.
// - One during which the machine was idle comes after one during which it worked.
// Two that show the same numbers are one; the one that reports more often stays.
//
// Memory is fixed. A zeroed struct is empty.
#ifndef FARE_RUN_COUNTERS_H
#define FARE_RUN_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "run/event.h"

#define COUNTERS_MAX        12
#define COUNTER_LABEL_BYTES 64

struct counter {
    uint32_t bar;
    enum event_counts counts;
    char label[COUNTER_LABEL_BYTES];
    const char *source;
    int64_t first, last; // its numbers
    int64_t total;       // 0: unknown
    int64_t made;        // steps since its first number
    int64_t usual;       // steps between two reports
    int64_t reports;     // with a larger number
    int64_t restarts;
    int lower;        // numbers below the last one, in a row
    bool loss;        // its lines have a loss
    bool epoch;       // its lines have an epoch, or it began in one
    bool epochs;      // they have the number of all epochs too
    bool whole;       // its total is the whole training's
    int64_t in_epoch; // at its last number
    bool drawn;       // a progress bar
    bool weak;        // found by its shape, or counts epochs of the log
    int64_t began_ns, moved_ns;
    int64_t alone_ns;             // the chosen one's `moved_ns` at its last number
    int alone;                    // reports since the chosen one moved
    double busy_s, watched_s;     // machine activity while it moved
    int64_t others[COUNTERS_MAX]; // `made` of the others when it began
};

struct counters {
    struct counter items[COUNTERS_MAX];
    size_t count;
    size_t chosen; // place + 1; 0: none yet
    size_t moved;  // the last that moved, place + 1

    // Set by the caller, 0 if unknown: the option's total and the announced one.
    int64_t given_steps, given_epochs;
    int64_t announced_steps;
};

struct counters_report {
    bool chosen;    // the event's counter is the chosen one
    bool changed;   // it was just chosen: count from its `began_ns`
    bool first;     // its first number
    bool restarted; // as with each epoch
    bool jumped;    // another counter moves while the chosen one stands still
    int64_t delta;  // steps since its last number
};

struct counters_context {
    int64_t now_ns;
    int64_t epoch;    // that the log is in; 0: none told
    bool drawn, weak; // see struct counter
};

// A number of a training counter: `event` has `step`, and no phase but METER_TRAIN.
void counters_add(struct counters *counters, const struct event *event,
                  const struct counters_context *context, struct counters_report *out);

// A line with a loss, but without a number.
void counters_loss(struct counters *counters);

void counters_activity(struct counters *counters, double busy, double seconds);

// Null if there is none. The outer one counts the epochs of the chosen one.
const struct counter *counters_chosen(const struct counters *counters);
const struct counter *counters_outer(const struct counters *counters);

// Whether the chosen one is more than a bar without any word.
bool counters_sure(const struct counters *counters);

#endif
