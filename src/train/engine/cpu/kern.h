// SPDX-License-Identifier: Apache-2.0
// kern: the kernels (kernels.h) and their table, for the files that compile them for one
// instruction set; see vec.h.
#ifndef FARE_TRAIN_ENGINE_CPU_KERN_H
#define FARE_TRAIN_ENGINE_CPU_KERN_H

#include <stdbool.h>
#include <string.h>

#include "train/engine/cpu/kernels.h"
#include "train/engine/cpu/vec.h"

// ---- products ----
//
// The matrix product on vec.h's operations: tiles of c stay in registers while k runs. b comes in
// panels of 64 columns, of which a block of GEMM_K rows stays in the first cache while all rows of
// a pass by. Made for the small and narrow products of recurrent nets, not for large square ones.

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
    struct tile t = {.a_row = g->a.row, .a_k = g->a.k, .b_k = g->b.k, .c_row = g->c.row, .k = k};
    const int add = k0 > 0 || g->start.at;
    const int64_t blocks = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const float *b = g->b.at + col / KERNELS_PANEL * g->b.panel + k0 * g->b.k;
    for (int64_t at = 0; at < cols; at += TILE_COLS) {
        int vecs = cols - at < TILE_COLS ? (int)((cols - at) / VL) : TILE_VECS;
        t.b = b + at;
        for (int64_t block = 0; block < blocks; block++) { // of nearly the same height each
            int64_t from = row0 + rows * block / blocks, to = row0 + rows * (block + 1) / blocks;
            t.a = g->a.at + from * g->a.row + k0 * g->a.k;
            t.c = g->c.at + from * g->c.row + col + at;
            for (int64_t i = from; i < to; i++) {
                const float *s =
                    k0 > 0         ? g->c.at + i * g->c.row
                    : !g->start.at ? NULL
                    : g->start.index
                        ? g->start.at + g->start.index[i * g->start.index_row] * g->start.row
                        : g->start.at + i * g->start.row;
                t.start[i - from] = s ? s + col + at : NULL;
            }
            tile_any(&t, (int)(to - from), vecs, add);
        }
    }
}

KERNEL void gemm_run(const struct gemm *g)
{
    for (int64_t k0 = 0; k0 == 0 || k0 < g->size.k; k0 += GEMM_K) {
        int64_t k = g->size.k - k0 < GEMM_K ? g->size.k - k0 : GEMM_K;
        for (int64_t row = 0; row < g->size.rows; row += GEMM_ROWS) {
            int64_t rows = g->size.rows - row < GEMM_ROWS ? g->size.rows - row : GEMM_ROWS;
            for (int64_t col = 0; col < g->size.cols; col += KERNELS_PANEL) {
                int64_t cols =
                    g->size.cols - col < KERNELS_PANEL ? g->size.cols - col : KERNELS_PANEL;
                gemm_panel(g, row, rows, col, cols, k0, k);
            }
        }
    }
}

// ---- LSTM cells ----
//
// An LSTM's work between its matrix products, on vec.h's operations. Sigmoid and tanh come from
// one exponential: with t = n ln 2 + r, e^t - 1 = 2^n (e^r - 1) + (2^n - 1), which keeps its
// relative precision near 0, where tanh needs it. Both are within 4 units of the last place. Hard
// gates have loops of their own; shared code takes `hard`, a constant in each caller.

// Four vectors go through each operation side by side: one function of one vector is a long chain
// in which every operation waits for the one before.
struct four {
    vec a, b, c, d;
};

KERNEL_INLINE struct four four_mul(struct four x, struct four y)
{
    return (struct four){v_mul(x.a, y.a), v_mul(x.b, y.b), v_mul(x.c, y.c), v_mul(x.d, y.d)};
}

KERNEL_INLINE struct four four_add(struct four x, struct four y)
{
    return (struct four){v_add(x.a, y.a), v_add(x.b, y.b), v_add(x.c, y.c), v_add(x.d, y.d)};
}

KERNEL_INLINE struct four four_fma(struct four x, struct four y, vec z)
{
    return (struct four){v_fma(x.a, y.a, z), v_fma(x.b, y.b, z), v_fma(x.c, y.c, z),
                         v_fma(x.d, y.d, z)};
}

