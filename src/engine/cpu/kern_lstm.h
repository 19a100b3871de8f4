// SPDX-License-Identifier: Apache-2.0
// An LSTM's work between its matrix products, on vec.h's operations. Sigmoid and tanh come from
// one exponential: with t = n ln 2 + r, e^t - 1 = 2^n (e^r - 1) + (2^n - 1), which keeps its
// relative precision near 0, where tanh needs it. Both are within 4 units of the last place. Hard
// gates have separate kernels; shared code takes `hard`, a constant in each caller.
#ifndef FARE_ENGINE_CPU_KERN_LSTM_H
#define FARE_ENGINE_CPU_KERN_LSTM_H

#include <stdbool.h>

#include "engine/cpu/kernels.h"
#include "engine/cpu/vec.h"

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
    cell_forward(cell, false);
}

KERNEL void lstm_hard_cell_forward(const struct lstm_cell *cell)
{
    cell_forward(cell, true);
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
    cell_backward(cell, false);
}

KERNEL void lstm_hard_cell_backward(const struct lstm_cell *cell)
{
    cell_backward(cell, true);
}

KERNEL void add_row(float *to, const float *from, int64_t count)
{
    for (int64_t i = 0; i < count; i += KERNELS_PAD)
        for (int64_t j = i; j < i + KERNELS_PAD; j += VL)
            v_store(to + j, v_add(v_load(to + j), v_load(from + j)));
}

#endif
