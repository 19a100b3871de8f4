// SPDX-License-Identifier: Apache-2.0
// image_conv: launches for the convolutions of images in bf16 (images.h), as products of matrices
// in tiles. Hopper has kernels of its own (hopper_images.cu); a convolution whose channels would
// leave them half empty takes the others (image_conv.cu).
#ifndef FARE_ENGINE_CUDA_PLAN_IMAGE_CONV_H
#define FARE_ENGINE_CUDA_PLAN_IMAGE_CONV_H

#include "engine/cuda/plan/builder.h"

static inline int pad8(int n)
{
    return (n + 7) / 8 * 8;
}

// Each adds one launch; who it waits for is up to the caller.
void image_conv_forward(struct builder *b, int layer);
void image_conv_back(struct builder *b, int layer);
void image_conv_weights(struct builder *b, int layer);

// Rows of a tile of the forward product: each tile has sums of its columns.
int image_conv_rows(const struct gpu_plan *plan, int layer);
// Of a weights' gradient.
int image_conv_parts(const struct gpu_plan *plan, int layer);

// For checks: the same convolution for older GPUs; false if the launch is none of Hopper's.
bool image_conv_portable(const struct launch *from, struct launch *out);

#endif
