// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "engine/cuda/plan/loss_optimizer.h"
#include "engine/cuda/plan/images.h"
#include "engine/cuda/plan/layers.h"
#include "engine/cuda/plan/builder.h"
#include "engine/cuda/plan/products.h"
#include "engine/cuda/plan/sequences.h"
#include "engine/dropout.h"
#include "engine/engine.h"

// ---- launches ----

void gpu_plan_add(struct builder *b, const char *kernel, int64_t x, int64_t y, unsigned threads,
                  unsigned shared, const void *args, size_t size)
{
    struct launches *to = b->to;
    if (b->rc != 0)
        return;
    if (to->count == to->cap) {
        int cap = to->cap ? 2 * to->cap : 32;
        struct launch *more = realloc(to->items, (size_t)cap * sizeof *more);
        if (!more) {
            b->rc = err_memory(b->err);
            return;
        }
        to->items = more;
        to->cap = cap;
    }
    b->rc = cuda_launch_make(b->plan->cuda, kernel, (unsigned)x, (unsigned)y, threads, shared, args,
                             size, &to->items[to->count], b->err);
    if (b->rc == 0)
        to->count++;
}

// The launch that was added last is not waited for by those that follow.
void gpu_plan_aside(const struct builder *b)
{
    if (b->rc == 0)
        b->to->items[b->to->count - 1].aside = true;
}

// The launch that was added last waits for what is aside.
void gpu_plan_join(const struct builder *b)
{
    if (b->rc == 0)
        b->to->items[b->to->count - 1].joins = true;
}

void gpu_plan_each(struct builder *b, const char *kernel, int64_t numbers, const void *args,
                   size_t size)
{
    gpu_plan_add(b, kernel, (numbers + 255) / 256, 1, 256, 0, args, size);
}

device_ptr gpu_plan_room(struct builder *b, int64_t bytes)
{
    device_ptr ptr = 0;
    if (b->rc == 0)
        b->rc = cuda_alloc(b->plan->cuda, bytes, &ptr, b->err);
    return ptr;
}

device_ptr gpu_plan_zeros(struct builder *b, int64_t bytes)
{
    device_ptr ptr = 0;
    if (b->rc == 0)
        b->rc = cuda_alloc_zeros(b->plan->cuda, bytes, &ptr, b->err);
    return ptr;
}

struct cuda_drop gpu_plan_drop(const struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    struct cuda_drop drop = {.slot = -1};
    if (layer < 0 || !b->training)
        return drop;
    float rate = plan->layers[layer].rate;
    for (int i = 0; i < plan->drop_count; i++)
        if (plan->drop_slots[i] == layer)
            drop = (struct cuda_drop){.now = on_gpu(plan->now),
                                      .slot = i,
                                      .threshold = engine_dropout_threshold(rate),
                                      .scale = 1.0f / (1.0f - rate)};
    return drop;
}

struct cuda_optimizer gpu_plan_optimizer(const struct gpu_plan *plan)
{
    const struct gpu_params *p = plan->params;
    const struct recipe *recipe = &p->recipe;
    return (struct cuda_optimizer){.now = on_gpu(plan->now),
                                   .p = on_gpu(p->values),
                                   .state0 = on_gpu(p->state[0]),
                                   .state1 = on_gpu(p->state[1]),
                                   .rounded = on_gpu(p->rounded),
                                   .kind = (int)recipe->optimizer,
                                   .rho = recipe->rho,
                                   .beta2 = recipe->beta2,
                                   .epsilon = recipe->epsilon,
                                   .momentum = recipe->momentum,
                                   .weight_decay = recipe->weight_decay};
}

// ---- the lists ----

// A new list: nothing of it has been made.
static void forget(struct builder *b)
{
    b->reader = -1;
    for (int i = 0; i < b->plan->layer_count; i++)
        b->made[i] = b->read[i] = -1;
}

