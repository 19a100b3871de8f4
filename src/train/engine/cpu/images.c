// SPDX-License-Identifier: Apache-2.0
// Layers that move, pool or mask what is in memory: the input of images, pools, dropout,
// concatenation.
#include <string.h>

#include "train/engine/cpu/number.h"
#include "train/engine/cpu/plan.h"
#include "train/engine/cpu/team.h"

// ---- the input of images ----
//
// Convolutions and dense layers read floats from the caller's memory; for
// everything else, and in bfloat16, they are copied. In training, missing samples of a partial
// batch are zero: their gradient is zero, and zero times NaN would be NaN.

struct input {
    struct op op;
    void *own; // our copy, or null
};

struct input_job {
    const struct input *input;
    const float *from;
    int64_t count; // samples; the rest is zero
};

static void block_sample(const struct value *value, const float *from, int64_t sample)
{
    const struct image_layout *as = &value->as;
    int64_t pixels = image_pixels(as);
    for (int c = 0; c < as->blocks * as->block; c++)
        for (int64_t p = 0; p < pixels; p++)
            number_put(value->out, image_at(as, sample, c, p),
                       from && c < as->channels ? from[c * pixels + p] : 0, value->bf16);
}

static void input_work(void *job_, int thread, int threads)
{
    const struct input_job *job = job_;
    const struct op *op = &job->input->op;
    const struct value *value = plan_output(op);
    int64_t first, last, size = net_shape_count(&op->layer->out);
    team_part(op->plan->batch, 1, thread, threads, &first, &last);
    for (int64_t s = first; s < last; s++) {
        const float *from = s < job->count ? job->from + s * size : NULL;
        if (value->image) {
            block_sample(value, from, s);
        } else if (value->bf16) {
            for (int64_t i = 0; i < size; i++)
                number_put(value->out, s * size + i, from ? from[i] : 0, true);
        } else if (from) {
            memcpy((float *)value->out + s * size, from, (size_t)size * sizeof *from);
        } else {
            memset((float *)value->out + s * size, 0, (size_t)size * sizeof *from);
        }
    }
}

static int input_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct input *input = (struct input *)op;
    struct value *value = plan_output(op);
    struct input_job job = {input, pass->batch->image, pass->batch->count};
    bool copied = !value->given || (pass->training && pass->batch->count < op->plan->batch);
    if (value->given) // the readers look here each time; they only read
        value->out = copied ? input->own : (void *)(uintptr_t)pass->batch->image;
    if (copied)
        team_run(input_work, &job);
    return 0;
}

static int input_bind(struct op *op, struct err *err)
{
    (void)err;
    ((struct input *)op)->own = plan_output(op)->out;
    return 0;
}

const struct op_class input_class = {
    .size = sizeof(struct input), .bind = input_bind, .forward = input_forward};

// ---- pools ----
//
// Maximum, average, and the average of a whole image. A maximum pool that is the only reader
// of a layer with relu applies the relu's mask on the way back.

enum { PLANE_MAX = 16 }; // channels of a block

struct pool {
    struct op op;
    struct pass_pool shape;
    uint8_t *index; // maximum: the winners, (batch, blocks, out pixels, block)
};

static void *plane_at(const struct value *value, void *base, int64_t sample, int block)
{
    int64_t at = image_at(&value->as, sample, block * value->as.block, 0);
    return number_at(base, at, value->bf16);
}

static uint8_t *index_at(const struct pool *pool, int64_t sample, int block)
{
    const struct image_layout *as = &plan_output(&pool->op)->as;
    return pool->index + (sample * as->blocks + block) * image_plane(as);
}

// The average of everything: an image becomes a row.

static int channels_in(const struct image_layout *as, int block)
{
    int left = as->channels - block * as->block;
    return left < as->block ? left : as->block;
}

static void global_plane(const struct pool *pool, const void *plane, int64_t sample, int block)
{
    const struct value *x = plan_input(&pool->op, 0), *y = plan_output(&pool->op);
    const struct image_layout *as = &x->as;
    float sum[PLANE_MAX];
    pool->op.plan->passes->plane_sum(plane, image_pixels(as), as->block, sum, x->bf16);
    for (int c = 0; c < channels_in(as, block); c++)
        number_put(y->out, sample * y->columns + block * as->block + c,
                   sum[c] / (float)image_pixels(as), y->bf16);
}

static void global_plane_back(const struct pool *pool, void *plane, int64_t sample, int block)
{
    const struct value *x = plan_input(&pool->op, 0), *y = plan_output(&pool->op);
    const struct image_layout *as = &x->as;
    float share[PLANE_MAX] = {0};
    for (int c = 0; c < channels_in(as, block); c++)
        share[c] = number_get(y->grad, sample * y->columns + block * as->block + c, y->grad_bf16) /
                   (float)image_pixels(as);
    pool->op.plan->passes->plane_fill(plane, image_pixels(as), as->block, share,
                                      plan_adds(&pool->op, 0), x->bf16);
}

