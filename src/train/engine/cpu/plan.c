// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cpu/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine/cpu/number.h"
#include "train/engine/cpu/team.h"

int plan_time(const struct plan *plan, int layer, enum plan_when when)
{
    return when == PLAN_FORWARD ? layer : 2 * plan->layer_count - layer;
}

// ---- kinds of values ----

static bool reads(const struct net_layer *layer, int number)
{
    for (int i = 0; i < layer->input_count; i++)
        if (layer->inputs[i] == number)
            return true;
    return false;
}

static void count_readers(struct plan *plan)
{
    for (int i = 0; i < plan->layer_count; i++)
        for (int k = 0; k < plan->layers[i].input_count; k++) {
            struct value *value = &plan->values[plan->layers[i].inputs[k]];
            value->readers++;
            value->last_reader = i;
        }
}

// Whether all readers are of these two kinds.
static bool read_only_by(const struct plan *plan, int number, enum net_op a, enum net_op b)
{
    for (int i = number + 1; i < plan->layer_count; i++)
        if (reads(&plan->layers[i], number) && plan->layers[i].op != a && plan->layers[i].op != b)
            return false;
    return true;
}

static void make_image(struct plan *plan, int number, bool bf16)
{
    const struct net_shape *shape = &plan->layers[number].out;
    struct value *value = &plan->values[number];
    value->image = true;
    value->as = image_of(shape->dim[0], shape->dim[1], shape->dim[2], plan->block);
    value->columns = value->as.sample_stride;
    value->bf16 = value->grad_bf16 = bf16;
}

static void make_rows(struct plan *plan, int number, bool bf16)
{
    struct value *value = &plan->values[number];
    value->columns = net_shape_count(&plan->layers[number].out);
    value->bf16 = value->grad_bf16 = bf16;
}

// A loss reads it, as floats.
static bool has_loss(const struct plan *plan, int number)
{
    int last = plan->layer_count - 1;
    return number == last ||
           (plan->layers[last].op == NET_AUX && reads(&plan->layers[last], number));
}

// An embedding whose weight the head uses too.
static bool is_tied(const struct plan *plan, int number)
{
    return plan->layers[plan->layer_count - 1].tied == number;
}

static void describe_value(struct plan *plan, int number)
{
    const struct net_layer *layer = &plan->layers[number];
    struct value *value = &plan->values[number];
    const struct value *input = layer->input_count ? &plan->values[layer->inputs[0]] : NULL;
    switch (layer->op) {
    case NET_IMAGE:
        if (read_only_by(plan, number, NET_DENSE, NET_CONV)) {
            make_rows(plan, number, plan->bf16);
            value->given = !plan->bf16;
        } else {
            make_image(plan, number, plan->bf16);
        }
        break;
    case NET_TOKENS:
        value->absent = true;
        break;
    case NET_ONE_HOT:
    case NET_EMBEDDING:
        make_rows(plan, number, false);
        if (is_tied(plan, number))
            break;
        value->absent = read_only_by(plan, number, NET_LSTM, NET_LSTM) &&
                        (layer->op == NET_ONE_HOT || value->readers == 1);
        break;
    case NET_LSTM:
        make_rows(plan, number, false);
        break;
    case NET_DENSE:
        make_rows(plan, number, input->bf16 && (!has_loss(plan, number) || layer->relu));
        value->grad_bf16 = input->bf16;
        break;
    case NET_GLOBAL_AVERAGE:
        make_rows(plan, number, input->bf16);
        break;
    case NET_CONV:
        make_image(plan, number, plan->bf16);
        break;
    case NET_DROPOUT:
        if (!input->image) {
            make_rows(plan, number, input->bf16);
            break;
        }
        make_image(plan, number, input->bf16);
        break;
    case NET_BATCH_NORM:
    case NET_MAX_POOL:
    case NET_AVERAGE_POOL:
    case NET_CONCAT:
        make_image(plan, number, input->bf16);
        break;
    case NET_AUX:
        make_rows(plan, number, input->bf16);
        value->grad_bf16 = input->grad_bf16;
        break;
    case NET_POSITION:
    case NET_LAYER_NORM:
    case NET_LINEAR:
    case NET_ATTENTION:
    case NET_GELU:
    case NET_ADD:
        make_rows(plan, number, false);
        break;
    case NET_TIED_HEAD:
        value->absent = true; // its outputs go straight into the loss
        break;
    }
}