static void build_forward(struct builder *b, struct launches *to, bool training, bool labelled)
{
    const struct gpu_plan *plan = b->plan;
    b->to = to;
    b->training = training;
    forget(b);
    for (int i = 0; i < plan->layer_count; i++) {
        const struct net_layer *l = &plan->layers[i];
        const struct value *value = &plan->values[i];
        struct linear linear;
        if (plan->images && images_forward(b, i))
            continue;
        switch (l->op) {
        case NET_DENSE:
        case NET_CONV:
            if (plan->head == i)
                break;
            linear = gpu_linear_of(plan, i);
            gpu_linear_forward(b, &linear, l->relu, value->drop);
            break;
        case NET_LSTM:
            gpu_lstm_forward(b, i);
            break;
        case NET_EMBEDDING:
            gpu_embedding_forward(b, i);
            break;
        case NET_ONE_HOT:
            gpu_one_hot(b, i);
            break;
        case NET_MAX_POOL:
        case NET_AVERAGE_POOL:
            gpu_pool_forward(b, i);
            break;
        case NET_GLOBAL_AVERAGE:
            gpu_mean(b, i, false);
            break;
        case NET_BATCH_NORM:
            gpu_norm(b, i, false);
            break;
        case NET_DROPOUT:
            if (plan->values[l->inputs[0]].drop != i && !value->in_head)
                gpu_drop(b, i, false);
            break;
        case NET_CONCAT:
            gpu_concat(b, i, false);
            break;
        case NET_IMAGE:
        case NET_TOKENS:
        case NET_AUX:
            break;
        }
    }
    gpu_loss(b, labelled);
}

static void back_layer(struct builder *b, int i, bool trains)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[i];
    struct linear linear;
    if (plan->images && images_back(b, i, trains))
        return;
    switch (l->op) {
    case NET_DENSE:
    case NET_CONV:
        if (has_relu(l) && !plan->values[i].masked)
            gpu_relu_back(b, i);
        linear = gpu_linear_of(plan, i);
        if (plan->head == i)
            wrote(b, l->inputs[0], true);
        else
            gpu_linear_back(b, &linear);
        if (trains)
            gpu_linear_weights(b, &linear);
        break;
    case NET_LSTM:
        gpu_lstm_back(b, i, trains);
        break;
    case NET_EMBEDDING:
        if (trains)
            gpu_embedding_back(b, i);
        break;
    case NET_MAX_POOL:
    case NET_AVERAGE_POOL:
        gpu_pool_back(b, i);
        break;
    case NET_GLOBAL_AVERAGE:
        gpu_mean(b, i, true);
        break;
    case NET_BATCH_NORM:
        gpu_norm(b, i, true);
        break;
    case NET_DROPOUT:
        if (plan->values[l->inputs[0]].drop == i || plan->values[i].in_head)
            b->written[l->inputs[0]] = true; // the same memory, or the head's work
        else
            gpu_drop(b, i, true);
        break;
    case NET_CONCAT:
        gpu_concat(b, i, true);
        break;
    case NET_AUX:
        gpu_aux_back(b, i);
        break;
    case NET_IMAGE:
    case NET_TOKENS:
    case NET_ONE_HOT:
        break;
    }
}

static void build_backward(struct builder *b, struct launches *to, int phase)
{
    const struct gpu_plan *plan = b->plan;
    size_t count = (size_t)plan->layer_count;
    const struct recipe_phase *now = &plan->params->recipe.phases[phase];
    bool *flags = calloc(3 * count, sizeof *flags), *trains = flags;
    forget(b);
    if (!flags) {
        b->rc = err_memory(b->err);
        return;
    }
    b->to = to;
    b->training = true;
    b->reaches = flags + count;
    b->written = flags + 2 * count;
    for (int i = 0; i < plan->layer_count; i++) {
        const struct net_layer *l = &plan->layers[i];
        trains[i] = recipe_trains(now, l) && l->param_count > 0;
        b->reaches[i] = trains[i];
        for (int k = 0; k < l->input_count; k++)
            b->reaches[i] |= b->reaches[l->inputs[k]];
    }
    b->written[count - 1] = true;
    for (int i = 0; i < plan->layer_count; i++)
        if (trains[i] && plan->layers[i].op == NET_EMBEDDING)
            gpu_embedding_order(b, i);
    for (int i = plan->layer_count - 1; i >= 0; i--)
        if (b->reaches[i] && b->written[i])
            back_layer(b, i, trains[i]);
    for (enum weights_group group = WEIGHTS_WHOLE; group <= WEIGHTS_OF_WINDOWS; group++)
        gpu_weights_flush(b, group);
    gpu_optimize(b, trains);
    b->reaches = b->written = NULL;
    free(flags);
}

