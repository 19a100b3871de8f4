// SPDX-License-Identifier: Apache-2.0
// retry: whether a command that failed is started again, and when. Pure: no clock, no process.
//
// Not after a usage error (exit code 2), a program that is not there or cannot be started (126,
// 127), or anything but a failure; and not a third time for the same error at the same step,
// because it will come again.
#ifndef FARE_MEASURE_RETRY_H
#define FARE_MEASURE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "record/run.h"

#define RETRY_SAME 3 // as often may the same error occur at the same step

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

#endif
