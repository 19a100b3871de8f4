// SPDX-License-Identifier: Apache-2.0
// Passes over numbers one by one: sums, relu, types, dropout.
#ifndef FARE_ENGINE_CPU_PASS_ELEMENT_H
#define FARE_ENGINE_CPU_PASS_ELEMENT_H

#include <assert.h>

#include "engine/cpu/lanes.h"
#include "engine/cpu/passes.h"

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

#endif
