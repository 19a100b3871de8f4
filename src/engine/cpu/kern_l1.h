// SPDX-License-Identifier: Apache-2.0
// L1 distances of a tile of pairs, on vec.h's operations: a vector holds as many vectors of b,
// one of their elements each, so that nothing is ever summed across a vector. A sum runs over
// L1_RUN elements at most before it is added to a second one, which bounds its rounding error.
#ifndef FARE_ENGINE_CPU_KERN_L1_H
#define FARE_ENGINE_CPU_KERN_L1_H

#include "engine/cpu/kernels.h"
#include "engine/cpu/vec.h"

#if VEC_BITS == 512
#define L1_ROWS 6
#define L1_VECS 4
#else
#define L1_ROWS 4
#define L1_VECS 2
#endif
#define L1_COLS (L1_VECS * VL)
#define L1_RUN  128

// Where there is a fused multiply-add, one is used as the addition: times 1 it gives the same sum,
// and processors that have adders apart from multipliers then use both. The compiler must not
// see the 1.
#if VEC_BITS >= 256
#define L1_ONE(one)         __asm__("" : "+v"(one))
#define l1_add(sum, d, one) v_fma(d, one, sum)
#else
#define L1_ONE(one)         (void)one
#define l1_add(sum, d, one) v_add(sum, d)
#endif

#define L1_ROWS_4(what) what(0) what(1) what(2) what(3)
#if L1_ROWS == 6
#define L1_ROWS_DO(what) L1_ROWS_4(what) what(4) what(5)
#else
#define L1_ROWS_DO(what) L1_ROWS_4(what)
#endif

// b minus one element of a. Where the subtraction itself can repeat an element from memory it must,
// since a separate instruction for it competes with the arithmetic (13 % on a Zen 4); compilers
// prefer the separate one.
#if VEC_BITS == 512
#define L1_X(r)
#define l1_minus(d, b, r) __asm__("vsubps %2%{1to16%}, %1, %0" : "=v"(d) : "v"(b), "m"(a[r]))
#else
#define L1_X(r)           const vec x = v_set(a[r]);
#define l1_minus(d, b, r) d = v_sub(b, x)
#endif

#define L1_PAIR(r, n)                                                                              \
    {                                                                                              \
        vec d;                                                                                     \
        l1_minus(d, b##n, r);                                                                      \
        s##r##n = l1_add(s##r##n, v_abs(d), one);                                                  \
    }
#define L1_TO(r, n)                                                                                \
    v_store(out + r * L1_COLS + n * VL, v_add(v_load(out + r * L1_COLS + n * VL), s##r##n));
#if L1_VECS == 4
#define L1_DECLARE(r)                                                                              \
    vec s##r##0 = v_zero(), s##r##1 = s##r##0, s##r##2 = s##r##0, s##r##3 = s##r##0;
#define L1_STEP(r) L1_X(r) L1_PAIR(r, 0) L1_PAIR(r, 1) L1_PAIR(r, 2) L1_PAIR(r, 3)
#define L1_OUT(r)  L1_TO(r, 0) L1_TO(r, 1) L1_TO(r, 2) L1_TO(r, 3)
#else
#define L1_DECLARE(r) vec s##r##0 = v_zero(), s##r##1 = s##r##0;
#define L1_STEP(r)                                                                                 \
    {                                                                                              \
        L1_X(r) L1_PAIR(r, 0) L1_PAIR(r, 1)                                                        \
    }
#define L1_OUT(r) L1_TO(r, 0) L1_TO(r, 1)
#endif

KERNEL __attribute__((noinline)) void l1_run(const float *a, const float *b, int64_t dim,
                                             float *out)
{
    vec one = v_set(1.0F);
    L1_ONE(one);
    L1_ROWS_DO(L1_DECLARE)
    for (int64_t k = dim; k > 0; k--) {
        const vec b0 = v_load(b), b1 = v_load(b + VL);
#if L1_VECS == 4
        const vec b2 = v_load(b + 2 * VL), b3 = v_load(b + 3 * VL);
#endif
        L1_ROWS_DO(L1_STEP)
        a += L1_ROWS;
        b += L1_COLS;
    }
    L1_ROWS_DO(L1_OUT)
}

KERNEL void l1_tile(const float *a, const float *b, int64_t dim, float *out)
{
    for (int64_t i = 0; i < L1_ROWS * L1_COLS; i += VL)
        v_store(out + i, v_zero());
    for (int64_t k = 0; k < dim; k += L1_RUN)
        l1_run(a + k * L1_ROWS, b + k * L1_COLS, dim - k < L1_RUN ? dim - k : L1_RUN, out);
}

// Like l1_run() without loads: the empty asm makes the compiler assume a changed operand.
KERNEL void l1_registers(int64_t rounds, float *out)
{
    vec one = v_set(1.0F), x = v_set(0.5F), b0 = v_set(1.0F), b1 = b0;
    L1_ONE(one);
    L1_ROWS_DO(L1_DECLARE)
    __asm__("" : "+x"(b0), "+x"(b1));
#if L1_VECS == 4
    vec b2 = b0, b3 = b0;
    __asm__("" : "+x"(b2), "+x"(b3));
#define L1_REGISTERS(r) L1_SAME(r, 0) L1_SAME(r, 1) L1_SAME(r, 2) L1_SAME(r, 3)
#else
#define L1_REGISTERS(r) L1_SAME(r, 0) L1_SAME(r, 1)
#endif
#define L1_SAME(r, n) s##r##n = l1_add(s##r##n, v_abs(v_sub(b##n, x)), one);
#define L1_CHANGED(r)                                                                              \
    __asm__ volatile("" : "+x"(x));                                                                \
    L1_REGISTERS(r)
    for (; rounds > 0; rounds--) {
        L1_ROWS_DO(L1_CHANGED)
    }
    L1_ROWS_DO(L1_OUT)
}

#endif
