// SPDX-License-Identifier: Apache-2.0
// Layer norm. Mean and deviation of each row are kept for the way back, where each thread sums the
// gradients of weight and bias over its rows; the sums are added in the order of the threads.
#include <string.h>

#include "engine/cpu/plan.h"
#include "engine/cpu/team.h"

struct layer_norm {
    struct op op;
    int moments_buffer, sums_buffer;
    float *moments; // (rows, 2)
    float *sums;    // (threads, 2, width)
    const struct pass *pass;
};

static int make(struct op *op, struct err *err)
{
    struct layer_norm *norm = (struct layer_norm *)op;
    size_t rows = (size_t)(op->plan->batch * op->layer->out.dim[0]);
    size_t width = (size_t)op->layer->out.dim[1];
    plan_needs_out(op->plan, op->layer->inputs[0], op->number, PLAN_BACKWARD);
    TRY(plan_buffer(op, rows * 2 * sizeof(float), PLAN_FORWARD, PLAN_BACKWARD,
                    &norm->moments_buffer, err));
    return plan_buffer(op, (size_t)team_size() * 2 * width * sizeof(float), PLAN_BACKWARD,
                       PLAN_BACKWARD, &norm->sums_buffer, err);
}

static int bind(struct op *op, struct err *err)
{
    (void)err;
    struct layer_norm *norm = (struct layer_norm *)op;
    norm->moments = arena_at(&op->plan->arena, norm->moments_buffer);
    norm->sums = arena_at(&op->plan->arena, norm->sums_buffer);
    return 0;
}

static void normalise(void *norm_, int thread, int threads)
{
    const struct layer_norm *norm = norm_;
    const struct op *op = &norm->op;
    const float *x = plan_input(op, 0)->out;
    float *y = plan_output(op)->out;
    int64_t from, to, width = op->layer->out.dim[1];
    team_part(plan_rows(op, norm->pass), 1, thread, threads, &from, &to);
    for (int64_t r = from; r < to; r++)
        op->plan->passes->row_norm(x + r * width, plan_slot(op, 0)->value, plan_slot(op, 1)->value,
                                   y + r * width, width, op->layer->epsilon, norm->moments + 2 * r);
}

static int forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct layer_norm *norm = (struct layer_norm *)op;
    norm->pass = pass;
    team_run(normalise, norm);
    return 0;
}

static void go_back(void *norm_, int thread, int threads)
{
    const struct layer_norm *norm = norm_;
    const struct op *op = &norm->op;
    const struct value *input = plan_input(op, 0);
    int64_t from, to, width = op->layer->out.dim[1];
    float *sums = norm->sums + 2 * thread * width;
    memset(sums, 0, (size_t)(2 * width) * sizeof *sums);
    team_part(plan_rows(op, norm->pass), 1, thread, threads, &from, &to);
    struct pass_row_norm row = {.w = plan_slot(op, 0)->value,
                                .dw = sums,
                                .db = sums + width,
                                .count = width,
                                .add = plan_adds(op, 0)};
    for (int64_t r = from; r < to; r++) {
        row.x = (const float *)input->out + r * width;
        row.dy = (const float *)plan_output(op)->grad + r * width;
        row.dx = plan_wants_input(op, norm->pass, 0) ? (float *)input->grad + r * width : NULL;
        row.moments = norm->moments + 2 * r;
        op->plan->passes->row_norm_back(&row);
    }
}

static int backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct layer_norm *norm = (struct layer_norm *)op;
    int64_t width = op->layer->out.dim[1];
    norm->pass = pass;
    team_run(go_back, norm);
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
                                          .make = make,
                                          .bind = bind,
                                          .forward = forward,
                                          .backward = backward};
