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
#ifndef FARE_FOLLOW_COUNTERS_H
#define FARE_FOLLOW_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "follow/follow.h"

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

// ---- totals: how long the whole training is, in units of the chosen counter, and who says so: the
// option, the counter's own total, the log, or the command's arguments, in this order. A counter's
// total may be that of one epoch. A total below the current step is a contradiction: unknown.
//
// A zeroed struct is empty.

// Lines that report epochs only are counted in thousandths of an epoch.
#define TOTALS_EPOCH     1000
#define TOTALS_EPOCH_BAR 2U // their counter; those of lines are odd
#define TOTALS_STEP_BAR  4U // the same in steps, if the totals of both are known
#define TOTALS_SUM_BAR   6U // the sum of steps reported without a number
#define TOTALS_AT_BAR    8U // steps that evaluations tell, if nothing else does

// Programs that do not tell their total often print the time left: their mean step time, times the
// steps to come. Two such lines and the time between them give the whole, however slow the steps
// before the first of them were.
#define TOTALS_LEFT 8
struct totals_left {
    double n, at_s, left_s;    // of the first line: steps made, time spent on them here
    double found[TOTALS_LEFT]; // the whole, by the last lines: a ring
    int64_t lines;
    double doubt;   // of the last one, by the last digit of the times
    double last_s;  // the last line's time left
    bool of_epochs; // it began anew: it is the time left of an epoch
};

struct training_totals {
    int64_t option_steps, option_epochs;
    int64_t log_steps, log_epochs;
    int64_t argument_steps, argument_epochs;
    bool arguments_whole; // the arguments are those of a trainer whose bar is the whole training
    bool events;          // the log is the event file
    bool loops;           // several trainings follow each other: no total is the whole
    bool log_from_0;      // epochs are told as 0/24: of 24, or of 25
    int64_t epoch_steps;  // measured, or told by events; 0: unknown
    int64_t inside;       // of the counter's total, evaluation steps in each epoch
    int64_t passed;       // epochs that passed without a restart of the counter
    double epoch_at;      // the last one told, when the counter was at `epoch_step`
    int64_t epoch_step;
    struct totals_left left;
};

// After `n` steps, `before` of them in an earlier run, and `at_s` seconds of training here, the
// program printed `left_s`, in units of `unit_s`.
struct totals_line {
    double n, before, at_s, left_s, unit_s;
};
void totals_add_left(struct training_totals *totals, const struct totals_line *line);

// The epochs of the whole training; 0: unknown.
int64_t totals_epochs(const struct training_totals *totals, const struct counters *counters,
                      enum follow_total *from);

// The units of the whole training, 0 if unknown, and of an epoch, 0 if unknown or if the chosen
// counter counts epochs itself. `at` is the current position.
struct totals_found {
    int64_t total, each;
    int64_t epochs;     // 0: unknown
    bool per_epoch;     // the counter restarts with each epoch
    bool counts_epochs; // its units are epochs, or parts of them
    double doubt;       // the steps to come may be so many more or less, as a share of them
    int64_t more;       // units that the whole may have more
    enum follow_total from;
};
void totals_find(const struct training_totals *totals, const struct counters *counters, int64_t at,
                 struct totals_found *out);

// ---- total_later: projects a command's run again, with a total that is given afterwards.

// The whole training has `steps` steps, or `epochs` epochs (the other is 0). Replaces the run's
// total and its projection, which the meter makes from the step times, phases and unseen parts of
// the record. ERR_USAGE says why that is impossible.
int total_later(struct run *run, int64_t steps, int64_t epochs, struct err *err) MUST_USE;

#endif
