// SPDX-License-Identifier: Apache-2.0
// Kernels and passes compiled for one instruction set; see vec.h.
#define VEC_BITS 128
#include "train/engine/cpu/kern.h"
#include "train/engine/cpu/pass.h"

const struct kernels kernels_base = KERN_TABLE("base");
const struct passes passes_base = PASS_TABLE("base");
