// SPDX-License-Identifier: Apache-2.0
// ptx: the kernels as PTX, made from *.cu by the build, for libcuda to compile.
#ifndef FARE_ENGINE_CUDA_PTX_H
#define FARE_ENGINE_CUDA_PTX_H

#include "engine/engine.h"

// For a compute capability such as 90; null if it lacks the precision.
const char *ptx_for(int capability, enum engine_precision precision);
const char *ptx_for_images(int capability); // in bf16

#endif
