// SPDX-License-Identifier: Apache-2.0
// pass_images: the passes (passes.h) over images.
#ifndef FARE_TRAIN_ENGINE_CPU_PASS_IMAGES_H
#define FARE_TRAIN_ENGINE_CPU_PASS_IMAGES_H

#include "train/engine/cpu/lanes.h"
#include "train/engine/cpu/passes.h"

// ---- pools ----
//
// Pools over one plane. Backward passes gather: each input sums the gradients of its windows, so
// nothing is cleared first and every number is written once.

KERNEL_INLINE int larger(int a, int b)
{
    return a > b ? a : b;
}

KERNEL_INLINE int smaller(int a, int b)
{
    return a < b ? a : b;
}

// The part of an output's window that lies inside the image, as cells of the window.
struct pool_span {
    int from, to, start; // input = start + cell
};

KERNEL_INLINE struct pool_span span_of(int out, int stride, int pad, int kernel, int in)
{
    int start = out * stride - pad;
    return (struct pool_span){larger(0, -start), smaller(kernel, in - start), start};
}

// The outputs whose windows hold an input.
KERNEL_INLINE struct pool_span windows_of(int in, int stride, int pad, int kernel, int out)
{
    int last = (in + pad) / stride, first = in + pad - kernel + 1;
    first = first <= 0 ? 0 : (first + stride - 1) / stride;
    return (struct pool_span){first, smaller(last + 1, out), 0};
}

// The largest of some cells of a window whose first cell (0, 0) is at number `corner`.
KERNEL_INLINE vec max_cells(const struct pass_pool *pool, const void *x, int64_t corner,
                            struct pool_span v, struct pool_span h, int kernel_w, lanes *which,
                            const bool bf16)
{
    const int64_t row = (int64_t)pool->in_w * pool->block;
    vec best = v_get(x, corner + v.from * row + h.from * pool->block, bf16);
    *which = (lanes){0} + (v.from * kernel_w + h.from);
    for (int ky = v.from; ky < v.to; ky++)
        for (int kx = h.from; kx < h.to; kx++) {
            vec a = v_get(x, corner + ky * row + kx * pool->block, bf16);
            // "Not less" is also true of NaN, which must come through.
            lanes new = (lanes) ~(a <= best);
            best = v_pick(new, a, best);
            *which = v_pick_i(new, (lanes){0} + (ky * kernel_w + kx), *which);
        }
    return best;
}

// `square` is the window's side if it is known and no window crosses the edge, else 0.
KERNEL_INLINE void max_pool_body(const struct pass_pool *pool, int at, const void *x, void *y,
                                 uint8_t *index, bool relu, const int square, const bool bf16)
{
    const int block = pool->block;
    for (int oy = 0; oy < pool->out_h; oy++) {
        struct pool_span v = span_of(oy, pool->stride, pool->pad_top, pool->kernel_h, pool->in_h);
        for (int ox = 0; ox < pool->out_w; ox++) {
            struct pool_span h =
                span_of(ox, pool->stride, pool->pad_left, pool->kernel_w, pool->in_w);
            int64_t corner = ((int64_t)v.start * pool->in_w + h.start) * block + at;
            const struct pool_span all = {0, square, 0};
            lanes which;
            vec best = square ? max_cells(pool, x, corner, all, all, square, &which, bf16)
                              : max_cells(pool, x, corner, v, h, pool->kernel_w, &which, bf16);
            if (relu)
                which |= (lanes)(best <= v_zero()) & PASS_POOL_DEAD;
            int64_t to = ((int64_t)oy * pool->out_w + ox) * block + at;
            v_put(y, to, best, bf16);
            byte_lanes small = __builtin_convertvector(which, byte_lanes);
            memcpy(index + to, &small, sizeof small);
        }
    }
}

KERNEL_INLINE int side_of(const struct pass_pool *pool)
{
    bool inside = pool->pad_top == 0 && pool->pad_left == 0 && pool->kernel_h == pool->kernel_w &&
                  (pool->out_h - 1) * pool->stride + pool->kernel_h <= pool->in_h &&
                  (pool->out_w - 1) * pool->stride + pool->kernel_w <= pool->in_w;
    return inside ? pool->kernel_h : 0;
}

