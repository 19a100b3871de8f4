// SPDX-License-Identifier: Apache-2.0
// Dense layers whose threads own their weights. Thread t owns some of the units: only it reads and
// writes their weights, gradients and optimizer states, forward, backward and in the optimizer's
// step (the optimizer uses the same split). oneDNN's threads share all of them: on cores without a
// common cache every line then moves between cores, and a step of a small net took 3.8 ms instead
// of 2.3. Here only the rows of the batch move.
//
// Weights lie in panels of `width` units: (units / width, in, width), `in` padded.
#include <string.h>

#include "train/engine/cpu/kernels.h"
#include "train/engine/cpu/plan.h"
#include "train/engine/cpu/team.h"

#define MOST_THREADS 16 // each has its own gradient of the whole input; they are summed

struct owned {
    struct op op;
    int threads;
    int64_t in, units, width, panels;
    int64_t stored; // rows of a panel: `in`, padded
    int64_t batch;  // padded
    float *turned;  // (units, batch): the gradient of the output, turned
    float *partial; // (threads, in, batch): that of the input, turned
};

// ---- planning ----

static int64_t width_for(int64_t units, int threads)
{
    static const int64_t widths[] = {64, 32, 16};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (units % widths[i] == 0 && units / widths[i] >= threads)
            return widths[i];
    return 0;
}

bool owned_suits(const struct plan *plan, int number)
{
    const struct net_layer *layer = &plan->layers[number];
    const struct value *input = &plan->values[layer->inputs[0]], *output = &plan->values[number];
    return !input->image && !input->bf16 && !input->grad_bf16 && !output->bf16 &&
           !output->grad_bf16 && input->last_reader == number && input->readers == 1 &&
           team_size() <= MOST_THREADS && width_for(layer->units, team_size()) > 0;
}

static int owned_choose(struct owned *owned, struct err *err)
{
    struct slot *slot = plan_slot(&owned->op, 0);
    if (slot->chosen)
        return 0;
    const int64_t dim[2] = {owned->units, owned->in};
    dnnl_memory_desc_t md = dnn_tensor(2, dim, false,
                                       owned->width == 64   ? dnnl_AB16b64a
                                       : owned->width == 32 ? dnnl_AB16b32a
                                                            : dnnl_AB16b16a);
    slot->grain = owned->stored * owned->width;
    plan_slot(&owned->op, 1)->grain = owned->width;
    return params_choose(owned->op.plan->params, owned->op.layer->first_param, &md, NULL, err);
}

static int owned_make_buffers(struct owned *owned, struct err *err)
{
    if (!owned->op.plan->layers[owned->op.layer->inputs[0]].learns)
        return 0;
    size_t row = (size_t)owned->batch * sizeof(float);
    TRY(plan_buffer(&owned->op, (size_t)owned->units * row, PLAN_BACKWARD, PLAN_BACKWARD,
                    &owned->turned, err));
    return plan_buffer(&owned->op, (size_t)owned->threads * (size_t)owned->in * row, PLAN_BACKWARD,
                       PLAN_BACKWARD, &owned->partial, err);
}

// ---- running ----

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(16), aligned(4), may_alias));

static int64_t units_of(const struct owned *owned, int thread, int threads, int64_t *from)
{
    int64_t to;
    team_part(owned->panels, 1, thread, threads, from, &to);
    *from *= owned->width;
    return to * owned->width - *from;
}

static void relu(float *rows, int64_t count, int64_t columns, int64_t row)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < columns; k += 4) {
            four *x = (four *)(rows + i * row + k);
            *x = (four)((ints)*x & (*x > 0));
        }
}

static void owned_forward_work(void *job, int thread, int threads)
{
    const struct owned *o = (const struct owned *)((const struct op_job *)job)->op;
    float *out = plan_output(&o->op)->out;
    int64_t first, units = units_of(o, thread, threads, &first);
    for (int64_t u = first; u < first + units; u += o->width) {
        kernels()->gemm(&(struct gemm){.size = {o->op.plan->batch, o->width, o->in},
                                       .a = {plan_input(&o->op, 0)->out, o->in, 1},
                                       .b = {plan_slot(&o->op, 0)->value + u * o->stored, o->width},
                                       .start = {plan_slot(&o->op, 1)->value + u},
                                       .c = {out + u, o->units}});
        if (o->op.layer->relu)
            relu(out + u, o->op.plan->batch, o->width, o->units);
    }
}

static void learn_weights(const struct owned *o, int64_t u)
{
    const float *grad = (const float *)plan_output(&o->op)->grad + u;
    float *bias = plan_slot(&o->op, 1)->grad + u;
    kernels()->gemm(&(struct gemm){.size = {o->in, o->width, o->op.plan->batch},
                                   .a = {plan_input(&o->op, 0)->out, 1, o->in},
                                   .b = {grad, o->units},
                                   .c = {plan_slot(&o->op, 0)->grad + u * o->stored, o->width}});
    memset(bias, 0, (size_t)o->width * sizeof *bias);
    for (int64_t i = 0; i < o->op.plan->batch; i++)
        kernels()->add(bias, grad + i * o->units, o->width);
}

