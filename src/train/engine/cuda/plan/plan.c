// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/plan/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/engine/cuda/plan/builder.h"

// ---- launches ----

void launch_make(struct launch *out, const char *kernel, unsigned x, unsigned y, unsigned threads,
                 unsigned shared, const void *args, size_t size)
{
    assert(size <= sizeof out->args && x > 0 && y > 0);
    *out = (struct launch){
        .name = kernel, .x = x, .y = y, .threads = threads, .shared = shared, .size = size};
    memcpy(out->args, args, size);
}

void gpu_plan_add(struct builder *b, const char *kernel, int64_t x, int64_t y, unsigned threads,
                  unsigned shared, const void *args, size_t size)
{
    struct launches *to = b->to;
    if (b->rc == 0)
        b->rc = array_grow(&to->items, (size_t)to->count, &to->cap, sizeof *to->items, b->err);
    if (b->rc != 0)
        return;
    launch_make(&to->items[to->count++], kernel, (unsigned)x, (unsigned)y, threads, shared, args,
                size);
}

void gpu_plan_fork(const struct builder *b)
{
    if (b->rc == 0)
        b->to->items[b->to->count - 1].forked = true;
}

void gpu_plan_join(const struct builder *b)
{
    if (b->rc == 0)
        b->to->items[b->to->count - 1].join = true;
}

void gpu_plan_each(struct builder *b, const char *kernel, int64_t numbers, const void *args,
                   size_t size)
{
    gpu_plan_add(b, kernel, (numbers + 255) / 256, 1, 256, 0, args, size);
}

static device_ptr plan_allocate(struct builder *b, int64_t bytes, bool zeroed)
{
    const struct gpu_device *device = &b->plan->device;
    device_ptr ptr = 0;
    if (b->rc == 0)
        b->rc = device->alloc(device->driver, bytes, zeroed, &ptr, b->err);
    return ptr;
}

device_ptr gpu_plan_alloc(struct builder *b, int64_t bytes)
{
    return plan_allocate(b, bytes, false);
}

device_ptr gpu_plan_alloc_zeros(struct builder *b, int64_t bytes)
{
    return plan_allocate(b, bytes, true);
}

void gpu_plan_upload(struct builder *b, device_ptr to, const void *from, int64_t bytes)
{
    const struct gpu_device *device = &b->plan->device;
    if (b->rc == 0 && device->upload)
        b->rc = device->upload(device->driver, to, from, bytes, b->err);
}

void *gpu_plan_map(struct builder *b, const struct mapped_tensor *tensor)
{
    const struct gpu_device *device = &b->plan->device;
    device_ptr map = gpu_plan_alloc(b, 128);
    if (b->rc == 0 && device->map)
        b->rc = device->map(device->driver, map, tensor, b->err);
    return on_gpu(map);
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

static void begin_list(struct builder *b)
{
    b->lazy_reader = b->last_sum = -1;
    for (int i = 0; i < b->plan->layer_count; i++)
        b->writer[i] = b->reader[i] = -1;
}

static void linear_layer(struct builder *b, int i, bool back, bool trains)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[i];
    struct gpu_linear linear = gpu_linear_of(plan, i);
    if (!back) {
        if (plan->head != i)
            gpu_linear_forward(b, &linear, l->relu, plan->values[i].drop);
        return;
    }
    if (has_relu(l) && !plan->values[i].masked)
        gpu_relu_back(b, i);
    if (trains) // first: what is forked then runs beside the way back
        gpu_linear_weights(b, &linear);
    if (plan->head == i)
        wrote(b, l->inputs[0], true);
    else
        gpu_linear_back(b, &linear);
}

