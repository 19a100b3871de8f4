// SPDX-License-Identifier: Apache-2.0
// Passes over rows of a transformer's values: layer norm, GELU, softmax. Rows have any length.
#ifndef FARE_ENGINE_CPU_PASS_SEQUENCE_H
#define FARE_ENGINE_CPU_PASS_SEQUENCE_H

#include <math.h>

#include "engine/cpu/lanes.h"
#include "engine/cpu/passes.h"

// ---- the end of a row ----

// Numbers of a row of which `left` are left; `rest` stands for those behind it.
KERNEL_INLINE vec row_get(const float *p, int64_t left, float rest)
{
    if (left >= VL)
        return v_load(p);
    float part[VL];
    for (int i = 0; i < VL; i++)
        part[i] = i < left ? p[i] : rest;
    return v_load(part);
}

KERNEL_INLINE void row_put(float *p, vec a, int64_t left)
{
    if (left >= VL) {
        v_store(p, a);
        return;
    }
    float part[VL];
    v_store(part, a);
    for (int i = 0; i < left; i++)
        p[i] = part[i];
}

KERNEL_INLINE float row_largest(vec a)
{
    float part[VL], top;
    v_store(part, a);
    top = part[0];
    for (int i = 1; i < VL; i++)
        top = part[i] > top ? part[i] : top;
    return top;
}

// e^x, within 2 units of the last place; 0 below -87. NaN stays NaN. The polynomial is that of
// kern_lstm.h.
KERNEL_INLINE vec row_exp(vec x)
{
    const vec low = v_set(-87.0F), high = v_set(88.0F);
    vec t = v_min(high, v_max(low, x));
    veci n = v_round(v_mul(t, v_set(1.44269504F)));
    vec r = v_fnma(v_float(n), v_set(0.693359375F), t);
    r = v_fnma(v_float(n), v_set(-2.12194440e-4F), r);
    vec q = v_fma(r, v_set(0x1.6d99bep-10F), v_set(0x1.12287ep-7F));
    q = v_fma(q, r, v_set(0x1.555486p-5F));
    q = v_fma(q, r, v_set(0x1.5554aep-3F));
    q = v_fma(q, r, v_set(0.5F));
    q = v_add(v_fma(q, v_mul(r, r), r), v_set(1.0F));
    return v_mul(q, v_power2(n));
}

// ---- layer norm ----

KERNEL void pass_row_norm(const float *x, const float *w, const float *b, float *y, int64_t count,
                          float epsilon, float moments[2])
{
    vec sum = v_zero(), squares = v_zero();
    for (int64_t i = 0; i < count; i += VL)
        sum = v_add(sum, row_get(x + i, count - i, 0));
    const float mean = v_sum(sum) / (float)count;
    const vec centre = v_set(mean);
    for (int64_t i = 0; i < count; i += VL) {
        vec apart = v_sub(row_get(x + i, count - i, mean), centre);
        squares = v_fma(apart, apart, squares);
    }
    const float inverse = 1 / sqrtf(v_sum(squares) / (float)count + epsilon);
    const vec scale = v_set(inverse);
    for (int64_t i = 0; i < count; i += VL) {
        vec normed = v_mul(v_sub(row_get(x + i, count - i, 0), centre), scale);
        vec out = v_fma(normed, row_get(w + i, count - i, 0), row_get(b + i, count - i, 0));
        row_put(y + i, out, count - i);
    }
    moments[0] = mean;
    moments[1] = inverse;
}

KERNEL void pass_row_norm_back(const struct pass_row_norm *n)
{
    const int64_t count = n->count;
    const vec centre = v_set(n->moments[0]), scale = v_set(n->moments[1]);
    vec sums = v_zero(), alongs = v_zero();
    for (int64_t i = 0; i < count; i += VL) {
        int64_t left = count - i;
        vec dy = row_get(n->dy + i, left, 0);
        vec normed = v_mul(v_sub(row_get(n->x + i, left, n->moments[0]), centre), scale);
        vec by = v_mul(dy, row_get(n->w + i, left, 0));
        sums = v_add(sums, by);
        alongs = v_fma(by, normed, alongs);
        row_put(n->dw + i, v_fma(dy, normed, row_get(n->dw + i, left, 0)), left);
        row_put(n->db + i, v_add(dy, row_get(n->db + i, left, 0)), left);
    }
    if (!n->dx)
        return;
    const vec level = v_set(v_sum(sums) / (float)count),
              slope = v_set(v_sum(alongs) / (float)count);
    for (int64_t i = 0; i < count; i += VL) {
        int64_t left = count - i;
        vec normed = v_mul(v_sub(row_get(n->x + i, left, 0), centre), scale);
        vec by = v_mul(row_get(n->dy + i, left, 0), row_get(n->w + i, left, 0));
        vec dx = v_mul(scale, v_sub(v_sub(by, level), v_mul(normed, slope)));
        row_put(n->dx + i, n->add ? v_add(dx, row_get(n->dx + i, left, 0)) : dx, left);
    }
}

