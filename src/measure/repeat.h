// SPDX-License-Identifier: Apache-2.0
// repeat: figures over several runs: the spread between repetitions, the batch size at which the
// device saturates, and whether they reached the target of their workload.
#ifndef FARE_MEASURE_REPEAT_H
#define FARE_MEASURE_REPEAT_H

#include "record/run.h"

// Fills runs->groups if a workload was run more than once.
int repeat_group(struct runs *runs, struct err *err) MUST_USE;

// Repetitions are judged by the mean of their accuracies, since the target is one of several seeds.
enum repeat_gate { REPEAT_NO_TARGET, REPEAT_REACHED, REPEAT_MISSED };
enum repeat_gate repeat_gate(const struct runs *runs);

#endif
