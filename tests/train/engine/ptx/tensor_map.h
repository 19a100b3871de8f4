// SPDX-License-Identifier: Apache-2.0
// tensor_map: what the stand-in for the driver writes into a tensor map, and bulk copies read.
#ifndef FARE_TESTS_ENGINE_PTX_TENSOR_MAP_H
#define FARE_TESTS_ENGINE_PTX_TENSOR_MAP_H

#include <stdint.h>

enum { TENSOR_MAP = 0x7e4d0a91, TENSOR_RANK = 5 };

struct tensor_map { // 128 bytes
    uint32_t magic;
    uint8_t rank, bytes, swizzle; // bytes of an element; of 32, 64 or 128 bytes: 1, 2, 3
    uint8_t is_im2col;
    uint64_t unused; // where programs may clear a bit that drivers set by mistake
    uint64_t base;
    uint32_t size[TENSOR_RANK];      // the first is contiguous
    uint16_t box[TENSOR_RANK];       // im2col: channels, pixels
    uint8_t each[TENSOR_RANK];       // steps between elements
    int8_t lower[2], upper[2];       // im2col: corners of where a window begins
    uint64_t pitch[TENSOR_RANK - 1]; // bytes
};
_Static_assert(sizeof(struct tensor_map) <= 128, "a tensor map has 128 bytes");

#endif
