// SPDX-License-Identifier: Apache-2.0
// transfer: parameters and optimizer state between the host and the GPU. Calls wait.
#ifndef FARE_ENGINE_CUDA_TRANSFER_H
#define FARE_ENGINE_CUDA_TRANSFER_H

#include "engine/cuda/driver.h"
#include "engine/cuda/plan/params.h"

int cuda_read_tensor(const struct gpu_params *params, struct cuda *cuda, int index, float *values,
                     struct err *err) MUST_USE;
int cuda_write_tensor(const struct gpu_params *params, struct cuda *cuda, int index,
                      const float *values, struct err *err) MUST_USE;

// Initial parameters; initial optimizer state.
int cuda_init_params(const struct gpu_params *params, struct cuda *cuda, uint64_t seed,
                     struct err *err) MUST_USE;
int cuda_init_states(const struct gpu_params *params, struct cuda *cuda, struct err *err) MUST_USE;

#endif
