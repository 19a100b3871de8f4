// SPDX-License-Identifier: Apache-2.0
// The kernels compiled for one instruction set; see vec.h.
#define VEC_BITS 128
#include "engine/cpu/kern_table.h"

const struct kernels kernels_base = KERN_TABLE("base");
