// SPDX-License-Identifier: Apache-2.0
// l1: see engine/engine.h.
#ifndef FARE_ENGINE_CUDA_L1_H
#define FARE_ENGINE_CUDA_L1_H

#include "engine/engine.h"

int cuda_l1(const struct engine_options *options, const float *a, const float *b, int64_t n,
            int64_t m, int64_t dim, float *out, struct engine_l1_times *times,
            struct err *err) MUST_USE;
void *cuda_host_room(const struct engine_options *options, int64_t bytes);
void cuda_host_free(void);
double cuda_l1_peak(const struct engine_options *options);

#endif
