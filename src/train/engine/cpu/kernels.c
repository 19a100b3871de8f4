// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cpu/kernels.h"

#include <xmmintrin.h>

#include "train/engine/cpu/passes.h"

#define FLUSH 0x8040U // flush to zero, and denormals are zero

static const struct kernels *chosen;

static int can_run(const struct kernels *table)
{
    if (table == &kernels_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx2") &&
               __builtin_cpu_supports("fma");
    if (table == &kernels_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return 1;
}

int kernels_limit(const struct kernels *table)
{
    if (table && !can_run(table))
        return 0;
    chosen = table                      ? table
             : can_run(&kernels_avx512) ? &kernels_avx512
             : can_run(&kernels_avx2)   ? &kernels_avx2
                                        : &kernels_base;
    return 1;
}

const struct kernels *kernels(void)
{
    if (!chosen)
        kernels_limit(NULL);
    return chosen;
}

unsigned int kernels_flush_begin(void)
{
    unsigned int before = _mm_getcsr();
    _mm_setcsr(before | FLUSH);
    return before;
}

void kernels_flush_end(unsigned int before)
{
    _mm_setcsr(before);
}

const struct passes *passes_for(int block)
{
    __builtin_cpu_init();
    if (block >= 16 && __builtin_cpu_supports("avx512f"))
        return &passes_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &passes_avx2;
    return &passes_base;
}