// ---- GELU ----

// 0.5 (1 + tanh(u)) = 1 / (1 + e^-2u), with u = sqrt(2 / pi) (x + 0.044715 x³).
KERNEL_INLINE vec gelu_share(vec x)
{
    vec inner = v_fma(v_mul(x, x), v_set(0.044715F * 1.5957691216F), v_set(1.5957691216F));
    vec rest = row_exp(v_sub(v_zero(), v_mul(x, inner)));
    return v_div(v_set(1.0F), v_add(v_set(1.0F), rest));
}

KERNEL void pass_gelu(const float *x, float *y, int64_t count)
{
    for (int64_t i = 0; i < count; i += VL) {
        vec a = row_get(x + i, count - i, 0);
        row_put(y + i, v_mul(a, gelu_share(a)), count - i);
    }
}

KERNEL void pass_gelu_back(const float *x, const float *dy, float *dx, int64_t count, bool add)
{
    const vec one = v_set(1.0F);
    for (int64_t i = 0; i < count; i += VL) {
        vec a = row_get(x + i, count - i, 0), share = gelu_share(a);
        vec inner = v_fma(v_mul(a, a), v_set(3 * 0.044715F * 1.5957691216F), v_set(1.5957691216F));
        vec slope = v_fma(v_mul(v_mul(a, inner), share), v_sub(one, share), share);
        vec d = v_mul(row_get(dy + i, count - i, 0), slope);
        row_put(dx + i, add ? v_add(d, row_get(dx + i, count - i, 0)) : d, count - i);
    }
}

// ---- softmax ----

KERNEL float pass_row_max(const float *z, int64_t count)
{
    vec top = v_set(-INFINITY);
    for (int64_t i = 0; i < count; i += VL)
        top = v_max(top, row_get(z + i, count - i, -INFINITY));
    return row_largest(top);
}

KERNEL float pass_row_softmax(float *z, int64_t count, float scale, float times)
{
    const float top = pass_row_max(z, count);
    const vec factor = v_set(scale), limit = v_set(scale * top);
    vec sums = v_zero();
    for (int64_t i = 0; i < count; i += VL) {
        int64_t left = count - i;
        vec e = row_exp(v_sub(v_mul(factor, row_get(z + i, left, top)), limit));
        row_put(z + i, e, left);
        sums = v_add(sums, left >= VL ? e : row_get(z + i, left, 0)); // nothing behind the end
    }
    const float sum = v_sum(sums);
    const vec share = v_set(times / sum);
    for (int64_t i = 0; i < count; i += VL)
        row_put(z + i, v_mul(share, row_get(z + i, count - i, 0)), count - i);
    return scale * top + logf(sum);
}

KERNEL void pass_row_odds(float *z, int64_t count, float scale, float level)
{
    const vec factor = v_set(scale), limit = v_set(level);
    for (int64_t i = 0; i < count; i += VL)
        row_put(z + i, row_exp(v_sub(v_mul(factor, row_get(z + i, count - i, 0)), limit)),
                count - i);
}

KERNEL void pass_row_odds_back(const float *odds, float *d, int64_t count, float along, float scale)
{
    const vec level = v_set(along), factor = v_set(scale);
    for (int64_t i = 0; i < count; i += VL) {
        vec p = v_mul(factor, row_get(odds + i, count - i, 0));
        row_put(d + i, v_mul(p, v_sub(row_get(d + i, count - i, 0), level)), count - i);
    }
}

KERNEL float pass_row_dot(const float *a, const float *b, int64_t count)
{
    vec sum = v_zero();
    for (int64_t i = 0; i < count; i += VL)
        sum = v_fma(row_get(a + i, count - i, 0), row_get(b + i, count - i, 0), sum);
    return v_sum(sum);
}

// ---- sums ----

KERNEL void pass_row_add(float *to, const float *a, const float *b, int64_t count)
{
    for (int64_t i = 0; i < count; i += VL)
        row_put(to + i, v_add(row_get(a + i, count - i, 0), row_get(b + i, count - i, 0)),
                count - i);
}

// In single precision over a few thousand numbers, in double beyond.
KERNEL double pass_squares(const float *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i += 4096) {
        int64_t end = i + 4096 < count ? i + 4096 : count;
        sum += (double)pass_row_dot(x + i, x + i, end - i);
    }
    return sum;
}

#endif
