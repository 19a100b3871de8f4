// SPDX-License-Identifier: Apache-2.0
// Dropout. The mask is drawn once, as bits in memory order, and kept for the way back. If dropout
// is the only reader, it works in place, and also clears the bits of numbers that a relu before it
// zeroed, so that one backward pass does both.
#include <string.h>

#include "engine/cpu/number.h"
#include "engine/cpu/plan.h"
#include "engine/cpu/team.h"

struct drop {
    struct op op;
    int buffer;
    uint8_t *bits;
};

struct job {
    const struct drop *drop;
    struct dropout mask;
    bool back;
};

// Numbers [at, at + count) in memory, whose bits begin at a byte.
static void through(const struct job *job, int64_t at, int64_t count)
{
    const struct op *op = &job->drop->op;
    const struct value *x = plan_input(op, 0), *y = plan_output(op);
    const struct passes *passes = op->plan->passes;
    uint8_t *bits = job->drop->bits + at / 8;
    if (job->back)
        passes->drop_back(number_at(y->grad, at, y->grad_bf16),
                          number_at(x->grad, at, x->grad_bf16), bits, count, job->mask.scale,
                          plan_adds(op, 0), y->grad_bf16);
    else
        passes->drop(number_at(x->out, at, x->bf16), number_at(y->out, at, y->bf16), bits, count,
                     job->mask.scale, x->relu_later, x->bf16);
}

static void rows_work(void *job_, int thread, int threads)
{
    const struct job *job = job_;
    const struct op *op = &job->drop->op;
    int64_t from, to;
    team_part(plan_numbers(op->plan, plan_output(op)), PASSES_PAD, thread, threads, &from, &to);
    if (from >= to)
        return;
    if (!job->back)
        op->plan->passes->mask_rows(&job->mask, (uint64_t)from, to - from,
                                    job->drop->bits + from / 8);
    through(job, from, to - from);
}

static void planes_work(void *job_, int thread, int threads)
{
    const struct job *job = job_;
    const struct op *op = &job->drop->op;
    const struct image *as = &plan_output(op)->as;
    int64_t from, to, plane = image_plane(as), pixels = image_pixels(as);
    team_part(op->plan->batch * as->blocks, 1, thread, threads, &from, &to);
    for (int64_t i = from; i < to; i++) {
        int64_t sample = i / as->blocks, block = i % as->blocks;
        uint64_t first = (uint64_t)((sample * as->channels + block * as->block) * pixels);
        if (!job->back)
            op->plan->passes->mask_plane(&job->mask, first, pixels, as->block,
                                         job->drop->bits + i * plane / 8);
        through(job, i * plane, plane);
    }
}

static void run(const struct op *op, const struct pass *pass, bool back)
{
    struct job job = {.drop = (const struct drop *)op, .back = back};
    dropout_init(&job.mask, pass->seed, op->number, pass->iteration, op->layer->rate);
    team_run(plan_output(op)->image ? planes_work : rows_work, &job);
}

static int forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    const struct value *x = plan_input(op, 0), *y = plan_output(op);
    if (pass->training)
        run(op, pass, false);
    else if (x->out != y->out)
        memcpy(y->out, x->out, (size_t)plan_numbers(op->plan, y) * number_bytes(y->bf16));
    return 0;
}

static int backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    if (plan_wants_input(op, pass, 0))
        run(op, pass, true);
    return 0;
}

static int bind(struct op *op, struct err *err)
{
    (void)err;
    struct drop *drop = (struct drop *)op;
    drop->bits = arena_at(&op->plan->arena, drop->buffer);
    return 0;
}

static int make(struct op *op, struct err *err)
{
    struct drop *drop = (struct drop *)op;
    size_t bytes = (size_t)(plan_numbers(op->plan, plan_output(op)) / 8 + 8);
    return plan_buffer(op, bytes, PLAN_FORWARD, PLAN_BACKWARD, &drop->buffer, err);
}

const struct op_class drop_class = {.size = sizeof(struct drop),
                                    .make = make,
                                    .bind = bind,
                                    .forward = forward,
                                    .backward = backward};
