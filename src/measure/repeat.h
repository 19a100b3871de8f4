// SPDX-License-Identifier: Apache-2.0
// repeat: figures over several runs: the spread between repetitions, the batch size at which the
// device saturates.
#ifndef FARE_MEASURE_REPEAT_H
#define FARE_MEASURE_REPEAT_H

#include "record/run.h"

// Fills runs->groups if a workload was run more than once.
int repeat_group(struct runs *runs, struct err *err) MUST_USE;

// Repetitions: the same workload, batch and number of ranks. Runs of commands are never alike.
bool repeat_alike(const struct run *a, const struct run *b);

// The first run of its group, which represents it.
bool repeat_first(const struct runs *runs, size_t at);

#endif
