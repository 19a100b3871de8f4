// SPDX-License-Identifier: Apache-2.0
// The input of images. Convolutions and dense layers read floats from the caller's memory; for
// everything else, and in bfloat16, they are copied. In training, missing samples of a partial
// batch are zero: their gradient is zero, and zero times NaN would be NaN.
#include <string.h>

#include "engine/cpu/number.h"
#include "engine/cpu/plan.h"
#include "engine/cpu/team.h"

struct input {
    struct op op;
    void *own; // our copy, or null
};

struct job {
    const struct input *input;
    const float *from;
    int64_t count; // samples; the rest is zero
};

static void block_sample(const struct value *value, const float *from, int64_t sample)
{
    const struct image *as = &value->as;
    int64_t pixels = image_pixels(as);
    for (int c = 0; c < as->blocks * as->block; c++)
        for (int64_t p = 0; p < pixels; p++)
            number_put(value->out, image_at(as, sample, c, p),
                       from && c < as->channels ? from[c * pixels + p] : 0, value->bf16);
}

static void work(void *job_, int thread, int threads)
{
    const struct job *job = job_;
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

static int forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct input *input = (struct input *)op;
    struct value *value = plan_output(op);
    struct job job = {input, pass->batch->image, pass->batch->count};
    bool copied = !value->given || (pass->training && pass->batch->count < op->plan->batch);
    if (value->given) // the readers look here each time; they only read
        value->out = copied ? input->own : (void *)(uintptr_t)pass->batch->image;
    if (copied)
        team_run(work, &job);
    return 0;
}

static int bind(struct op *op, struct err *err)
{
    (void)err;
    ((struct input *)op)->own = plan_output(op)->out;
    return 0;
}

const struct op_class input_class = {
    .size = sizeof(struct input), .bind = bind, .forward = forward};