// ---- which values share memory ----

// Layers that can write into a slice of a larger image.
static bool writes_slices(enum net_op op)
{
    return op == NET_BATCH_NORM || op == NET_MAX_POOL || op == NET_AVERAGE_POOL || op == NET_CONCAT;
}

// From the last layer to the first: a concatenation inside another must know its place.
static void share_slices(struct plan *plan)
{
    for (int i = plan->layer_count - 1; i >= 0; i--) {
        const struct net_layer *layer = &plan->layers[i];
        const struct value *whole = &plan->values[i];
        if (layer->op != NET_CONCAT)
            continue;
        int channel = 0;
        for (int k = 0; k < layer->input_count; k++) {
            struct value *part = &plan->values[layer->inputs[k]];
            bool fits = channel % plan->block == 0 &&
                        (part->as.channels % plan->block == 0 || k == layer->input_count - 1);
            if (fits && part->readers == 1 && writes_slices(plan->layers[layer->inputs[k]].op)) {
                part->home = whole->home;
                part->offset = whole->offset + channel / plan->block * image_plane(&part->as);
                part->as.sample_stride = whole->as.sample_stride;
            }
            channel += part->as.channels;
        }
    }
}

static void share_in_place(struct plan *plan)
{
    for (int i = 0; i < plan->layer_count; i++) {
        const struct net_layer *layer = &plan->layers[i];
        if (layer->input_count == 0)
            continue;
        struct value *value = &plan->values[i], *input = &plan->values[layer->inputs[0]];
        const struct net_layer *before = &plan->layers[layer->inputs[0]];
        bool alone = input->readers == 1 && !input->given;
        // As the last layer an auxiliary loss is the first to send a gradient to its input.
        if ((layer->op == NET_DROPOUT && alone) || layer->op == NET_AUX) {
            value->home = input->home;
            value->offset = input->offset;
        }
        bool has_relu = before->relu && (before->op == NET_CONV || before->op == NET_DENSE);
        input->relu_later =
            alone && has_relu && (layer->op == NET_DROPOUT || layer->op == NET_MAX_POOL);
        // The norm reads a number for the last time right before it writes that number's gradient.
        input->grad_in_out =
            layer->op == NET_BATCH_NORM && alone && before->op == NET_CONV && !before->relu;
    }
}

// ---- spans ----

static void stretch(struct buffer *span, int time)
{
    span->from = time < span->from ? time : span->from;
    span->to = time > span->to ? time : span->to;
}

void plan_needs_out(struct plan *plan, int of, int layer, enum plan_when when)
{
    stretch(&plan->outs[plan->values[of].home], plan_time(plan, layer, when));
}

void plan_needs_grad(struct plan *plan, int of, int layer, enum plan_when when)
{
    int home = plan->values[of].home;
    struct buffer *span = plan->values[home].grad_in_out ? plan->outs : plan->grads;
    stretch(&span[home], plan_time(plan, layer, when));
}

int plan_buffer(const struct op *op, size_t bytes, enum plan_when from, enum plan_when to,
                void *pointer, struct err *err)
{
    struct arena *arena = &op->plan->arena;
    int buffer = arena_add(arena, bytes, plan_time(op->plan, op->number, from),
                           plan_time(op->plan, op->number, to), err);
    if (buffer < 0)
        return ERR_MEMORY;
    arena->buffers[buffer].pointer = pointer;
    return 0;
}

