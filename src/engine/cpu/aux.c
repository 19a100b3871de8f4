// SPDX-License-Identifier: Apache-2.0
// An auxiliary loss. It shares memory with the net's own outputs and their gradient (plan.c,
// share_in_place); only the other head's gradient is computed here.
#include "engine/cpu/loss.h"
#include "engine/cpu/plan.h"

struct aux {
    struct op op;
    int buffer;
    double *rows; // (batch) work space of the loss
};

static int forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)op;
    (void)pass;
    (void)err;
    return 0;
}

static int backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    const struct value *head = plan_input(op, 1);
    const struct loss loss = {.kind = NET_SOFTMAX,
                              .batch = op->plan->batch,
                              .count = pass->batch->count,
                              .all = pass->all,
                              .units = head->columns,
                              .z = head->out,
                              .z_bf16 = head->bf16,
                              .labels = pass->batch->labels,
                              .weight = op->layer->weight,
                              .grad = head->grad,
                              .grad_bf16 = head->grad_bf16,
                              .rows = ((struct aux *)op)->rows};
    struct engine_score untold = {0};
    if (plan_wants_input(op, pass, 1))
        loss_run(&loss, &untold);
    return 0;
}

static int bind(struct op *op, struct err *err)
{
    (void)err;
    struct aux *aux = (struct aux *)op;
    aux->rows = arena_at(&op->plan->arena, aux->buffer);
    return 0;
}

static int make(struct op *op, struct err *err)
{
    struct aux *aux = (struct aux *)op;
    plan_needs_out(op->plan, op->layer->inputs[1], op->number, PLAN_BACKWARD);
    return plan_buffer(op, (size_t)op->plan->batch * sizeof *aux->rows, PLAN_BACKWARD,
                       PLAN_BACKWARD, &aux->buffer, err);
}

const struct op_class aux_class = {.size = sizeof(struct aux),
                                   .make = make,
                                   .bind = bind,
                                   .forward = forward,
                                   .backward = backward};
