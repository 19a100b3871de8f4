// SPDX-License-Identifier: Apache-2.0
// Convolutions and dense layers: three oneDNN primitives over a source, weights and a bias, with
// relu. Each primitive chooses its layout. The parameter has that of its gradient, so that the
// optimizer needs no copy; primitives that need another layout, or bfloat16, get a copy when they
// run.
#include "train/engine/cpu/dnnl.h"
#include "train/engine/cpu/number.h"
#include "train/engine/cpu/plan.h"

struct linear_copy {              // a tensor in the layout that a primitive wants
    struct dnn_primitive reorder; // none if it is in that layout already
    dnnl_memory_desc_t md;
    bool copied; // into `data`; else that is the tensor
    void *data;
};

struct linear {
    struct op op;
    struct dnn_primitive forward, weights, data; // data: none if the input learns nothing
    dnnl_memory_desc_t given;                    // the source, as the input has it
    dnnl_memory_desc_t bias;                     // ndims 0: none
    dnnl_memory_desc_t dst, diff_dst;
    struct linear_copy source, forward_weights, data_weights;
    struct linear_copy output; // the gradient, for `weights`
    void *forward_scratch, *weights_scratch, *data_scratch;
    void *sum; // the gradient before it is added to others'; or null
};

// ---- planning ----

static bool linear_learns_input(const struct linear *linear)
{
    return linear->op.plan->layers[linear->op.layer->inputs[0]].learns;
}

// After `forward`, `given`, `bias` and the dsts are set: the layouts that `forward` chose.
static void linear_take_forward(struct linear *linear)
{
    linear->source.md = dnn_chosen(&linear->forward, dnnl_query_src_md);
    linear->forward_weights.md = dnn_chosen(&linear->forward, dnnl_query_weights_md);
}

// Description of the parameter for `weights`: any layout, or the one that is chosen already.
static dnnl_memory_desc_t linear_parameter(const struct linear *linear, const int64_t *dim)
{
    const struct slot *slot = plan_slot(&linear->op, 0);
    return slot->chosen ? slot->md : dnn_tensor(slot->param.rank, dim, false, dnnl_format_tag_any);
}

// After `weights`: its layout becomes the parameter's, unless an earlier plan has chosen one.
// `columns`: see params_choose().
static int linear_take_weights(struct linear *linear, const struct image_layout *columns,
                               struct err *err)
{
    if (plan_slot(&linear->op, 0)->chosen)
        return 0;
    dnnl_memory_desc_t md = dnn_chosen(&linear->weights, dnnl_query_diff_weights_md);
    return params_choose(linear->op.plan->params, linear->op.layer->first_param, &md, columns, err);
}

static int make_copy(struct linear *linear, struct linear_copy *copy,
                     const dnnl_memory_desc_t *have, enum plan_when from, enum plan_when to,
                     struct err *err)
{
    if (dnn_same(have, &copy->md))
        return 0;
    copy->copied = true;
    TRY(dnn_reorder(&copy->reorder, have, &copy->md, err));
    return plan_buffer(&linear->op, dnn_bytes(&copy->md), from, to, &copy->data, err);
}

static int make_copies(struct linear *linear, struct err *err)
{
    const dnnl_memory_desc_t *parameter = &plan_slot(&linear->op, 0)->md;
    linear->output.md = dnn_chosen(&linear->weights, dnnl_query_diff_dst_md);
    TRY(make_copy(linear, &linear->output, &linear->diff_dst, PLAN_BACKWARD, PLAN_BACKWARD, err));
    TRY(make_copy(linear, &linear->source, &linear->given, PLAN_FORWARD, PLAN_BACKWARD, err));
    TRY(make_copy(linear, &linear->forward_weights, parameter, PLAN_FORWARD, PLAN_FORWARD, err));
    if (linear->data.desc) {
        linear->data_weights.md = dnn_chosen(&linear->data, dnnl_query_weights_md);
        TRY(make_copy(linear, &linear->data_weights, parameter, PLAN_BACKWARD, PLAN_BACKWARD, err));
    }
    return 0;
}

static int make_scratch(struct linear *linear, const struct dnn_primitive *p, enum plan_when when,
                        void **scratch, struct err *err)
{
    size_t bytes = dnn_scratch_bytes(p);
    return bytes ? plan_buffer(&linear->op, bytes, when, when, scratch, err) : 0;
}

static int make_sum(struct linear *linear, struct err *err)
{
    const struct value *input = plan_input(&linear->op, 0);
    if (!linear->data.desc || !plan_adds(&linear->op, 0))
        return 0;
    size_t bytes = (size_t)plan_numbers(linear->op.plan, input) * number_bytes(input->grad_bf16);
    return plan_buffer(&linear->op, bytes, PLAN_BACKWARD, PLAN_BACKWARD, &linear->sum, err);
}

