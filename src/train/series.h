// SPDX-License-Identifier: Apache-2.0
// series: the step times of a training in order, in fixed memory: when it is full, neighbours are
// merged.
#ifndef FARE_TRAIN_SERIES_H
#define FARE_TRAIN_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/run.h"

#define SERIES_MAX 8192

struct series {
    double *step_ns; // mean step time of an entry
    double *at_s;    // the end of the entry
    double *in;      // steps in the entry
    int64_t count;   // entries
    int64_t block;   // the least steps of an entry
    int64_t steps;   // of all entries, including the unfinished one
    int64_t total_ns;
    int64_t part_steps, part_ns; // of the unfinished entry
};

int series_init(struct series *series, struct err *err) MUST_USE;
void series_release(struct series *series);
void series_reset(struct series *series); // forgets all entries

// `steps` steps took `took_ns` together and ended at `at_ns`. Allocates nothing.
void series_add(struct series *series, int64_t at_ns, int64_t took_ns, int64_t steps);

// Steps in the entries [from, to), and their time.
double series_steps(const struct series *series, int64_t from, int64_t to);
double series_ns(const struct series *series, int64_t from, int64_t to);

// Fills a LIST_OF(double) with the medians of up to 200 stretches, in ms.
int series_plot(const struct series *series, void *reals, struct err *err) MUST_USE;

// ---- calibrate: a short, fixed piece of arithmetic, timed between training steps. If it gets
// slower, the machine has slowed down, not the program.

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
