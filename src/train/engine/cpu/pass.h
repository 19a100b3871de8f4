// SPDX-License-Identifier: Apache-2.0
// pass: the passes (passes.h) and their table, for the files that compile them for one instruction
// set; see vec.h.
#ifndef FARE_TRAIN_ENGINE_CPU_PASS_H
#define FARE_TRAIN_ENGINE_CPU_PASS_H

#include <assert.h>
#include <math.h>

#include "train/engine/cpu/lanes.h"
#include "train/engine/cpu/pass_images.h"
#include "train/engine/cpu/passes.h"

// ---- numbers one by one ----
//
// Passes over numbers one by one: sums, relu, types, dropout.

KERNEL_INLINE void add_body(void *to, const void *from, int64_t count, const bool bf16)
{
    for (int64_t i = 0; i < count; i += VL)
        v_put(to, i, v_add(v_get(to, i, bf16), v_get(from, i, bf16)), bf16);
}

KERNEL void pass_add(void *to, const void *from, int64_t count, bool bf16)
{
    TYPED(bf16, add_body(to, from, count, as_bf16));
}

KERNEL_INLINE void relu_back_body(const void *y, void *dy, int64_t count, const bool bf16)
{
    for (int64_t i = 0; i < count; i += VL)
        v_put(dy, i, v_keep(v_above(v_get(y, i, bf16), v_zero()), v_get(dy, i, bf16)), bf16);
}

KERNEL void pass_relu_back(const void *y, void *dy, int64_t count, bool bf16)
{
    TYPED(bf16, relu_back_body(y, dy, count, as_bf16));
}

KERNEL void pass_to_bf16(uint16_t *to, const float *from, int64_t count)
{
    for (int64_t i = 0; i < count; i += VL)
        v_to_bf16(to + i, v_load(from + i));
}

KERNEL void pass_from_bf16(float *to, const uint16_t *from, int64_t count)
{
    for (int64_t i = 0; i < count; i += VL)
        v_store(to + i, v_from_bf16(from + i));
}

// ---- dropout ----

// Bit i goes to bit 4 i.
KERNEL_INLINE uint64_t spread(uint64_t bits)
{
    bits = (bits | bits << 24) & 0x000000ff000000ff;
    bits = (bits | bits << 12) & 0x000f000f000f000f;
    bits = (bits | bits << 6) & 0x0303030303030303;
    return (bits | bits << 3) & 0x1111111111111111;
}

KERNEL_INLINE ulanes lane_numbers(void)
{
    ulanes numbers = {0};
    for (uint32_t i = 0; i < VL; i++)
        numbers[i] = i;
    return numbers;
}

// Each lane computes a block of four numbers that follow each other, so the bits of the four words
// are woven together.
KERNEL void pass_mask_rows(const struct dropout *dropout, uint64_t first, int64_t count,
                           uint8_t *bits)
{
    assert(first % PASSES_PAD == 0);
    const ulanes numbers = lane_numbers(), threshold = (ulanes){0} + dropout->threshold;
    for (int64_t i = 0; i < count; i += 4 * VL) {
        uint64_t block = (first + (uint64_t)i) / 4;
        assert(block + VL <= UINT32_MAX); // the counter's upper half is zero
        struct philox words;
        v_philox(numbers + (uint32_t)block, dropout->stream, dropout->key, &words);
        uint64_t woven = 0;
        for (int w = 0; w < 4; w++)
            woven |= spread(v_at_least(words.word[w], threshold)) << w;
        memcpy(bits + i / 8, &woven, VL / 2);
    }
}

// The lanes are channels, each at its own place in the stream of blocks of four: lane l's number
// of pixel p is word (p + stage) % 4 of its block (p + stage) / 4. Two blocks in a row hold the
// words of four pixels for every stage.
KERNEL_INLINE void mask_lanes(const struct dropout *dropout, uint64_t first, int64_t pixels,
                              int block, int at, uint8_t *bits)
{
    ulanes stage = {0}, counter = {0};
    for (int l = 0; l < VL; l++) {
        uint64_t number = first + (uint64_t)(at + l) * (uint64_t)pixels;
        assert(number / 4 + (uint64_t)pixels / 4 + 2 <= UINT32_MAX);
        stage[l] = (uint32_t)(number % 4);
        counter[l] = (uint32_t)(number / 4);
    }
    const ulanes threshold = (ulanes){0} + dropout->threshold;
    uint32_t is[4];
    for (uint32_t p = 0; p < 4; p++)
        is[p] = v_bits((lanes)(stage == p));
    struct philox words;
    uint32_t kept[8];
    v_philox(counter, dropout->stream, dropout->key, &words);
    for (int w = 0; w < 4; w++)
        kept[4 + w] = v_at_least(words.word[w], threshold);
    for (int64_t pixel = 0; pixel < pixels; pixel += 4) {
        counter += 1;
        v_philox(counter, dropout->stream, dropout->key, &words);
        for (int w = 0; w < 4; w++) {
            kept[w] = kept[4 + w];
            kept[4 + w] = v_at_least(words.word[w], threshold);
        }
        for (int i = 0; i < 4 && pixel + i < pixels; i++) {
            uint32_t here = (kept[i] & is[0]) | (kept[i + 1] & is[1]) | (kept[i + 2] & is[2]) |
                            (kept[i + 3] & is[3]);
            v_set_bits(bits, (pixel + i) * block + at, here);
        }
    }
}

