// SPDX-License-Identifier: Apache-2.0
// series: the times of the steps of a training, one after the other, in bounded memory: when it is
// full, neighbours are merged.
#ifndef FARE_RUN_SERIES_H
#define FARE_RUN_SERIES_H

#include <stdint.h>

#include "base/err.h"

#define SERIES_MAX 8192

struct series {
    double *step_ns; // mean time of a step in an entry
    double *at_s;    // when the entry ended
    double *in;      // steps in the entry
    int64_t count;   // entries
    int64_t block;   // steps that an entry has at least
    int64_t steps;   // all, those of the entry that is not full yet included
    int64_t total_ns;
    int64_t part_steps, part_ns; // the entry that is not full yet
};

int series_init(struct series *series, struct err *err) MUST_USE;
void series_release(struct series *series);

// `steps` steps took `took_ns` together and ended at `at_ns`. Allocates nothing.
void series_add(struct series *series, int64_t at_ns, int64_t took_ns, int64_t steps);

// Steps in the entries [from, to), and their time.
double series_steps(const struct series *series, int64_t from, int64_t to);
double series_ns(const struct series *series, int64_t from, int64_t to);

// Medians of up to 200 stretches, in ms, into a LIST_OF(double).
int series_plot(const struct series *series, void *reals, struct err *err) MUST_USE;

#endif
