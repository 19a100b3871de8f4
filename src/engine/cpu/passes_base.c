// SPDX-License-Identifier: Apache-2.0
// The passes compiled for one instruction set; see vec.h.
#define VEC_BITS 128
#include "engine/cpu/pass_table.h"

const struct passes passes_base = PASS_TABLE("base");