// A layer's launches, forward or back.
static void add_layer(struct builder *b, int i, bool back, bool trains)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[i];
    if (plan->is_text) {
        text_layer(b, i, back);
        return;
    }
    if (plan->images && images_layer(b, i, back, trains))
        return;
    switch (l->op) {
    case NET_DENSE:
    case NET_CONV:
        linear_layer(b, i, back, trains);
        break;
    case NET_LSTM:
        if (back)
            gpu_lstm_back(b, i, trains);
        else
            gpu_lstm_forward(b, i);
        break;
    case NET_EMBEDDING:
        if (!back)
            gpu_embedding_forward(b, i);
        else if (trains)
            gpu_embedding_back(b, i);
        break;
    case NET_ONE_HOT:
        if (!back)
            gpu_one_hot(b, i);
        break;
    case NET_MAX_POOL:
    case NET_AVERAGE_POOL:
        gpu_pool(b, i, back);
        break;
    case NET_GLOBAL_AVERAGE:
        gpu_mean(b, i, back);
        break;
    case NET_BATCH_NORM:
        gpu_norm(b, i, back);
        break;
    case NET_DROPOUT: // unless it shares memory, or the head does it
        if (plan->values[l->inputs[0]].drop != i && !plan->values[i].in_head)
            gpu_drop(b, i, back);
        else
            wrote(b, l->inputs[0], back);
        break;
    case NET_CONCAT:
        gpu_concat(b, i, back);
        break;
    case NET_AUX:
        if (back)
            gpu_aux_back(b, i);
        break;
    case NET_IMAGE:
    case NET_TOKENS:
    case NET_POSITION:
    case NET_LAYER_NORM:
    case NET_LINEAR:
    case NET_ATTENTION:
    case NET_GELU:
    case NET_ADD:
    case NET_TIED_HEAD:
        break;
    }
}

static int parts_of(const struct gpu_plan *plan)
{
    return plan->is_text ? (int)(plan->batch / plan->text.micro) : 1;
}

// A transformer has gradients everywhere. Those of the last part of its batch are ready.
static void layers_back(struct builder *b, const bool *trains)
{
    const struct gpu_plan *plan = b->plan;
    bool text = plan->is_text, last = b->part + 1 == parts_of(plan);
    for (int i = plan->layer_count - 1; i >= 0; i--) {
        if (!text && !(b->reaches[i] && b->written[i]))
            continue;
        add_layer(b, i, true, text || trains[i]);
        if (last && (text || trains[i]))
            ranks_ready(b, i);
    }
}

static void build_forward(struct builder *b, struct launches *to, bool training, bool labelled)
{
    const struct gpu_plan *plan = b->plan;
    int parts = parts_of(plan);
    b->to = to;
    b->training = training;
    begin_list(b);
    for (b->part = 0; b->part < parts; b->part++) {
        for (int i = 0; i < plan->layer_count; i++)
            add_layer(b, i, false, false);
        (plan->is_text ? text_loss : gpu_loss)(b, labelled);
        if (training && b->part + 1 < parts) // the last part's way back is another list
            layers_back(b, NULL);
    }
    if (plan->is_text && labelled)
        text_scores(b);
    if (labelled)
        ranks_score(b);
}

static void build_backward(struct builder *b, struct launches *to, int stage)
{
    const struct gpu_plan *plan = b->plan;
    size_t count = (size_t)plan->layer_count;
    const struct recipe_stage *now = &plan->params->recipe.stages[stage];
    bool *flags = calloc(3 * count, sizeof *flags), *trains = flags;
    begin_list(b);
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
    ranks_begin(b);
    for (int i = 0; i < plan->layer_count; i++)
        if (trains[i] && plan->layers[i].op == NET_EMBEDDING && !plan->is_text)
            gpu_embedding_order(b, i);
    b->part = parts_of(plan) - 1;
    layers_back(b, trains);
    gpu_weights_flush_all(b);
    ranks_end(b);
    int before = to->count;
    gpu_optimize(b, trains);
    if (b->rc == 0 && to->count > before && b->forked_weights)
        gpu_plan_join(b);
    b->forked_weights = false;
    b->reaches = b->written = NULL;
    free(flags);
}

// ---- memory ----

// Whether the layer's kernel can apply a dropout that follows.
static bool takes_dropout(const struct gpu_plan *plan, int layer)
{
    const struct net_layer *l = &plan->layers[layer];
    return plan->values[layer].readers == 1 &&
           (has_relu(l) ? l->out.rank == 1 : l->op == NET_MAX_POOL || l->op == NET_AVERAGE_POOL);
}

