// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/linear.h"

#include "engine/cpu/number.h"

// ---- planning ----

void linear_take_forward(struct linear *linear)
{
    linear->source.md = dnn_chosen(&linear->forward, dnnl_query_src_md);
    linear->forward_weights.md = dnn_chosen(&linear->forward, dnnl_query_weights_md);
}

dnnl_memory_desc_t linear_parameter(const struct linear *linear, const int64_t *dim)
{
    const struct slot *slot = plan_slot(&linear->op, 0);
    return slot->chosen ? slot->md : dnn_tensor(slot->param.rank, dim, false, dnnl_format_tag_any);
}

int linear_take_weights(struct linear *linear, const struct image *columns, struct err *err)
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
    TRY(dnn_reorder(&copy->reorder, have, &copy->md, err));
    return plan_buffer(&linear->op, dnn_bytes(&copy->md), from, to, &copy->buffer, err);
}

static int make_copies(struct linear *linear, struct err *err)
{
    const dnnl_memory_desc_t *parameter = &plan_slot(&linear->op, 0)->md;
    linear->source.buffer = linear->forward_weights.buffer = linear->data_weights.buffer = -1;
    linear->output.buffer = -1;
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
                        int *buffer, struct err *err)
{
    size_t bytes = dnn_scratch_bytes(p);
    *buffer = -1;
    return bytes ? plan_buffer(&linear->op, bytes, when, when, buffer, err) : 0;
}

static int make_sum(struct linear *linear, struct err *err)
{
    const struct value *input = plan_input(&linear->op, 0);
    linear->sum_buffer = -1;
    if (!linear->data.desc || !plan_adds(&linear->op, 0))
        return 0;
    size_t bytes = (size_t)plan_numbers(linear->op.plan, input) * number_bytes(input->grad_bf16);
    return plan_buffer(&linear->op, bytes, PLAN_BACKWARD, PLAN_BACKWARD, &linear->sum_buffer, err);
}

int linear_finish(struct linear *linear, struct err *err)
{
    struct plan *plan = linear->op.plan;
    int number = linear->op.number;
    TRY(make_copies(linear, err));
    TRY(make_scratch(linear, &linear->forward, PLAN_FORWARD, &linear->forward_scratch, err));
    TRY(make_scratch(linear, &linear->weights, PLAN_BACKWARD, &linear->weights_scratch, err));
    TRY(make_scratch(linear, &linear->data, PLAN_BACKWARD, &linear->data_scratch, err));
    TRY(make_sum(linear, err));
    if (linear->source.buffer < 0)
        plan_needs_out(plan, linear->op.layer->inputs[0], number, PLAN_BACKWARD);
    if (linear->op.layer->relu && !plan_output(&linear->op)->relu_later)
        plan_needs_out(plan, number, number, PLAN_BACKWARD);
    return 0;
}

// ---- binding ----

static int bind_copy(struct linear *linear, struct linear_copy *copy,
                     const dnnl_memory_desc_t *have, void *from, struct err *err)
{
    copy->data = from;
    if (copy->buffer < 0)
        return 0;
    copy->data = arena_at(&linear->op.plan->arena, copy->buffer);
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
    return dnn_bind_scratch(p, arena_at(&op->plan->arena, linear->forward_scratch), err);
}

static int bind_weights(struct linear *linear, struct err *err)
{
    struct dnn_primitive *p = &linear->weights;
    struct op *op = &linear->op;
    const struct slot *slot = plan_slot(op, 0);
    TRY(bind_copy(linear, &linear->output, &linear->diff_dst, plan_output(op)->grad, err));
    TRY(dnn_compile(p, err));
    TRY(dnn_bind(p, DNNL_ARG_SRC, &linear->source.md, linear->source.data, err));
    TRY(dnn_bind(p, DNNL_ARG_DIFF_DST, &linear->output.md, linear->output.data, err));
    TRY(dnn_bind(p, DNNL_ARG_DIFF_WEIGHTS, &slot->md, slot->grad, err));
    if (linear->bias.ndims)
        TRY(dnn_bind(p, DNNL_ARG_DIFF_BIAS, &linear->bias, plan_slot(op, 1)->grad, err));
    return dnn_bind_scratch(p, arena_at(&op->plan->arena, linear->weights_scratch), err);
}

static int bind_data(struct linear *linear, struct err *err)
{
    struct dnn_primitive *p = &linear->data;
    struct op *op = &linear->op;
    const struct slot *slot = plan_slot(op, 0);
    void *to = linear->sum_buffer >= 0 ? arena_at(&op->plan->arena, linear->sum_buffer)
                                       : plan_input(op, 0)->grad;
    dnnl_memory_desc_t diff_src = dnn_chosen(p, dnnl_query_diff_src_md);
    TRY(bind_copy(linear, &linear->data_weights, &slot->md, slot->value, err));
    TRY(dnn_compile(p, err));
    TRY(dnn_bind(p, DNNL_ARG_DIFF_DST, &linear->diff_dst, plan_output(op)->grad, err));
    TRY(dnn_bind(p, DNNL_ARG_WEIGHTS, &linear->data_weights.md, linear->data_weights.data, err));
    TRY(dnn_bind(p, DNNL_ARG_DIFF_SRC, &diff_src, to, err));
    return dnn_bind_scratch(p, arena_at(&op->plan->arena, linear->data_scratch), err);
}

int linear_bind(struct op *op, struct err *err)
{
    struct linear *linear = (struct linear *)op;
    const struct slot *slot = plan_slot(op, 0);
    TRY(bind_copy(linear, &linear->source, &linear->given, plan_input(op, 0)->out, err));
    TRY(bind_copy(linear, &linear->forward_weights, &slot->md, slot->value, err));
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
    if (linear->source.buffer >= 0)
        return dnn_rebind(&linear->source.reorder, DNNL_ARG_FROM, input->out, err);
    return dnn_rebind(reader, DNNL_ARG_SRC, input->out, err);
}

static int run_copy(struct linear_copy *copy, struct err *err)
{
    return copy->buffer >= 0 ? dnn_run(&copy->reorder, err) : 0;
}

int linear_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)pass;
    struct linear *linear = (struct linear *)op;
    TRY(find_source(linear, &linear->forward, err));
    TRY(run_copy(&linear->source, err));
    TRY(run_copy(&linear->forward_weights, err));
    return dnn_run(&linear->forward, err);
}

int linear_backward(struct op *op, const struct pass *pass, struct err *err)
{
    struct linear *linear = (struct linear *)op;
    const struct value *output = plan_output(op), *input = plan_input(op, 0);
    if (op->layer->relu && !output->relu_later)
        plan_relu_back(op->plan, output);
    if (pass->trains[op->number]) {
        if (linear->source.buffer < 0)
            TRY(find_source(linear, &linear->weights, err));
        TRY(run_copy(&linear->output, err));
        TRY(dnn_run(&linear->weights, err));
    }
    if (!plan_wants_input(op, pass, 0))
        return 0;
    TRY(run_copy(&linear->data_weights, err));
    TRY(dnn_run(&linear->data, err));
    if (linear->sum_buffer >= 0)
        plan_add(op->plan, input->grad, arena_at(&op->plan->arena, linear->sum_buffer),
                 plan_numbers(op->plan, input), input->grad_bf16);
    return 0;
}

void linear_release(struct op *op)
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
