// SPDX-License-Identifier: Apache-2.0
// Concatenation along the channels. Most inputs are written to their place in it directly (plan.c,
// share_slices); the others are copied here.
#include <string.h>

#include "engine/cpu/number.h"
#include "engine/cpu/plan.h"
#include "engine/cpu/team.h"

struct job {
    const struct op *op;
    int which; // input
    int first; // its first channel in the output
    bool back;
    bool add; // to what the input's gradient holds
};

// Whole blocks of channels that begin at a block.
static void copy_planes(const struct job *job, int64_t sample)
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
static void copy_numbers(const struct job *job, int64_t sample)
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

static void work(void *job_, int thread, int threads)
{
    const struct job *job = job_;
    const struct image *part = &plan_input(job->op, job->which)->as;
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

static void run(const struct op *op, const struct pass *pass, bool back)
{
    int channel = 0;
    for (int i = 0; i < op->layer->input_count; i++) {
        const struct value *part = plan_input(op, i);
        bool there = part->home == plan_output(op)->home; // it is in place
        if (!there && (!back || plan_wants_input(op, pass, i))) {
            struct job job = {op, i, channel, back, back && (plan_adds(op, i) || repeats(op, i))};
            team_run(work, &job);
        }
        channel += part->as.channels;
    }
}

static int forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    run(op, pass, false);
    return 0;
}

static int backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    run(op, pass, true);
    return 0;
}

const struct op_class concat_class = {
    .size = sizeof(struct op), .forward = forward, .backward = backward};
