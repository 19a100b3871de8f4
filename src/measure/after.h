// SPDX-License-Identifier: Apache-2.0
// after: what follows runs: figures over several, whether the result that was asked for is reached,
// another try, and what is done with the machine.
#ifndef FARE_MEASURE_AFTER_H
#define FARE_MEASURE_AFTER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/run.h"

// ---- repeat: the spread between repetitions, the batch size at which the device saturates.

// Fills runs->groups if a workload was run more than once.
int repeat_group(struct runs *runs, struct err *err) MUST_USE;

// ---- gate: whether trainings reached the result that was asked for: a threshold of the user's, or
// the target of their workload.

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

// ---- retry: whether a command that failed is started again, and when. Pure: no clock, no process.
//
// Not after a usage error (exit code 2), a program that is not there or cannot be started (126,
// 127), or anything but a failure; and not a third time for the same error at the same step,
// because it will come again.

struct retry { // all zero at first
    int64_t made;
    int same;
    char problem[80];
    int64_t step;
};

// After a run: true if it is to be started again after `*pause_ns`. `most`: --retry. `says` gets a
// line either way, if there was something to decide.
bool retry_again(struct retry *retry, int64_t most, const struct run *run, int64_t *pause_ns,
                 struct buf *says);

// ---- then: what happens after a run, so that nobody pays for a machine that does nothing.

// `what` is "poweroff", or a shell command, which finds FARE_ENDED (finished, failed ...) and
// FARE_RUN (the run's id) in its environment. `run` (optional). Waits for its end. "poweroff" stops
// a RunPod pod with runpodctl, elsewhere it asks systemctl, shutdown or poweroff, whichever works
// first.
int then_run(const char *what, const struct run *run, struct err *err) MUST_USE;

#endif
