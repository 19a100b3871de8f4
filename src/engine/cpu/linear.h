// SPDX-License-Identifier: Apache-2.0
// linear: the common part of convolutions and dense layers: three oneDNN primitives over a source,
// weights and a bias, with relu.
//
// Each primitive chooses its layout. The parameter has that of its gradient, so that the optimizer
// needs no copy; primitives that need another layout, or bfloat16, get a copy when they run.
#ifndef FARE_ENGINE_CPU_LINEAR_H
#define FARE_ENGINE_CPU_LINEAR_H

#include "engine/cpu/dnnl.h"
#include "engine/cpu/plan.h"

struct linear_copy {              // a tensor in the layout that a primitive wants
    struct dnn_primitive reorder; // none if it is in that layout already
    dnnl_memory_desc_t md;
    int buffer; // -1: none
    void *data;
};

struct linear {
    struct op op;
    struct dnn_primitive forward, weights, data; // data: none if the input learns nothing
    dnnl_memory_desc_t given;                    // the source, as the input has it
    dnnl_memory_desc_t bias;                     // ndims 0: none
    dnnl_memory_desc_t dst, diff_dst;
    struct linear_copy source, forward_weights, data_weights;
    struct linear_copy output;                          // the gradient, for `weights`
    int forward_scratch, weights_scratch, data_scratch; // buffers, -1: none
    int sum_buffer; // the gradient before it is added to others'; -1: none
};

// The class of either, which differ in make().
int linear_bind(struct op *op, struct err *err) MUST_USE;
int linear_forward(struct op *op, const struct pass *pass, struct err *err) MUST_USE;
int linear_backward(struct op *op, const struct pass *pass, struct err *err) MUST_USE;
void linear_release(struct op *op);
#define LINEAR_CLASS(how)                                                                          \
    {                                                                                              \
        .size = sizeof(struct linear), .make = (how), .bind = linear_bind,                         \
        .forward = linear_forward, .backward = linear_backward, .release = linear_release          \
    }

static inline bool linear_learns_input(const struct linear *linear)
{
    return linear->op.plan->layers[linear->op.layer->inputs[0]].learns;
}

// After `forward`, `given`, `bias` and the dsts are set: the layouts that `forward` chose.
void linear_take_forward(struct linear *linear);

// After `weights`: its layout becomes the parameter's, unless an earlier plan has chosen one.
// `columns`: see params_choose().
int linear_take_weights(struct linear *linear, const struct image *columns,
                        struct err *err) MUST_USE;

// Description of the parameter for `weights`: any layout, or the one that is chosen already.
dnnl_memory_desc_t linear_parameter(const struct linear *linear, const int64_t *dim);

// After all primitives: copies, memory, spans.
int linear_finish(struct linear *linear, struct err *err) MUST_USE;

#endif
