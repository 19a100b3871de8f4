// SPDX-License-Identifier: Apache-2.0
// busy: whether the GPU's share of a step grows during a training.
//
// While a program waits for its host, its step time stays flat although the work of the GPU grows,
// as with sequences that get longer. The busy share shows it before the step time does. Fixed
// memory: neighbours are merged. A zeroed struct is empty.
#ifndef FARE_RUN_BUSY_H
#define FARE_RUN_BUSY_H

#define BUSY_MAX 64

struct busy {
    double share[BUSY_MAX], seconds[BUSY_MAX];
    int count;
    double least_s; // of an entry
};

// The GPU was busy for `share` of the last `seconds`.
void busy_add(struct busy *busy, double share, double seconds);

// 0: it does not grow. Otherwise the most by which the coming `left_s` seconds of steps may take
// longer, as a share of them: the growth may become three times as fast.
double busy_growth(const struct busy *busy, double left_s);

#endif
