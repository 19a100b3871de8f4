// SPDX-License-Identifier: Apache-2.0
// history: figures over time in bounded memory.
//
// A point holds the time-weighted mean of each figure over an interval. When the points run out,
// neighbours are merged and each point then covers twice as many readings. Overall means and
// integrals stay exact.
#ifndef FARE_SAMPLE_HISTORY_H
#define FARE_SAMPLE_HISTORY_H

#include <stdint.h>

#include "record/field.h"

#define HISTORY_POINTS 400 // twice as many as a record keeps

struct stretch {
    int64_t from_ns, to_ns;
};

struct mean {
    double sum, seconds; // of value × seconds; 0 seconds: unknown
};

struct history {
    int width; // figures per point
    int count;
    int64_t stride; // readings per point
    int64_t taken;  // readings in the last point
    struct stretch when[HISTORY_POINTS];
    struct mean *figures; // (HISTORY_POINTS, width), zeroed, owned by the caller
};

// The values from `from_ns` to `to_ns`, which follows the previous call's interval.
void history_add(struct history *history, int64_t from_ns, int64_t to_ns,
                 const struct maybe_real *values);

void history_halve(struct history *history); // merges neighbours

struct maybe_real history_at(const struct history *history, int point, int figure);
struct maybe_real history_mean(const struct history *history, int figure); // over all points
double history_sum(const struct history *history, int figure);             // of value × seconds

// The mean from `from_ns` to `to_ns`, over the points that overlap.
struct maybe_real history_between(const struct history *history, int figure, int64_t from_ns,
                                  int64_t to_ns);

#endif
