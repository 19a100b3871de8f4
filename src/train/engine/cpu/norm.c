// SPDX-License-Identifier: Apache-2.0
// Batch norm, with relu. A thread takes a block of channels through all passes before the next
// block, to read it from the cache. The relu's mask is computed again from the input, which the way
// back reads anyway; so only readers need the output. In a group the sums are those of all ranks,
// so that a batch has one mean and one variance, wherever its samples are.
#include <math.h>
#include <stdlib.h>

#include "train/engine/cpu/number.h"
#include "train/engine/cpu/plan.h"
#include "train/engine/cpu/team.h"

struct norm {
    struct op op;
    int channels; // padded to whole blocks
    int parts;    // of the samples, if there are more threads than blocks
    float *mean, *inverse, *scale, *bias, *level, *slope; // (channels)
    double *sums[2];                                      // (blocks × parts, block)
    double *totals;                                       // (2, channels) of all ranks
    bool together;                                        // those count
    int64_t samples;                                      // of all ranks
};

struct norm_job {
    struct norm *norm;
    const struct pass *pass;
    void (*each)(const struct norm_job *job, int64_t task);
};

static void norm_work(void *job_, int thread, int threads)
{
    const struct norm_job *job = job_;
    int64_t from, to, tasks = job->norm->channels / job->norm->op.plan->block * job->norm->parts;
    team_part(tasks, 1, thread, threads, &from, &to);
    for (int64_t task = from; task < to; task++)
        job->each(job, task);
}

static void norm_run(struct norm_job *job, void (*each)(const struct norm_job *, int64_t))
{
    job->each = each;
    team_run(norm_work, job);
}

// A task is one block of channels in one part of the samples.
static struct pass_norm task_of(const struct norm_job *job, int64_t task, bool back)
{
    const struct norm *norm = job->norm;
    const struct op *op = &norm->op;
    const struct value *input = plan_input(op, 0), *output = plan_output(op);
    int64_t block = task / norm->parts, first, last;
    int channel = (int)block * op->plan->block;
    team_part(op->plan->batch, 1, (int)(task % norm->parts), norm->parts, &first, &last);
    int64_t x = image_at(&input->as, first, channel, 0),
            y = image_at(&output->as, first, channel, 0);
    return (struct pass_norm){
        .x = number_at(input->out, x, input->bf16),
        .y = back ? number_at(input->grad, x, input->bf16) : number_at(output->out, y, input->bf16),
        .dy = back ? number_at(output->grad, y, input->bf16) : NULL,
        .x_sample = input->as.sample_stride,
        .y_sample = back ? input->as.sample_stride : output->as.sample_stride,
        .dy_sample = output->as.sample_stride,
        .samples = last - first,
        .pixels = image_pixels(&input->as),
        .block = op->plan->block,
        .bf16 = input->bf16,
        .relu = op->layer->relu,
        .add = back && plan_adds(op, 0),
        .mean = norm->mean + channel,
        .scale = norm->scale + channel,
        .bias = norm->bias + channel,
        .level = norm->level + channel,
        .slope = norm->slope + channel,
    };
}

static double *sums_of(const struct norm *norm, int which, int64_t task)
{
    return norm->sums[which] + task * norm->op.plan->block;
}

// The parts' sums of channel c, in their order.
static double total_here(const struct norm *norm, int which, int c)
{
    int block = norm->op.plan->block;
    double sum = 0;
    for (int part = 0; part < norm->parts; part++)
        sum += sums_of(norm, which, c / block * norm->parts + part)[c % block];
    return sum;
}

static double total(const struct norm *norm, int which, int c)
{
    return norm->together ? norm->totals[which * norm->channels + c] : total_here(norm, which, c);
}

// Sums up what the ranks have, if they count; `count` sums of each channel.
static int sum_ranks(const struct norm *norm, const struct pass *pass, int count, struct err *err)
{
    for (int i = 0; norm->together && i < count; i++)
        for (int c = 0; c < norm->channels; c++)
            norm->totals[i * norm->channels + c] =
                pass->batch->count > 0 ? total_here(norm, i, c) : 0;
    return norm->together
               ? group_sum_reals(pass->group, norm->totals, (int64_t)count * norm->channels, err)
               : 0;
}

