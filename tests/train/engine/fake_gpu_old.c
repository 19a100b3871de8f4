// SPDX-License-Identifier: Apache-2.0
// The same stand-in with the functions that drivers of CUDA 10 have.
#define FAKE_GPU_OLD
#include "fake_gpu.c"