static void shape_value(struct gpu_plan *plan, int i)
{
    const struct net_shape *s = &plan->layers[i].out;
    struct gpu_value *value = &plan->values[i];
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

// The head, and whether it applies the dropout before it.
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

// Whether layer i has one reader, which applies relu's mask on the way back.
static bool reader_masks(const struct gpu_plan *plan, int i)
{
    const struct gpu_value *value = &plan->values[i];
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

// Whether the kernels that write a value leave its padding alone: the gather of a flat image, an
// LSTM's time steps, a concatenation's copies.
static bool leaves_padding(enum net_op op)
{
    return op == NET_IMAGE || op == NET_LSTM || op == NET_CONCAT;
}

bool gpu_is_joined(const struct gpu_plan *plan, int layer)
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
    struct gpu_value *value = &plan->values[i];
    int64_t bytes = plan->batch * value->rows * value->pitch * 4;
    if (plan->images && l->out.rank == 3)
        return; // images_memory()
    if (l->op == NET_TOKENS) {
        plan->tokens = gpu_plan_alloc(b, plan->batch * value->rows * 4);
        return;
    }
    const struct gpu_value *same = l->op == NET_AUX ? &plan->values[l->inputs[0]]
                                   : l->op == NET_DROPOUT && plan->values[l->inputs[0]].drop == i
                                       ? &plan->values[l->inputs[0]]
                                       : NULL;
    bool wants = l->learns || i + 1 == plan->layer_count;
    value->out = same                    ? same->out
                 : leaves_padding(l->op) ? gpu_plan_alloc_zeros(b, bytes)
                                         : gpu_plan_alloc(b, bytes);
    value->grad = same     ? same->grad
                  : !wants ? 0
                  // Copies of a concatenation's gradient leave padding alone too.
                  : gpu_is_joined(plan, i) ? gpu_plan_alloc_zeros(b, bytes)
                                           : gpu_plan_alloc(b, bytes);
    device_ptr *extra = &plan->extra[4 * i];
    if (same && l->op == NET_DROPOUT) { // its reader must know
        value->masked = same->masked;
        value->drop = same->drop;
    }
    if (l->op == NET_BATCH_NORM) {
        extra[0] = gpu_plan_alloc(b, (int64_t)64 * 2 * value->pitch * 4);
        extra[1] = gpu_plan_alloc(b, value->pitch * 4);
        extra[2] = gpu_plan_alloc(b, value->pitch * 4);
        extra[3] = plan->device.several ? gpu_plan_alloc(b, value->pitch * 16) : 0;
    }
    if (l->op == NET_LSTM)
        gpu_lstm_memory(b, i);
}

static void give_gradients(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    for (int i = 0; i < plan->params->block_count; i++) {
        struct gpu_block *block = &plan->params->blocks[i];
        const struct net_layer *l = &plan->layers[block->layer];
        bool second = i > 0 && plan->params->blocks[i - 1].layer == block->layer;
        if (!block->trained || block->lazy)
            continue;
        if (plan->images && l->op == NET_CONV)
            block->parts = image_conv_parts(plan, block->layer);
        else if (l->op == NET_DENSE || l->op == NET_CONV || l->op == NET_LSTM) {
            block->product = true;
            block->parts = gpu_weights_parts(plan, block->layer, second);
        }
        if (!gpu_is_fused(block)) // the optimizer reads padding after a bias too
            ranks_gradient(b, block);
    }
}

// The memory given so far is the first buffer's.
static void first_buffer(struct gpu_plan *plan)
{
    plan->buffer_count = 1;
    plan->buffers[0].tokens = plan->tokens;
    plan->buffers[0].labels = plan->labels;
    plan->buffers[0].now = plan->now;
    plan->buffers[0].image = plan->values[0].out;
}

static void second_buffer(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    const struct gpu_value *in = &plan->values[0];
    struct plan_buffer *buffer = &plan->buffers[plan->buffer_count++];
    buffer->labels = gpu_plan_alloc(b, plan->batch * 4);
    buffer->now = gpu_plan_alloc(b, sizeof(struct cuda_now));
    if (plan->tokens)
        buffer->tokens = gpu_plan_alloc(b, plan->batch * in->rows * 4);
    else
        buffer->image = gpu_plan_alloc_zeros(b, plan->batch * in->rows * in->pitch * 4);
}

// Lists built from now on read this buffer.
static void use_buffer(struct gpu_plan *plan, const struct plan_buffer *buffer)
{
    plan->tokens = buffer->tokens;
    plan->labels = buffer->labels;
    plan->now = buffer->now;
    plan->values[0].out = buffer->image;
}

static void build_step(struct builder *b, struct plan_buffer *buffer)
{
    use_buffer(b->plan, buffer);
    build_forward(b, &buffer->forward, true, true);
    for (int i = 0; i < b->plan->params->recipe.stage_count; i++)
        build_backward(b, &buffer->backward[i], i);
}

int gpu_plan_launches(const struct gpu_plan *plan, int stage)
{
    const struct plan_buffer *buffer = &plan->buffers[0];
    return 1 + buffer->forward.count + buffer->backward[stage].count;
}

static void build_steps(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    bool small = false;
    first_buffer(plan);
    build_step(b, &plan->buffers[0]);
    for (int i = 0; i < plan->params->recipe.stage_count; i++)
        small |= gpu_plan_launches(plan, i) <= PLAN_SMALL;
    if (!small || plan->images || plan->is_text || plan->device.several)
        return;
    second_buffer(b);
    build_step(b, &plan->buffers[1]);
    use_buffer(plan, &plan->buffers[0]);
}

static void give_all_memory(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    for (int i = 0; i < plan->layer_count; i++) {
        plan->values[i].masked = reader_masks(plan, i);
        give_memory(b, i);
    }
    give_gradients(b);
    for (int i = 0; i < plan->layer_count; i++)
        if (plan->layers[i].op == NET_EMBEDDING)
            gpu_embedding_memory(b, i);
}

int gpu_plan_new(struct gpu_plan *plan, int ring_rows, struct err *err)
{
    size_t count = (size_t)plan->layer_count;
    struct builder b = {.plan = plan, .err = err};
    int embeddings = 0;
    plan->values = calloc(count, sizeof *plan->values);
    plan->extra = calloc(4 * count, sizeof *plan->extra);
    if (!plan->values || !plan->extra)
        return err_memory(err);
    plan->ring_rows = ring_rows;
    plan->embedding = -1;
    plan->images = images_in_bf16(plan->layers, plan->layer_count, plan->device.precision);
    plan->is_text = text_net(plan->layers, plan->layer_count);
    if (plan->is_text)
        TRY(text_check(plan->layers, plan->layer_count, &plan->device, err));
    for (int i = 0; i < plan->layer_count; i++) {
        shape_value(plan, i);
        const struct net_layer *l = &plan->layers[i];
        if (l->op == NET_CONV && l->kernel_h * l->kernel_w > TAPS_MAX)
            return err_set(
                err, ERR_USAGE,
                "the cuda engine supports convolution kernels of at most %d cells, not %d × %d",
                TAPS_MAX, l->kernel_h, l->kernel_w);
        embeddings += l->op == NET_EMBEDDING;
        if (embeddings > 1) // they would share the ages of their rows
            return err_set(err, ERR_USAGE, "the cuda engine supports one embedding");
        if (l->op != NET_DROPOUT)
            continue;
        if (plan->drop_count == CUDA_DROPS_MAX)
            return err_set(err, ERR_USAGE, "the cuda engine supports at most %d dropout layers",
                           CUDA_DROPS_MAX);
        plan->drop_slots[plan->drop_count++] = i;
    }
    find_readers(plan);
    find_head(plan);
    plan->now = gpu_plan_alloc(&b, sizeof(struct cuda_now));
    plan->next_step = gpu_plan_alloc_zeros(&b, 4);
    plan->scores = gpu_plan_alloc(&b, ring_rows * plan->batch * (int64_t)sizeof(struct cuda_score));
    int64_t labels = plan->is_text ? plan->values[0].rows : 1; // of a sample
    plan->labels = gpu_plan_alloc(&b, plan->batch * labels * 4);
    plan->probabilities = gpu_plan_alloc(&b, plan->batch * plan->values[count - 1].columns * 4);
    ranks_memory(&b);
    if (plan->images)
        images_memory(&b);
    if (plan->is_text) {
        plan->tokens = gpu_plan_alloc(&b, plan->batch * labels * 4);
        text_memory(&b);
    } else {
        give_all_memory(&b);
    }
    b.writer = malloc(2 * count * sizeof *b.writer);
    if (!b.writer)
        return err_memory(err);
    b.reader = b.writer + count;
    build_steps(&b);
    build_forward(&b, &plan->evaluate, false, true);
    build_forward(&b, &plan->predict, false, false);
    free(b.writer);
    return b.rc;
}

void gpu_plan_lists(struct gpu_plan *plan, struct launches *lists[PLAN_LISTS])
{
    int count = 0;
    for (int i = 0; i < PLAN_BUFFERS; i++) {
        lists[count++] = &plan->buffers[i].forward;
        for (int k = 0; k < RECIPE_STAGES_MAX; k++)
            lists[count++] = &plan->buffers[i].backward[k];
    }
    lists[count++] = &plan->evaluate;
    lists[count++] = &plan->predict;
    lists[count++] = &plan->catch_up;
    assert(count == PLAN_LISTS);
}

void gpu_plan_free(struct gpu_plan *plan)
{
    struct launches *lists[PLAN_LISTS];
    gpu_plan_lists(plan, lists);
    for (int i = 0; i < PLAN_LISTS; i++)
        free(lists[i]->items);
    free(plan->values);
    free(plan->reused);
    free(plan->extra);
    memset(plan, 0, sizeof *plan);
}
