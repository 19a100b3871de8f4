// SPDX-License-Identifier: Apache-2.0
// Dropout. The mask is drawn once, as bits in memory order, and kept for the way back. If dropout
// is the only reader, it works in place, and also clears the bits of numbers that a relu before it
// zeroed, so that one backward pass does both.
#include <string.h>

#include "engine/cpu/number.h"
#include "engine/cpu/plan.h"
#include "engine/cpu/team.h"

#define MASK_WORDS 32 // of 64 bits, drawn at a time

_Static_assert(PASSES_PAD == 64, "masks are shifted by words of as many bits");

struct drop {
    struct op op;
    int buffer;
    uint8_t *bits;
};

struct job {
    const struct drop *drop;
    struct dropout mask;
    uint64_t first; // number of the first sample here, in the batch of all ranks
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

// Bits of numbers [from, to) here, which are others in the batch of all ranks: masks begin at
// multiples of PASSES_PAD there, so they are drawn in pieces and shifted.
static void mask_rows(const struct job *job, int64_t from, int64_t to)
{
    const struct op *op = &job->drop->op;
    const struct passes *passes = op->plan->passes;
    uint8_t *bits = job->drop->bits + from / 8;
    uint64_t at = job->first * (uint64_t)plan_output(op)->columns + (uint64_t)from;
    unsigned off = (unsigned)(at % PASSES_PAD);
    if (off == 0) {
        passes->mask_rows(&job->mask, at, to - from, bits);
        return;
    }
    uint64_t drawn[2 * MASK_WORDS];
    for (int64_t i = 0; i < to - from; i += MASK_WORDS * 64) {
        int64_t words = (to - from - i + 63) / 64;
        words = words < MASK_WORDS ? words : MASK_WORDS;
        passes->mask_rows(&job->mask, at - off + (uint64_t)i, (words + 1) * 64, (uint8_t *)drawn);
        for (int64_t w = 0; w < words; w++) {
            uint64_t word = drawn[w] >> off | drawn[w + 1] << (64 - off);
            memcpy(bits + i / 8 + w * 8, &word, sizeof word);
        }
    }
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
        mask_rows(job, from, to);
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
        uint64_t channel = (job->first + (uint64_t)sample) * (uint64_t)as->channels +
                           (uint64_t)(block * as->block);
        uint64_t first = channel * (uint64_t)pixels;
        if (!job->back)
            op->plan->passes->mask_plane(&job->mask, first, pixels, as->block,
                                         job->drop->bits + i * plane / 8);
        through(job, i * plane, plane);
    }
}

static void run(const struct op *op, const struct pass *pass, bool back)
{
    struct job job = {
        .drop = (const struct drop *)op, .first = (uint64_t)pass->batch->first, .back = back};
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
    size_t bytes = (size_t)(plan_numbers(op->plan, plan_output(op)) / 8 + 16);
    return plan_buffer(op, bytes, PLAN_FORWARD, PLAN_BACKWARD, &drop->buffer, err);
}

const struct op_class drop_class = {.size = sizeof(struct drop),
                                    .make = make,
                                    .bind = bind,
                                    .forward = forward,
                                    .backward = backward};
