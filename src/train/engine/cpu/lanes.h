// SPDX-License-Identifier: Apache-2.0
// lanes: operations for the passes (passes.h) beyond vec.h: bfloat16, masks, random words.
//
// Like vec.h it is compiled once for each instruction set. A mask is a vector of integers, all
// ones where it holds; as bits, lane 0 is the lowest.
#ifndef FARE_TRAIN_ENGINE_CPU_LANES_H
#define FARE_TRAIN_ENGINE_CPU_LANES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "train/engine/cpu/vec.h"

// Calls a body with `as_bf16` as a constant in each branch, so that the loops inside know it.
#define TYPED(bf16, call)                                                                          \
    do {                                                                                           \
        if (bf16) {                                                                                \
            const bool as_bf16 = true;                                                             \
            call;                                                                                  \
        } else {                                                                                   \
            const bool as_bf16 = false;                                                            \
            call;                                                                                  \
        }                                                                                          \
    } while (0)

typedef int32_t lanes __attribute__((vector_size(VEC_BITS / 8)));
typedef uint32_t ulanes __attribute__((vector_size(VEC_BITS / 8)));
typedef uint16_t half_lanes __attribute__((vector_size(VEC_BITS / 16)));
typedef uint8_t byte_lanes __attribute__((vector_size(VEC_BITS / 32)));

// bfloat16 is the upper half of a float; numbers are rounded to the nearest, ties to even. NaN
// stays NaN.
KERNEL_INLINE vec v_from_bf16(const uint16_t *p)
{
    half_lanes half;
    memcpy(&half, p, sizeof half);
    return (vec)(__builtin_convertvector(half, ulanes) << 16);
}

KERNEL_INLINE void v_to_bf16(uint16_t *p, vec a)
{
    ulanes bits = (ulanes)a;
    ulanes rounded = bits + 0x7fff + ((bits >> 16) & 1);
    ulanes nan = (ulanes)(a != a);
    half_lanes half =
        __builtin_convertvector(((rounded & ~nan) | ((bits | 0x400000) & nan)) >> 16, half_lanes);
    memcpy(p, &half, sizeof half);
}

// Number i of an array of either type.
KERNEL_INLINE vec v_get(const void *p, int64_t i, const bool bf16)
{
    return bf16 ? v_from_bf16((const uint16_t *)p + i) : v_load((const float *)p + i);
}

KERNEL_INLINE void v_put(void *p, int64_t i, vec a, const bool bf16)
{
    if (bf16)
        v_to_bf16((uint16_t *)p + i, a);
    else
        v_store((float *)p + i, a);
}

#define v_keep(mask, a)      ((vec)((lanes)(a) & (mask))) // else 0
#define v_pick(mask, a, b)   ((vec)(((lanes)(a) & (mask)) | ((lanes)(b) & ~(mask))))
#define v_pick_i(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))
#define v_above(a, b)        ((lanes)((a) > (b)))

#if VEC_BITS == 512
#define v_bits(mask)     ((uint32_t)_mm512_cmpneq_epi32_mask((__m512i)(mask), _mm512_setzero_si512()))
#define v_at_least(a, b) ((uint32_t)_mm512_cmpge_epu32_mask((__m512i)(a), (__m512i)(b)))
#define v_mul_even(a, b) ((ulanes)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#define v_mask(bits)     ((lanes)_mm512_maskz_set1_epi32((__mmask16)(bits), -1))
#elif VEC_BITS == 256
#define v_bits(mask)     ((uint32_t)_mm256_movemask_ps((__m256)(mask)))
#define v_mul_even(a, b) ((ulanes)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#else
#define v_bits(mask)     ((uint32_t)_mm_movemask_ps((__m128)(mask)))
#define v_mul_even(a, b) ((ulanes)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#endif
#if VEC_BITS != 512
#define v_at_least(a, b) v_bits((lanes)((a) >= (b)))
KERNEL_INLINE lanes v_mask(uint32_t bits)
{
    lanes each = {0};
    for (int i = 0; i < VL; i++)
        each[i] = 1 << i;
    return (((lanes){0} + (int32_t)bits) & each) != 0;
}
#endif

// VL bits of a bit array, from bit `at`, a multiple of VL.
KERNEL_INLINE uint32_t v_bits_at(const uint8_t *bits, int64_t at)
{
#if VEC_BITS == 512
    uint16_t two;
    memcpy(&two, bits + at / 8, sizeof two);
    return two;
#elif VEC_BITS == 256
    return bits[at / 8];
#else
    return bits[at / 8] >> at % 8 & 15;
#endif
}

KERNEL_INLINE void v_set_bits(uint8_t *bits, int64_t at, uint32_t value)
{
#if VEC_BITS == 512
    uint16_t two = (uint16_t)value;
    memcpy(bits + at / 8, &two, sizeof two);
#elif VEC_BITS == 256
    bits[at / 8] = (uint8_t)value;
#else
    int shift = (int)(at % 8);
    bits[at / 8] = (uint8_t)((bits[at / 8] & ~(15 << shift)) | value << shift);
#endif
}

// Philox4x32-10 (base/rng.h), a block in each lane.
struct philox {
    ulanes word[4];
};

typedef uint64_t wide_lanes __attribute__((vector_size(VEC_BITS / 8)));

// Both halves of a × m in every lane, from the 64-bit products of the even and the odd lanes.
#define PHILOX_MUL(a, m, low, high)                                                                \
    do {                                                                                           \
        wide_lanes even_ = (wide_lanes)v_mul_even(a, m);                                           \
        wide_lanes odd_ = (wide_lanes)v_mul_even((wide_lanes)(a) >> 32, m);                        \
        high = (ulanes)((even_ >> 32) | (odd_ & ~low_half));                                       \
        low = (ulanes)((even_ & low_half) | (odd_ << 32));                                         \
    } while (0)

KERNEL_INLINE void v_philox(ulanes counter, const uint32_t stream[2], const uint32_t key[2],
                            struct philox *out)
{
    const ulanes zero = {0};
    const wide_lanes low_half = (wide_lanes){0} + 0xffffffffu;
    const ulanes m0 = zero + 0xD2511F53u, m1 = zero + 0xCD9E8D57u;
    ulanes c0 = counter, c1 = zero, c2 = zero + stream[0], c3 = zero + stream[1];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        ulanes low0, high0, low1, high1;
        PHILOX_MUL(c0, m0, low0, high0);
        PHILOX_MUL(c2, m1, low1, high1);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
    }
    out->word[0] = c0;
    out->word[1] = c1;
    out->word[2] = c2;
    out->word[3] = c3;
}

#endif
