// SPDX-License-Identifier: Apache-2.0
// How instructions get at their rows: ROW() is operand k, EACH() does something for every lane.
#ifndef FARE_TESTS_ENGINE_PTX_ROWS_H
#define FARE_TESTS_ENGINE_PTX_ROWS_H

#include "train/engine/ptx/inside.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;

#define ROW(type, k) ((type *)(void *)(warp->regs + in->o[k]))
#define EACH(statement)                                                                            \
    if (lanes == ALL) {                                                                            \
        _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++)                                       \
        {                                                                                          \
            statement;                                                                             \
        }                                                                                          \
    } else {                                                                                       \
        for (int i = 0; i < LANES; i++)                                                            \
            if (lanes >> i & 1) {                                                                  \
                statement;                                                                         \
            }                                                                                      \
    }

#endif
