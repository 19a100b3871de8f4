// SPDX-License-Identifier: Apache-2.0
// Dense layers. An image is read in its own layout, block by block: the columns of the weights are
// in that order (params.h), so nothing is flattened.
#include "engine/cpu/linear.h"
#include "engine/cpu/owned.h"

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
    int rc = dnn_dense_forward(&dense->forward, &desc, err);
    if (rc != 0)
        return rc;
    linear_take_forward(dense);
    desc.dst = dense->diff_dst;
    struct dnn_dense weights = desc;
    weights.weights = linear_parameter(dense, dim);
    rc = dnn_dense_weights(&dense->weights, &weights, &dense->forward, err);
    if (rc == 0)
        rc = linear_take_weights(dense, input->image ? &input->as : NULL, err);
    if (rc == 0 && linear_learns_input(dense))
        rc = dnn_dense_data(&dense->data, &desc, &dense->forward, err);
    return rc;
}

int dense_new(struct plan *plan, int number, struct op **op, struct err *err)
{
    if (owned_suits(plan, number))
        return owned_new(plan, number, op, err);
    struct linear *dense = op_allocate(sizeof *dense, &linear_class, plan, number, err);
    *op = dense ? &dense->op : NULL;
    if (!dense)
        return ERR_MEMORY;
    const struct value *input = plan_input(&dense->op, 0), *output = plan_output(&dense->op);
    int units = dense->op.layer->units;
    dense->given = matrix(plan->batch, input->columns, input->bf16, dnnl_ab);
    dense->dst = matrix(plan->batch, units, output->bf16, dnnl_ab);
    dense->diff_dst = matrix(plan->batch, units, output->grad_bf16, dnnl_ab);
    dense->bias = dnn_tensor(1, plan_slot(&dense->op, 1)->param.dim, false, dnnl_a);
    int rc = make_primitives(dense, err);
    return rc == 0 ? linear_finish(dense, err) : rc;
}
