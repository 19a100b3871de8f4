// SPDX-License-Identifier: Apache-2.0
// products: matrix products of dense layers, convolutions and an LSTM's inputs: one forward, one
// back to the input, one for the weights' gradient (gemm.cu).
//
// Convolutions are implicit: kernels walk through the windows, nothing is laid out before. The tile
// sizes depend on how many blocks there are for the GPU's processors.
#ifndef FARE_ENGINE_CUDA_PLAN_PRODUCTS_H
#define FARE_ENGINE_CUDA_PLAN_PRODUCTS_H

#include "engine/cuda/plan/builder.h"

struct gpu_linear {          // a layer's product: where its operands lie
    int layer, units, pitch; // pitch: of the output
    device_ptr y, dy;
    const struct gpu_block *block;
};

struct gpu_linear gpu_linear_of(const struct gpu_plan *plan, int layer);

// `drop`: the dropout layer behind it, or -1.
void gpu_linear_forward(struct builder *b, const struct gpu_linear *l, bool relu, int drop);
// The gradient of a layer's input from that of its output.
void gpu_linear_back(struct builder *b, const struct gpu_linear *l);
void gpu_linear_weights(struct builder *b, const struct gpu_linear *l);

// Products for weights share a launch with others of their group: those in one part, whose tiles
// are small because their epilogue does the optimizer's work; plain ones in parts; convolutions.
enum weights_group { WEIGHTS_WHOLE, WEIGHTS_IN_PARTS, WEIGHTS_OF_WINDOWS };

void gpu_weights_add(struct builder *b, struct cuda_gemm *g);
void gpu_weights_flush(struct builder *b, enum weights_group group);
void gpu_weights_flush_all(struct builder *b);

// The number of parts of a weights' gradient (split-K), the same for all stages. `second`: an
// LSTM's weights for the state.
int gpu_weights_parts(const struct gpu_plan *plan, int layer, bool second);

// One product by itself, for its rate: y = a × b^T, all of them size × size.
void gpu_product(const struct gpu_device *device, device_ptr a, device_ptr b, device_ptr y,
                 int size, struct launch *out);

// The optimizer takes a gradient in one part from the product's epilogue; it is never stored,
// unless it is summed over ranks.
static inline bool gpu_is_fused(const struct gpu_block *block)
{
    return block->parts == 1 && block->product && block->sum_at < 0;
}

#endif
