// SPDX-License-Identifier: Apache-2.0
// The matrix product on vec.h's operations: tiles of c stay in registers while k runs. b comes in
// panels of 64 columns, of which a block of GEMM_K rows stays in the first cache while all rows of
// a pass by. Made for the small and narrow products of recurrent nets, not for large square ones.
#ifndef FARE_ENGINE_CPU_KERN_GEMM_H
#define FARE_ENGINE_CPU_KERN_GEMM_H

#include "engine/cpu/kernels.h"
#include "engine/cpu/vec.h"

// As many accumulators as the registers hold, with some left for a row of b and a number of a.
#if VEC_BITS == 512
#define TILE_ROWS 6
#define TILE_VECS 4
#elif VEC_BITS == 256
#define TILE_ROWS 6
#define TILE_VECS 2
#else
#define TILE_ROWS 4
#define TILE_VECS 2
#endif
#define TILE_COLS (TILE_VECS * VL)
#define GEMM_K    128 // rows of a panel at a time: 32 KiB
#define GEMM_ROWS 96  // rows of a at a time

struct tile {
    const float *a, *b;
    ptrdiff_t a_row, a_k, b_k, c_row;
    int64_t k;
    const float *start[TILE_ROWS];
    float *c;
};

// Each accumulator is a separate variable: an array would live in memory. `rows` and `vecs` are
// constants at the call, so code beyond them vanishes.
#define ROWS_DO(what) what(0) what(1) what(2) what(3) what(4) what(5)
#define TILE_DECLARE(r)                                                                            \
    vec c##r##0 = v_zero(), c##r##1 = c##r##0, c##r##2 = c##r##0, c##r##3 = c##r##0;
#define TILE_START(r)                                                                              \
    if (r < rows && add) {                                                                         \
        const float *s = t->start[r < TILE_ROWS ? r : 0];                                          \
        c##r##0 = v_load(s);                                                                       \
        if (vecs > 1)                                                                              \
            c##r##1 = v_load(s + VL);                                                              \
        if (vecs > 2)                                                                              \
            c##r##2 = v_load(s + 2 * VL);                                                          \
        if (vecs > 3)                                                                              \
            c##r##3 = v_load(s + 3 * VL);                                                          \
    }
#define TILE_STEP(r)                                                                               \
    if (r < rows) {                                                                                \
        vec x = v_set((r < 3 ? a : a3)[r % 3 * a_row]);                                            \
        c##r##0 = v_fma(x, b0, c##r##0);                                                           \
        if (vecs > 1)                                                                              \
            c##r##1 = v_fma(x, b1, c##r##1);                                                       \
        if (vecs > 2)                                                                              \
            c##r##2 = v_fma(x, b2, c##r##2);                                                       \
        if (vecs > 3)                                                                              \
            c##r##3 = v_fma(x, b3, c##r##3);                                                       \
    }
