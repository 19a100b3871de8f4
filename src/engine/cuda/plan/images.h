// SPDX-License-Identifier: Apache-2.0
// images: launches for nets whose images stay in bf16 from the input to the global average:
// convolutions followed by batch norm, pools and concatenations, in the precision bf16.
//
// That halves the bytes, and tensor cores need no conversion. A concatenation costs nothing: its
// inputs are written to their place in it, and so are their gradients. On the way back the gradient
// of a convolution's result overwrites the result; other gradients share memory when their
// lifetimes allow it. Weights and optimizer are f32; the optimizer also writes weights as bf16.
#ifndef FARE_ENGINE_CUDA_PLAN_IMAGES_H
#define FARE_ENGINE_CUDA_PLAN_IMAGES_H

#include "engine/cuda/plan/builder.h"

// Whether the net is one of these.
bool images_in_bf16(const struct net_layer *layers, int count, enum engine_precision precision);

// Pitches and memory of the images.
void images_memory(struct builder *b);

// A layer's launches; false if the layer has nothing to do with images.
bool images_forward(struct builder *b, int layer);
bool images_back(struct builder *b, int layer, bool trains);

#endif
