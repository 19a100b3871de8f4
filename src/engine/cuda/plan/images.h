// SPDX-License-Identifier: Apache-2.0
// images: nets whose images are kept as bf16, from the input to the global average: convolutions
// that batch norm follows, pools and concatenations, in the precision bf16.
//
// Half the bytes, and whole products on the tensor cores without a conversion. A concatenation is
// no work: what it joins is written to its place in the whole, and finds its gradient there. On the
// way back the gradient of a convolution's result takes the result's place, and others share memory
// that nobody needs any more. Weights and their steps are f32;
// the optimizer leaves a rounded copy of them for the products.
#ifndef FARE_ENGINE_CUDA_PLAN_IMAGES_H
#define FARE_ENGINE_CUDA_PLAN_IMAGES_H

#include "engine/cuda/plan/builder.h"

static inline int pad8(int n)
{
    return (n + 7) / 8 * 8;
}

// Whether this net is such a one.
bool images_in_bf16(const struct net_layer *layers, int count, enum engine_precision precision);

// Pitches and memory of the images; their gradients' parts.
void images_memory(struct builder *b);
int images_weight_parts(const struct gpu_plan *plan, int layer);

// A layer's launches; false where it is not about images.
bool images_forward(struct builder *b, int layer);
bool images_back(struct builder *b, int layer, bool trains);

#endif