// Lifetimes by the net: an output is written by its layer and read by its readers; a gradient is
// written by all readers and read by its layer. Ops declare what else they read on the way back.
static void common_spans(struct plan *plan)
{
    for (int i = 0; i < plan->layer_count; i++) {
        if (plan->values[i].absent)
            continue;
        plan_needs_out(plan, i, i, PLAN_FORWARD);
        for (int k = i + 1; k < plan->layer_count; k++)
            if (reads(&plan->layers[k], i)) {
                plan_needs_out(plan, i, k, PLAN_FORWARD);
                if (plan->layers[i].learns)
                    plan_needs_grad(plan, i, k, PLAN_BACKWARD);
            }
        if (plan->layers[i].learns)
            plan_needs_grad(plan, i, i, PLAN_BACKWARD);
    }
    // The loss comes between the last layer's way forward and its way back.
    int last = plan->layer_count - 1;
    stretch(&plan->outs[plan->values[last].home], plan->layer_count);
    stretch(&plan->grads[plan->values[last].home], plan->layer_count);
}

static size_t value_bytes(const struct plan *plan, const struct value *value, bool bf16)
{
    return (size_t)plan_numbers(plan, value) * number_bytes(bf16);
}

// Turns the spans of homes into buffers; bytes then holds the buffer's number.
static int make_buffers(struct plan *plan, struct err *err)
{
    for (int i = 0; i < plan->layer_count; i++) {
        struct value *value = &plan->values[i];
        if (value->home != i || value->absent)
            continue;
        struct buffer *out = &plan->outs[i], *grad = &plan->grads[i];
        if (value->given && plan->exact)
            out->to = out->from - 1; // in the caller's memory
        int first =
            arena_add(&plan->arena, value_bytes(plan, value, value->bf16), out->from, out->to, err);
        int second = first < 0 ? -1
                               : arena_add(&plan->arena, value_bytes(plan, value, value->grad_bf16),
                                           grad->from, grad->to, err);
        if (second < 0)
            return ERR_MEMORY;
        out->bytes = (size_t)first;
        grad->bytes = (size_t)second;
    }
    return arena_place(&plan->arena, err);
}

// ---- making ----

// Null: nothing to compute.
static const struct op_class *op_class_of(const struct plan *plan, int number)
{
    static const struct op_class *const classes[] = {[NET_IMAGE] = &input_class,
                                                     [NET_ONE_HOT] = &one_hot_class,
                                                     [NET_EMBEDDING] = &embedding_class,
                                                     [NET_LSTM] = &lstm_class,
                                                     [NET_DENSE] = &dense_class,
                                                     [NET_CONV] = &conv_class,
                                                     [NET_BATCH_NORM] = &norm_class,
                                                     [NET_MAX_POOL] = &pool_class,
                                                     [NET_AVERAGE_POOL] = &pool_class,
                                                     [NET_GLOBAL_AVERAGE] = &pool_class,
                                                     [NET_DROPOUT] = &drop_class,
                                                     [NET_CONCAT] = &concat_class,
                                                     [NET_AUX] = &aux_class,
                                                     [NET_POSITION] = &position_class,
                                                     [NET_LAYER_NORM] = &layer_norm_class,
                                                     [NET_LINEAR] = &affine_class,
                                                     [NET_ATTENTION] = &attention_class,
                                                     [NET_GELU] = &gelu_class,
                                                     [NET_ADD] = &add_class,
                                                     [NET_TIED_HEAD] = &head_class};
    enum net_op op = plan->layers[number].op;
    if (op == NET_TOKENS || (op == NET_ONE_HOT && plan->values[number].absent))
        return NULL;
    if (op == NET_EMBEDDING && is_tied(plan, number))
        return &token_class;
    return op == NET_DENSE && owned_suits(plan, number) ? &owned_class : classes[op];
}