// y - x times z
KERNEL_INLINE struct four four_fnma(struct four x, vec z, struct four y)
{
    return (struct four){v_fnma(x.a, z, y.a), v_fnma(x.b, z, y.b), v_fnma(x.c, z, y.c),
                         v_fnma(x.d, z, y.d)};
}

// The limits keep the power of two a normal number. They stand first in min and max, because then
// NaN stays NaN.
KERNEL_INLINE struct four four_limit(struct four x)
{
    const vec low = v_set(-86.0F), high = v_set(86.0F);
    x = (struct four){v_max(low, x.a), v_max(low, x.b), v_max(low, x.c), v_max(low, x.d)};
    return (struct four){v_min(high, x.a), v_min(high, x.b), v_min(high, x.c), v_min(high, x.d)};
}

// e^t = scale + rest, scale a power of two; |t| at most 87. The polynomial is the best of its
// degree for (e^r - 1 - r) / r² on |r| ≤ ln 2 / 2; its error is 1.4e-8.
KERNEL_INLINE void exp_parts(struct four t, struct four *scale, struct four *rest)
{
    const vec log2e = v_set(1.44269504F);
    veci na = v_round(v_mul(t.a, log2e)), nb = v_round(v_mul(t.b, log2e));
    veci nc = v_round(v_mul(t.c, log2e)), nd = v_round(v_mul(t.d, log2e));
    struct four n = {v_float(na), v_float(nb), v_float(nc), v_float(nd)};
    // ln 2 in two parts, so that n times the first is exact.
    struct four r = four_fnma(n, v_set(0.693359375F), t);
    r = four_fnma(n, v_set(-2.12194440e-4F), r);
    const vec c6 = v_set(0x1.6d99bep-10F);
    struct four q = four_fma(r, (struct four){c6, c6, c6, c6}, v_set(0x1.12287ep-7F));
    q = four_fma(q, r, v_set(0x1.555486p-5F));
    q = four_fma(q, r, v_set(0x1.5554aep-3F));
    q = four_fma(q, r, v_set(0.5F));
    *scale = (struct four){v_power2(na), v_power2(nb), v_power2(nc), v_power2(nd)};
    q = four_mul(q, four_mul(r, r));
    *rest = four_mul(*scale, four_add(q, r));
}

// 14 bits and one step of Newton's make 28 bits, faster than a division.
KERNEL_INLINE struct four four_div(struct four x, struct four y)
{
#if VEC_BITS == 512
    const vec one = v_set(1.0F);
    struct four q = {_mm512_rcp14_ps(y.a), _mm512_rcp14_ps(y.b), _mm512_rcp14_ps(y.c),
                     _mm512_rcp14_ps(y.d)};
    struct four e = {v_fnma(y.a, q.a, one), v_fnma(y.b, q.b, one), v_fnma(y.c, q.c, one),
                     v_fnma(y.d, q.d, one)};
    q = (struct four){v_fma(q.a, e.a, q.a), v_fma(q.b, e.b, q.b), v_fma(q.c, e.c, q.c),
                      v_fma(q.d, e.d, q.d)};
    return four_mul(x, q);
#else
    return (struct four){v_div(x.a, y.a), v_div(x.b, y.b), v_div(x.c, y.c), v_div(x.d, y.d)};
#endif
}

// sigmoid of a, b and d, tanh of c: the gates.
KERNEL_INLINE struct four gates_of(struct four z)
{
    const vec one = v_set(1.0F), zero = v_zero();
    struct four scale, rest;
    z = (struct four){v_sub(zero, z.a), v_sub(zero, z.b), v_add(z.c, z.c), v_sub(zero, z.d)};
    exp_parts(four_limit(z), &scale, &rest);
    struct four e = four_add(scale, rest);
    vec less = v_add(rest.c, v_sub(scale.c, one));
    return four_div(
        (struct four){one, one, less, one},
        (struct four){v_add(one, e.a), v_add(one, e.b), v_add(less, v_set(2.0F)), v_add(one, e.d)});
}

KERNEL_INLINE struct four tanh_of(struct four z)
{
    const vec minus = v_set(-1.0F), two = v_set(2.0F);
    struct four scale, rest;
    exp_parts(four_limit(four_add(z, z)), &scale, &rest);
    rest = four_add(rest, four_add(scale, (struct four){minus, minus, minus, minus}));
    return four_div(rest, four_add(rest, (struct four){two, two, two, two}));
}

