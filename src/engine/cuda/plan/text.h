// SPDX-License-Identifier: Apache-2.0
// text: launches for transformers: nets that end in a head tied to their embedding, in bf16.
//
// Values are bf16, a row per token. Weights, gradients of weights and the optimizer are f32; the
// optimizer also writes the weights as bf16. GELU is part of the product before it, and a sum of
// the residual path part of the layer norm after it. Logits exist for some rows at a time: their
// loss, their gradient and both products that read it follow each other.
//
// A batch may be too large for memory: then the step goes through it in parts (micro-batches),
// whose gradients are summed.
//
// On compute capability 9.0 products and attention are kernels with that chip's own instructions
// (hopper.cu), which read through tensor maps; elsewhere those of text.cu.
#ifndef FARE_ENGINE_CUDA_PLAN_TEXT_H
#define FARE_ENGINE_CUDA_PLAN_TEXT_H

#include "engine/cuda/plan/builder.h"

// Whether the net is a transformer.
bool text_net(const struct net_layer *layers, int count);

// What a transformer needs that this engine has; ERR_USAGE names the layer and what is not.
int text_check(const struct net_layer *layers, int count, const struct gpu_device *device,
               struct err *err) MUST_USE;

// Rows of the table of tokens, with padding that products like.
int64_t text_table_rows(int vocabulary);

// Memory of all values, gradients and weights' gradients; chooses the micro-batch.
void text_memory(struct builder *b);

// Lists: forward (training: with the loss and, but for the last part's, the way back), the last
// part's way back.
void text_forward(struct builder *b, bool labelled);
void text_back(struct builder *b);

#endif
