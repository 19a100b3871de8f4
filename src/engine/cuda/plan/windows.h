// SPDX-License-Identifier: Apache-2.0
// windows: Hopper's kernels for convolutions in tf32 with 32 or 64 channels, and for 3 × 3 over at
// most four (hopper_windows.cu).
#ifndef FARE_ENGINE_CUDA_PLAN_WINDOWS_H
#define FARE_ENGINE_CUDA_PLAN_WINDOWS_H

#include "engine/cuda/plan/builder.h"

bool windows_wanted(const struct gpu_device *device);

// Each adds a launch, or returns false if the product is none of these. Weights' launches are
// forked: the optimizer's must join them (builder.forked_weights). `channels`: of the input,
// without padding.
bool windows_forward(struct builder *b, const struct cuda_gemm *g, int channels);
bool windows_back(struct builder *b, const struct cuda_gemm *g);
bool windows_weights(struct builder *b, const struct cuda_gemm *g, int channels);

// Parts of the weights' gradient for windows_weights(), or 0 if it makes none. `g` has the image
// and its windows; `pitch`: of dy.
int windows_parts(const struct gpu_device *device, const struct cuda_gemm *g, int64_t batch,
                  int pitch);

#endif
