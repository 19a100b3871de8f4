// SPDX-License-Identifier: Apache-2.0
// total_later: projects a command's run again, with a total that is given afterwards.
#ifndef FARE_RUN_TOTAL_LATER_H
#define FARE_RUN_TOTAL_LATER_H

#include "record/run.h"

// The whole training has `steps` steps, or `epochs` epochs (the other is 0). Replaces the run's
// total and its projection, which the meter makes from the step times, phases and unseen parts of
// the record. ERR_USAGE says why that is impossible.
int total_later(struct run *run, int64_t steps, int64_t epochs, struct err *err) MUST_USE;

#endif
