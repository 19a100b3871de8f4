// SPDX-License-Identifier: Apache-2.0
// Causal attention, one head of one sample at a time on each thread, in blocks of rows. The odds of
// a block live in a thread's scratch memory only: of each row the logarithm of its sum is kept,
// with which the way back computes them again.
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "train/engine/cpu/dnnl.h"
#include "train/engine/cpu/plan.h"
#include "train/engine/cpu/team.h"

#define BLOCK 64 // rows

struct attention {
    struct op op;
    float *levels;  // (batch, heads, time)
    float *scratch; // (threads, 2, BLOCK, time)
    float *sum;     // (batch, time, 3 units): the gradient, if it is added to another; or null
    const struct pass *pass;
    atomic_int failed; // a product's error code
};

// One head of one sample.
struct attention_head {
    const struct passes *passes;
    int64_t time, size, units, row; // row: of q, k and v, which lie side by side
    float scale;
    const float *q, *k, *v;
    float *y, *levels;
    float *odds, *back; // (BLOCK, time)
    const float *dy;
    float *dq, *dk, *dv;
};

static int attention_make(struct op *op, struct err *err)
{
    struct attention *a = (struct attention *)op;
    size_t time = (size_t)op->layer->out.dim[0], batch = (size_t)op->plan->batch;
    const struct value *input = plan_input(op, 0);
    plan_needs_out(op->plan, op->layer->inputs[0], op->number, PLAN_BACKWARD);
    plan_needs_out(op->plan, op->number, op->number, PLAN_BACKWARD);
    TRY(plan_buffer(op, batch * (size_t)op->layer->heads * time * sizeof(float), PLAN_FORWARD,
                    PLAN_BACKWARD, &a->levels, err));
    TRY(plan_buffer(op, (size_t)team_size() * 2 * BLOCK * time * sizeof(float), PLAN_FORWARD,
                    PLAN_BACKWARD, &a->scratch, err));
    if (!plan_adds(op, 0))
        return 0;
    return plan_buffer(op, (size_t)plan_numbers(op->plan, input) * sizeof(float), PLAN_BACKWARD,
                       PLAN_BACKWARD, &a->sum, err);
}

static struct attention_head head_of(const struct attention *a, int64_t number, int thread)
{
    const struct net_layer *layer = a->op.layer;
    int64_t time = layer->out.dim[0], units = layer->units, size = units / layer->heads;
    int64_t sample = number / layer->heads, at = number % layer->heads * size;
    int64_t in = sample * time * 3 * units + at, out = sample * time * units + at;
    const float *q = (const float *)plan_input(&a->op, 0)->out + in;
    struct attention_head h = {.passes = a->op.plan->passes,
                               .time = time,
                               .size = size,
                               .units = units,
                               .row = 3 * units,
                               .scale = 1 / sqrtf((float)size),
                               .q = q,
                               .k = q + units,
                               .v = q + 2 * units,
                               .y = (float *)plan_output(&a->op)->out + out,
                               .levels = a->levels + number * time,
                               .odds = a->scratch + 2 * thread * BLOCK * time};
    h.back = h.odds + BLOCK * time;
    return h;
}

// Scores of `rows` queries from `first` on, with all keys that the last of them sees.
static int score(const struct attention_head *h, int64_t first, int64_t rows)
{
    return dnn_multiply(&(struct dnn_product){.size = {rows, first + rows, h->size},
                                              .a = {h->q + first * h->row, h->row},
                                              .b = {h->k, h->row, true},
                                              .c = {h->odds, h->time}},
                        NULL);
}

// Row r of a block sees first + r + 1 keys; of those behind it the odds are zero.
static void hide(const struct attention_head *h, int64_t first, int64_t rows, int64_t r)
{
    memset(h->odds + r * h->time + first + r + 1, 0, (size_t)(rows - r - 1) * sizeof *h->odds);
}

static int forward_head(const struct attention_head *h)
{
    for (int64_t first = 0; first < h->time; first += BLOCK) {
        int64_t rows = h->time - first < BLOCK ? h->time - first : BLOCK;
        TRY(score(h, first, rows));
        for (int64_t r = 0; r < rows; r++) {
            h->levels[first + r] =
                h->passes->row_softmax(h->odds + r * h->time, first + r + 1, h->scale, 1);
            hide(h, first, rows, r);
        }
        TRY(dnn_multiply(&(struct dnn_product){.size = {rows, h->size, first + rows},
                                               .a = {h->odds, h->time},
                                               .b = {h->v, h->row},
                                               .c = {h->y + first * h->units, h->units}},
                         NULL));
    }
    return 0;
}

