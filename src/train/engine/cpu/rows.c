// SPDX-License-Identifier: Apache-2.0
// Layers of transformers that treat rows (time steps) or numbers one by one: embeddings with a tied
// head, positions, layer norms, linear layers, GELU, sums. Rows are split between threads for
// outputs; columns for sums over rows, so that no two threads add to the same number.
#include <string.h>

#include "train/engine/cpu/dnnl.h"
#include "train/engine/cpu/plan.h"
#include "train/engine/cpu/team.h"

static int64_t width_of(const struct op *op)
{
    return op->layer->out.dim[1];
}

static int keep_input(struct op *op, struct err *err)
{
    (void)err;
    plan_needs_out(op->plan, op->layer->inputs[0], op->number, PLAN_BACKWARD);
    return 0;
}

// The numbers of the batch that are this thread's; false if none are.
static bool numbers_of(const struct op_job *j, int thread, int threads, int64_t *from, int64_t *to)
{
    team_part(plan_rows(j->op, j->pass) * width_of(j->op), PASSES_PAD, thread, threads, from, to);
    return *from < *to;
}

// ---- tokens: the rows of the table ----

static void token_work(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
    const float *table = plan_slot(j->op, 0)->value;
    float *out = plan_output(j->op)->out;
    int64_t from, to, width = width_of(j->op);
    team_part(plan_rows(j->op, j->pass), 1, thread, threads, &from, &to);
    for (int64_t r = from; r < to; r++)
        memcpy(out + r * width, table + j->pass->batch->tokens[r] * width,
               (size_t)width * sizeof *out);
}

// The head has come before and has set the gradient.
static void token_back_work(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
    const float *grad = plan_output(j->op)->grad;
    float *table = plan_slot(j->op, 0)->grad;
    int64_t from, to, width = width_of(j->op), rows = plan_rows(j->op, j->pass);
    team_part(width, 16, thread, threads, &from, &to);
    for (int64_t r = 0; j->pass->trains[j->op->number] && r < rows && from < to; r++) {
        float *row = table + j->pass->batch->tokens[r] * width + from;
        j->op->plan->passes->row_add(row, row, grad + r * width + from, to - from);
    }
}

const struct op_class token_class = {
    .size = sizeof(struct op), .forward_work = token_work, .backward_work = token_back_work};

// ---- positions ----

static void position_work(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
    const float *table = plan_slot(j->op, 0)->value, *x = plan_input(j->op, 0)->out;
    float *out = plan_output(j->op)->out;
    int64_t from, to, time = j->op->layer->out.dim[0], width = width_of(j->op);
    team_part(plan_rows(j->op, j->pass), 1, thread, threads, &from, &to);
    for (int64_t r = from; r < to; r++)
        j->op->plan->passes->row_add(out + r * width, x + r * width, table + r % time * width,
                                     width);
}

static void sum_positions(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
    const float *grad = plan_output(j->op)->grad;
    float *table = plan_slot(j->op, 0)->grad;
    int64_t from, to, time = j->op->layer->out.dim[0], width = width_of(j->op);
    int64_t rows = plan_rows(j->op, j->pass);
    team_part(time, 1, thread, threads, &from, &to);
    for (int64_t r = 0; r < rows; r++) {
        float *row = table + r % time * width;
        if (r % time >= from && r % time < to)
            j->op->plan->passes->row_add(row, row, grad + r * width, width);
    }
}

// An input's gradient gets that of the output.
static void pass_on(const struct op *op, const struct pass *pass, int which)
{
    const struct value *input = plan_input(op, which), *output = plan_output(op);
    int64_t count = pass->batch->count * output->columns;
    if (!plan_wants_input(op, pass, which))
        return;
    if (plan_adds(op, which))
        plan_add(op->plan, input->grad, output->grad, count, false);
    else
        memcpy(input->grad, output->grad, (size_t)count * sizeof(float));
}

