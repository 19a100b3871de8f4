// SPDX-License-Identifier: Apache-2.0
// history: figures over time in bounded memory.
//
// A point holds the mean of each figure over a stretch of time, weighted by the time for which it
// was known. When the room is used up, neighbours are merged and each point takes twice as many
// looks from then on; so means over the whole, and their products with time, lose nothing.
#ifndef FARE_SAMPLE_HISTORY_H
#define FARE_SAMPLE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "record/field.h"

#define HISTORY_POINTS 400 // twice as many as a record keeps

struct stretch {
    int64_t from_ns, to_ns;
};

struct mean {
    double sum, seconds; // of value × seconds; 0 seconds: not known
};

struct history {
    int width; // figures per point
    int count;
    int64_t stride; // looks that a point takes
    int64_t taken;  // by the last point
    struct stretch when[HISTORY_POINTS];
    struct mean *figures; // (HISTORY_POINTS, width), the owner's memory, zeroed
};

// The values held from `from_ns` to `to_ns`, which follows the last call's.
void history_add(struct history *history, int64_t from_ns, int64_t to_ns,
                 const struct maybe_real *values);

void history_halve(struct history *history); // merges neighbours

struct maybe_real history_at(const struct history *history, int point, int figure);
struct maybe_real history_mean(const struct history *history, int figure); // over the whole
double history_sum(const struct history *history, int figure);             // of value × seconds

// The mean from `from_ns` to `to_ns`, by the points that overlap it.
struct maybe_real history_between(const struct history *history, int figure, int64_t from_ns,
                                  int64_t to_ns);

#endif