KERNEL void pass_mask_plane(const struct dropout *dropout, uint64_t first, int64_t pixels,
                            int block, uint8_t *bits)
{
    for (int at = 0; at < block; at += VL)
        mask_lanes(dropout, first, pixels, block, at, bits);
}

KERNEL_INLINE void drop_body(const void *x, void *y, uint8_t *bits, int64_t count, float scale_,
                             bool relu, const bool bf16)
{
    vec scale = v_set(scale_);
    for (int64_t i = 0; i < count; i += VL) {
        vec a = v_get(x, i, bf16);
        uint32_t kept = v_bits_at(bits, i);
        if (relu) {
            kept &= v_bits(v_above(a, v_zero()));
            v_set_bits(bits, i, kept);
        }
        v_put(y, i, v_keep(v_mask(kept), v_mul(a, scale)), bf16);
    }
}

KERNEL void pass_drop(const void *x, void *y, uint8_t *bits, int64_t count, float scale, bool relu,
                      bool bf16)
{
    TYPED(bf16, drop_body(x, y, bits, count, scale, relu, as_bf16));
}

KERNEL_INLINE void drop_back_body(const void *dy, void *dx, const uint8_t *bits, int64_t count,
                                  float scale_, bool add, const bool bf16)
{
    vec scale = v_set(scale_);
    for (int64_t i = 0; i < count; i += VL) {
        vec a = v_keep(v_mask(v_bits_at(bits, i)), v_mul(v_get(dy, i, bf16), scale));
        if (add)
            a = v_add(a, v_get(dx, i, bf16));
        v_put(dx, i, a, bf16);
    }
}

KERNEL void pass_drop_back(const void *dy, void *dx, const uint8_t *bits, int64_t count,
                           float scale, bool add, bool bf16)
{
    TYPED(bf16, drop_back_body(dy, dx, bits, count, scale, add, as_bf16));
}

// ---- optimizers ----
//
// One step of each optimizer (train/net/net.h) over numbers, their gradients and states.

#define OPTIMIZER_GRADIENT(i) v_fma(v_set(weight_decay), v_load(p + (i)), v_load(g + (i)))

KERNEL void pass_rmsprop(const struct pass_rule *r, float weight_decay, float *p, const float *g,
                         float *state0, float *state1, int64_t count)
{
    (void)state1;
    const vec rho = v_set(r->rho), rest = v_set(r->rho_rest), rate = v_set(r->rate);
    const vec epsilon = v_set(r->epsilon);
    for (int64_t i = 0; i < count; i += VL) {
        vec d = OPTIMIZER_GRADIENT(i);
        vec a = v_fma(rho, v_load(state0 + i), v_mul(rest, v_mul(d, d)));
        v_store(state0 + i, a);
        vec step = v_div(v_mul(rate, d), v_add(v_sqrt(a), epsilon));
        v_store(p + i, v_sub(v_load(p + i), step));
    }
}

KERNEL void pass_rmsprop_momentum(const struct pass_rule *r, float weight_decay, float *p,
                                  const float *g, float *state0, float *state1, int64_t count)
{
    const vec rho = v_set(r->rho), rest = v_set(r->rho_rest), rate = v_set(r->rate);
    const vec epsilon = v_set(r->epsilon), momentum = v_set(r->momentum);
    for (int64_t i = 0; i < count; i += VL) {
        vec d = OPTIMIZER_GRADIENT(i);
        vec a = v_fma(rho, v_load(state0 + i), v_mul(rest, v_mul(d, d)));
        v_store(state0 + i, a);
        vec step = v_div(v_mul(rate, d), v_sqrt(v_add(a, epsilon)));
        vec m = v_fma(momentum, v_load(state1 + i), step);
        v_store(state1 + i, m);
        v_store(p + i, v_sub(v_load(p + i), m));
    }
}