static int position_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct op_job job = {op, pass};
    const struct slot *slot = plan_slot(op, 0);
    if (pass->trains[op->number]) {
        if (!pass->adds)
            memset(slot->grad, 0, (size_t)slot->numbers * sizeof *slot->grad);
        team_run(sum_positions, &job);
    }
    pass_on(op, pass, 0);
    return 0;
}

const struct op_class position_class = {
    .size = sizeof(struct op), .forward_work = position_work, .backward = position_backward};

// ---- layer norms ----

struct layer_norm {
    struct op op;
    float *moments; // (rows, 2)
    float *sums;    // (threads, 2, width)
};

static int layer_norm_make(struct op *op, struct err *err)
{
    struct layer_norm *norm = (struct layer_norm *)op;
    size_t rows = (size_t)(op->plan->batch * op->layer->out.dim[0]);
    size_t width = (size_t)width_of(op);
    plan_needs_out(op->plan, op->layer->inputs[0], op->number, PLAN_BACKWARD);
    TRY(plan_buffer(op, rows * 2 * sizeof(float), PLAN_FORWARD, PLAN_BACKWARD, &norm->moments,
                    err));
    return plan_buffer(op, (size_t)team_size() * 2 * width * sizeof(float), PLAN_BACKWARD,
                       PLAN_BACKWARD, &norm->sums, err);
}

static void layer_norm_work(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
    const struct op *op = j->op;
    const struct layer_norm *norm = (const struct layer_norm *)op;
    const float *x = plan_input(op, 0)->out;
    float *y = plan_output(op)->out;
    int64_t from, to, width = width_of(op);
    team_part(plan_rows(op, j->pass), 1, thread, threads, &from, &to);
    for (int64_t r = from; r < to; r++)
        op->plan->passes->row_norm(x + r * width, plan_slot(op, 0)->value, plan_slot(op, 1)->value,
                                   y + r * width, width, op->layer->epsilon, norm->moments + 2 * r);
}

static void layer_norm_back_work(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
    const struct op *op = j->op;
    const struct layer_norm *norm = (const struct layer_norm *)op;
    const struct value *input = plan_input(op, 0);
    int64_t from, to, width = width_of(op);
    float *sums = norm->sums + 2 * thread * width;
    memset(sums, 0, (size_t)(2 * width) * sizeof *sums);
    team_part(plan_rows(op, j->pass), 1, thread, threads, &from, &to);
    struct pass_row_norm row = {.w = plan_slot(op, 0)->value,
                                .dw = sums,
                                .db = sums + width,
                                .count = width,
                                .add = plan_adds(op, 0)};
    for (int64_t r = from; r < to; r++) {
        row.x = (const float *)input->out + r * width;
        row.dy = (const float *)plan_output(op)->grad + r * width;
        row.dx = plan_wants_input(op, j->pass, 0) ? (float *)input->grad + r * width : NULL;
        row.moments = norm->moments + 2 * r;
        op->plan->passes->row_norm_back(&row);
    }
}

static int layer_norm_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    const struct layer_norm *norm = (const struct layer_norm *)op;
    struct op_job job = {op, pass};
    int64_t width = width_of(op);
    team_run(layer_norm_back_work, &job);
    for (int i = 0; i < 2 && pass->trains[op->number]; i++) {
        float *grad = plan_slot(op, i)->grad;
        if (!pass->adds)
            memset(grad, 0, (size_t)width * sizeof *grad);
        for (int thread = 0; thread < team_size(); thread++)
            op->plan->passes->row_add(grad, grad, norm->sums + (2 * thread + i) * width, width);
    }
    return 0;
}

const struct op_class layer_norm_class = {.size = sizeof(struct layer_norm),
                                          .make = layer_norm_make,
                                          .forward_work = layer_norm_work,
                                          .backward = layer_norm_backward};

// ---- linear layers: the same weight (in × units) for every row, in the net's own layout ----