// After all primitives: copies, memory, spans.
static int linear_finish(struct linear *linear, struct err *err)
{
    struct plan *plan = linear->op.plan;
    int number = linear->op.number;
    TRY(make_copies(linear, err));
    TRY(make_scratch(linear, &linear->forward, PLAN_FORWARD, &linear->forward_scratch, err));
    TRY(make_scratch(linear, &linear->weights, PLAN_BACKWARD, &linear->weights_scratch, err));
    TRY(make_scratch(linear, &linear->data, PLAN_BACKWARD, &linear->data_scratch, err));
    TRY(make_sum(linear, err));
    if (!linear->source.copied)
        plan_needs_out(plan, linear->op.layer->inputs[0], number, PLAN_BACKWARD);
    if (linear->op.layer->relu && !plan_output(&linear->op)->relu_later)
        plan_needs_out(plan, number, number, PLAN_BACKWARD);
    return 0;
}

// ---- binding ----

static int bind_copy(struct linear_copy *copy, const dnnl_memory_desc_t *have, void *from,
                     struct err *err)
{
    if (!copy->copied) {
        copy->data = from;
        return 0;
    }
    TRY(dnn_compile(&copy->reorder, err));
    TRY(dnn_bind(&copy->reorder, DNNL_ARG_FROM, have, from, err));
    return dnn_bind(&copy->reorder, DNNL_ARG_TO, &copy->md, copy->data, err);
}

static int bind_forward(struct linear *linear, struct err *err)
{
    struct dnn_primitive *p = &linear->forward;
    struct op *op = &linear->op;
    TRY(dnn_compile(p, err));
    TRY(dnn_bind(p, DNNL_ARG_SRC, &linear->source.md, linear->source.data, err));
    TRY(dnn_bind(p, DNNL_ARG_WEIGHTS, &linear->forward_weights.md, linear->forward_weights.data,
                 err));
    if (linear->bias.ndims)
        TRY(dnn_bind(p, DNNL_ARG_BIAS, &linear->bias, plan_slot(op, 1)->value, err));
    TRY(dnn_bind(p, DNNL_ARG_DST, &linear->dst, plan_output(op)->out, err));
    return dnn_bind_scratch(p, linear->forward_scratch, err);
}

static int bind_weights(struct linear *linear, struct err *err)
{
    struct dnn_primitive *p = &linear->weights;
    struct op *op = &linear->op;
    const struct slot *slot = plan_slot(op, 0);
    TRY(bind_copy(&linear->output, &linear->diff_dst, plan_output(op)->grad, err));
    TRY(dnn_compile(p, err));
    TRY(dnn_bind(p, DNNL_ARG_SRC, &linear->source.md, linear->source.data, err));
    TRY(dnn_bind(p, DNNL_ARG_DIFF_DST, &linear->output.md, linear->output.data, err));
    TRY(dnn_bind(p, DNNL_ARG_DIFF_WEIGHTS, &slot->md, slot->grad, err));
    if (linear->bias.ndims)
        TRY(dnn_bind(p, DNNL_ARG_DIFF_BIAS, &linear->bias, plan_slot(op, 1)->grad, err));
    return dnn_bind_scratch(p, linear->weights_scratch, err);
}

static int bind_data(struct linear *linear, struct err *err)
{
    struct dnn_primitive *p = &linear->data;
    struct op *op = &linear->op;
    const struct slot *slot = plan_slot(op, 0);
    void *to = linear->sum ? linear->sum : plan_input(op, 0)->grad;
    dnnl_memory_desc_t diff_src = dnn_chosen(p, dnnl_query_diff_src_md);
    TRY(bind_copy(&linear->data_weights, &slot->md, slot->value, err));
    TRY(dnn_compile(p, err));
    TRY(dnn_bind(p, DNNL_ARG_DIFF_DST, &linear->diff_dst, plan_output(op)->grad, err));
    TRY(dnn_bind(p, DNNL_ARG_WEIGHTS, &linear->data_weights.md, linear->data_weights.data, err));
    TRY(dnn_bind(p, DNNL_ARG_DIFF_SRC, &diff_src, to, err));
    return dnn_bind_scratch(p, linear->data_scratch, err);
}

static int linear_bind(struct op *op, struct err *err)
{
    struct linear *linear = (struct linear *)op;
    const struct slot *slot = plan_slot(op, 0);
    TRY(bind_copy(&linear->source, &linear->given, plan_input(op, 0)->out, err));
    TRY(bind_copy(&linear->forward_weights, &slot->md, slot->value, err));
    TRY(bind_forward(linear, err));
    TRY(bind_weights(linear, err));
    if (linear->data.desc)
        TRY(bind_data(linear, err));
    return 0;
}

