// SPDX-License-Identifier: Apache-2.0
// losses: the losses of a run's steps, for the means of its first and last tenth. Memory is fixed:
// in long runs neighbours are merged. A zeroed struct is empty; there is nothing to release.
#ifndef FARE_RUN_LOSSES_H
#define FARE_RUN_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "record/field.h"

#define LOSSES_MAX 1024

struct losses {
    double mean[LOSSES_MAX]; // of `each` losses, in order
    size_t count;
    int64_t each; // 0: none yet
    double sum;   // of the last, unfinished mean
    int64_t in_sum;
    struct maybe_real latest; // the last one added
};

void losses_add(struct losses *losses, double loss);

// Absent if there are none. They ignore the last, unfinished mean.
struct maybe_real losses_first(const struct losses *losses);
struct maybe_real losses_last(const struct losses *losses);

#endif