KERNEL void pass_max_pool(const struct pass_pool *pool, const void *x, void *y, uint8_t *index,
                          bool relu)
{
    int side = side_of(pool);
    for (int at = 0; at < pool->block; at += VL) {
        if (side == 2)
            TYPED(pool->bf16, max_pool_body(pool, at, x, y, index, relu, 2, as_bf16));
        else if (side == 3)
            TYPED(pool->bf16, max_pool_body(pool, at, x, y, index, relu, 3, as_bf16));
        else
            TYPED(pool->bf16, max_pool_body(pool, at, x, y, index, relu, 0, as_bf16));
    }
}

// Adjacent windows of 2 × 2: each input is in one, except an odd last row or column.
KERNEL_INLINE void max_pool_2_back_body(const struct pass_pool *pool, int at, const void *dy,
                                        const uint8_t *index, void *dx, const bool bf16)
{
    const int block = pool->block;
    const int64_t row = (int64_t)pool->in_w * block;
    for (int oy = 0; oy < pool->out_h; oy++) {
        int64_t to = 2 * oy * row + at, from = (int64_t)oy * pool->out_w * block + at;
        for (int ox = 0; ox < pool->out_w; ox++, to += 2 * block, from += block) {
            byte_lanes small;
            memcpy(&small, index + from, sizeof small);
            lanes which = __builtin_convertvector(small, lanes);
            vec d = v_get(dy, from, bf16);
            v_put(dx, to, v_keep(which == 0, d), bf16);
            v_put(dx, to + block, v_keep(which == 1, d), bf16);
            v_put(dx, to + row, v_keep(which == 2, d), bf16);
            v_put(dx, to + row + block, v_keep(which == 3, d), bf16);
        }
    }
    for (int iy = 0; iy < pool->in_h; iy++)
        for (int ix = iy < 2 * pool->out_h ? 2 * pool->out_w : 0; ix < pool->in_w; ix++)
            v_put(dx, iy * row + ix * block + at, v_zero(), bf16);
}

KERNEL_INLINE void max_pool_back_body(const struct pass_pool *pool, int at, const void *dy,
                                      const uint8_t *index, void *dx, bool add, const bool bf16)
{
    const int block = pool->block;
    for (int iy = 0; iy < pool->in_h; iy++) {
        struct pool_span v =
            windows_of(iy, pool->stride, pool->pad_top, pool->kernel_h, pool->out_h);
        for (int ix = 0; ix < pool->in_w; ix++) {
            struct pool_span h =
                windows_of(ix, pool->stride, pool->pad_left, pool->kernel_w, pool->out_w);
            int64_t to = ((int64_t)iy * pool->in_w + ix) * block + at;
            vec sum = add ? v_get(dx, to, bf16) : v_zero();
            for (int oy = v.from; oy < v.to; oy++)
                for (int ox = h.from; ox < h.to; ox++) {
                    int ky = iy + pool->pad_top - oy * pool->stride;
                    int kx = ix + pool->pad_left - ox * pool->stride;
                    int64_t from = ((int64_t)oy * pool->out_w + ox) * block + at;
                    byte_lanes small;
                    memcpy(&small, index + from, sizeof small);
                    lanes mine = __builtin_convertvector(small, lanes) == ky * pool->kernel_w + kx;
                    sum = v_add(sum, v_keep(mine, v_get(dy, from, bf16)));
                }
            v_put(dx, to, sum, bf16);
        }
    }
}

KERNEL void pass_max_pool_back(const struct pass_pool *pool, const void *dy, const uint8_t *index,
                               void *dx, bool add)
{
    bool apart = side_of(pool) == 2 && pool->stride == 2 && !add;
    for (int at = 0; at < pool->block; at += VL) {
        if (apart)
            TYPED(pool->bf16, max_pool_2_back_body(pool, at, dy, index, dx, as_bf16));
        else
            TYPED(pool->bf16, max_pool_back_body(pool, at, dy, index, dx, add, as_bf16));
    }
}

