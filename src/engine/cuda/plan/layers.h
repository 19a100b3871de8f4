// SPDX-License-Identifier: Apache-2.0
// layers: launches of pools, dropout, relu, concatenation, average and batch norm in f32. `back`:
// the gradient of the input, if a layer before needs one.
#ifndef FARE_ENGINE_CUDA_PLAN_LAYERS_H
#define FARE_ENGINE_CUDA_PLAN_LAYERS_H

#include "engine/cuda/plan/builder.h"

void gpu_pool_forward(struct builder *b, int layer);
void gpu_pool_back(struct builder *b, int layer);
void gpu_drop(struct builder *b, int layer, bool back);
void gpu_relu_back(struct builder *b, int layer);
void gpu_concat(struct builder *b, int layer, bool back);
void gpu_mean(struct builder *b, int layer, bool back);
void gpu_norm(struct builder *b, int layer, bool back);

#endif
