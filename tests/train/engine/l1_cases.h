// SPDX-License-Identifier: Apache-2.0
// Numbers for L1 distances, and how far the distances of an engine are from sums in double
// precision.
#ifndef FARE_TESTS_ENGINE_L1_CASES_H
#define FARE_TESTS_ENGINE_L1_CASES_H

#include <math.h>
#include <stdint.h>

#include "base/rng.h"

enum l1_kind { L1_EVEN, L1_CLOSE, L1_WILD, L1_KINDS };

static inline void l1_fill(struct rng *rng, float *values, int64_t count, enum l1_kind kind)
{
    for (int64_t i = 0; i < count; i++) {
        float x = rng_float(rng);
        values[i] = kind == L1_EVEN    ? x
                    : kind == L1_CLOSE ? 1000 + 0.001F * x
                                       : ldexpf(x - 0.5F, (int)rng_below(rng, 40) - 20);
    }
}

// The largest error of one distance, as a share of it; of what is not a number HUGE_VAL.
static inline double l1_worst(const float *a, const float *b, int64_t n, int64_t m, int64_t dim,
                              const float *out)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double sum = 0;
            for (int64_t k = 0; k < dim; k++)
                sum += fabs((double)a[i * dim + k] - (double)b[j * dim + k]);
            double error = fabs((double)out[i * m + j] - sum) / (sum > 0 ? sum : 1);
            if (!(error <= worst))
                worst = isnan(error) ? HUGE_VAL : error;
        }
    return worst;
}

#endif
