// SPDX-License-Identifier: Apache-2.0
// Convolutions. Those of 3 × 3 with stride 1 use Winograd's algorithm if oneDNN has it: a quarter
// of the multiplications and half of the time, with larger errors that are far too small to affect
// training (tests/engine/test_cpu.c has the bounds).
#include "engine/cpu/linear.h"

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

typedef int make_fn(struct dnn_primitive *, const struct dnn_conv *, const struct dnn_primitive *,
                    struct err *);

static int make_forward(struct dnn_primitive *p, const struct dnn_conv *desc,
                        const struct dnn_primitive *hint, struct err *err)
{
    (void)hint;
    return dnn_conv_forward(p, desc, err);
}

static int make(struct linear *conv, make_fn *maker, struct dnn_primitive *p, struct dnn_conv desc,
                struct err *err)
{
    if (wants_winograd(conv)) {
        desc.algorithm = dnnl_convolution_winograd;
        int rc = maker(p, &desc, &conv->forward, NULL); // absence is no error
        if (rc != ERR_MISSING)
            return rc == ERR_MEMORY ? err_memory(err) : rc;
    }
    desc.algorithm = dnnl_convolution_direct;
    return maker(p, &desc, &conv->forward, err);
}

static struct dnn_conv describe(const struct linear *conv)
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

static int make_primitives(struct linear *conv, struct err *err)
{
    struct dnn_conv desc = describe(conv), weights;
    TRY(make(conv, make_forward, &conv->forward, desc, err));
    linear_take_forward(conv);
    desc.src = conv->source.md;
    weights = desc;
    weights.weights = linear_parameter(conv, plan_slot(&conv->op, 0)->param.dim);
    TRY(make(conv, dnn_conv_weights, &conv->weights, weights, err));
    if (dnn_is_reference(&conv->weights)) { // one channel without AVX-512: plain layouts are fast
        dnn_release(&conv->weights);
        weights.dst = image_md(conv->op.plan, conv->op.number, dnnl_nchw);
        TRY(make(conv, dnn_conv_weights, &conv->weights, weights, err));
    }
    TRY(linear_take_weights(conv, NULL, err));
    if (linear_learns_input(conv))
        TRY(make(conv, dnn_conv_data, &conv->data, desc, err));
    return 0;
}

static int make_conv(struct op *op, struct err *err)
{
    struct linear *conv = (struct linear *)op;
    const struct plan *plan = op->plan;
    const struct net_layer *layer = op->layer;
    conv->given =
        image_md(plan, layer->inputs[0], plan_input(op, 0)->image ? dnn_image_tag() : dnnl_nchw);
    conv->dst = conv->diff_dst = image_md(plan, op->number, dnn_image_tag());
    if (layer->bias)
        conv->bias = dnn_tensor(1, plan_slot(op, 1)->param.dim, false, dnnl_a);
    TRY(make_primitives(conv, err));
    return linear_finish(conv, err);
}

const struct op_class conv_class = LINEAR_CLASS(make_conv);