// Four vectors of a row from number u on. Where the row ends, the first of them stands in for those
// that are not there.
struct four_places {
    int64_t a, b, c, d;
};

KERNEL_INLINE struct four_places places_at(int64_t u, int64_t units)
{
    return (struct four_places){u, u + VL < units ? u + VL : u, u + 2 * VL < units ? u + 2 * VL : u,
                                u + 3 * VL < units ? u + 3 * VL : u};
}

KERNEL_INLINE struct four load_four(const float *row, struct four_places at)
{
    return (struct four){v_load(row + at.a), v_load(row + at.b), v_load(row + at.c),
                         v_load(row + at.d)};
}

KERNEL_INLINE void store_four(float *row, struct four_places at, struct four x)
{
    v_store(row + at.d, x.d);
    v_store(row + at.c, x.c);
    v_store(row + at.b, x.b);
    v_store(row + at.a, x.a);
}

KERNEL void cell_gates(float *gates, const float *c_before, float *c, int64_t units)
{
    for (int64_t u = 0; u < units; u += VL) {
        float *i = gates + u, *f = i + units, *g = f + units, *o = g + units;
        struct four z = gates_of((struct four){v_load(i), v_load(f), v_load(g), v_load(o)});
        v_store(i, z.a);
        v_store(f, z.b);
        v_store(g, z.c);
        v_store(o, z.d);
        vec now = v_mul(z.a, z.c);
        if (c_before)
            now = v_fma(z.b, v_load(c_before + u), now);
        v_store(c + u, now);
    }
}

// As in four_limit(), what is not a number stays so.
KERNEL_INLINE vec hard_gate(vec z)
{
    vec y = v_fma(z, v_set(0.2F), v_set(0.5F));
    return v_min(v_set(1.0F), v_max(v_zero(), y));
}

KERNEL void cell_hard_gates(float *gates, const float *c_before, float *c, int64_t units)
{
    float *candidate = gates + 2 * units;
    for (int64_t u = 0; u < units; u += 4 * VL) {
        const struct four_places at = places_at(u, units);
        store_four(candidate, at, tanh_of(load_four(candidate, at)));
    }
    for (int64_t u = 0; u < units; u += VL) {
        float *i = gates + u, *f = i + units, *g = f + units, *o = g + units;
        vec opened = hard_gate(v_load(i)), kept = hard_gate(v_load(f));
        v_store(i, opened);
        v_store(f, kept);
        v_store(o, hard_gate(v_load(o)));
        vec now = v_mul(opened, v_load(g));
        if (c_before)
            now = v_fma(kept, v_load(c_before + u), now);
        v_store(c + u, now);
    }
}

KERNEL_INLINE void cell_forward(const struct lstm_cell *cell, bool hard)
{
    const int64_t units = cell->units;
    for (int64_t row = 0; row < cell->rows; row++) {
        float *gates = cell->gates + row * 4 * units, *o = gates + 3 * units;
        float *c = cell->c + row * units, *tanh_c = cell->tanh_c + row * units;
        float *h = cell->h + row * units;
        const float *c_before = cell->c_before ? cell->c_before + row * units : NULL;
        if (hard)
            cell_hard_gates(gates, c_before, c, units);
        else
            cell_gates(gates, c_before, c, units);
        for (int64_t u = 0; u < units; u += 4 * VL) {
            const struct four_places at = places_at(u, units);
            struct four t = tanh_of(load_four(c, at));
            store_four(tanh_c, at, t);
            store_four(h, at, four_mul(t, load_four(o, at)));
        }
    }
}

KERNEL void lstm_cell_forward(const struct lstm_cell *cell)
{
    if (cell->hard)
        cell_forward(cell, true);
    else
        cell_forward(cell, false);
}

// The gradient before a gate of value s, from d × along after it: that times the slope, s (1 - s)
// or, between the ends of a hard gate, 0.2. `ds` is d s, which is needed elsewhere too.
KERNEL_INLINE vec gate_back(vec d, vec ds, vec along, vec s, bool hard)
{
    const vec rest = v_sub(v_set(1.0F), s);
    if (hard)
        return v_mul(v_mul(d, along), v_where(v_mul(s, rest), v_set(0.2F)));
    return v_mul(v_mul(ds, along), rest);
}