// ---- memory ----

// Dropout behind a layer that it can be part of.
static bool takes_dropout(const struct gpu_plan *plan, int layer)
{
    const struct net_layer *l = &plan->layers[layer];
    return plan->values[layer].readers == 1 &&
           (has_relu(l) ? l->out.rank == 1 : l->op == NET_MAX_POOL || l->op == NET_AVERAGE_POOL);
}

static void shape_value(struct gpu_plan *plan, int i)
{
    const struct net_shape *s = &plan->layers[i].out;
    struct value *value = &plan->values[i];
    value->drop = -1;
    value->rows = s->rank == 3 ? s->dim[1] * s->dim[2] : s->rank == 2 ? s->dim[0] : 1;
    value->columns = s->rank == 2 ? s->dim[1] : s->dim[0];
    if (image_is_flat(plan->layers, plan->layer_count, i)) {
        value->rows = 1;
        value->columns = (int)net_shape_count(s);
    }
    value->pitch = pad4(value->columns);
}

static void find_readers(struct gpu_plan *plan)
{
    for (int i = 0; i < plan->layer_count; i++)
        for (int k = 0; k < plan->layers[i].input_count; k++)
            plan->values[plan->layers[i].inputs[k]].readers++;
    for (int i = 0; i < plan->layer_count; i++) {
        const struct net_layer *l = &plan->layers[i];
        if (l->op == NET_DROPOUT && takes_dropout(plan, l->inputs[0]))
            plan->values[l->inputs[0]].drop = i;
    }
}

// Dropout that the head can do on its way.
static void find_head(struct gpu_plan *plan)
{
    plan->head = gpu_has_head(plan) ? plan->layer_count - 1 : -1;
    if (plan->head < 0)
        return;
    int input = plan->layers[plan->head].inputs[0];
    const struct net_layer *l = &plan->layers[input];
    if (l->op == NET_DROPOUT && plan->values[l->inputs[0]].drop != input &&
        plan->values[l->inputs[0]].readers == 1)
        plan->values[input].in_head = true;
}

// Whether what reads layer i, alone, takes care of its relu on the way back.
static bool reader_masks(const struct gpu_plan *plan, int i)
{
    const struct value *value = &plan->values[i];
    int seen = value->drop >= 0 ? value->drop : i; // whose output is read
    if (!has_relu(&plan->layers[i]) || value->readers != 1 || plan->values[seen].readers != 1)
        return false;
    for (int k = seen + 1; k < plan->layer_count; k++) {
        const struct net_layer *l = &plan->layers[k];
        if (l->input_count > 0 && l->inputs[0] == seen)
            return l->op == NET_DENSE || l->op == NET_CONV ||
                   (l->op == NET_MAX_POOL && value->drop < 0);
    }
    return false;
}

// Whether the kernels that make a value leave alone what is behind its rows: gather of an image as
// a row of numbers, the steps of an LSTM, the copies of a concatenation.
static bool leaves_padding(enum net_op op)
{
    return op == NET_IMAGE || op == NET_LSTM || op == NET_CONCAT;
}

// Likewise its gradient: what a concatenation reads gets copies.
static bool is_joined(const struct gpu_plan *plan, int layer)
{
    for (int i = layer + 1; i < plan->layer_count; i++)
        for (int k = 0; plan->layers[i].op == NET_CONCAT && k < plan->layers[i].input_count; k++)
            if (plan->layers[i].inputs[k] == layer)
                return true;
    return false;
}

