// SPDX-License-Identifier: Apache-2.0
// text_product: products of matrices of bf16, by the kernels for the GPU at hand.
#ifndef FARE_ENGINE_CUDA_PLAN_TEXT_PRODUCT_H
#define FARE_ENGINE_CUDA_PLAN_TEXT_PRODUCT_H

#include "engine/cuda/plan/builder.h"

#define PRODUCT_SHARED (3 * 32768) // bytes of shared memory that the kernels need at least

struct matrix { // of bf16, rows together
    device_ptr at;
    int64_t rows;
    int columns;
};

// Which operand lies transposed (kernels.h), and what is done with the sums.
enum product_form { PRODUCT_NN, PRODUCT_NN_GELU, PRODUCT_NT, PRODUCT_NT_GELU, PRODUCT_TN };

// Whether the kernels for Hopper are used.
bool product_on_hopper(const struct gpu_device *device);

// A tensor map for boxes of `rows` × 64 of a matrix, on the GPU.
void *product_map(struct builder *b, struct matrix x, int rows);

// In how many parts of k a TN product (m × n) is best made.
int product_parts(const struct gpu_device *device, int64_t m, int64_t n, int64_t k);

// Adds the launch; the caller sets y, ldy, kind and what that needs. `parts` of 0 is 1.
void product_add(struct builder *b, enum product_form form, struct matrix x, struct matrix y,
                 struct cuda_product *g);

#endif