static double numbers(const struct norm *norm)
{
    return (double)(norm->samples * image_pixels(&plan_output(&norm->op)->as));
}

// ---- forward ----

static void norm_mean(const struct norm *norm, int c)
{
    norm->mean[c] = (float)(total(norm, 0, c) / numbers(norm));
}

static float mixed(float decay, float running, double batch)
{
    return (float)((double)decay * (double)running + (1 - (double)decay) * batch);
}

static void set_scale(const struct norm *norm, int c, double variance)
{
    norm->inverse[c] = (float)(1 / sqrt(variance + (double)norm->op.layer->epsilon));
    norm->scale[c] = norm->inverse[c] * plan_slot(&norm->op, 0)->value[c];
    norm->bias[c] = plan_slot(&norm->op, 1)->value[c];
}

static void variance_of(const struct norm *norm, int c)
{
    float *running_mean = plan_slot(&norm->op, 2)->value, *running = plan_slot(&norm->op, 3)->value;
    float decay = norm->op.layer->decay;
    double squares = total(norm, 0, c), count = numbers(norm);
    set_scale(norm, c, squares / count);
    if (c >= norm->op.layer->out.dim[0])
        return; // padding
    running_mean[c] = mixed(decay, running_mean[c], (double)norm->mean[c]);
    running[c] = mixed(decay, running[c], squares / (count > 1 ? count - 1 : 1));
}

static void sum_task(const struct norm_job *job, int64_t task)
{
    struct pass_norm n = task_of(job, task, false);
    job->norm->op.plan->passes->norm_sum(&n, sums_of(job->norm, 0, task));
}

static void squares_task(const struct norm_job *job, int64_t task)
{
    struct pass_norm n = task_of(job, task, false);
    job->norm->op.plan->passes->norm_squares(&n, sums_of(job->norm, 0, task));
}

static void apply_task(const struct norm_job *job, int64_t task)
{
    struct pass_norm n = task_of(job, task, false);
    job->norm->op.plan->passes->norm_apply(&n);
}

static void for_channels(const struct norm *norm, int64_t block,
                         void (*each)(const struct norm *, int))
{
    int size = norm->op.plan->block;
    for (int c = (int)block * size; c < ((int)block + 1) * size; c++)
        each(norm, c);
}

static void train_task(const struct norm_job *job, int64_t block)
{
    sum_task(job, block);
    for_channels(job->norm, block, norm_mean);
    squares_task(job, block);
    for_channels(job->norm, block, variance_of);
    apply_task(job, block);
}

static void for_all_channels(const struct norm *norm, void (*each)(const struct norm *, int))
{
    for (int c = 0; c < norm->channels; c++)
        each(norm, c);
}

static void take_running(const struct norm *norm, int c)
{
    norm->mean[c] = plan_slot(&norm->op, 2)->value[c];
    set_scale(norm, c, (double)plan_slot(&norm->op, 3)->value[c]);
}

// A rank without samples learns the mean and the variance all the same.
static int norm_forward(struct op *op, const struct pass *pass, struct err *err)
{
    struct norm *norm = (struct norm *)op;
    struct norm_job job = {norm, pass, NULL};
    bool some = pass->batch->count > 0;
    norm->together = pass->training && pass->group;
    norm->samples = norm->together ? pass->all : op->plan->batch;
    if (!pass->training) {
        for_all_channels(norm, take_running);
        norm_run(&job, apply_task);
        return 0;
    }
    if (!norm->together && norm->parts == 1) {
        norm_run(&job, train_task);
        return 0;
    }
    if (some)
        norm_run(&job, sum_task);
    TRY(sum_ranks(norm, pass, 1, err));
    for_all_channels(norm, norm_mean);
    if (some)
        norm_run(&job, squares_task);
    TRY(sum_ranks(norm, pass, 1, err));
    for_all_channels(norm, variance_of);
    if (some)
        norm_run(&job, apply_task);
    return 0;
}

// ---- backward ----