KERNEL_INLINE void average_pool_body(const struct pass_pool *pool, int at, const void *x, void *y,
                                     const bool bf16)
{
    const int block = pool->block;
    for (int oy = 0; oy < pool->out_h; oy++) {
        struct pool_span v = span_of(oy, pool->stride, pool->pad_top, pool->kernel_h, pool->in_h);
        for (int ox = 0; ox < pool->out_w; ox++) {
            struct pool_span h =
                span_of(ox, pool->stride, pool->pad_left, pool->kernel_w, pool->in_w);
            vec sum = v_zero();
            for (int ky = v.from; ky < v.to; ky++)
                for (int kx = h.from; kx < h.to; kx++) {
                    int64_t pixel = (int64_t)(v.start + ky) * pool->in_w + h.start + kx;
                    sum = v_add(sum, v_get(x, pixel * block + at, bf16));
                }
            float cells = (float)((v.to - v.from) * (h.to - h.from));
            v_put(y, ((int64_t)oy * pool->out_w + ox) * block + at, v_mul(sum, v_set(1.0f / cells)),
                  bf16);
        }
    }
}

KERNEL void pass_average_pool(const struct pass_pool *pool, const void *x, void *y)
{
    for (int at = 0; at < pool->block; at += VL)
        TYPED(pool->bf16, average_pool_body(pool, at, x, y, as_bf16));
}

KERNEL_INLINE void average_pool_back_body(const struct pass_pool *pool, int at, const void *dy,
                                          void *dx, bool add, const bool bf16)
{
    const int block = pool->block;
    for (int iy = 0; iy < pool->in_h; iy++) {
        struct pool_span v =
            windows_of(iy, pool->stride, pool->pad_top, pool->kernel_h, pool->out_h);
        for (int ix = 0; ix < pool->in_w; ix++) {
            struct pool_span h =
                windows_of(ix, pool->stride, pool->pad_left, pool->kernel_w, pool->out_w);
            int64_t to = ((int64_t)iy * pool->in_w + ix) * block + at;
            vec sum = add ? v_get(dx, to, bf16) : v_zero();
            for (int oy = v.from; oy < v.to; oy++) {
                struct pool_span y =
                    span_of(oy, pool->stride, pool->pad_top, pool->kernel_h, pool->in_h);
                for (int ox = h.from; ox < h.to; ox++) {
                    struct pool_span x =
                        span_of(ox, pool->stride, pool->pad_left, pool->kernel_w, pool->in_w);
                    float cells = (float)((y.to - y.from) * (x.to - x.from));
                    int64_t from = ((int64_t)oy * pool->out_w + ox) * block + at;
                    sum = v_fma(v_get(dy, from, bf16), v_set(1.0f / cells), sum);
                }
            }
            v_put(dx, to, sum, bf16);
        }
    }
}

KERNEL void pass_average_pool_back(const struct pass_pool *pool, const void *dy, void *dx, bool add)
{
    for (int at = 0; at < pool->block; at += VL)
        TYPED(pool->bf16, average_pool_back_body(pool, at, dy, dx, add, as_bf16));
}

// ---- whole planes ----

KERNEL_INLINE void plane_sum_body(const void *x, int64_t pixels, int block, int at, float *sum,
                                  const bool bf16)
{
    vec total = v_zero();
    for (int64_t p = 0; p < pixels; p++)
        total = v_add(total, v_get(x, p * block + at, bf16));
    v_store(sum + at, total);
}

KERNEL void pass_plane_sum(const void *x, int64_t pixels, int block, float *sum, bool bf16)
{
    for (int at = 0; at < block; at += VL)
        TYPED(bf16, plane_sum_body(x, pixels, block, at, sum, as_bf16));
}

KERNEL_INLINE void plane_fill_body(void *x, int64_t pixels, int block, int at, const float *value,
                                   bool add, const bool bf16)
{
    vec v = v_load(value + at);
    for (int64_t p = 0; p < pixels; p++)
        v_put(x, p * block + at, add ? v_add(v, v_get(x, p * block + at, bf16)) : v, bf16);
}

KERNEL void pass_plane_fill(void *x, int64_t pixels, int block, const float *value, bool add,
                            bool bf16)
{
    for (int at = 0; at < block; at += VL)
        TYPED(bf16, plane_fill_body(x, pixels, block, at, value, add, as_bf16));
}

// ---- batch norm ----
//
// Passes of batch norm. Sums run in single precision over at most NORM_RUN pixels and in double
// from there, so that their error does not grow with the batch.

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