static void pool_plane(const struct pool *pool, int64_t sample, int block, bool back)
{
    const struct value *x = plan_input(&pool->op, 0), *y = plan_output(&pool->op);
    const struct passes *passes = pool->op.plan->passes;
    bool adds = plan_adds(&pool->op, 0);
    void *in = plane_at(x, back ? x->grad : x->out, sample, block);
    if (pool->op.layer->op == NET_GLOBAL_AVERAGE && back)
        global_plane_back(pool, in, sample, block);
    else if (pool->op.layer->op == NET_GLOBAL_AVERAGE)
        global_plane(pool, in, sample, block);
    else if (pool->index && back)
        passes->max_pool_back(&pool->shape, plane_at(y, y->grad, sample, block),
                              index_at(pool, sample, block), in, adds);
    else if (pool->index)
        passes->max_pool(&pool->shape, in, plane_at(y, y->out, sample, block),
                         index_at(pool, sample, block), x->relu_later);
    else if (back)
        passes->average_pool_back(&pool->shape, plane_at(y, y->grad, sample, block), in, adds);
    else
        passes->average_pool(&pool->shape, in, plane_at(y, y->out, sample, block));
}

static void pool_planes(const struct op_job *job, int thread, int threads, bool back)
{
    int blocks = plan_input(job->op, 0)->as.blocks;
    int64_t from, to;
    team_part(job->op->plan->batch * blocks, 1, thread, threads, &from, &to);
    for (int64_t i = from; i < to; i++)
        pool_plane((const struct pool *)job->op, i / blocks, (int)(i % blocks), back);
}

static void pool_work(void *job, int thread, int threads)
{
    pool_planes(job, thread, threads, false);
}

static void pool_back_work(void *job_, int thread, int threads)
{
    const struct op_job *job = job_;
    if (plan_wants_input(job->op, job->pass, 0))
        pool_planes(job, thread, threads, true);
}

static int pool_make(struct op *op, struct err *err)
{
    struct pool *pool = (struct pool *)op;
    struct plan *plan = op->plan;
    const struct net_layer *layer = op->layer;
    const struct value *input = plan_input(op, 0), *output = plan_output(op);
    pool->shape = (struct pass_pool){.in_h = input->as.height,
                                     .in_w = input->as.width,
                                     .out_h = output->as.height,
                                     .out_w = output->as.width,
                                     .kernel_h = layer->kernel_h,
                                     .kernel_w = layer->kernel_w,
                                     .stride = layer->stride,
                                     .pad_top = layer->pad_top,
                                     .pad_left = layer->pad_left,
                                     .block = plan->block,
                                     .bf16 = input->bf16};
    if (layer->op != NET_MAX_POOL)
        return 0;
    if ((int64_t)layer->kernel_h * layer->kernel_w >= PASS_POOL_DEAD)
        return err_set(err, ERR_FAIL, "the window of a maximum pool holds at most %d cells",
                       PASS_POOL_DEAD - 1);
    size_t bytes = (size_t)(plan->batch * output->as.blocks * image_plane(&output->as));
    return plan_buffer(op, bytes, PLAN_FORWARD, PLAN_BACKWARD, &pool->index, err);
}

const struct op_class pool_class = {.size = sizeof(struct pool),
                                    .make = pool_make,
                                    .forward_work = pool_work,
                                    .backward_work = pool_back_work};

// ---- dropout ----
//
// The mask is drawn once, as bits in memory order, and kept for the way back. If dropout
// is the only reader, it works in place, and also clears the bits of numbers that a relu before it
// zeroed, so that one backward pass does both.

#define MASK_WORDS 32 // of 64 bits, drawn at a time

_Static_assert(PASSES_PAD == 64, "masks are shifted by words of as many bits");

struct drop {
    struct op op;
    uint8_t *bits;
};

struct drop_job {
    const struct drop *drop;
    struct dropout mask;
    uint64_t first; // number of the first sample here, in the batch of all ranks
    bool back;
};

// Numbers [at, at + count) in memory, whose bits begin at a byte.
static void through(const struct drop_job *job, int64_t at, int64_t count)
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
static void mask_rows(const struct drop_job *job, int64_t from, int64_t to)
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

static void drop_rows_work(void *job_, int thread, int threads)
{
    const struct drop_job *job = job_;
    const struct op *op = &job->drop->op;
    int64_t from, to;
    team_part(plan_numbers(op->plan, plan_output(op)), PASSES_PAD, thread, threads, &from, &to);
    if (from >= to)
        return;
    if (!job->back)
        mask_rows(job, from, to);
    through(job, from, to - from);
}

static void drop_planes_work(void *job_, int thread, int threads)
{
    const struct drop_job *job = job_;
    const struct op *op = &job->drop->op;
    const struct image_layout *as = &plan_output(op)->as;
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

static void drop_run(const struct op *op, const struct pass *pass, bool back)
{
    struct drop_job job = {
        .drop = (const struct drop *)op, .first = (uint64_t)pass->batch->first, .back = back};
    dropout_init(&job.mask, pass->seed, op->number, pass->iteration, op->layer->rate);
    team_run(plan_output(op)->image ? drop_planes_work : drop_rows_work, &job);
}

static int drop_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    const struct value *x = plan_input(op, 0), *y = plan_output(op);
    if (pass->training)
        drop_run(op, pass, false);
    else if (x->out != y->out)
        memcpy(y->out, x->out, (size_t)plan_numbers(op->plan, y) * number_bytes(y->bf16));
    return 0;
}

