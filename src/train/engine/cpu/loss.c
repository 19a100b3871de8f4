// SPDX-License-Identifier: Apache-2.0
// The loss of a batch's outputs, and an auxiliary loss.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "train/engine/cpu/number.h"
#include "train/engine/cpu/plan.h"
#include "train/engine/cpu/team.h"

static float z_at(const struct loss *loss, int64_t row, int64_t unit)
{
    return number_get(loss->z, row * loss->units + unit, loss->z_bf16);
}

static int64_t largest(const struct loss *loss, int64_t row)
{
    int64_t best = 0;
    float top = z_at(loss, row, 0);
    for (int64_t u = 1; u < loss->units; u++)
        if (z_at(loss, row, u) > top) {
            best = u;
            top = z_at(loss, row, u);
        }
    return best;
}

// Sum of exp(z - top), at least 1.
static double exponentials(const struct loss *loss, int64_t row, float top)
{
    double sum = 0;
    for (int64_t u = 0; u < loss->units; u++)
        sum += (double)expf(z_at(loss, row, u) - top);
    return sum;
}

static void put_grad(const struct loss *loss, int64_t row, int64_t unit, float value)
{
    number_put(loss->grad, row * loss->units + unit, value, loss->grad_bf16);
}

static double softmax_row(const struct loss *loss, int64_t row)
{
    int32_t label = loss->labels[row];
    float top = z_at(loss, row, largest(loss, row));
    double sum = exponentials(loss, row, top);
    float share = (float)((double)loss->weight / (sum * (double)loss->all));
    for (int64_t u = 0; loss->grad && u < loss->units; u++)
        put_grad(loss, row, u,
                 expf(z_at(loss, row, u) - top) * share -
                     (u == label ? loss->weight / (float)loss->all : 0));
    return log(sum) + (double)top - (double)z_at(loss, row, label);
}

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

static double sigmoid_row(const struct loss *loss, int64_t row)
{
    double z = (double)z_at(loss, row, 0), label = loss->labels[row];
    if (loss->grad)
        put_grad(loss, row, 0,
                 (float)((double)loss->weight * (sigmoid(z) - label) / (double)loss->all));
    return (z > 0 ? z : 0) - z * label + log1p(exp(-fabs(z))); // no exponential overflows
}

static void loss_work(void *loss_, int thread, int threads)
{
    const struct loss *loss = loss_;
    int64_t from, to;
    team_part(loss->count, 1, thread, threads, &from, &to);
    for (int64_t row = from; row < to; row++)
        loss->rows[row] =
            loss->kind == NET_SOFTMAX ? softmax_row(loss, row) : sigmoid_row(loss, row);
}

static bool is_right(const struct loss *loss, int64_t row)
{
    if (loss->kind == NET_SIGMOID)
        return (z_at(loss, row, 0) > 0) == loss->labels[row];
    return largest(loss, row) == loss->labels[row];
}

void loss_run(const struct loss *loss, struct engine_score *score)
{
    assert(loss->kind == NET_SOFTMAX || loss->units == 1);
    struct loss copy = *loss;
    team_run(loss_work, &copy);
    for (int64_t row = 0; row < loss->count; row++) {
        score->loss += loss->rows[row];
        score->correct += is_right(loss, row);
    }
    score->count += loss->count;
    if (loss->grad) {
        int64_t rest = (loss->batch - loss->count) * loss->units;
        memset(number_at(loss->grad, loss->count * loss->units, loss->grad_bf16), 0,
               (size_t)rest * number_bytes(loss->grad_bf16));
    }
}

void loss_predict(const struct loss *loss, float *out)
{
    for (int64_t row = 0; row < loss->count; row++, out += loss->units) {
        float top = z_at(loss, row, largest(loss, row));
        double sum = exponentials(loss, row, top);
        for (int64_t u = 0; u < loss->units; u++)
            out[u] = loss->kind == NET_SIGMOID
                         ? (float)sigmoid((double)z_at(loss, row, u))
                         : (float)((double)expf(z_at(loss, row, u) - top) / sum);
    }
}

// ---- an auxiliary loss ----
//
// It shares memory with the net's own outputs and their gradient (plan.c, share_in_place); only the
// other head's gradient is computed here.

struct aux {
    struct op op;
    double *rows; // (batch) work space of the loss
};

static int aux_backward(struct op *op, const struct pass *pass, struct err *err)
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

static int aux_make(struct op *op, struct err *err)
{
    struct aux *aux = (struct aux *)op;
    plan_needs_out(op->plan, op->layer->inputs[1], op->number, PLAN_BACKWARD);
    return plan_buffer(op, (size_t)op->plan->batch * sizeof *aux->rows, PLAN_BACKWARD,
                       PLAN_BACKWARD, &aux->rows, err);
}

const struct op_class aux_class = {
    .size = sizeof(struct aux), .make = aux_make, .backward = aux_backward};