KERNEL void pass_adadelta(const struct pass_rule *r, float weight_decay, float *p, const float *g,
                          float *state0, float *state1, int64_t count)
{
    const vec rho = v_set(r->rho), rest = v_set(r->rho_rest), rate = v_set(r->rate);
    const vec epsilon = v_set(r->epsilon);
    for (int64_t i = 0; i < count; i += VL) {
        vec d = OPTIMIZER_GRADIENT(i);
        vec a = v_fma(rho, v_load(state0 + i), v_mul(rest, v_mul(d, d)));
        v_store(state0 + i, a);
        vec before = v_load(state1 + i);
        vec u = v_div(v_mul(d, v_sqrt(v_add(before, epsilon))), v_sqrt(v_add(a, epsilon)));
        v_store(state1 + i, v_fma(rho, before, v_mul(rest, v_mul(u, u))));
        v_store(p + i, v_fnma(rate, u, v_load(p + i)));
    }
}

KERNEL void pass_adam(const struct pass_rule *r, float weight_decay, float *p, const float *g,
                      float *state0, float *state1, int64_t count)
{
    const vec rho = v_set(r->rho), rest = v_set(r->rho_rest), rate = v_set(r->rate);
    const vec beta2 = v_set(r->beta2), beta2_rest = v_set(r->beta2_rest);
    const vec epsilon = v_set(r->epsilon);
    for (int64_t i = 0; i < count; i += VL) {
        vec d = OPTIMIZER_GRADIENT(i);
        vec m = v_fma(rho, v_load(state0 + i), v_mul(rest, d));
        vec v = v_fma(beta2, v_load(state1 + i), v_mul(beta2_rest, v_mul(d, d)));
        v_store(state0 + i, m);
        v_store(state1 + i, v);
        vec step = v_div(v_mul(rate, m), v_add(v_sqrt(v), epsilon));
        v_store(p + i, v_sub(v_load(p + i), step));
    }
}

KERNEL void pass_adamw(const struct pass_rule *r, float weight_decay, float *p, const float *g,
                       float *state0, float *state1, int64_t count)
{
    const vec rho = v_set(r->rho), rest = v_set(r->rho_rest), rate = v_set(r->rate);
    const vec beta2 = v_set(r->beta2), beta2_rest = v_set(r->beta2_rest);
    const vec epsilon = v_set(r->epsilon), correction = v_set(r->correction);
    const vec keep = v_set(1 - r->plain_rate * weight_decay), scale = v_set(r->scale);
    for (int64_t i = 0; i < count; i += VL) {
        vec d = v_mul(scale, v_load(g + i));
        vec m = v_fma(rho, v_load(state0 + i), v_mul(rest, d));
        vec v = v_fma(beta2, v_load(state1 + i), v_mul(beta2_rest, v_mul(d, d)));
        v_store(state0 + i, m);
        v_store(state1 + i, v);
        vec step = v_div(v_mul(rate, m), v_fma(v_sqrt(v), correction, epsilon));
        v_store(p + i, v_sub(v_mul(keep, v_load(p + i)), step));
    }
}

// ---- rows of transformers ----
//
// Passes over rows of a transformer's values: layer norm, GELU, softmax. Rows have any length.

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

// ---- the table ----

#define PASS_TABLE(set)                                                                            \
    {                                                                                              \
        .name = set, .add = pass_add, .relu_back = pass_relu_back, .to_bf16 = pass_to_bf16,        \
        .from_bf16 = pass_from_bf16, .mask_rows = pass_mask_rows, .mask_plane = pass_mask_plane,   \
        .drop = pass_drop, .drop_back = pass_drop_back, .max_pool = pass_max_pool,                 \
        .max_pool_back = pass_max_pool_back, .average_pool = pass_average_pool,                    \
        .average_pool_back = pass_average_pool_back, .plane_sum = pass_plane_sum,                  \
        .plane_fill = pass_plane_fill, .norm_sum = pass_norm_sum,                                  \
        .norm_squares = pass_norm_squares, .norm_apply = pass_norm_apply,                          \
        .norm_back_sums = pass_norm_back_sums, .norm_back = pass_norm_back,                        \
        .rmsprop = pass_rmsprop, .rmsprop_momentum = pass_rmsprop_momentum,                        \
        .adadelta = pass_adadelta, .adam = pass_adam, .adamw = pass_adamw,                         \
        .row_norm = pass_row_norm, .row_norm_back = pass_row_norm_back, .gelu = pass_gelu,         \
        .gelu_back = pass_gelu_back, .row_max = pass_row_max, .row_softmax = pass_row_softmax,     \
        .row_odds = pass_row_odds, .row_odds_back = pass_row_odds_back, .row_dot = pass_row_dot,   \
        .row_add = pass_row_add, .squares = pass_squares,                                          \
    }

#endif
