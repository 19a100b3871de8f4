// SPDX-License-Identifier: Apache-2.0
// calibrate: a fixed short piece of arithmetic, timed between the steps of a training. When it gets
// slower, the machine did, not the program.
#ifndef FARE_RUN_CALIBRATE_H
#define FARE_RUN_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/run.h"

#define CALIBRATE_WINDOWS 1024

struct calibrate {
    int64_t next_ns;
    int64_t loops;
    double total_ns;
    // Mean time of the loop over windows of `window_s`, from the run's start.
    double window_s;
    double *sum_ns;
    int32_t *count;
    int windows; // those up to the newest
};

int calibrate_init(struct calibrate *calibrate, struct err *err) MUST_USE;
void calibrate_release(struct calibrate *calibrate);

// Whether the loop may run again without taking over 0.15 % of the time.
bool calibrate_due(const struct calibrate *calibrate, int64_t now_ns);

// Runs it once; `at_ns` is the time since the run's start. Allocates nothing.
void calibrate_run(struct calibrate *calibrate, int64_t at_ns);

// How slow the machine was around this moment, relative to its mean in this run; 1 where nothing
// is known.
double calibrate_at(const struct calibrate *calibrate, double at_s);

// Standard deviation of the loop's time over its mean, window by window; 0 where too little is
// known.
double calibrate_spread(const struct calibrate *calibrate);

void calibrate_fill(const struct calibrate *calibrate, double wall_s, struct run_drift *out);

#endif