// tanh' = 1 - tanh².
KERNEL_INLINE void cell_backward(const struct lstm_cell *cell, bool hard)
{
    const int64_t units = cell->units;
    const vec one = v_set(1.0F);
    for (int64_t row = 0; row < cell->rows; row++) {
        float *gates = cell->gates + row * 4 * units;
        const int64_t at = row * units;
        for (int64_t u = 0; u < units; u += VL) {
            vec i = v_load(gates + u), f = v_load(gates + units + u);
            vec g = v_load(gates + 2 * units + u), o = v_load(gates + 3 * units + u);
            vec tanh_c = v_load(cell->tanh_c + at + u), dh = v_load(cell->dh + at + u);
            vec dc = v_load(cell->dc + at + u);
            vec before = cell->c_before ? v_load(cell->c_before + at + u) : v_zero();
            vec dho = v_mul(dh, o);
            dc = v_fma(dho, v_fnma(tanh_c, tanh_c, one), dc);
            v_store(gates + 3 * units + u, gate_back(dh, dho, tanh_c, o, hard));
            vec dci = v_mul(dc, i), dcf = v_mul(dc, f);
            v_store(gates + u, gate_back(dc, dci, g, i, hard));
            v_store(gates + units + u, gate_back(dc, dcf, before, f, hard));
            v_store(gates + 2 * units + u, v_mul(dci, v_fnma(g, g, one)));
            v_store(cell->dc + at + u, dcf);
        }
    }
}

KERNEL void lstm_cell_backward(const struct lstm_cell *cell)
{
    if (cell->hard)
        cell_backward(cell, true);
    else
        cell_backward(cell, false);
}

KERNEL void add_row(float *to, const float *from, int64_t count)
{
    for (int64_t i = 0; i < count; i += KERNELS_PAD)
        for (int64_t j = i; j < i + KERNELS_PAD; j += VL)
            v_store(to + j, v_add(v_load(to + j), v_load(from + j)));
}

// ---- Adam ----
//
// Adam for a row of a table, on vec.h's operations. The replay of steps without gradient does the
// same operations in the same order as the plain step, so that its result has the same bits.

#define ADAM_VECS 4 // at once, to hide the latency of root and division

KERNEL_INLINE vec adam_move(vec p, vec m, vec v, vec k, vec epsilon)
{
    return v_sub(p, v_div(v_mul(k, m), v_add(v_sqrt(v), epsilon)));
}

KERNEL void adam_vector(const struct adam *adam, float k, float *p, float *m, float *v,
                        const float *g)
{
    vec grad = g ? v_load(g) : v_zero();
    vec mean = v_fma(v_set(adam->rho), v_load(m), v_mul(v_set(adam->rho_rest), grad));
    vec square =
        v_fma(v_set(adam->beta2), v_load(v), v_mul(v_set(adam->beta2_rest), v_mul(grad, grad)));
    v_store(m, mean);
    v_store(v, square);
    v_store(p, adam_move(v_load(p), mean, square, v_set(k), v_set(adam->epsilon)));
}

KERNEL void adam_row(const struct adam *adam, float k, float *p, float *m, float *v, const float *g,
                     int64_t count)
{
    int64_t i = 0;
    for (; i + VL <= count; i += VL)
        adam_vector(adam, k, p + i, m + i, v + i, g ? g + i : NULL);
    if (i == count)
        return;
    float tail[4][VL] = {{0}}; // in a vector of their own, the rest zero
    const size_t bytes = (size_t)(count - i) * sizeof(float);
    memcpy(tail[0], p + i, bytes);
    memcpy(tail[1], m + i, bytes);
    memcpy(tail[2], v + i, bytes);
    if (g)
        memcpy(tail[3], g + i, bytes);
    adam_vector(adam, k, tail[0], tail[1], tail[2], tail[3]);
    memcpy(p + i, tail[0], bytes);
    memcpy(m + i, tail[1], bytes);
    memcpy(v + i, tail[2], bytes);
}

// The variables of vector number n, and what is done with them.
#define ADAM_FOUR(what) what(0) what(1) what(2) what(3)
#define ADAM_LOAD(n)                                                                               \
    vec p##n = v_load(p + n * VL), m##n = v_load(m + n * VL), v##n = v_load(v + n * VL);