static void give_memory(struct builder *b, int i)
{
    struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[i];
    struct value *value = &plan->values[i];
    int64_t bytes = plan->batch * value->rows * value->pitch * 4;
    if (plan->images && l->out.rank == 3)
        return; // images_memory()
    if (l->op == NET_TOKENS) {
        plan->tokens = gpu_plan_room(b, plan->batch * value->rows * 4);
        return;
    }
    const struct value *same = l->op == NET_AUX ? &plan->values[l->inputs[0]]
                               : l->op == NET_DROPOUT && plan->values[l->inputs[0]].drop == i
                                   ? &plan->values[l->inputs[0]]
                                   : NULL;
    bool wants = l->learns || i + 1 == plan->layer_count;
    value->out = same                    ? same->out
                 : leaves_padding(l->op) ? gpu_plan_zeros(b, bytes)
                                         : gpu_plan_room(b, bytes);
    value->grad = same                 ? same->grad
                  : !wants             ? 0
                  : is_joined(plan, i) ? gpu_plan_zeros(b, bytes)
                                       : gpu_plan_room(b, bytes);
    device_ptr *extra = &plan->extra[4 * i];
    if (same && l->op == NET_DROPOUT) { // what reads it sees whose it is
        value->masked = same->masked;
        value->drop = same->drop;
    }
    if (l->op == NET_BATCH_NORM) {
        extra[0] = gpu_plan_room(b, (int64_t)64 * 2 * value->pitch * 4);
        extra[1] = gpu_plan_room(b, value->pitch * 4);
        extra[2] = gpu_plan_room(b, value->pitch * 4);
    }
    if (l->op == NET_LSTM)
        gpu_lstm_memory(b, i);
}

static void give_gradients(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    for (int i = 0; i < plan->params->block_count; i++) {
        struct block *block = &plan->params->blocks[i];
        const struct net_layer *l = &plan->layers[block->layer];
        bool second = i > 0 && plan->params->blocks[i - 1].layer == block->layer;
        if (!block->trained || block->lazy)
            continue;
        if (plan->images && l->op == NET_CONV)
            block->parts = images_weight_parts(plan, block->layer);
        else if (l->op == NET_DENSE || l->op == NET_CONV || l->op == NET_LSTM) {
            block->product = true;
            block->parts = gpu_weights_parts(plan, block->layer, second);
        }
        if (!gpu_is_fused(block)) // the optimizer steps over what pads a bias as well
            block->grad = gpu_plan_zeros(b, block->parts * block->room * 4);
    }
}

// What it was given first is the first side's.
static void first_side(struct gpu_plan *plan)
{
    plan->side_count = 1;
    plan->sides[0].tokens = plan->tokens;
    plan->sides[0].labels = plan->labels;
    plan->sides[0].now = plan->now;
    plan->sides[0].image = plan->values[0].out;
}

// The same again.
static void another_side(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    const struct value *in = &plan->values[0];
    struct plan_side *side = &plan->sides[plan->side_count++];
    side->labels = gpu_plan_room(b, plan->batch * 4);
    side->now = gpu_plan_room(b, sizeof(struct cuda_now));
    if (plan->tokens)
        side->tokens = gpu_plan_room(b, plan->batch * in->rows * 4);
    else
        side->image = gpu_plan_zeros(b, plan->batch * in->rows * in->pitch * 4);
}

// What is built from now on is for this side.
static void take_side(struct gpu_plan *plan, const struct plan_side *side)
{
    plan->tokens = side->tokens;
    plan->labels = side->labels;
    plan->now = side->now;
    plan->values[0].out = side->image;
}

static void build_side(struct builder *b, struct plan_side *side)
{
    take_side(b->plan, side);
    build_forward(b, &side->forward, true, true);
    for (int i = 0; i < b->plan->params->recipe.phase_count; i++)
        build_backward(b, &side->backward[i], i);
}

int gpu_plan_launches(const struct gpu_plan *plan, int phase)
{
    const struct plan_side *side = &plan->sides[0];
    return 1 + side->forward.count + side->backward[phase].count;
}

