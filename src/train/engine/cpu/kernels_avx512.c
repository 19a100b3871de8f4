// SPDX-License-Identifier: Apache-2.0
// Kernels and passes compiled for one instruction set; see vec.h.
#define VEC_BITS 512
#include "train/engine/cpu/kern.h"
#include "train/engine/cpu/pass.h"

const struct kernels kernels_avx512 = KERN_TABLE("avx512");
const struct passes passes_avx512 = PASS_TABLE("avx512");
