// SPDX-License-Identifier: Apache-2.0
// ptx: the kernels as PTX, made from *.cu by the build (kernel_texts in CMakeLists.txt), for
// libcuda to compile. modules.h loads them.
#ifndef FARE_ENGINE_CUDA_PTX_H
#define FARE_ENGINE_CUDA_PTX_H

#include <stdbool.h>

#include "engine/engine.h"

struct ptx_text {
    const char *name;       // of the build's file, as sm_80_bf16
    const char *text, *end; // many kernels, and the zero behind them
    int capability;         // the compute capability it is for, and newer ones,
    bool alone;             // but no other if it has the instructions of sm_90a, say
    int version;            // of PTX: 70 is 7.0
    enum engine_precision precision;
};

// The newest kinds of GPU come first.
extern const struct ptx_text ptx_texts[];
extern const int ptx_text_count;
#define PTX_TEXTS_MAX 32

// Whether a GPU and its driver (13000 is CUDA 13.0) take it.
bool ptx_fits(const struct ptx_text *text, int capability, int driver,
              enum engine_precision precision);

#endif
