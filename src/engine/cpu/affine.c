// SPDX-License-Identifier: Apache-2.0
// Linear layers of transformers: the same weight (in × units) for every row, plain products of
// matrices in the net's own layout.
#include <string.h>

#include "engine/cpu/dnnl.h"
#include "engine/cpu/plan.h"
#include "engine/cpu/team.h"

struct job {
    const struct op *op;
    const struct pass *pass;
};

static int make(struct op *op, struct err *err)
{
    (void)err;
    plan_needs_out(op->plan, op->layer->inputs[0], op->number, PLAN_BACKWARD);
    return 0;
}

// Outputs begin with the bias.
static void begin(void *job_, int thread, int threads)
{
    const struct job *j = job_;
    const float *bias = plan_slot(j->op, 1)->value;
    float *out = plan_output(j->op)->out;
    int64_t from, to, units = j->op->layer->units;
    team_part(plan_rows(j->op, j->pass), 1, thread, threads, &from, &to);
    for (int64_t r = from; r < to; r++)
        memcpy(out + r * units, bias, (size_t)units * sizeof *out);
}

static int forward(struct op *op, const struct pass *pass, struct err *err)
{
    struct job job = {op, pass};
    int64_t in = plan_input(op, 0)->columns / op->layer->out.dim[0], units = op->layer->units;
    team_run(begin, &job);
    return plan_multiply(op->plan,
                         &(struct dnn_product){.m = plan_rows(op, pass),
                                               .n = units,
                                               .k = in,
                                               .a = plan_input(op, 0)->out,
                                               .a_row = in,
                                               .b = plan_slot(op, 0)->value,
                                               .b_row = units,
                                               .c = plan_output(op)->out,
                                               .c_row = units,
                                               .add = true},
                         err);
}

static void sum_columns(void *job_, int thread, int threads)
{
    const struct job *j = job_;
    const float *grad = plan_output(j->op)->grad;
    float *bias = plan_slot(j->op, 1)->grad;
    int64_t from, to, units = j->op->layer->units, rows = plan_rows(j->op, j->pass);
    team_part(units, PASSES_PAD, thread, threads, &from, &to);
    if (from >= to)
        return;
    if (!j->pass->adds)
        memset(bias + from, 0, (size_t)(to - from) * sizeof *bias);
    for (int64_t r = 0; r < rows; r++)
        j->op->plan->passes->row_add(bias + from, bias + from, grad + r * units + from, to - from);
}

static int learn(struct op *op, const struct pass *pass, struct err *err)
{
    struct job job = {op, pass};
    int64_t in = plan_input(op, 0)->columns / op->layer->out.dim[0], units = op->layer->units;
    team_run(sum_columns, &job);
    return plan_multiply(op->plan,
                         &(struct dnn_product){.m = in,
                                               .n = units,
                                               .k = plan_rows(op, pass),
                                               .a = plan_input(op, 0)->out,
                                               .a_row = in,
                                               .turn_a = true,
                                               .b = plan_output(op)->grad,
                                               .b_row = units,
                                               .c = plan_slot(op, 0)->grad,
                                               .c_row = units,
                                               .add = pass->adds},
                         err);
}

static int backward(struct op *op, const struct pass *pass, struct err *err)
{
    int64_t in = plan_input(op, 0)->columns / op->layer->out.dim[0], units = op->layer->units;
    if (pass->trains[op->number])
        TRY(learn(op, pass, err));
    if (!plan_wants_input(op, pass, 0))
        return 0;
    return plan_multiply(op->plan,
                         &(struct dnn_product){.m = plan_rows(op, pass),
                                               .n = in,
                                               .k = units,
                                               .a = plan_output(op)->grad,
                                               .a_row = units,
                                               .b = plan_slot(op, 0)->value,
                                               .b_row = units,
                                               .turn_b = true,
                                               .c = plan_input(op, 0)->grad,
                                               .c_row = in,
                                               .add = plan_adds(op, 0)},
                         err);
}

const struct op_class affine_class = {
    .size = sizeof(struct op), .make = make, .forward = forward, .backward = backward};
