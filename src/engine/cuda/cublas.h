// SPDX-License-Identifier: Apache-2.0
// cublas: the rate of matrix products by cuBLASLt, the library that frameworks use on NVIDIA GPUs.
// Nothing else of fare needs it.
//
// The library is opened at run time; NVIDIA's headers are not needed to build. It may hang or
// crash: callers run this in a child process.
#ifndef FARE_ENGINE_CUDA_CUBLAS_H
#define FARE_ENGINE_CUDA_CUBLAS_H

#include "engine/engine.h"

struct cublas;

// Opens that file, 11.0 or newer, on the first GPU that CUDA shows. An error says why it cannot
// be used.
int cublas_open(const char *file, struct cublas **out, struct err *err) MUST_USE;
void cublas_close(struct cublas *cublas); // null is fine

const char *cublas_precision(int index); // "f32", "tf32", …; null beyond the last

// Times products of 4096 and 8192 with that precision, for about half a second, and keeps the
// better. Their results are compared with the host's. ERR_MISSING: the GPU or the library lacks
// the precision. out->kernel names the library, also after an error.
int cublas_product(struct cublas *cublas, int precision, struct engine_product *out,
                   struct err *err) MUST_USE;

#endif