static int drop_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    if (plan_wants_input(op, pass, 0))
        drop_run(op, pass, true);
    return 0;
}

static int drop_make(struct op *op, struct err *err)
{
    struct drop *drop = (struct drop *)op;
    size_t bytes = (size_t)(plan_numbers(op->plan, plan_output(op)) / 8 + 16);
    return plan_buffer(op, bytes, PLAN_FORWARD, PLAN_BACKWARD, &drop->bits, err);
}

const struct op_class drop_class = {.size = sizeof(struct drop),
                                    .make = drop_make,
                                    .forward = drop_forward,
                                    .backward = drop_backward};

// ---- concatenation ----
//
// Along the channels. Most inputs are written to their place in it directly (plan.c,
// share_slices); the others are copied here.

struct concat_job {
    const struct op *op;
    int which; // input
    int first; // its first channel in the output
    bool back;
    bool add; // to what the input's gradient holds
};

// Whole blocks of channels that begin at a block.
static void copy_planes(const struct concat_job *job, int64_t sample)
{
    const struct value *part = plan_input(job->op, job->which), *whole = plan_output(job->op);
    int64_t plane = image_plane(&part->as);
    for (int b = 0; b < part->as.blocks; b++) {
        int64_t small = image_at(&part->as, sample, b * part->as.block, 0);
        int64_t large = image_at(&whole->as, sample, job->first + b * part->as.block, 0);
        size_t bytes = (size_t)plane * number_bytes(part->bf16);
        if (!job->back)
            memcpy(number_at(whole->out, large, part->bf16),
                   number_at(part->out, small, part->bf16), bytes);
        else if (!job->add)
            memcpy(number_at(part->grad, small, part->bf16),
                   number_at(whole->grad, large, part->bf16), bytes);
        else
            job->op->plan->passes->add(number_at(part->grad, small, part->bf16),
                                       number_at(whole->grad, large, part->bf16), plane,
                                       part->bf16);
    }
}

// Any channels, number by number. Padding of the destination becomes zero.
static void copy_numbers(const struct concat_job *job, int64_t sample)
{
    const struct value *part = plan_input(job->op, job->which), *whole = plan_output(job->op);
    const struct value *to = job->back ? part : whole;
    bool bf16 = part->bf16, last = job->which == job->op->layer->input_count - 1;
    int padded = to->as.blocks * to->as.block - (job->back ? 0 : job->first);
    int end = job->back || last ? padded : part->as.channels;
    for (int c = 0; c < end; c++)
        for (int64_t p = 0; p < image_pixels(&part->as); p++) {
            bool inside = c < part->as.channels;
            int64_t small = image_at(&part->as, sample, c, p);
            int64_t large = image_at(&whole->as, sample, job->first + c, p);
            if (!job->back) {
                number_put(whole->out, large, inside ? number_get(part->out, small, bf16) : 0,
                           bf16);
                continue;
            }
            float gradient = inside ? number_get(whole->grad, large, bf16) : 0;
            if (job->add)
                gradient += number_get(part->grad, small, bf16);
            number_put(part->grad, small, gradient, bf16);
        }
}

static void concat_work(void *job_, int thread, int threads)
{
    const struct concat_job *job = job_;
    const struct image_layout *part = &plan_input(job->op, job->which)->as;
    bool whole_blocks = job->first % part->block == 0 && part->channels % part->block == 0;
    int64_t from, to;
    team_part(job->op->plan->batch, 1, thread, threads, &from, &to);
    for (int64_t sample = from; sample < to; sample++)
        (whole_blocks ? copy_planes : copy_numbers)(job, sample);
}

// Whether an earlier input is the same layer, which then has a gradient already.
static bool repeats(const struct op *op, int which)
{
    for (int i = 0; i < which; i++)
        if (op->layer->inputs[i] == op->layer->inputs[which])
            return true;
    return false;
}

static void concat_run(const struct op *op, const struct pass *pass, bool back)
{
    int channel = 0;
    for (int i = 0; i < op->layer->input_count; i++) {
        const struct value *part = plan_input(op, i);
        bool there = part->home == plan_output(op)->home; // it is in place
        if (!there && (!back || plan_wants_input(op, pass, i))) {
            struct concat_job job = {op, i, channel, back,
                                     back && (plan_adds(op, i) || repeats(op, i))};
            team_run(concat_work, &job);
        }
        channel += part->as.channels;
    }
}

static int concat_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    concat_run(op, pass, false);
    return 0;
}

static int concat_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    concat_run(op, pass, true);
    return 0;
}

const struct op_class concat_class = {
    .size = sizeof(struct op), .forward = concat_forward, .backward = concat_backward};
