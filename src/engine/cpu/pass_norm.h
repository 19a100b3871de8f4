// SPDX-License-Identifier: Apache-2.0
// Passes of batch norm. Sums run in single precision over at most NORM_RUN pixels and in double
// from there, so that their error does not grow with the batch.
#ifndef FARE_ENGINE_CPU_PASS_NORM_H
#define FARE_ENGINE_CPU_PASS_NORM_H

#include "engine/cpu/lanes.h"
#include "engine/cpu/passes.h"

enum { NORM_RUN = 256 };

// Adds a vector to VL numbers in double precision.
KERNEL_INLINE void add_double(double *sum, vec a)
{
    float each[VL];
    v_store(each, a);
    for (int i = 0; i < VL; i++)
        sum[i] += (double)each[i];
}

KERNEL_INLINE void norm_sum_body(const struct pass_norm *n, int at, double *sum, const bool square,
                                 const bool bf16)
{
    vec mean = square ? v_load(n->mean + at) : v_zero();
    for (int64_t s = 0; s < n->samples; s++)
        for (int64_t from = 0; from < n->pixels; from += NORM_RUN) {
            int64_t to = from + NORM_RUN < n->pixels ? from + NORM_RUN : n->pixels, p = from;
            vec a = v_zero(), b = v_zero(), c = v_zero(), d = v_zero();
            const int64_t x = s * n->x_sample + at, step = n->block;
#define NORM_TERM(acc, pixel)                                                                      \
    do {                                                                                           \
        vec v_ = v_get(n->x, x + (pixel)*step, bf16);                                              \
        if (square) {                                                                              \
            v_ = v_sub(v_, mean);                                                                  \
            acc = v_fma(v_, v_, acc);                                                              \
        } else {                                                                                   \
            acc = v_add(v_, acc);                                                                  \
        }                                                                                          \
    } while (0)
            for (; p + 4 <= to; p += 4) {
                NORM_TERM(a, p);
                NORM_TERM(b, p + 1);
                NORM_TERM(c, p + 2);
                NORM_TERM(d, p + 3);
            }
            for (; p < to; p++)
                NORM_TERM(a, p);
            add_double(sum + at, v_add(v_add(a, b), v_add(c, d)));
        }
}

KERNEL void pass_norm_sum(const struct pass_norm *n, double *sum)
{
    memset(sum, 0, (size_t)n->block * sizeof *sum);
    for (int at = 0; at < n->block; at += VL)
        TYPED(n->bf16, norm_sum_body(n, at, sum, false, as_bf16));
}

KERNEL void pass_norm_squares(const struct pass_norm *n, double *sum)
{
    memset(sum, 0, (size_t)n->block * sizeof *sum);
    for (int at = 0; at < n->block; at += VL)
        TYPED(n->bf16, norm_sum_body(n, at, sum, true, as_bf16));
}

// The output before relu; the way back computes it again, with the same bits.
#define NORM_OUT(x) v_fma(v_sub(x, mean), scale, bias)

KERNEL_INLINE void norm_apply_body(const struct pass_norm *n, int at, const bool relu,
                                   const bool bf16)
{
    vec mean = v_load(n->mean + at), scale = v_load(n->scale + at), bias = v_load(n->bias + at);
    for (int64_t s = 0; s < n->samples; s++)
        for (int64_t p = 0; p < n->pixels; p++) {
            vec y = NORM_OUT(v_get(n->x, s * n->x_sample + p * n->block + at, bf16));
            if (relu)
                y = v_max(y, v_zero());
            v_put(n->y, s * n->y_sample + p * n->block + at, y, bf16);
        }
}

KERNEL void pass_norm_apply(const struct pass_norm *n)
{
    for (int at = 0; at < n->block; at += VL) {
        if (n->relu)
            TYPED(n->bf16, norm_apply_body(n, at, true, as_bf16));
        else
            TYPED(n->bf16, norm_apply_body(n, at, false, as_bf16));
    }
}

// The gradient after the relu.
#define NORM_GRADIENT(x, dy) (relu ? v_keep(v_above(NORM_OUT(x), v_zero()), dy) : (dy))

KERNEL_INLINE void norm_back_sums_body(const struct pass_norm *n, int at, double *sum,
                                       double *along, const bool relu, const bool bf16)
{
    vec mean = v_load(n->mean + at), scale = v_load(n->scale + at), bias = v_load(n->bias + at);
    for (int64_t s = 0; s < n->samples; s++)
        for (int64_t from = 0; from < n->pixels; from += NORM_RUN) {
            int64_t to = from + NORM_RUN < n->pixels ? from + NORM_RUN : n->pixels, p = from;
            const int64_t x = s * n->x_sample + at, dy = s * n->dy_sample + at, step = n->block;
            vec a = v_zero(), b = v_zero(), c = v_zero(), d = v_zero();
#define NORM_TERMS(total, moment, pixel)                                                           \
    do {                                                                                           \
        vec x_ = v_get(n->x, x + (pixel)*step, bf16);                                              \
        vec g_ = v_get(n->dy, dy + (pixel)*step, bf16);                                            \
        g_ = NORM_GRADIENT(x_, g_);                                                                \
        total = v_add(total, g_);                                                                  \
        moment = v_fma(g_, v_sub(x_, mean), moment);                                               \
    } while (0)
            for (; p + 2 <= to; p += 2) {
                NORM_TERMS(a, b, p);
                NORM_TERMS(c, d, p + 1);
            }
            for (; p < to; p++)
                NORM_TERMS(a, b, p);
            add_double(sum + at, v_add(a, c));
            add_double(along + at, v_add(b, d));
        }
}

KERNEL void pass_norm_back_sums(const struct pass_norm *n, double *sum, double *along)
{
    memset(sum, 0, (size_t)n->block * sizeof *sum);
    memset(along, 0, (size_t)n->block * sizeof *along);
    for (int at = 0; at < n->block; at += VL) {
        if (n->relu)
            TYPED(n->bf16, norm_back_sums_body(n, at, sum, along, true, as_bf16));
        else
            TYPED(n->bf16, norm_back_sums_body(n, at, sum, along, false, as_bf16));
    }
}

KERNEL_INLINE void norm_back_body(const struct pass_norm *n, int at, const bool relu,
                                  const bool bf16)
{
    vec mean = v_load(n->mean + at), scale = v_load(n->scale + at), bias = v_load(n->bias + at);
    vec level = v_load(n->level + at), slope = v_load(n->slope + at);
    for (int64_t s = 0; s < n->samples; s++)
        for (int64_t p = 0; p < n->pixels; p++) {
            vec x = v_get(n->x, s * n->x_sample + p * n->block + at, bf16);
            vec dy = v_get(n->dy, s * n->dy_sample + p * n->block + at, bf16);
            dy = v_sub(NORM_GRADIENT(x, dy), level);
            dy = v_mul(scale, v_fnma(v_sub(x, mean), slope, dy));
            int64_t to = s * n->y_sample + p * n->block + at;
            if (n->add)
                dy = v_add(dy, v_get(n->y, to, bf16));
            v_put(n->y, to, dy, bf16);
        }
}

KERNEL void pass_norm_back(const struct pass_norm *n)
{
    for (int at = 0; at < n->block; at += VL) {
        if (n->relu)
            TYPED(n->bf16, norm_back_body(n, at, true, as_bf16));
        else
            TYPED(n->bf16, norm_back_body(n, at, false, as_bf16));
    }
}

#endif