static int make_op(struct plan *plan, int number, struct err *err)
{
    const struct op_class *class = op_class_of(plan, number);
    if (!class)
        return 0;
    struct op *op = calloc(1, class->size);
    if (!op)
        return err_memory(err);
    *op = (struct op){class, plan, &plan->layers[number], number};
    plan->ops[number] = op;
    return class->make ? class->make(op, err) : 0;
}

static int make_ops(struct plan *plan, struct err *err)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < plan->layer_count; i++) {
        rc = make_op(plan, i, err);
        if (rc != 0)
            err_context(err, "layer '%s'", plan->layers[i].name);
    }
    return rc;
}

int plan_init(struct plan *plan, const struct plan_spec *spec, struct err *err)
{
    size_t count = (size_t)spec->layer_count;
    *plan = (struct plan){.layers = spec->layers,
                          .layer_count = spec->layer_count,
                          .params = spec->params,
                          .batch = spec->batch,
                          .bf16 = spec->bf16,
                          .exact = spec->exact,
                          .ranks = spec->ranks,
                          .block = dnn_block()};
    plan->passes = passes_for(plan->block);
    plan->values = calloc(count, sizeof *plan->values);
    plan->ops = calloc(count, sizeof *plan->ops);
    plan->outs = malloc(count * sizeof *plan->outs);
    plan->grads = malloc(count * sizeof *plan->grads);
    if (!plan->values || !plan->ops || !plan->outs || !plan->grads)
        return err_memory(err);
    for (int i = 0; i < plan->layer_count; i++) {
        plan->outs[i] = plan->grads[i] = (struct buffer){.from = INT32_MAX, .to = -1};
        plan->values[i].home = i;
    }
    count_readers(plan);
    for (int i = 0; i < plan->layer_count; i++)
        describe_value(plan, i);
    share_slices(plan);
    share_in_place(plan);
    common_spans(plan);
    TRY(make_ops(plan, err));
    return make_buffers(plan, err);
}

int plan_bind(struct plan *plan, const struct arena *memory, struct err *err)
{
    int rc = 0;
    if (memory && memory->bytes >= plan->arena.bytes)
        plan->arena.data = memory->data;
    else
        rc = arena_allocate(&plan->arena, err);
    for (int i = 0; rc == 0 && i < plan->layer_count; i++) {
        struct value *value = &plan->values[i];
        const struct value *home = &plan->values[value->home];
        if (value->absent)
            continue;
        char *out = arena_at(&plan->arena, (int)plan->outs[value->home].bytes);
        char *grad =
            home->grad_in_out ? out : arena_at(&plan->arena, (int)plan->grads[value->home].bytes);
        if (out)
            value->out = number_at(out, value->offset, value->bf16);
        if (grad)
            value->grad = number_at(grad, value->offset, value->grad_bf16);
    }
    for (int i = 0; rc == 0 && i < plan->arena.count; i++) {
        void *at = arena_at(&plan->arena, i);
        if (plan->arena.buffers[i].pointer)
            memcpy(plan->arena.buffers[i].pointer, &at, sizeof at);
    }
    for (int i = 0; rc == 0 && i < plan->layer_count; i++)
        if (plan->ops[i] && plan->ops[i]->class->bind) {
            rc = plan->ops[i]->class->bind(plan->ops[i], err);
            if (rc != 0)
                err_context(err, "layer '%s'", plan->layers[i].name);
        }
    return rc;
}

void plan_release(struct plan *plan)
{
    for (int i = 0; plan->ops && i < plan->layer_count; i++) {
        struct op *op = plan->ops[i];
        if (op && op->class->release)
            op->class->release(op);
        free(op);
    }
    arena_release(&plan->arena);
    for (int i = 0; i < 2; i++)
        free(plan->rounded[i]);
    free(plan->values);
    free(plan->ops);
    free(plan->outs);
    free(plan->grads);
    memset(plan, 0, sizeof *plan);
}

// ---- running ----

static bool takes_part(const struct op *op, const struct pass *pass)
{
    return op && (pass->batch->count > 0 || op->class->talks);
}

