// SPDX-License-Identifier: Apache-2.0
// The kernels compiled for one instruction set; see vec.h.
#define VEC_BITS 512
#include "engine/cpu/kern_table.h"

const struct kernels kernels_avx512 = KERN_TABLE("avx512");