// to (keys × size) = or += block' × rows of q or dy
static int give(const struct attention_head *h, const float *block, int64_t first, int64_t rows,
                const float *from, int64_t from_row, float *to)
{
    bool last = first + rows == h->time; // it comes first, and sees all keys
    return dnn_multiply(&(struct dnn_product){.size = {first + rows, h->size, rows},
                                              .a = {block, h->time, true},
                                              .b = {from + first * from_row, from_row},
                                              .c = {to, h->row},
                                              .add = !last},
                        NULL);
}

static int backward_block(const struct attention_head *h, int64_t first, int64_t rows)
{
    const float *dy = h->dy + first * h->units, *y = h->y + first * h->units;
    TRY(score(h, first, rows));
    TRY(dnn_multiply(&(struct dnn_product){.size = {rows, first + rows, h->size},
                                           .a = {dy, h->units},
                                           .b = {h->v, h->row, true},
                                           .c = {h->back, h->time}},
                     NULL));
    for (int64_t r = 0; r < rows; r++) {
        h->passes->row_odds(h->odds + r * h->time, first + r + 1, h->scale, h->levels[first + r]);
        hide(h, first, rows, r);
    }
    TRY(give(h, h->odds, first, rows, h->dy, h->units, h->dv));
    for (int64_t r = 0; r < rows; r++) {
        float along = h->passes->row_dot(dy + r * h->units, y + r * h->units, h->size);
        h->passes->row_odds_back(h->odds + r * h->time, h->back + r * h->time, first + rows, along,
                                 h->scale);
    }
    TRY(give(h, h->back, first, rows, h->q, h->row, h->dk));
    return dnn_multiply(&(struct dnn_product){.size = {rows, h->size, first + rows},
                                              .a = {h->back, h->time},
                                              .b = {h->k, h->row},
                                              .c = {h->dq + first * h->row, h->row}},
                        NULL);
}

static int backward_head(const struct attention_head *h)
{
    for (int64_t first = (h->time - 1) / BLOCK * BLOCK; first >= 0; first -= BLOCK)
        TRY(backward_block(h, first, h->time - first < BLOCK ? h->time - first : BLOCK));
    return 0;
}

static void attention_work(struct attention *a, int thread, int threads, bool back)
{
    int64_t from, to;
    team_part(a->pass->batch->count * a->op.layer->heads, 1, thread, threads, &from, &to);
    for (int64_t i = from; i < to; i++) {
        struct attention_head h = head_of(a, i, thread);
        if (back) {
            h.dy = (const float *)plan_output(&a->op)->grad +
                   (h.y - (const float *)plan_output(&a->op)->out);
            float *grad = a->sum ? a->sum : plan_input(&a->op, 0)->grad;
            h.dq = grad + (h.q - (const float *)plan_input(&a->op, 0)->out);
            h.dk = h.dq + h.units;
            h.dv = h.dq + 2 * h.units;
        }
        int rc = back ? backward_head(&h) : forward_head(&h);
        if (rc != 0)
            atomic_store(&a->failed, rc);
    }
}

static void attention_forward_work(void *a, int thread, int threads)
{
    attention_work(a, thread, threads, false);
}

static void attention_backward_work(void *a, int thread, int threads)
{
    attention_work(a, thread, threads, true);
}

static int attention_run(struct attention *a, const struct pass *pass, bool back, struct err *err)
{
    a->pass = pass;
    atomic_store(&a->failed, 0);
    team_run(back ? attention_backward_work : attention_forward_work, a);
    int rc = atomic_load(&a->failed);
    return rc == 0 ? 0 : err_set(err, rc, "a product of attention failed in oneDNN");
}

static int attention_forward(struct op *op, const struct pass *pass, struct err *err)
{
    return attention_run((struct attention *)op, pass, false, err);
}

static int attention_backward(struct op *op, const struct pass *pass, struct err *err)
{
    struct attention *a = (struct attention *)op;
    const struct value *input = plan_input(op, 0);
    if (!plan_wants_input(op, pass, 0))
        return 0;
    TRY(attention_run(a, pass, true, err));
    if (a->sum)
        plan_add(op->plan, input->grad, a->sum, pass->batch->count * input->columns, false);
    return 0;
}

const struct op_class attention_class = {.size = sizeof(struct attention),
                                         .make = attention_make,
                                         .forward = attention_forward,
                                         .backward = attention_backward};
