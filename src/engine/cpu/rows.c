// SPDX-License-Identifier: Apache-2.0
// Layers of transformers that treat rows (time steps) or numbers one by one: embeddings with a tied
// head, positions, GELU, sums.
#include <string.h>

#include "engine/cpu/plan.h"
#include "engine/cpu/team.h"

// What a thread works on. Rows are split for outputs; columns for sums over rows, so that no two
// threads add to the same number.
struct job {
    const struct op *op;
    const struct pass *pass;
    int64_t rows, width;
};

static struct job job_of(const struct op *op, const struct pass *pass)
{
    return (struct job){op, pass, plan_rows(op, pass), op->layer->out.dim[1]};
}

// ---- tokens: the rows of the table ----

static void look_up(void *job_, int thread, int threads)
{
    const struct job *j = job_;
    const float *table = plan_slot(j->op, 0)->value;
    float *out = plan_output(j->op)->out;
    int64_t from, to;
    team_part(j->rows, 1, thread, threads, &from, &to);
    for (int64_t r = from; r < to; r++)
        memcpy(out + r * j->width, table + j->pass->batch->tokens[r] * j->width,
               (size_t)j->width * sizeof *out);
}

static int token_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct job job = job_of(op, pass);
    team_run(look_up, &job);
    return 0;
}

static void look_back(void *job_, int thread, int threads)
{
    const struct job *j = job_;
    const float *grad = plan_output(j->op)->grad;
    float *table = plan_slot(j->op, 0)->grad;
    int64_t from, to;
    team_part(j->width, 16, thread, threads, &from, &to);
    for (int64_t r = 0; r < j->rows && from < to; r++) {
        float *row = table + j->pass->batch->tokens[r] * j->width + from;
        j->op->plan->passes->row_add(row, row, grad + r * j->width + from, to - from);
    }
}

// The head has come before and has set the gradient.
static int token_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct job job = job_of(op, pass);
    if (pass->trains[op->number])
        team_run(look_back, &job);
    return 0;
}

const struct op_class token_class = {
    .size = sizeof(struct op), .forward = token_forward, .backward = token_backward};

// ---- positions ----

static void add_positions(void *job_, int thread, int threads)
{
    const struct job *j = job_;
    const float *table = plan_slot(j->op, 0)->value, *x = plan_input(j->op, 0)->out;
    float *out = plan_output(j->op)->out;
    int64_t from, to, time = j->op->layer->out.dim[0];
    team_part(j->rows, 1, thread, threads, &from, &to);
    for (int64_t r = from; r < to; r++)
        j->op->plan->passes->row_add(out + r * j->width, x + r * j->width,
                                     table + r % time * j->width, j->width);
}

static int position_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct job job = job_of(op, pass);
    team_run(add_positions, &job);
    return 0;
}

static void sum_positions(void *job_, int thread, int threads)
{
    const struct job *j = job_;
    const float *grad = plan_output(j->op)->grad;
    float *table = plan_slot(j->op, 0)->grad;
    int64_t from, to, time = j->op->layer->out.dim[0];
    team_part(time, 1, thread, threads, &from, &to);
    for (int64_t r = 0; r < j->rows; r++) {
        float *row = table + r % time * j->width;
        if (r % time >= from && r % time < to)
            j->op->plan->passes->row_add(row, row, grad + r * j->width, j->width);
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
    struct job job = job_of(op, pass);
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
    .size = sizeof(struct op), .forward = position_forward, .backward = position_backward};

// ---- GELU ----

static void gelu(void *job_, int thread, int threads)
{
    const struct job *j = job_;
    const float *x = plan_input(j->op, 0)->out;
    int64_t from, to;
    team_part(j->rows * j->width, PASSES_PAD, thread, threads, &from, &to);
    if (from < to)
        j->op->plan->passes->gelu(x + from, (float *)plan_output(j->op)->out + from, to - from);
}

static int gelu_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct job job = job_of(op, pass);
    team_run(gelu, &job);
    return 0;
}

static void gelu_back(void *job_, int thread, int threads)
{
    const struct job *j = job_;
    const struct value *input = plan_input(j->op, 0);
    const float *x = input->out, *dy = plan_output(j->op)->grad;
    int64_t from, to;
    team_part(j->rows * j->width, PASSES_PAD, thread, threads, &from, &to);
    if (from < to)
        j->op->plan->passes->gelu_back(x + from, dy + from, (float *)input->grad + from, to - from,
                                       plan_adds(j->op, 0));
}

static int gelu_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct job job = job_of(op, pass);
    if (plan_wants_input(op, pass, 0))
        team_run(gelu_back, &job);
    return 0;
}

static int gelu_make(struct op *op, struct err *err)
{
    (void)err;
    plan_needs_out(op->plan, op->layer->inputs[0], op->number, PLAN_BACKWARD);
    return 0;
}

const struct op_class gelu_class = {.size = sizeof(struct op),
                                    .make = gelu_make,
                                    .forward = gelu_forward,
                                    .backward = gelu_backward};

// ---- sums ----

static void add(void *job_, int thread, int threads)
{
    const struct job *j = job_;
    const float *a = plan_input(j->op, 0)->out, *b = plan_input(j->op, 1)->out;
    int64_t from, to;
    team_part(j->rows * j->width, PASSES_PAD, thread, threads, &from, &to);
    if (from < to)
        j->op->plan->passes->row_add((float *)plan_output(j->op)->out + from, a + from, b + from,
                                     to - from);
}

static int add_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct job job = job_of(op, pass);
    team_run(add, &job);
    return 0;
}

static int add_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    for (int i = 0; i < 2; i++)
        pass_on(op, pass, i);
    return 0;
}

const struct op_class add_class = {
    .size = sizeof(struct op), .forward = add_forward, .backward = add_backward};
