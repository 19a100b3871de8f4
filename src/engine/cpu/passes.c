// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/passes.h"

const struct passes *passes_for(int block)
{
    __builtin_cpu_init();
    if (block >= 16 && __builtin_cpu_supports("avx512f"))
        return &passes_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &passes_avx2;
    return &passes_base;
}
