// SPDX-License-Identifier: Apache-2.0
// l1: L1 distances between all pairs of two sets of vectors.
//
// out[i × m + j] = Σ_k |a[i × dim + k] - b[j × dim + k]|, on the team's threads (team.h, which the
// caller has set). Sums are split so that every distance is within 1e-5 relative of the exact
// one whatever the dimension. Inputs are packed into panels, so there is some memory to allocate.
// It is no metric for other norms and knows nothing of symmetric input.
#ifndef FARE_TRAIN_ENGINE_CPU_L1_H
#define FARE_TRAIN_ENGINE_CPU_L1_H

#include <stdint.h>

#include "base/err.h"

// n, m and dim are at least 1; fails only with ERR_MEMORY.
int l1_distances(const float *a, const float *b, int64_t n, int64_t m, int64_t dim, float *out,
                 struct err *err) MUST_USE;

// The most that this processor's core could do with the same three operations per vector, in
// pairs of elements per second on all of the team's threads: measured for `seconds` with a loop
// that touches registers only.
double l1_peak(double seconds);

#endif