static int run_op(struct op *op, const struct pass *pass, bool back, struct err *err)
{
    const struct op_class *class = op->class;
    struct op_job job = {op, pass};
    if (back ? class->backward_work : class->forward_work)
        team_run(back ? class->backward_work : class->forward_work, &job);
    else if (back ? class->backward : class->forward)
        return (back ? class->backward : class->forward)(op, pass, err);
    return 0;
}

int plan_forward(struct plan *plan, const struct pass *pass, struct err *err)
{
    for (int i = 0; i < plan->layer_count; i++)
        if (takes_part(plan->ops[i], pass))
            TRY(run_op(plan->ops[i], pass, false, err));
    return 0;
}

int plan_backward(struct plan *plan, const struct pass *pass, struct err *err)
{
    for (int i = plan->layer_count - 1; i >= 0; i--) {
        if (takes_part(plan->ops[i], pass) && pass->reaches[i])
            TRY(run_op(plan->ops[i], pass, true, err));
        if (pass->together)
            TRY(together_layer(pass->together, i, err));
    }
    return 0;
}

struct flat { // a pass over numbers one by one
    const struct plan *plan;
    const void *from;
    void *to;
    int64_t count;
    bool bf16, relu;
};

static void flat_work(void *flat_, int thread, int threads)
{
    const struct flat *flat = flat_;
    const struct passes *passes = flat->plan->passes;
    int64_t from, to;
    team_part(flat->count, PASSES_PAD, thread, threads, &from, &to);
    if (from >= to)
        return;
    size_t at = (size_t)from * number_bytes(flat->bf16);
    const void *source = (const char *)flat->from + at;
    void *target = (char *)flat->to + at;
    if (flat->relu)
        passes->relu_back(source, target, to - from, flat->bf16);
    else
        passes->add(target, source, to - from, flat->bf16);
}

void plan_relu_back(const struct plan *plan, const struct value *value)
{
    assert(value->bf16 == value->grad_bf16);
    struct flat flat = {plan,        value->out, value->grad, plan_numbers(plan, value),
                        value->bf16, true};
    team_run(flat_work, &flat);
}

void plan_add(const struct plan *plan, void *to, const void *from, int64_t count, bool bf16)
{
    struct flat flat = {plan, from, to, count, bf16, false};
    team_run(flat_work, &flat);
}

// ---- products of transformers ----

struct rounding {
    const struct plan *plan;
    const float *from;
    uint16_t *to;
    int64_t count;
};

static void round_part(void *rounding_, int thread, int threads)
{
    const struct rounding *r = rounding_;
    int64_t from, to;
    team_part(r->count / PASSES_PAD * PASSES_PAD, PASSES_PAD, thread, threads, &from, &to);
    if (from < to)
        r->plan->passes->to_bf16(r->to + from, r->from + from, to - from);
    for (int64_t i = r->count / PASSES_PAD * PASSES_PAD; thread == 0 && i < r->count; i++)
        number_put(r->to, i, r->from[i], true);
}

static int round_factor(struct plan *plan, int which, const float *from, int64_t count,
                        struct err *err)
{
    if (count > plan->rounded_space[which]) {
        free(plan->rounded[which]);
        plan->rounded_space[which] = 0;
        plan->rounded[which] = malloc((size_t)count * sizeof *plan->rounded[which]);
        if (!plan->rounded[which])
            return err_memory(err);
        plan->rounded_space[which] = count;
    }
    struct rounding rounding = {plan, from, plan->rounded[which], count};
    team_run(round_part, &rounding);
    return 0;
}

int plan_multiply(struct plan *plan, const struct dnn_product *p, struct err *err)
{
    if (!plan->bf16)
        return dnn_multiply(p, err);
    TRY(round_factor(plan, 0, p->a.at, p->size.m * p->size.k, err));
    TRY(round_factor(plan, 1, p->b.at, p->size.k * p->size.n, err));
    return dnn_multiply_bf16(p, plan->rounded[0], plan->rounded[1], err);
}