// Outputs begin with the bias.
static void start_with_bias(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
    const float *bias = plan_slot(j->op, 1)->value;
    float *out = plan_output(j->op)->out;
    int64_t from, to, units = j->op->layer->units;
    team_part(plan_rows(j->op, j->pass), 1, thread, threads, &from, &to);
    for (int64_t r = from; r < to; r++)
        memcpy(out + r * units, bias, (size_t)units * sizeof *out);
}

static int affine_forward(struct op *op, const struct pass *pass, struct err *err)
{
    struct op_job job = {op, pass};
    int64_t in = plan_input(op, 0)->columns / op->layer->out.dim[0], units = op->layer->units;
    team_run(start_with_bias, &job);
    return plan_multiply(op->plan,
                         &(struct dnn_product){.size = {plan_rows(op, pass), units, in},
                                               .a = {plan_input(op, 0)->out, in},
                                               .b = {plan_slot(op, 0)->value, units},
                                               .c = {plan_output(op)->out, units},
                                               .add = true},
                         err);
}

static void sum_columns(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
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

static int affine_learn(struct op *op, const struct pass *pass, struct err *err)
{
    struct op_job job = {op, pass};
    int64_t in = plan_input(op, 0)->columns / op->layer->out.dim[0], units = op->layer->units;
    team_run(sum_columns, &job);
    return plan_multiply(op->plan,
                         &(struct dnn_product){.size = {in, units, plan_rows(op, pass)},
                                               .a = {plan_input(op, 0)->out, in, true},
                                               .b = {plan_output(op)->grad, units},
                                               .c = {plan_slot(op, 0)->grad, units},
                                               .add = pass->adds},
                         err);
}

static int affine_backward(struct op *op, const struct pass *pass, struct err *err)
{
    int64_t in = plan_input(op, 0)->columns / op->layer->out.dim[0], units = op->layer->units;
    if (pass->trains[op->number])
        TRY(affine_learn(op, pass, err));
    if (!plan_wants_input(op, pass, 0))
        return 0;
    return plan_multiply(op->plan,
                         &(struct dnn_product){.size = {plan_rows(op, pass), in, units},
                                               .a = {plan_output(op)->grad, units},
                                               .b = {plan_slot(op, 0)->value, units, true},
                                               .c = {plan_input(op, 0)->grad, in},
                                               .add = plan_adds(op, 0)},
                         err);
}

const struct op_class affine_class = {.size = sizeof(struct op),
                                      .make = keep_input,
                                      .forward = affine_forward,
                                      .backward = affine_backward};

// ---- GELU ----

static void gelu_work(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
    const float *x = plan_input(j->op, 0)->out;
    int64_t from, to;
    if (numbers_of(j, thread, threads, &from, &to))
        j->op->plan->passes->gelu(x + from, (float *)plan_output(j->op)->out + from, to - from);
}

static void gelu_back_work(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
    const struct value *input = plan_input(j->op, 0);
    const float *x = input->out, *dy = plan_output(j->op)->grad;
    int64_t from, to;
    if (plan_wants_input(j->op, j->pass, 0) && numbers_of(j, thread, threads, &from, &to))
        j->op->plan->passes->gelu_back(x + from, dy + from, (float *)input->grad + from, to - from,
                                       plan_adds(j->op, 0));
}

const struct op_class gelu_class = {.size = sizeof(struct op),
                                    .make = keep_input,
                                    .forward_work = gelu_work,
                                    .backward_work = gelu_back_work};

// ---- sums ----

static void add_work(void *job_, int thread, int threads)
{
    const struct op_job *j = job_;
    const float *a = plan_input(j->op, 0)->out, *b = plan_input(j->op, 1)->out;
    int64_t from, to;
    if (numbers_of(j, thread, threads, &from, &to))
        j->op->plan->passes->row_add((float *)plan_output(j->op)->out + from, a + from, b + from,
                                     to - from);
}

static int add_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    for (int i = 0; i < 2; i++)
        pass_on(op, pass, i);
    return 0;
}

const struct op_class add_class = {
    .size = sizeof(struct op), .forward_work = add_work, .backward = add_backward};
