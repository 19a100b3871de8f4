// SPDX-License-Identifier: Apache-2.0
// Dense layers. An image is read in its own layout, block by block: the columns of the weights are
// in that order (params.h), so nothing is flattened.
#include "engine/cpu/linear.h"

static dnnl_memory_desc_t matrix(int64_t rows, int64_t columns, bool bf16, dnnl_format_tag_t tag)
{
    const int64_t dim[2] = {rows, columns};
    return dnn_tensor(2, dim, bf16, tag);
}

static int make_primitives(struct linear *dense, struct err *err)
{
    const struct value *input = plan_input(&dense->op, 0);
    const struct net_layer *layer = dense->op.layer;
    const int64_t dim[2] = {layer->units, input->columns};
    struct dnn_dense desc = {.src = dense->given,
                             .weights = dnn_tensor(2, dim, input->bf16, dnnl_format_tag_any),
                             .bias = dense->bias,
                             .dst = dense->dst,
                             .relu = layer->relu};
    TRY(dnn_dense_forward(&dense->forward, &desc, err));
    linear_take_forward(dense);
    desc.dst = dense->diff_dst;
    struct dnn_dense weights = desc;
    weights.weights = linear_parameter(dense, dim);
    TRY(dnn_dense_weights(&dense->weights, &weights, &dense->forward, err));
    TRY(linear_take_weights(dense, input->image ? &input->as : NULL, err));
    if (linear_learns_input(dense))
        TRY(dnn_dense_data(&dense->data, &desc, &dense->forward, err));
    return 0;
}

static int make(struct op *op, struct err *err)
{
    struct linear *dense = (struct linear *)op;
    const struct value *input = plan_input(op, 0), *output = plan_output(op);
    int64_t batch = op->plan->batch;
    int units = op->layer->units;
    dense->given = matrix(batch, input->columns, input->bf16, dnnl_ab);
    dense->dst = matrix(batch, units, output->bf16, dnnl_ab);
    dense->diff_dst = matrix(batch, units, output->grad_bf16, dnnl_ab);
    dense->bias = dnn_tensor(1, plan_slot(op, 1)->param.dim, false, dnnl_a);
    TRY(make_primitives(dense, err));
    return linear_finish(dense, err);
}

const struct op_class dense_class = LINEAR_CLASS(make);