#define ADAM_STORE(n)                                                                              \
    v_store(p + n * VL, p##n);                                                                     \
    v_store(m + n * VL, m##n);                                                                     \
    v_store(v + n * VL, v##n);
#define ADAM_DECAY_M(n) m##n = v_fma(rho, m##n, zero);
#define ADAM_DECAY_V(n) v##n = v_mul(beta2, v##n);
#define ADAM_MOVE(n)                                                                               \
    vec old##n = p##n;                                                                             \
    p##n = adam_move(p##n, m##n, v##n, rate, epsilon);
#define ADAM_MOVED(n)    | v_differ(p##n, old##n)
#define ADAM_LEFT_M(n)   | v_differ(m##n, zero)
#define ADAM_LEFT_V(n)   | v_differ(v##n, zero)
#define ADAM_NO_MINUS(n) m##n = v_add(m##n, zero);

// Four vectors at a time. The sums with zero are those of the plain step: they decide about the
// sign of what has faded to zero. First everything moves; when p has come to rest only the means
// decay, and when those of the gradient are zero only those of its square.
KERNEL void adam_replay_block(const struct adam *adam, const float *k, int64_t steps,
                              int64_t settled, float *p, float *m, float *v)
{
    const vec rho = v_set(adam->rho), beta2 = v_set(adam->beta2), epsilon = v_set(adam->epsilon);
    const vec zero = v_zero();
    int64_t step = 0;
    ADAM_FOUR(ADAM_LOAD);
    for (int moved = 1; step < steps && (moved || step <= settled); step++) {
        const vec rate = v_set(k[step]);
        ADAM_FOUR(ADAM_DECAY_M);
        ADAM_FOUR(ADAM_DECAY_V);
        ADAM_FOUR(ADAM_MOVE);
        moved = 0 ADAM_FOUR(ADAM_MOVED);
    }
    for (int left = 1; step < steps && left; step++) {
        ADAM_FOUR(ADAM_DECAY_M);
        ADAM_FOUR(ADAM_DECAY_V);
        if (step % 16 == 0)
            left = 0 ADAM_FOUR(ADAM_LEFT_M);
    }
    if (step < steps) { // the next step makes +0 of -0
        ADAM_FOUR(ADAM_NO_MINUS);
    }
    if (!(0 ADAM_FOUR(ADAM_LEFT_V))) // a row that was never used
        step = steps;
    for (; step < steps; step++) {
        ADAM_FOUR(ADAM_DECAY_V);
    }
    ADAM_FOUR(ADAM_STORE);
}

KERNEL void adam_replay_row(const struct adam *adam, const float *k, int64_t steps, int64_t settled,
                            float *p, float *m, float *v, int64_t count)
{
    enum { BLOCK = ADAM_VECS * VL };
    int64_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        adam_replay_block(adam, k, steps, settled, p + i, m + i, v + i);
    if (i == count)
        return;
    float tail[3][BLOCK] = {{0}};
    const size_t bytes = (size_t)(count - i) * sizeof(float);
    memcpy(tail[0], p + i, bytes);
    memcpy(tail[1], m + i, bytes);
    memcpy(tail[2], v + i, bytes);
    adam_replay_block(adam, k, steps, settled, tail[0], tail[1], tail[2]);
    memcpy(p + i, tail[0], bytes);
    memcpy(m + i, tail[1], bytes);
    memcpy(v + i, tail[2], bytes);
}

// ---- L1 distances ----
//
// L1 distances of a tile of pairs, on vec.h's operations: a vector holds as many vectors of b,
// one of their elements each, so that nothing is ever summed across a vector. A sum runs over
// L1_RUN elements at most before it is added to a second one, which bounds its rounding error.

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

// ---- the table ----

#define KERN_TABLE(set)                                                                            \
    {                                                                                              \
        .name = set, .gemm = gemm_run, .lstm_forward = lstm_cell_forward,                          \
        .lstm_backward = lstm_cell_backward, .add = add_row, .adam = adam_row,                     \
        .adam_replay = adam_replay_row, .l1_rows = L1_ROWS, .l1_cols = L1_COLS, .l1 = l1_tile,     \
        .l1_peak = l1_registers,                                                                   \
    }

#endif
