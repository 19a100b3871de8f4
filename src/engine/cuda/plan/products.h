// SPDX-License-Identifier: Apache-2.0
// products: what dense layers, convolutions and an LSTM's inputs have in common, a product of
// matrices forward, one back to the input, one for the weights' gradient (gemm.cu).
//
// A convolution's windows are walked through on the way; nothing is laid out before. Which form of
// a block of threads is launched depends on how many of them there will be for the GPU's
// processors.
#ifndef FARE_ENGINE_CUDA_PLAN_PRODUCTS_H
#define FARE_ENGINE_CUDA_PLAN_PRODUCTS_H

#include "engine/cuda/plan/builder.h"

struct linear {              // a layer's product: where its parts lie
    int layer, units, pitch; // pitch: of the output
    device_ptr y, dy;
    const struct block *block;
};

struct linear gpu_linear_of(const struct gpu_plan *plan, int layer);

// `drop`: the dropout layer behind it, or -1.
void gpu_linear_forward(struct builder *b, const struct linear *l, bool relu, int drop);
// The gradient of a layer's input from that of its output.
void gpu_linear_back(struct builder *b, const struct linear *l);
void gpu_linear_weights(struct builder *b, const struct linear *l);

// Products for weights wait for a common launch with others of their group: those in one part,
// whose tiles are small because the optimizer's work is in them; plain ones in parts; convolutions.
enum weights_group { WEIGHTS_WHOLE, WEIGHTS_IN_PARTS, WEIGHTS_OF_WINDOWS };

void gpu_weights_add(struct builder *b, struct cuda_gemm *g);
void gpu_weights_flush(struct builder *b, enum weights_group group);

// Into how many parts the weights' gradient is cut: the same for all phases. `second`: an LSTM's
// weights of the state.
int gpu_weights_parts(const struct gpu_plan *plan, int layer, bool second);

// A gradient that a product makes in one part need not be stored: the optimizer takes it there.
static inline bool gpu_is_fused(const struct block *block)
{
    return block->parts == 1 && block->product;
}

#endif
