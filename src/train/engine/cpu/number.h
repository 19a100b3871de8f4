// SPDX-License-Identifier: Apache-2.0
// number: single numbers of a tensor that is float or bfloat16 (the upper half of a float, rounded
// to the nearest, ties to even). For the few places where speed does not matter.
#ifndef FARE_TRAIN_ENGINE_CPU_NUMBER_H
#define FARE_TRAIN_ENGINE_CPU_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline size_t number_bytes(bool bf16)
{
    return bf16 ? sizeof(uint16_t) : sizeof(float);
}

static inline void *number_at(void *base, int64_t at, bool bf16)
{
    return (char *)base + at * (int64_t)number_bytes(bf16);
}

static inline float number_get(const void *base, int64_t at, bool bf16)
{
    if (!bf16)
        return ((const float *)base)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)base)[at] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void number_put(void *base, int64_t at, float value, bool bf16)
{
    uint32_t bits;
    if (!bf16) {
        ((float *)base)[at] = value;
        return;
    }
    memcpy(&bits, &value, sizeof bits);
    bits = value == value ? bits + 0x7fff + (bits >> 16 & 1) : bits | 0x400000;
    ((uint16_t *)base)[at] = (uint16_t)(bits >> 16);
}

#endif