// ---- running ----

// An image that is the caller's has moved since the last batch.
static int find_source(struct linear *linear, struct dnn_primitive *reader, struct err *err)
{
    const struct value *input = plan_input(&linear->op, 0);
    if (!input->given)
        return 0;
    if (linear->source.copied)
        return dnn_rebind(&linear->source.reorder, DNNL_ARG_FROM, input->out, err);
    return dnn_rebind(reader, DNNL_ARG_SRC, input->out, err);
}

static int run_copy(struct linear_copy *copy, struct err *err)
{
    return copy->copied ? dnn_run(&copy->reorder, err) : 0;
}

static int linear_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)pass;
    struct linear *linear = (struct linear *)op;
    TRY(find_source(linear, &linear->forward, err));
    TRY(run_copy(&linear->source, err));
    TRY(run_copy(&linear->forward_weights, err));
    return dnn_run(&linear->forward, err);
}

static int linear_backward(struct op *op, const struct pass *pass, struct err *err)
{
    struct linear *linear = (struct linear *)op;
    const struct value *output = plan_output(op), *input = plan_input(op, 0);
    if (op->layer->relu && !output->relu_later)
        plan_relu_back(op->plan, output);
    if (pass->trains[op->number]) {
        if (!linear->source.copied)
            TRY(find_source(linear, &linear->weights, err));
        TRY(run_copy(&linear->output, err));
        TRY(dnn_run(&linear->weights, err));
    }
    if (!plan_wants_input(op, pass, 0))
        return 0;
    TRY(run_copy(&linear->data_weights, err));
    TRY(dnn_run(&linear->data, err));
    if (linear->sum)
        plan_add(op->plan, input->grad, linear->sum, plan_numbers(op->plan, input),
                 input->grad_bf16);
    return 0;
}

static void linear_release(struct op *op)
{
    struct linear *linear = (struct linear *)op;
    dnn_release(&linear->forward);
    dnn_release(&linear->weights);
    dnn_release(&linear->data);
    dnn_release(&linear->source.reorder);
    dnn_release(&linear->forward_weights.reorder);
    dnn_release(&linear->data_weights.reorder);
    dnn_release(&linear->output.reorder);
}

// ---- dense layers ----
//
// An image is read in its own layout, block by block: the columns of the weights are
// in that order (params.h), so nothing is flattened.

static dnnl_memory_desc_t dense_matrix(int64_t rows, int64_t columns, bool bf16,
                                       dnnl_format_tag_t tag)
{
    const int64_t dim[2] = {rows, columns};
    return dnn_tensor(2, dim, bf16, tag);
}

static int dense_primitives(struct linear *dense, struct err *err)
{
    const struct value *input = plan_input(&dense->op, 0);
    const struct net_layer *layer = dense->op.layer;
    const int64_t dim[2] = {layer->units, input->columns};
    struct dnn_dense desc = {.src = dense->given,
                             .weights = dnn_tensor(2, dim, input->bf16, dnnl_format_tag_any),
                             .bias = dense->bias,
                             .dst = dense->dst,
                             .relu = layer->relu};
    TRY(dnn_dense(&dense->forward, DNN_FORWARD, &desc, NULL, err));
    linear_take_forward(dense);
    desc.dst = dense->diff_dst;
    struct dnn_dense weights = desc;
    weights.weights = linear_parameter(dense, dim);
    TRY(dnn_dense(&dense->weights, DNN_WEIGHTS, &weights, &dense->forward, err));
    TRY(linear_take_weights(dense, input->image ? &input->as : NULL, err));
    if (linear_learns_input(dense))
        TRY(dnn_dense(&dense->data, DNN_DATA, &desc, &dense->forward, err));
    return 0;
}

static int dense_make(struct op *op, struct err *err)
{
    struct linear *dense = (struct linear *)op;
    const struct value *input = plan_input(op, 0), *output = plan_output(op);
    int64_t batch = op->plan->batch;
    int units = op->layer->units;
    dense->given = dense_matrix(batch, input->columns, input->bf16, dnnl_ab);
    dense->dst = dense_matrix(batch, units, output->bf16, dnnl_ab);
    dense->diff_dst = dense_matrix(batch, units, output->grad_bf16, dnnl_ab);
    dense->bias = dnn_tensor(1, plan_slot(op, 1)->param.dim, false, dnnl_a);
    TRY(dense_primitives(dense, err));
    return linear_finish(dense, err);
}

const struct op_class dense_class = {.size = sizeof(struct linear),
                                     .make = dense_make,
                                     .bind = linear_bind,
                                     .forward = linear_forward,
                                     .backward = linear_backward,
                                     .release = linear_release};

