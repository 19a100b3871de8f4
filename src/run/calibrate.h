// SPDX-License-Identifier: Apache-2.0
// calibrate: a short, fixed piece of arithmetic, timed between training steps. If it gets slower,
// the machine has slowed down, not the program.
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
    // The loop's time in windows of `window_s` since the run's start.
    double window_s;
    double *sum_ns;
    int32_t *count;
    int windows; // up to the newest
};

int calibrate_init(struct calibrate *calibrate, struct err *err) MUST_USE;
void calibrate_release(struct calibrate *calibrate);

// True if the loop may run again within its budget of 0.15 % of the time.
bool calibrate_due(const struct calibrate *calibrate, int64_t now_ns);

// Runs the loop once; `at_ns` is the time since the run's start. Allocates nothing.
void calibrate_run(struct calibrate *calibrate, int64_t at_ns);

// The loop's time around this moment relative to its mean in this run: above 1 is slower; 1 if
// unknown.
double calibrate_at(const struct calibrate *calibrate, double at_s);

// The standard deviation of the windows' means relative to their mean; 0 if there are too few.
double calibrate_spread(const struct calibrate *calibrate);

void calibrate_fill(const struct calibrate *calibrate, double wall_s, struct run_drift *out);

#endif