#define TILE_END(r)                                                                                \
    if (r < rows) {                                                                                \
        float *to = t->c + r * t->c_row;                                                           \
        v_store(to, c##r##0);                                                                      \
        if (vecs > 1)                                                                              \
            v_store(to + VL, c##r##1);                                                             \
        if (vecs > 2)                                                                              \
            v_store(to + 2 * VL, c##r##2);                                                         \
        if (vecs > 3)                                                                              \
            v_store(to + 3 * VL, c##r##3);                                                         \
    }

KERNEL_INLINE void tile_run(const struct tile *t, const int rows, const int vecs, const int add)
{
    ROWS_DO(TILE_DECLARE)
    ROWS_DO(TILE_START)
    const float *a = t->a, *a3 = a + 3 * t->a_row, *b = t->b;
    const ptrdiff_t a_row = t->a_row, a_k = t->a_k, b_k = t->b_k;
    for (int64_t k = t->k; k > 0; k--) {
        vec b0 = v_load(b), b1 = b0, b2 = b0, b3 = b0;
        if (vecs > 1)
            b1 = v_load(b + VL);
        if (vecs > 2)
            b2 = v_load(b + 2 * VL);
        if (vecs > 3)
            b3 = v_load(b + 3 * VL);
        (void)b1, (void)b2, (void)b3;
        ROWS_DO(TILE_STEP)
        a += a_k;
        a3 += a_k;
        b += b_k;
    }
    ROWS_DO(TILE_END)
}

#define TILE_CASE(rows, vecs)                                                                      \
    case (rows)*8 + (vecs):                                                                        \
        if (add)                                                                                   \
            tile_run(t, rows, vecs, 1);                                                            \
        else                                                                                       \
            tile_run(t, rows, vecs, 0);                                                            \
        break;

KERNEL void tile_any(const struct tile *t, int rows, int vecs, int add)
{
    switch (rows * 8 + vecs) {
        // clang-format off
#if VEC_BITS == 512
        TILE_CASE(1, 1) TILE_CASE(1, 2) TILE_CASE(1, 3) TILE_CASE(2, 1) TILE_CASE(2, 2) TILE_CASE(2, 3)
        TILE_CASE(3, 1) TILE_CASE(3, 2) TILE_CASE(3, 3) TILE_CASE(4, 1) TILE_CASE(4, 2) TILE_CASE(4, 3)
        TILE_CASE(5, 1) TILE_CASE(5, 2) TILE_CASE(5, 3) TILE_CASE(6, 1) TILE_CASE(6, 2) TILE_CASE(6, 3)
#endif
#if VEC_BITS > 128
        TILE_CASE(5, TILE_VECS) TILE_CASE(6, TILE_VECS)
#endif
        TILE_CASE(1, TILE_VECS) TILE_CASE(2, TILE_VECS) TILE_CASE(3, TILE_VECS) TILE_CASE(4, TILE_VECS)
            // clang-format on
            default : __builtin_unreachable();
    }
}

// One panel for `rows` rows of a and c, from column `col` on; `k` rows of b from `k0` on.
KERNEL void gemm_panel(const struct gemm *g, int64_t row0, int64_t rows, int64_t col, int64_t cols,
                       int64_t k0, int64_t k)
{
    struct tile t = {.a_row = g->a_row, .a_k = g->a_k, .b_k = g->b_k, .c_row = g->c_row, .k = k};
    const int add = k0 > 0 || g->start;
    const int64_t blocks = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const float *b = g->b + col / KERNELS_PANEL * g->b_panel + k0 * g->b_k;
    for (int64_t at = 0; at < cols; at += TILE_COLS) {
        int vecs = cols - at < TILE_COLS ? (int)((cols - at) / VL) : TILE_VECS;
        t.b = b + at;
        for (int64_t block = 0; block < blocks; block++) { // of nearly the same height each
            int64_t from = row0 + rows * block / blocks, to = row0 + rows * (block + 1) / blocks;
            t.a = g->a + from * g->a_row + k0 * g->a_k;
            t.c = g->c + from * g->c_row + col + at;
            for (int64_t i = from; i < to; i++) {
                const float *s = k0 > 0      ? g->c + i * g->c_row
                                 : !g->start ? NULL
                                 : g->index  ? g->start + g->index[i * g->index_row] * g->start_row
                                             : g->start + i * g->start_row;
                t.start[i - from] = s ? s + col + at : NULL;
            }
            tile_any(&t, (int)(to - from), vecs, add);
        }
    }
}

KERNEL void gemm_run(const struct gemm *g)
{
    for (int64_t k0 = 0; k0 == 0 || k0 < g->k; k0 += GEMM_K) {
        int64_t k = g->k - k0 < GEMM_K ? g->k - k0 : GEMM_K;
        for (int64_t row = 0; row < g->rows; row += GEMM_ROWS) {
            int64_t rows = g->rows - row < GEMM_ROWS ? g->rows - row : GEMM_ROWS;
            for (int64_t col = 0; col < g->cols; col += KERNELS_PANEL) {
                int64_t cols = g->cols - col < KERNELS_PANEL ? g->cols - col : KERNELS_PANEL;
                gemm_panel(g, row, rows, col, cols, k0, k);
            }
        }
    }
}

#endif