// ---- convolutions ----
//
// Those of 3 × 3 with stride 1 use Winograd's algorithm if oneDNN has it: a quarter
// of the multiplications and half of the time, with larger errors that are far too small to affect
// training (tests/train/engine/test_cpu.c has the bounds).

enum { WINOGRAD_CHANNELS_MIN = 16 }; // with fewer, moving the numbers costs more than it saves

static dnnl_memory_desc_t image_md(const struct plan *plan, int layer, dnnl_format_tag_t tag)
{
    const struct net_shape *shape = &plan->layers[layer].out;
    int64_t dim[4] = {plan->batch, shape->dim[0], shape->dim[1], shape->dim[2]};
    return dnn_tensor(4, dim, plan->bf16, tag);
}

static bool wants_winograd(const struct linear *conv)
{
    const struct net_layer *layer = conv->op.layer;
    int64_t channels = plan_slot(&conv->op, 0)->param.dim[1];
    return layer->kernel_h == 3 && layer->kernel_w == 3 && layer->stride == 1 &&
           channels >= WINOGRAD_CHANNELS_MIN && layer->units >= WINOGRAD_CHANNELS_MIN &&
           !conv->op.plan->bf16;
}

static int conv_primitive(struct linear *conv, enum dnn_way way, struct dnn_primitive *p,
                          struct dnn_conv desc, struct err *err)
{
    const struct dnn_primitive *hint = way == DNN_FORWARD ? NULL : &conv->forward;
    if (wants_winograd(conv)) {
        desc.algorithm = dnnl_convolution_winograd;
        int rc = dnn_conv(p, way, &desc, hint, NULL); // absence is no error
        if (rc != ERR_MISSING)
            return rc == ERR_MEMORY ? err_memory(err) : rc;
    }
    desc.algorithm = dnnl_convolution_direct;
    return dnn_conv(p, way, &desc, hint, err);
}

static struct dnn_conv conv_describe(const struct linear *conv)
{
    const struct net_layer *layer = conv->op.layer;
    const struct plan *plan = conv->op.plan;
    return (struct dnn_conv){
        .src = plan_input(&conv->op, 0)->image
                   ? conv->given
                   : image_md(plan, layer->inputs[0], dnnl_format_tag_any),
        .weights =
            dnn_tensor(4, plan_slot(&conv->op, 0)->param.dim, plan->bf16, dnnl_format_tag_any),
        .bias = conv->bias,
        .dst = conv->dst,
        .strides = {layer->stride, layer->stride},
        .pad_before = {layer->pad_top, layer->pad_left},
        .pad_after = {layer->pad_bottom, layer->pad_right},
        .relu = layer->relu,
    };
}

static int conv_primitives(struct linear *conv, struct err *err)
{
    struct dnn_conv desc = conv_describe(conv), weights;
    TRY(conv_primitive(conv, DNN_FORWARD, &conv->forward, desc, err));
    linear_take_forward(conv);
    desc.src = conv->source.md;
    weights = desc;
    weights.weights = linear_parameter(conv, plan_slot(&conv->op, 0)->param.dim);
    TRY(conv_primitive(conv, DNN_WEIGHTS, &conv->weights, weights, err));
    if (dnn_is_reference(&conv->weights)) { // one channel without AVX-512: plain layouts are fast
        dnn_release(&conv->weights);
        weights.dst = image_md(conv->op.plan, conv->op.number, dnnl_nchw);
        TRY(conv_primitive(conv, DNN_WEIGHTS, &conv->weights, weights, err));
    }
    TRY(linear_take_weights(conv, NULL, err));
    if (linear_learns_input(conv))
        TRY(conv_primitive(conv, DNN_DATA, &conv->data, desc, err));
    return 0;
}

static int conv_make(struct op *op, struct err *err)
{
    struct linear *conv = (struct linear *)op;
    const struct plan *plan = op->plan;
    const struct net_layer *layer = op->layer;
    conv->given =
        image_md(plan, layer->inputs[0], plan_input(op, 0)->image ? dnn_image_tag() : dnnl_nchw);
    conv->dst = conv->diff_dst = image_md(plan, op->number, dnn_image_tag());
    if (layer->bias)
        conv->bias = dnn_tensor(1, plan_slot(op, 1)->param.dim, false, dnnl_a);
    TRY(conv_primitives(conv, err));
    return linear_finish(conv, err);
}

const struct op_class conv_class = {.size = sizeof(struct linear),
                                    .make = conv_make,
                                    .bind = linear_bind,
                                    .forward = linear_forward,
                                    .backward = linear_backward,
                                    .release = linear_release};