static void turn_four(const float *from, int64_t from_row, float *to, int64_t to_row)
{
    four a = *(const four *)from, b = *(const four *)(from + from_row);
    four c = *(const four *)(from + 2 * from_row), d = *(const four *)(from + 3 * from_row);
    four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
         cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    *(four *)to = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(four *)(to + to_row) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    ab = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(four *)(to + 2 * to_row) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(four *)(to + 3 * to_row) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

// to[k][i] = from[i][k]
static void turn(const float *from, int64_t rows, int64_t columns, int64_t from_row, float *to,
                 int64_t to_row)
{
    int64_t r4 = rows / 4 * 4, c4 = columns / 4 * 4;
    for (int64_t i = 0; i < r4; i += 4)
        for (int64_t k = 0; k < c4; k += 4)
            turn_four(from + i * from_row + k, from_row, to + k * to_row + i, to_row);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = i < r4 ? c4 : 0; k < columns; k++)
            to[k * to_row + i] = from[i * from_row + k];
}

// Adds this panel's part of the input's gradient to that of the thread's other panels.
static void learn_input(const struct owned *o, int64_t u, bool first, float *partial)
{
    const float *grad = (const float *)plan_output(&o->op)->grad + u;
    float *turned = o->turned + u * o->batch;
    turn(grad, o->op.plan->batch, o->width, o->units, turned, o->batch);
    for (int64_t k = 0; k < o->width && o->batch > o->op.plan->batch; k++)
        memset(turned + k * o->batch + o->op.plan->batch, 0,
               (size_t)(o->batch - o->op.plan->batch) * sizeof *turned);
    kernels()->gemm(&(struct gemm){.size = {o->in, o->batch, o->width},
                                   .a = {plan_slot(&o->op, 0)->value + u * o->stored, o->width, 1},
                                   .b = {turned, o->batch, KERNELS_PANEL},
                                   .start = {first ? NULL : partial, o->batch},
                                   .c = {partial, o->batch}});
}

struct owned_back {
    const struct owned *owned;
    bool weights, input;
};

static void owned_backward_work(void *back_, int thread, int threads)
{
    const struct owned_back *back = back_;
    const struct owned *o = back->owned;
    int64_t first, units = units_of(o, thread, threads, &first);
    for (int64_t u = first; u < first + units; u += o->width) {
        if (back->weights)
            learn_weights(o, u);
        if (back->input)
            learn_input(o, u, u == first, o->partial + thread * o->in * o->batch);
    }
}

static void owned_sum_work(void *owned_, int thread, int threads)
{
    const struct owned *o = owned_;
    int64_t from, to;
    team_part(o->in, KERNELS_PAD, thread, threads, &from, &to);
    float *sum = o->partial + from * o->batch;
    for (int t = 1; t < threads; t++)
        kernels()->add(sum, sum + t * o->in * o->batch, (to - from) * o->batch);
    turn(sum, to - from, o->op.plan->batch, o->batch, (float *)plan_input(&o->op, 0)->grad + from,
         o->in);
}

static int owned_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    const struct owned *owned = (const struct owned *)op;
    if (op->layer->relu && !plan_output(op)->relu_later)
        plan_relu_back(op->plan, plan_output(op));
    struct owned_back back = {owned, pass->trains[op->number], plan_wants_input(op, pass, 0)};
    team_run(owned_backward_work, &back);
    if (back.input)
        team_run(owned_sum_work, op);
    return 0;
}

static int owned_make(struct op *op, struct err *err)
{
    struct owned *owned = (struct owned *)op;
    struct plan *plan = op->plan;
    owned->threads = team_size();
    owned->in = plan_input(op, 0)->columns;
    owned->units = op->layer->units;
    owned->width = width_for(owned->units, owned->threads);
    owned->panels = owned->units / owned->width;
    owned->stored = kernels_pad(owned->in);
    owned->batch = kernels_pad(plan->batch);
    TRY(owned_choose(owned, err));
    TRY(owned_make_buffers(owned, err));
    plan_needs_out(plan, op->layer->inputs[0], op->number, PLAN_BACKWARD);
    if (op->layer->relu && !plan_output(op)->relu_later)
        plan_needs_out(plan, op->number, op->number, PLAN_BACKWARD);
    return 0;
}

const struct op_class owned_class = {.size = sizeof(struct owned),
                                     .make = owned_make,
                                     .forward_work = owned_forward_work,
                                     .backward = owned_backward};