static void build_sides(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    bool small = false;
    first_side(plan);
    build_side(b, &plan->sides[0]);
    for (int i = 0; i < plan->params->recipe.phase_count; i++)
        small |= gpu_plan_launches(plan, i) <= PLAN_SMALL;
    if (!small || plan->images)
        return;
    another_side(b);
    build_side(b, &plan->sides[1]);
    take_side(plan, &plan->sides[0]);
}

int gpu_plan_new(struct gpu_plan *plan, int score_rows, struct err *err)
{
    size_t count = (size_t)plan->layer_count;
    struct builder b = {.plan = plan, .err = err};
    int embeddings = 0;
    plan->values = calloc(count, sizeof *plan->values);
    plan->extra = calloc(4 * count, sizeof *plan->extra);
    if (!plan->values || !plan->extra)
        return err_memory(err);
    plan->score_rows = score_rows;
    plan->embedding = -1;
    plan->images = images_in_bf16(plan->layers, plan->layer_count, cuda_precision(plan->cuda));
    for (int i = 0; i < plan->layer_count; i++) {
        shape_value(plan, i);
        const struct net_layer *l = &plan->layers[i];
        if (l->op == NET_CONV && l->kernel_h * l->kernel_w > TAPS_MAX)
            return err_set(err, ERR_USAGE,
                           "the cuda engine takes kernels of at most %d cells, not %d × %d",
                           TAPS_MAX, l->kernel_h, l->kernel_w);
        embeddings += l->op == NET_EMBEDDING;
        if (embeddings > 1) // which would share the ages of their rows
            return err_set(err, ERR_USAGE, "the cuda engine takes one embedding");
        if (l->op != NET_DROPOUT)
            continue;
        if (plan->drop_count == CUDA_DROPS_MAX)
            return err_set(err, ERR_USAGE, "the cuda engine takes at most %d dropout layers",
                           CUDA_DROPS_MAX);
        plan->drop_slots[plan->drop_count++] = i;
    }
    find_readers(plan);
    find_head(plan);
    plan->now = gpu_plan_room(&b, sizeof(struct cuda_now));
    plan->tick = gpu_plan_zeros(&b, 4); // the first row
    plan->scores = gpu_plan_room(&b, score_rows * plan->batch * (int64_t)sizeof(struct cuda_score));
    plan->labels = gpu_plan_room(&b, plan->batch * 4);
    plan->probabilities = gpu_plan_room(&b, plan->batch * plan->values[count - 1].columns * 4);
    if (plan->images)
        images_memory(&b);
    for (int i = 0; i < plan->layer_count; i++) {
        plan->values[i].masked = reader_masks(plan, i);
        give_memory(&b, i);
    }
    give_gradients(&b);
    for (int i = 0; i < plan->layer_count; i++)
        if (plan->layers[i].op == NET_EMBEDDING)
            gpu_embedding_memory(&b, i);
    b.made = malloc(2 * count * sizeof *b.made);
    if (!b.made)
        return err_memory(err);
    b.read = b.made + count;
    build_sides(&b);
    build_forward(&b, &plan->evaluate, false, true);
    build_forward(&b, &plan->predict, false, false);
    free(b.made);
    return b.rc;
}

void gpu_plan_free(struct gpu_plan *plan)
{
    for (int s = 0; s < PLAN_SIDES; s++) {
        free(plan->sides[s].forward.items);
        for (int i = 0; i < RECIPE_PHASES_MAX; i++)
            free(plan->sides[s].backward[i].items);
    }
    free(plan->evaluate.items);
    free(plan->predict.items);
    free(plan->catch_up.items);
    free(plan->values);
    free(plan->pieces);
    free(plan->extra);
    memset(plan, 0, sizeof *plan);
}

int gpu_plan_launch(const struct gpu_plan *plan, const struct launches *list, struct err *err)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < list->count; i++)
        rc = cuda_launch(plan->cuda, &list->items[i], err);
    return rc;
}
