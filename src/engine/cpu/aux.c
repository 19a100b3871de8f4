// SPDX-License-Identifier: Apache-2.0
// An auxiliary loss. It shares memory with the net's own outputs and their gradient (plan.c,
// share_in_place); only the other head's gradient is computed here.
#include <stdlib.h>

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

static void release(struct op *op)
{
    free(op);
}

static const struct op_class aux_class = {bind, forward, backward, release};

int aux_new(struct plan *plan, int number, struct op **op, struct err *err)
{
    struct aux *aux = op_allocate(sizeof *aux, &aux_class, plan, number, err);
    *op = aux ? &aux->op : NULL;
    if (!aux)
        return ERR_MEMORY;
    plan_needs_out(plan, aux->op.layer->inputs[1], number, PLAN_BACKWARD);
    aux->buffer = plan_buffer(plan, (size_t)plan->batch * sizeof *aux->rows, number, PLAN_BACKWARD,
                              PLAN_BACKWARD, err);
    return aux->buffer < 0 ? ERR_MEMORY : 0;
}
