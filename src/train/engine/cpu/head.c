// SPDX-License-Identifier: Apache-2.0
// A head with the weight of an embedding, together with its loss: some rows at a time, so that the
// outputs of all never exist. In training everything happens on the way back.
#include <string.h>

#include "train/engine/cpu/dnnl.h"
#include "train/engine/cpu/plan.h"
#include "train/engine/cpu/team.h"

#define CHUNK 256 // rows: enough for fast products and few passes over the weight's gradient

struct tied_head {
    struct op op;
    float *z;       // (CHUNK, vocabulary)
    double *losses; // (CHUNK)
    bool *right;    // (CHUNK)
    // While a chunk is worked on.
    const int32_t *labels;
    int64_t count;
    float share; // of one label in the mean; 0: no gradient
};

static int head_make(struct op *op, struct err *err)
{
    struct tied_head *h = (struct tied_head *)op;
    int64_t rows = op->plan->batch * op->layer->out.dim[0];
    size_t most = (size_t)(rows < CHUNK ? rows : CHUNK);
    plan_needs_out(op->plan, op->layer->inputs[0], op->number, PLAN_BACKWARD);
    TRY(plan_buffer(op, most * (size_t)op->layer->units * sizeof *h->z, PLAN_FORWARD, PLAN_BACKWARD,
                    &h->z, err));
    TRY(plan_buffer(op, most * sizeof *h->losses, PLAN_FORWARD, PLAN_BACKWARD, &h->losses, err));
    return plan_buffer(op, most * sizeof *h->right, PLAN_FORWARD, PLAN_BACKWARD, &h->right, err);
}

static const struct slot *table(const struct op *op)
{
    return &op->plan->params->slots[op->plan->layers[op->layer->tied].first_param];
}

// z = rows of x times the table; `row` numbers from one row to the next.
static int head_multiply(const struct tied_head *h, const float *x, int64_t row, int64_t count,
                         float *z, struct err *err)
{
    int64_t in = plan_input(&h->op, 0)->columns / h->op.layer->out.dim[0];
    const struct dnn_product product = {.size = {count, h->op.layer->units, in},
                                        .a = {x, row},
                                        .b = {table(&h->op)->value, in, true},
                                        .c = {z, h->op.layer->units}};
    return row == in ? plan_multiply(h->op.plan, &product, err) : dnn_multiply(&product, err);
}

// The first of the largest.
static bool is_best(const float *z, float top, int64_t label)
{
    int64_t best = 0;
    if (!(z[label] == top))
        return false;
    while (z[best] != top)
        best++;
    return best == label;
}

static void head_lose(void *head_, int thread, int threads)
{
    const struct tied_head *h = head_;
    const struct passes *passes = h->op.plan->passes;
    int64_t from, to, units = h->op.layer->units;
    team_part(h->count, 1, thread, threads, &from, &to);
    for (int64_t r = from; r < to; r++) {
        float *z = h->z + r * units, own = z[h->labels[r]];
        h->right[r] = is_best(z, passes->row_max(z, units), h->labels[r]);
        float level = passes->row_softmax(z, units, 1, h->share);
        h->losses[r] = (double)level - (double)own;
        z[h->labels[r]] -= h->share;
    }
}

// The gradients of some rows, whose outputs' gradients are in z.
static int head_go_back(const struct tied_head *h, const struct pass *pass, int64_t first,
                        struct err *err)
{
    const struct op *op = &h->op;
    const struct value *input = plan_input(op, 0);
    int64_t in = input->columns / op->layer->out.dim[0], units = op->layer->units;
    if (plan_wants_input(op, pass, 0))
        TRY(plan_multiply(op->plan,
                          &(struct dnn_product){.size = {h->count, in, units},
                                                .a = {h->z, units},
                                                .b = {table(op)->value, in},
                                                .c = {(float *)input->grad + first * in, in},
                                                .add = plan_adds(op, 0)},
                          err));
    if (!pass->trains[op->layer->tied])
        return 0;
    return plan_multiply(op->plan,
                         &(struct dnn_product){.size = {units, in, h->count},
                                               .a = {h->z, units, true},
                                               .b = {(const float *)input->out + first * in, in},
                                               .c = {table(op)->grad, in},
                                               .add = pass->adds || first > 0},
                         err);
}

static int head_run(struct tied_head *h, const struct pass *pass, struct err *err)
{
    const struct value *input = plan_input(&h->op, 0);
    int64_t time = h->op.layer->out.dim[0], in = input->columns / time;
    int64_t rows = pass->batch->count * time;
    h->share = pass->training ? 1 / (float)pass->labels : 0;
    for (int64_t first = 0; first < rows; first += CHUNK) {
        h->count = rows - first < CHUNK ? rows - first : CHUNK;
        h->labels = pass->batch->labels + first;
        TRY(head_multiply(h, (const float *)input->out + first * in, in, h->count, h->z, err));
        team_run(head_lose, h);
        for (int64_t r = 0; r < h->count; r++) {
            pass->score->loss += h->losses[r];
            pass->score->correct += h->right[r];
        }
        if (pass->training)
            TRY(head_go_back(h, pass, first, err));
    }
    pass->score->count += rows;
    return 0;
}

static int head_predict(struct tied_head *h, const struct pass *pass, struct err *err)
{
    const struct value *input = plan_input(&h->op, 0);
    int64_t in = input->columns / h->op.layer->out.dim[0], units = h->op.layer->units;
    const float *x = (const float *)input->out + pass->batch->position * in;
    TRY(head_multiply(h, x, input->columns, pass->batch->count, pass->odds, err));
    for (int64_t i = 0; i < pass->batch->count; i++)
        h->op.plan->passes->row_softmax(pass->odds + i * units, units, 1, 1);
    return 0;
}

static int head_forward(struct op *op, const struct pass *pass, struct err *err)
{
    struct tied_head *h = (struct tied_head *)op;
    if (pass->odds)
        return head_predict(h, pass, err);
    return pass->training ? 0 : head_run(h, pass, err);
}

static int head_backward(struct op *op, const struct pass *pass, struct err *err)
{
    return head_run((struct tied_head *)op, pass, err);
}

const struct op_class head_class = {.size = sizeof(struct tied_head),
                                    .make = head_make,
                                    .forward = head_forward,
                                    .backward = head_backward};
