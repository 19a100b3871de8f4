// SPDX-License-Identifier: Apache-2.0
// series: the step times of a training in order, in fixed memory: when it is full, neighbours are
// merged.
#ifndef FARE_RUN_SERIES_H
#define FARE_RUN_SERIES_H

#include <stdint.h>

#include "base/err.h"

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

#endif
