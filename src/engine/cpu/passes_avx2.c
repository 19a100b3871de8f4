// SPDX-License-Identifier: Apache-2.0
// The passes compiled for one instruction set; see vec.h.
#define VEC_BITS 256
#include "engine/cpu/pass_table.h"

const struct passes passes_avx2 = PASS_TABLE("avx2");