static void back_sums_task(const struct norm_job *job, int64_t task)
{
    struct pass_norm n = task_of(job, task, true);
    job->norm->op.plan->passes->norm_back_sums(&n, sums_of(job->norm, 0, task),
                                               sums_of(job->norm, 1, task));
}

// The gradients of weight and bias: this rank's part.
static void take_gradients(const struct norm *norm, int c)
{
    plan_slot(&norm->op, 0)->grad[c] = (float)(total_here(norm, 1, c) * (double)norm->inverse[c]);
    plan_slot(&norm->op, 1)->grad[c] = (float)total_here(norm, 0, c);
}

// What the mean and the variance take away from dy.
static void take_level(const struct norm *norm, int c)
{
    double sum = total(norm, 0, c), along = total(norm, 1, c), count = numbers(norm);
    double inverse = (double)norm->inverse[c];
    norm->level[c] = (float)(sum / count);
    norm->slope[c] = (float)(along * inverse * inverse / count);
}

static void take_sums(const struct norm *norm, int c)
{
    take_gradients(norm, c);
    take_level(norm, c);
}

static void back_task(const struct norm_job *job, int64_t task)
{
    struct pass_norm n = task_of(job, task, true);
    job->norm->op.plan->passes->norm_back(&n);
}

static void whole_back_task(const struct norm_job *job, int64_t block)
{
    back_sums_task(job, block);
    for_channels(job->norm, block, take_sums);
    if (plan_wants_input(&job->norm->op, job->pass, 0))
        back_task(job, block);
}

static int norm_backward(struct op *op, const struct pass *pass, struct err *err)
{
    struct norm *norm = (struct norm *)op;
    struct norm_job job = {norm, pass, NULL};
    bool some = pass->batch->count > 0;
    if (!norm->together && norm->parts == 1) {
        norm_run(&job, whole_back_task);
        return 0;
    }
    if (some) {
        norm_run(&job, back_sums_task);
        for_all_channels(norm, take_gradients);
    }
    TRY(sum_ranks(norm, pass, 2, err));
    for_all_channels(norm, take_level);
    if (some && plan_wants_input(op, pass, 0))
        norm_run(&job, back_task);
    return 0;
}

// ---- making ----

static void norm_release(struct op *op)
{
    struct norm *norm = (struct norm *)op;
    free(norm->mean);
    free(norm->inverse);
    free(norm->scale);
    free(norm->bias);
    free(norm->level);
    free(norm->slope);
    free(norm->sums[0]);
    free(norm->sums[1]);
    free(norm->totals);
}

static int norm_allocate(struct norm *norm, struct err *err)
{
    float **arrays[] = {&norm->mean, &norm->inverse, &norm->scale,
                        &norm->bias, &norm->level,   &norm->slope};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (!(*arrays[i] = calloc((size_t)norm->channels, sizeof **arrays[i])))
            return err_memory(err);
    for (int i = 0; i < 2; i++)
        if (!(norm->sums[i] =
                  calloc((size_t)norm->channels * (size_t)norm->parts, sizeof *norm->sums[i])))
            return err_memory(err);
    norm->totals = calloc(2 * (size_t)norm->channels, sizeof *norm->totals);
    return norm->totals ? 0 : err_memory(err);
}

static int norm_make(struct op *op, struct err *err)
{
    struct norm *norm = (struct norm *)op;
    struct plan *plan = op->plan;
    int blocks = plan_output(op)->as.blocks, threads = team_size();
    norm->channels = blocks * plan->block;
    norm->parts = threads > blocks ? (threads + blocks - 1) / blocks : 1;
    if (norm->parts > plan->batch)
        norm->parts = (int)plan->batch;
    for (int i = 0; i < 4; i++)
        params_pad(plan->params, op->layer->first_param + i, norm->channels);
    plan_needs_out(plan, op->layer->inputs[0], op->number, PLAN_BACKWARD);
    return norm_allocate(norm, err);
}

const struct op_class norm_class = {.size = sizeof(struct norm),
                                    .make = norm_make,
                                    .forward = norm_forward,
                                    .backward = norm_backward,
                                    .release = norm_release,
                                    .talks = true};
