// SPDX-License-Identifier: Apache-2.0
// totals: how long the whole training is, in units of the chosen counter, and who says so: the
// option, the counter's own total, the log, or the command's arguments, in this order. A counter's
// total may be that of one epoch. A total below the current step is a contradiction: unknown.
//
// A zeroed struct is empty.
#ifndef FARE_RUN_TOTALS_H
#define FARE_RUN_TOTALS_H

#include "run/counters.h"
#include "run/follow.h"

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

struct totals {
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
void totals_add_left(struct totals *totals, const struct totals_line *line);

// The epochs of the whole training; 0: unknown.
int64_t totals_epochs(const struct totals *totals, const struct counters *counters,
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
void totals_find(const struct totals *totals, const struct counters *counters, int64_t at,
                 struct totals_found *out);

#endif
