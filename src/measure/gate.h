// SPDX-License-Identifier: Apache-2.0
// gate: whether trainings reached the result that was asked for: a threshold of the user's, or the
// target of their workload.
#ifndef FARE_MEASURE_GATE_H
#define FARE_MEASURE_GATE_H

#include "base/buf.h"
#include "record/run.h"

#define GATE_EXIT 3 // of a gate that was missed

struct gate {
    const char *what; // "accuracy", "loss", "test_loss"; null: the workload's own target
    double bound;     // an accuracy is at least this, a loss at most
};

// Whether the word after --gate is its threshold: "accuracy=0.9", "loss<=2.1", "0.9", "98%".
bool gate_is_threshold(const char *word);

// An empty text is the workload's own target. ERR_USAGE says what is wrong.
int gate_parse(const char *text, struct gate *gate, struct err *err) MUST_USE;

// Repetitions are judged by their mean, of a command's starts the last. Where there is no figure or
// no target the gate is missed. `says` gets a line for people; false: missed.
bool gate_passed(const struct gate *gate, const struct runs *runs, struct buf *says);

#endif
