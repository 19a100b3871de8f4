// SPDX-License-Identifier: Apache-2.0
// Kernels and passes compiled for one instruction set; see vec.h.
#define VEC_BITS 256
#include "train/engine/cpu/kern.h"
#include "train/engine/cpu/pass.h"

const struct kernels kernels_avx2 = KERN_TABLE("avx2");
const struct passes passes_avx2 = PASS_TABLE("avx2");
