// SPDX-License-Identifier: Apache-2.0
// repeat: figures over several runs: the spread between repetitions, and the batch size at which
// the device saturates.
#ifndef FARE_MEASURE_REPEAT_H
#define FARE_MEASURE_REPEAT_H

#include "record/run.h"

// Fills runs->groups if a workload was run more than once.
int repeat_group(struct runs *runs, struct err *err) MUST_USE;

#endif
