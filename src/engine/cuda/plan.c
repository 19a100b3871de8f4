// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cuda/images.h"
#include "engine/cuda/plan_parts.h"
#include "engine/dropout.h"
#include "engine/engine.h"

#define RATES_KNOWN 32768 // beyond it Adam's correction is 1 in single precision

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
static void set_aside(const struct builder *b)
{
    if (b->rc == 0)
        b->to->items[b->to->count - 1].aside = true;
}

// The launch that was added last waits for what is aside.
static void join(const struct builder *b)
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

static struct cuda_drop drop_of(const struct builder *b, int layer)
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

static struct cuda_optimizer optimizer_of(const struct gpu_plan *plan)
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

// ---- products ----

struct form { // of a block of threads
    int m, n, k;
    unsigned forward_shared, back_shared, weights_shared;
};

enum shape { WIDE, NARROW, MEDIUM, DEEP, SMALL };

// As in gemm.cu: older GPUs have less shared memory and copies that do not run ahead.
static struct form form_of(const struct cuda *cuda, enum shape shape)
{
    static const int shares[] = {1, 2, 2, 8, 4};
    bool old = cuda_about(cuda)->major < 8, tensor = cuda_precision(cuda) != ENGINE_F32;
    int m = shape == DEEP ? 32 : shape == MEDIUM || shape == SMALL ? 64 : 128;
    int n = shape == WIDE || shape == MEDIUM ? 64 : 32;
    int k = shape == DEEP            ? (tensor ? 128 : 64)
            : old && shape == WIDE   ? 16
            : !old && shape == SMALL ? 64
                                     : 32;
    int stages = old || shape == SMALL ? 2 : shape == MEDIUM || (shape == DEEP && !tensor) ? 4 : 3;
    int a_rows = m * k, a_columns = k * (m + 8), b_rows = n * k, b_columns = k * (n + 8);
    int parts[3] = {a_rows + b_rows, a_rows + b_columns, a_columns + b_columns};
    int ends[3] = {m * (n + 4), m * (n + 4), n * (m + 4)};
    for (int i = 0; i < 3; i++) { // behind the stages: the offsets of taps
        int room = parts[i] * stages + TAPS_MAX;
        parts[i] = (room > ends[i] * shares[shape] ? room : ends[i] * shares[shape]) * 4;
    }
    return (struct form){m, n, k, (unsigned)parts[0], (unsigned)parts[1], (unsigned)parts[2]};
}

// Of the GPU's processors some would be idle with large tiles.
static enum shape shape_of(const struct cuda_gemm *g, int n, bool windowed)
{
    if (windowed && n <= 32 && tiles(g->m, 128) >= 96)
        return NARROW;
    if (tiles(g->m, 128) * tiles(n, 64) >= 96)
        return WIDE;
    return tiles(g->m, 64) * tiles(n, 64) >= 64 ? MEDIUM : DEEP;
}

static bool is_windowed(const struct cuda_gemm *g)
{
    return g->taps > 1 || g->stride > 1;
}

static void launch_gemm(struct builder *b, const char *kernel, struct cuda_gemm *g, int n,
                        const struct form *form, unsigned shared)
{
    g->tiles_m = (int)tiles(g->m, form->m);
    g->tiles_n = (int)tiles(n, form->n);
    gpu_plan_add(b, kernel, (int64_t)g->tiles_m * g->tiles_n * g->parts, 1, 256, shared, g,
                 sizeof *g);
}

static void make_parts(struct cuda_gemm *g, int64_t blocks, int wanted, int least, int step)
{
    int64_t parts = wanted / blocks;
    if (parts > g->k / least)
        parts = g->k / least;
    if (parts > 64)
        parts = 64;
    if (parts < 1)
        parts = 1;
    g->per_part = (int)tiles(tiles(g->k, (int)parts), step) * step;
    g->parts = (int)tiles(g->k, g->per_part);
}

static const char *const forward_kernels[2][4] = {
    {"gemm_forward_wide", "gemm_forward_wide", "gemm_forward_medium", "gemm_forward_deep"},
    {"conv_forward_wide", "conv_forward_narrow", "conv_forward_medium", "conv_forward_deep"}};
static const char *const back_kernels[2][4] = {
    {"gemm_back_wide", "gemm_back_wide", "gemm_back_medium", "gemm_back_deep"},
    {"conv_back_wide", "conv_back_narrow", "conv_back_medium", "conv_back_deep"}};

static void forward_gemm(struct builder *b, struct cuda_gemm *g)
{
    struct gpu_plan *plan = b->plan;
    bool windowed = is_windowed(g);
    enum shape shape = shape_of(g, g->ldy, windowed);
    struct form form = form_of(plan->cuda, shape);
    g->parts = 1;
    g->per_part = g->k;
    int64_t blocks = tiles(g->m, form.m) * tiles(g->ldy, form.n);
    if (shape == DEEP && g->k >= 1024)
        make_parts(g, blocks, cuda_about(plan->cuda)->processors, 256, form.k);
    if (g->parts == 1) {
        launch_gemm(b, forward_kernels[windowed][shape], g, g->ldy, &form, form.forward_shared);
        return;
    }
    struct cuda_finish finish = {.part = (int64_t)g->m * g->ldy,
                                 .count = g->parts,
                                 .rows = g->m,
                                 .n = g->n,
                                 .pitch = g->ldy,
                                 .columns = g->columns,
                                 .y = g->y,
                                 .bias = g->bias,
                                 .relu = g->relu,
                                 .drop = g->drop};
    int64_t room_needed = finish.part * g->parts;
    if (room_needed > plan->workspace_room) { // earlier launches keep the smaller one
        plan->workspace = gpu_plan_room(b, room_needed * 4);
        plan->workspace_room = room_needed;
    }
    finish.parts = g->y = on_gpu(plan->workspace);
    g->part = finish.part;
    launch_gemm(b, forward_kernels[windowed][DEEP], g, g->ldy, &form, form.forward_shared);
    gpu_plan_each(b, "gemm_finish", (int64_t)finish.rows * finish.pitch / 4, &finish,
                  sizeof finish);
}

static void back_gemm(struct builder *b, struct cuda_gemm *g)
{
    bool windowed = is_windowed(g);
    enum shape shape = shape_of(g, g->n, windowed);
    struct form form = form_of(b->plan->cuda, shape);
    g->parts = 1;
    g->per_part = g->k;
    launch_gemm(b, back_kernels[windowed][shape], g, g->n, &form, form.back_shared);
}

// Which launch a product for weights waits for: those in one part, whose tiles are small because
// the optimizer's work is in them; plain ones in parts; convolutions.
enum { WHOLE, IN_PARTS, OF_WINDOWS };

static void flush_weights(struct builder *b, int group)
{
    static const char *const kernels[] = {"gemm_weights_small", "gemm_weights_wide",
                                          "conv_weights_wide"};
    struct form form = form_of(b->plan->cuda, group == WHOLE ? SMALL : WIDE);
    struct cuda_gemms *jobs = &b->weights[group];
    jobs->optimizer = optimizer_of(b->plan);
    if (jobs->count > 0) {
        gpu_plan_add(b, kernels[group], b->weight_blocks[group], 1, 256, form.weights_shared, jobs,
                     sizeof *jobs);
        if (group == WHOLE) // what it changes nobody reads before the next step
            set_aside(b);
    }
    jobs->count = 0;
    b->weight_blocks[group] = 0;
}

static void weights_gemm(struct builder *b, struct cuda_gemm *g)
{
    int group = is_windowed(g) ? OF_WINDOWS : g->parts > 1 ? IN_PARTS : WHOLE;
    struct form form = form_of(b->plan->cuda, group == WHOLE ? SMALL : WIDE);
    struct cuda_gemms *jobs = &b->weights[group];
    if (jobs->count == CUDA_JOBS_MAX)
        flush_weights(b, group);
    g->first = b->weight_blocks[group];
    g->tiles_m = (int)tiles(g->m, form.m);
    g->tiles_n = (int)tiles(g->units, form.n);
    b->weight_blocks[group] += g->tiles_m * g->tiles_n * g->parts;
    jobs->job[jobs->count++] = *g;
}

// ---- what the products of a layer have in common ----

struct walk { // windows over the input; a dense layer has one that covers all of it
    int height, width, pitch, out_height, out_width, taps, kernel_w, stride, top, left;
    int rows; // of the output, for one sample
};

static struct walk walk_of(const struct gpu_plan *plan, int layer)
{
    const struct net_layer *l = &plan->layers[layer];
    const struct value *in = &plan->values[l->inputs[0]];
    const struct net_shape *shape = &plan->layers[l->inputs[0]].out;
    if (l->op == NET_CONV)
        return (struct walk){.height = shape->dim[1],
                             .width = shape->dim[2],
                             .pitch = in->pitch,
                             .out_height = l->out.dim[1],
                             .out_width = l->out.dim[2],
                             .taps = l->kernel_h * l->kernel_w,
                             .kernel_w = l->kernel_w,
                             .stride = l->stride,
                             .top = l->pad_top,
                             .left = l->pad_left,
                             .rows = l->out.dim[1] * l->out.dim[2]};
    bool steps = l->op == NET_LSTM; // one after the other
    return (struct walk){.height = 1,
                         .width = 1,
                         .pitch = steps ? in->pitch : in->rows * in->pitch,
                         .out_height = 1,
                         .out_width = 1,
                         .taps = 1,
                         .kernel_w = 1,
                         .stride = 1,
                         .rows = steps ? in->rows : 1};
}

static void set_walk(struct cuda_gemm *g, const struct walk *w)
{
    g->height = w->height;
    g->width = w->width;
    g->pitch = w->pitch;
    g->out_height = w->out_height;
    g->out_width = w->out_width;
    g->taps = w->taps;
    g->kernel_w = w->kernel_w;
    g->stride = w->stride;
    g->top = w->top;
    g->left = w->left;
}

struct linear {              // a layer's product: where its parts lie
    int layer, units, pitch; // pitch: of the output
    device_ptr y, dy;
    const struct block *block;
};

static void linear_forward(struct builder *b, const struct linear *l, bool relu, int drop)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *layer = &plan->layers[l->layer];
    struct walk walk = walk_of(plan, l->layer);
    struct cuda_gemm g = {.m = (int)plan->batch * walk.rows,
                          .n = l->units,
                          .k = walk.taps * walk.pitch,
                          .a = on_gpu(plan->values[layer->inputs[0]].out),
                          .b = on_gpu(gpu_params_at(plan->params, l->block->at)),
                          .y = on_gpu(l->y),
                          .ldb = walk.taps * walk.pitch,
                          .ldy = l->pitch,
                          .units = l->units,
                          .bias = layer->op == NET_LSTM || layer->bias
                                      ? on_gpu(gpu_params_at(plan->params, l->block->bias_at))
                                      : NULL,
                          .relu = relu,
                          .columns = l->units,
                          .drop = drop_of(b, drop)};
    set_walk(&g, &walk);
    forward_gemm(b, &g);
}

// A gradient that a product makes in one part need not be stored: the optimizer takes it there.
static bool is_fused(const struct block *block)
{
    return block->parts == 1 && block->product;
}

static void linear_weights(struct builder *b, const struct linear *l)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *layer = &plan->layers[l->layer];
    struct walk walk = walk_of(plan, l->layer);
    bool biased = layer->op == NET_LSTM || layer->bias;
    int64_t bias_at = l->block->bias_at - l->block->at;
    struct cuda_gemm g = {.m = walk.taps * walk.pitch,
                          .n = l->pitch,
                          .k = (int)plan->batch * walk.rows,
                          .a = on_gpu(plan->values[layer->inputs[0]].out),
                          .b = on_gpu(l->dy),
                          .y = on_gpu(l->block->grad),
                          .part = l->block->room,
                          .ldb = l->pitch,
                          .ldy = walk.taps * walk.pitch,
                          .units = l->units,
                          .parts = l->block->parts,
                          .bias = biased ? on_gpu(l->dy) : NULL, // any that is not null
                          .bias_grad =
                              biased ? on_gpu(l->block->grad + (device_ptr)bias_at * 4) : NULL,
                          .fused = is_fused(l->block),
                          .decayed = l->block->decayed,
                          .at = l->block->at,
                          .bias_at = l->block->bias_at};
    g.per_part = (int)tiles(tiles(g.k, g.parts), 32) * 32;
    set_walk(&g, &walk);
    weights_gemm(b, &g);
}

// Into how many parts the weights' gradient is cut: the same for all phases.
static int weight_parts(const struct gpu_plan *plan, int layer, int m, int units)
{
    struct walk walk = walk_of(plan, layer);
    struct cuda_gemm g = {.k = (int)plan->batch * walk.rows};
    int64_t blocks = tiles(m, 128) * tiles(units, 64);
    make_parts(&g, blocks, 2 * cuda_about(plan->cuda)->processors, 256, 32);
    return g.parts;
}

static bool has_relu(const struct net_layer *layer)
{
    return (layer->op == NET_DENSE || layer->op == NET_CONV) && layer->relu;
}

// The gradient of a layer's input from that of its output.
static void linear_back(struct builder *b, const struct linear *l)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *layer = &plan->layers[l->layer];
    int input = layer->inputs[0];
    const struct value *in = &plan->values[input];
    struct walk walk = walk_of(plan, l->layer);
    if (!b->reaches[input])
        return;
    struct cuda_gemm g = {.m = (int)plan->batch * (layer->op == NET_DENSE ? 1 : in->rows),
                          .n = walk.pitch,
                          .k = walk.taps * l->pitch,
                          .a = on_gpu(l->dy),
                          .b = on_gpu(gpu_params_at(plan->params, l->block->at)),
                          .y = on_gpu(in->grad),
                          .ldb = walk.taps * walk.pitch,
                          .ldy = walk.pitch,
                          .tap_pitch = walk.pitch,
                          .units = l->units,
                          .units_pitch = l->pitch,
                          .mask = in->masked ? on_gpu(in->out) : NULL,
                          .mask_scale =
                              in->drop >= 0 ? 1.0f / (1.0f - plan->layers[in->drop].rate) : 1,
                          .add = b->written[input]};
    set_walk(&g, &walk);
    g.height = walk.out_height; // the image that is walked through is dy
    g.width = walk.out_width;
    g.pitch = l->pitch;
    g.out_height = walk.height;
    g.out_width = walk.width;
    back_gemm(b, &g);
    b->written[input] = true;
}

static struct linear linear_of(const struct gpu_plan *plan, int layer)
{
    const struct value *value = &plan->values[layer];
    return (struct linear){.layer = layer,
                           .units = plan->layers[layer].units,
                           .pitch = value->pitch,
                           .y = value->out,
                           .dy = value->grad,
                           .block = gpu_params_block(plan->params, layer, 0)};
}

// ---- other layers ----

static struct cuda_pool pool_of(const struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    const struct net_shape *in = &plan->layers[l->inputs[0]].out;
    const struct value *value = &plan->values[layer];
    return (struct cuda_pool){.x = on_gpu(plan->values[l->inputs[0]].out),
                              .batch = (int)plan->batch,
                              .channels = in->dim[0],
                              .pitch = value->pitch,
                              .height = in->dim[1],
                              .width = in->dim[2],
                              .out_height = l->out.dim[1],
                              .out_width = l->out.dim[2],
                              .size_h = l->kernel_h,
                              .size_w = l->kernel_w,
                              .stride = l->stride,
                              .top = l->pad_top,
                              .left = l->pad_left,
                              .average = l->op == NET_AVERAGE_POOL,
                              .drop = drop_of(b, value->drop)};
}

static void pool_forward(struct builder *b, int layer)
{
    struct cuda_pool pool = pool_of(b, layer);
    pool.out = on_gpu(b->plan->values[layer].out);
    gpu_plan_each(b, "pool_forward",
                  b->plan->batch * pool.out_height * pool.out_width * pool.pitch / 4, &pool,
                  sizeof pool);
}

static void pool_back(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    int input = plan->layers[layer].inputs[0];
    struct cuda_pool pool = pool_of(b, layer);
    if (!b->reaches[input])
        return;
    pool.dy = on_gpu(plan->values[layer].grad);
    pool.out = on_gpu(plan->values[input].grad);
    pool.relu = plan->values[input].masked;
    pool.add = b->written[input];
    bool apart = !pool.average && pool.size_h == 2 && pool.size_w == 2 && pool.stride == 2 &&
                 !pool.add && pool.height == 2 * pool.out_height &&
                 pool.width == 2 * pool.out_width;
    if (apart)
        gpu_plan_each(b, "pool_back_2",
                      plan->batch * pool.out_height * pool.out_width * pool.pitch / 4, &pool,
                      sizeof pool);
    else
        gpu_plan_each(b, "pool_back", plan->batch * pool.height * pool.width * pool.pitch / 4,
                      &pool, sizeof pool);
    b->written[input] = true;
}

static void drop_each(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    int input = plan->layers[layer].inputs[0];
    const struct value *from = &plan->values[input], *to = &plan->values[layer];
    if (back && !b->reaches[input])
        return;
    struct cuda_each each = {.kind = CUDA_EACH_DROP,
                             .x = on_gpu(back ? to->grad : from->out),
                             .y = on_gpu(back ? from->grad : to->out),
                             .rows = (int)plan->batch * to->rows,
                             .pitch = to->pitch,
                             .columns = to->columns,
                             .pixels = plan->layers[layer].out.rank == 3 ? to->rows : 1,
                             .add = back && b->written[input],
                             .drop = drop_of(b, layer)};
    gpu_plan_each(b, "each", (int64_t)each.rows * each.pitch, &each, sizeof each);
    wrote(b, input, back);
}

static void relu_back(struct builder *b, int layer)
{
    const struct value *value = &b->plan->values[layer];
    struct cuda_each each = {
        .kind = CUDA_EACH_RELU_BACK,
        .x = on_gpu(value->out),
        .y = on_gpu(value->grad),
        .rows = (int)b->plan->batch * value->rows,
        .pitch = value->pitch,
        .columns = value->columns,
        .scale = value->drop >= 0 ? 1.0f / (1.0f - b->plan->layers[value->drop].rate) : 1,
        .drop = {.slot = -1}};
    gpu_plan_each(b, "each", (int64_t)each.rows * each.pitch, &each, sizeof each);
}

static void concat(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    const struct value *whole = &plan->values[layer];
    for (int i = 0, at = 0; i < l->input_count; at += plan->values[l->inputs[i]].columns, i++) {
        int input = l->inputs[i];
        const struct value *part = &plan->values[input];
        if (back && !b->reaches[input])
            continue;
        struct cuda_copy copy = {.from = on_gpu(back ? whole->grad : part->out),
                                 .to = on_gpu(back ? part->grad : whole->out),
                                 .rows = (int)plan->batch * whole->rows,
                                 .count = part->columns,
                                 .from_pitch = back ? whole->pitch : part->pitch,
                                 .to_pitch = back ? part->pitch : whole->pitch,
                                 .from_at = back ? at : 0,
                                 .to_at = back ? 0 : at,
                                 .add = back && b->written[input]};
        gpu_plan_each(b, "copy_part", (int64_t)copy.rows * copy.count, &copy, sizeof copy);
        wrote(b, input, back);
    }
}

static void mean(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    int input = plan->layers[layer].inputs[0];
    const struct value *from = &plan->values[input], *to = &plan->values[layer];
    if (back && !b->reaches[input])
        return;
    struct cuda_mean g = {.x = on_gpu(back ? to->grad : from->out),
                          .y = on_gpu(back ? from->grad : to->out),
                          .batch = (int)plan->batch,
                          .pixels = from->rows,
                          .pitch = to->pitch,
                          .back = back,
                          .add = back && b->written[input]};
    gpu_plan_each(b, "mean_of", plan->batch * (back ? from->rows : 1) * to->pitch, &g, sizeof g);
    wrote(b, input, back);
}

// extra: sums, mean, inverse.
static void norm(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    int input = l->inputs[0];
    const struct value *in = &plan->values[input], *value = &plan->values[layer];
    const struct block *both = gpu_params_block(plan->params, layer, 0);
    const struct block *running = gpu_params_block(plan->params, layer, 1);
    const device_ptr *extra = &plan->extra[4 * layer];
    device_ptr half = (device_ptr)value->pitch * 4;
    int rows = (int)plan->batch * value->rows;
    struct cuda_norm g = {.x = on_gpu(in->out),
                          .dy = back ? on_gpu(value->grad) : NULL,
                          .y = on_gpu(value->out),
                          .sums = on_gpu(extra[0]),
                          .mean = on_gpu(extra[1]),
                          .inverse = on_gpu(extra[2]),
                          .weight = on_gpu(gpu_params_at(plan->params, both->at)),
                          .bias = on_gpu(gpu_params_at(plan->params, both->at) + half),
                          .weight_grad = on_gpu(both->grad),
                          .bias_grad = on_gpu(both->grad + half),
                          .running_mean = on_gpu(gpu_params_at(plan->params, running->at)),
                          .running_var = on_gpu(gpu_params_at(plan->params, running->at) + half),
                          .out = on_gpu(value->out),
                          .now = on_gpu(plan->now),
                          .pixels = value->rows,
                          .rows = rows,
                          .pitch = value->pitch,
                          .channels = value->columns,
                          .parts = rows / 32 < 1    ? 1
                                   : rows / 32 > 64 ? 64
                                                    : rows / 32,
                          .epsilon = l->epsilon,
                          .decay = l->decay,
                          .relu = l->relu,
                          .training = b->training};
    if (b->training) {
        gpu_plan_add(b, "norm_sums", g.parts, tiles(g.pitch, 32), 256, 0, &g, sizeof g);
        gpu_plan_each(b, "norm_channels", g.pitch, &g, sizeof g);
    }
    if (back && !b->reaches[input])
        return;
    if (back) {
        g.y = on_gpu(in->grad);
        g.add = b->written[input];
        b->written[input] = true;
    }
    gpu_plan_each(b, "norm_each", (int64_t)rows * g.pitch, &g, sizeof g);
}

// What the first, fourth and last of eight numbers count in the sum of rho^j times the j-th, where
// they lie on a parabola.
static void set_shares(struct cuda_embed *g, double rho)
{
    double shares[3] = {0}, power = 1;
    for (int j = 1; j <= 8; j++) {
        power *= rho;
        shares[0] += power * (j - 4) * (j - 8) / 21;
        shares[1] += power * (j - 1) * (8 - j) / 12;
        shares[2] += power * (j - 1) * (j - 4) / 28;
    }
    for (int i = 0; i < 3; i++)
        g->shares[i] = (float)shares[i];
}

static struct cuda_embed embed_of(const struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct recipe *recipe = &plan->params->recipe;
    const struct value *value = &plan->values[layer];
    const struct block *block = gpu_params_block(plan->params, layer, 0);
    int positions = (int)plan->batch * value->rows;
    struct cuda_embed g = {.now = on_gpu(plan->now),
                           .tokens = on_gpu(plan->tokens),
                           .positions = positions,
                           .units = value->columns,
                           .pitch = value->pitch,
                           .vocabulary = plan->layers[layer].vocabulary,
                           .table = on_gpu(gpu_params_at(plan->params, block->at)),
                           .state0 = on_gpu(plan->params->state[0] + (device_ptr)block->at * 4),
                           .state1 = on_gpu(plan->params->state[1] + (device_ptr)block->at * 4),
                           .age = on_gpu(plan->ages),
                           .rates = on_gpu(plan->rates),
                           .known = RATES_KNOWN,
                           .dy = on_gpu(value->grad),
                           .y = on_gpu(value->out),
                           .kind = (int)recipe->optimizer,
                           .lazy = block->lazy,
                           .rho = recipe->rho,
                           .beta2 = recipe->beta2,
                           .epsilon = recipe->epsilon,
                           .momentum = recipe->momentum,
                           .rate = recipe->phases[0].rate,
                           .grad = on_gpu(block->grad),
                           .order = on_gpu(plan->order),
                           .first = (int *)on_gpu(plan->order) + positions,
                           .count = (int *)on_gpu(plan->order) + 2 * positions};
    set_shares(&g, (double)recipe->rho);
    return g;
}

static void embedding_forward(struct builder *b, int layer)
{
    struct cuda_embed g = embed_of(b, layer);
    gpu_plan_add(b, "embed_gather", g.positions, tiles(g.pitch, 128), 128, 0, &g, sizeof g);
}

// Which positions have the same token: beside what comes before the step of the table.
static void embedding_order(struct builder *b, int layer)
{
    struct cuda_embed g = embed_of(b, layer);
    gpu_plan_add(b, "embed_order", tiles(g.positions, 32), 1, 256, 0, &g, sizeof g);
    set_aside(b);
}

static void embedding_back(struct builder *b, int layer)
{
    struct cuda_embed g = embed_of(b, layer);
    if (!g.lazy) {
        struct cuda_fill fill = {.to = g.grad, .count = (int64_t)g.vocabulary * g.pitch};
        int64_t blocks = (fill.count + 255) / 256;
        gpu_plan_add(b, "fill", blocks < 1024 ? blocks : 1024, 1, 256, 0, &fill, sizeof fill);
    }
    gpu_plan_add(b, "embed_back", g.positions, tiles(g.pitch, 128), 128, 0, &g, sizeof g);
    if (g.lazy)
        set_aside(b);
    else // the optimizer waits for it
        join(b);
    if (g.lazy && g.pitch > 128) {
        gpu_plan_each(b, "embed_age", g.positions, &g, sizeof g);
        set_aside(b);
    }
}

// Whether the kernels for tensor cores take it (lstm.cu).
static bool lstm_is_fast(const struct gpu_plan *plan, const struct net_layer *l)
{
    return l->op == NET_LSTM && cuda_precision(plan->cuda) != ENGINE_F32 && !l->hard_gates &&
           (l->units == 64 || l->units == 128);
}

// Whether what its tokens bring to the gates is looked up: its input is one-hot.
static bool lstm_has_table(const struct gpu_plan *plan, const struct net_layer *l)
{
    return lstm_is_fast(plan, l) && plan->layers[l->inputs[0]].op == NET_ONE_HOT;
}

// For an LSTM with a table it is needed on the way back alone.
static void one_hot(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct value *value = &plan->values[layer];
    bool late = false;
    for (int i = layer + 1; i < plan->layer_count && value->readers == 1; i++)
        late |= lstm_has_table(plan, &plan->layers[i]) && plan->layers[i].inputs[0] == layer;
    if (late && !b->training)
        return;
    struct cuda_one_hot g = {.tokens = on_gpu(plan->tokens),
                             .y = on_gpu(value->out),
                             .rows = (int)plan->batch * value->rows,
                             .pitch = value->pitch};
    gpu_plan_each(b, "one_hot", (int64_t)g.rows * g.pitch, &g, sizeof g);
    if (late)
        set_aside(b);
}

// Bytes of what an LSTM keeps beside its steps: for the fast form packed weights, a place for waste
// and the table; else cells.
static int64_t lstm_room(const struct gpu_plan *plan, const struct net_layer *l, int64_t at[3])
{
    const struct value *in = &plan->values[l->inputs[0]];
    int64_t ways = l->both_ways ? 2 : 1, units = l->units;
    if (!lstm_is_fast(plan, l))
        return plan->batch * in->rows * ways * units * 4;
    at[0] = 0;
    at[1] = ways * units * units * 16;
    at[2] = at[1] + units * 32;
    return at[2] + (lstm_has_table(plan, l) ? in->columns * ways * units * 16 : 0);
}

// extra: xz (and dz), gates, what lstm_room() says, state.
static struct cuda_lstm lstm_of(const struct gpu_plan *plan, int layer, bool training)
{
    const struct net_layer *l = &plan->layers[layer];
    const struct value *in = &plan->values[l->inputs[0]];
    const struct block *block = gpu_params_block(plan->params, layer, 0);
    const device_ptr *extra = &plan->extra[4 * layer];
    int64_t at[3] = {0};
    struct cuda_lstm g = {
        .xz = on_gpu(extra[0]),
        .weight = on_gpu(gpu_params_at(plan->params, gpu_params_block(plan->params, layer, 1)->at)),
        .y = on_gpu(plan->values[layer].out),
        .gates = on_gpu(extra[1]),
        .state = on_gpu(extra[3]),
        .dz = on_gpu(extra[0]), // the sums are not needed again
        .samples = (int)plan->batch,
        .time = in->rows,
        .units = l->units,
        .pitch = plan->values[layer].pitch,
        .ways = l->both_ways ? 2 : 1,
        .hard = l->hard_gates,
        .keep = training,
        .pitch_units = pad4(l->units)};
    (void)lstm_room(plan, l, at);
    if (!lstm_is_fast(plan, l)) {
        g.cell = on_gpu(extra[2]);
        return g;
    }
    g.packed = on_gpu(extra[2] + (device_ptr)at[0]);
    g.waste = on_gpu(extra[2] + (device_ptr)at[1]);
    if (lstm_has_table(plan, l)) {
        g.table = on_gpu(extra[2] + (device_ptr)at[2]);
        g.xz = g.table;
        g.tokens = on_gpu(plan->tokens);
        g.x_weight = on_gpu(gpu_params_at(plan->params, block->at));
        g.x_bias = on_gpu(gpu_params_at(plan->params, block->bias_at));
        g.x_pitch = in->pitch;
        g.vocabulary = in->columns;
    }
    return g;
}

static struct linear lstm_input(const struct gpu_plan *plan, int layer)
{
    struct linear linear = linear_of(plan, layer);
    linear.units = linear.pitch =
        4 * plan->layers[layer].units * (plan->layers[layer].both_ways ? 2 : 1);
    linear.y = linear.dy = plan->extra[4 * layer];
    return linear;
}

// Bytes of shared memory, as in lstm.cu: for the fast form eight steps ahead, and what goes from
// thread to thread.
static unsigned lstm_shared(unsigned units, bool fast, bool back)
{
    unsigned ahead = 8 * 2 * (units * 16 + 64), warps = units / 16;
    return !fast  ? 6 * 4 * units * 4
           : back ? ahead + 2 * warps * warps * 128 + warps * 2 * 192
                  : ahead + 2 * 2 * (units + 32) * 2;
}

static void add_lstm(struct builder *b, int layer, bool back, const struct cuda_lstm *g)
{
    static const char *const names[2][3] = {
        {"lstm_forward_64", "lstm_table_64", "lstm_back_64"},
        {"lstm_forward_128", "lstm_table_128", "lstm_back_128"}};
    bool fast = lstm_is_fast(b->plan, &b->plan->layers[layer]);
    unsigned units = (unsigned)g->units, shared = lstm_shared(units, fast, back);
    int form = back ? 2 : g->table ? 1 : 0;
    if (fast)
        gpu_plan_add(b, names[units == 128][form], tiles(g->samples, 2), g->ways, 2 * units, shared,
                     g, sizeof *g);
    else
        gpu_plan_add(b, back ? "lstm_back" : "lstm_forward", tiles(g->samples, 4), g->ways, 256,
                     shared, g, sizeof *g);
}

// What the steps need that is not their input: beside the product that makes it, if there is one.
static void lstm_prepare(struct builder *b, const struct cuda_lstm *g)
{
    int64_t blocks = tiles((int64_t)g->units * g->units, 256);
    if (g->table) {
        int64_t more = tiles((int64_t)g->vocabulary * g->ways * 4 * g->units, 256);
        gpu_plan_add(b, "lstm_prepare", more > blocks ? more : blocks, g->ways + 1, 256, 0, g,
                     sizeof *g);
    } else {
        gpu_plan_add(b, "lstm_prepare", blocks, g->ways, 256, 0, g, sizeof *g);
        set_aside(b);
    }
}

static void lstm_forward(struct builder *b, int layer)
{
    struct linear input = lstm_input(b->plan, layer);
    struct cuda_lstm g = lstm_of(b->plan, layer, b->training);
    if (g.packed)
        lstm_prepare(b, &g);
    if (!g.table)
        linear_forward(b, &input, false, -1);
    add_lstm(b, layer, false, &g);
    join(b);
}

static void lstm_back(struct builder *b, int layer, bool trains)
{
    const struct gpu_plan *plan = b->plan;
    struct linear input = lstm_input(plan, layer);
    struct cuda_lstm g = lstm_of(plan, layer, true);
    int before = plan->layers[layer].inputs[0];
    flush_weights(b, WHOLE); // beside the steps
    g.y = on_gpu(plan->values[layer].grad);
    add_lstm(b, layer, true, &g);
    linear_back(b, &input);
    // The table's own step is all that waits for it.
    if (plan->layers[before].op == NET_EMBEDDING && b->reaches[before] &&
        plan->values[before].readers == 1 && gpu_params_block(plan->params, before, 0)->lazy)
        set_aside(b);
    if (!trains)
        return;
    linear_weights(b, &input);
    const struct block *state = gpu_params_block(plan->params, layer, 1);
    const device_ptr *extra = &plan->extra[4 * layer];
    int h = g.units, hp = g.pitch_units, positions = g.samples * g.time;
    for (int way = 0; way < g.ways; way++) {
        struct cuda_gemm w = {
            .m = hp,
            .n = 4 * h,
            .k = positions,
            .a = on_gpu(extra[3] + (device_ptr)way * (device_ptr)(positions * hp) * 4),
            .b = on_gpu(extra[0] + (device_ptr)(way * 4 * h) * 4),
            .y = on_gpu(state->grad + (device_ptr)(way * 4 * h * hp) * 4),
            .part = state->room,
            .ldb = g.ways * 4 * h,
            .ldy = hp,
            .parts = state->parts,
            .units = 4 * h,
            .fused = is_fused(state),
            .at = state->at + (int64_t)way * 4 * h * hp};
        w.per_part = (int)tiles(tiles(w.k, w.parts), 32) * 32;
        w.height = w.width = w.out_height = w.out_width = w.taps = w.kernel_w = w.stride = 1;
        w.pitch = hp;
        weights_gemm(b, &w);
    }
}

// ---- both ends ----

// Whether one kernel can do the last layer, the loss and the way back through it.
static bool has_head(const struct gpu_plan *plan)
{
    int last = plan->layer_count - 1;
    const struct net_layer *l = &plan->layers[last];
    if (l->op != NET_DENSE || l->relu || !l->bias)
        return false;
    const struct value *in = &plan->values[l->inputs[0]];
    return in->rows == 1 && in->pitch <= CUDA_HEAD_INPUTS &&
           plan->values[last].pitch <= CUDA_HEAD_UNITS &&
           (int64_t)in->pitch * (plan->values[last].columns + 3) <= 12 * 1024 - 128 &&
           in->readers == 1 && plan->layers[l->inputs[0]].op != NET_IMAGE;
}

static void head(struct builder *b, bool labelled)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[plan->head];
    const struct value *last = &plan->values[plan->head], *in = &plan->values[l->inputs[0]];
    int from = in->in_head ? plan->layers[l->inputs[0]].inputs[0] : l->inputs[0]; // before dropout
    const struct value *x = &plan->values[from];
    const struct block *block = gpu_params_block(plan->params, plan->head, 0);
    bool back = b->training && plan->layers[from].learns;
    struct cuda_head g = {.now = on_gpu(plan->now),
                          .tick = on_gpu(plan->tick),
                          .scores = on_gpu(plan->scores),
                          .rows = plan->score_rows,
                          .x = on_gpu(x->out),
                          .weight = on_gpu(gpu_params_at(plan->params, block->at)),
                          .bias = on_gpu(gpu_params_at(plan->params, block->bias_at)),
                          .x_out = in->in_head ? on_gpu(in->out) : NULL,
                          .dz = b->training ? on_gpu(last->grad) : NULL,
                          .dx = back ? on_gpu(x->grad) : NULL,
                          .out = labelled ? NULL : on_gpu(plan->probabilities),
                          .labels = on_gpu(plan->labels),
                          .batch = (int)plan->batch,
                          .inputs = x->pitch,
                          .columns = x->columns,
                          .units = last->columns,
                          .pitch = last->pitch,
                          .sigmoid = plan->loss == NET_SIGMOID,
                          .masked = x->masked,
                          .scored = labelled,
                          .mask_scale =
                              x->drop >= 0 ? 1.0f / (1.0f - plan->layers[x->drop].rate) : 1,
                          .drop = drop_of(b, in->in_head ? l->inputs[0] : -1)};
    unsigned shared = (unsigned)((g.units + 3) * g.inputs + 128) * 4;
    gpu_plan_add(b, "head", tiles(plan->batch, 4), 1, 128, shared, &g, sizeof g);
}

static void loss(struct builder *b, bool labelled)
{
    const struct gpu_plan *plan = b->plan;
    if (plan->head >= 0) {
        head(b, labelled);
        return;
    }
    const struct value *last = &plan->values[plan->layer_count - 1];
    struct cuda_loss g = {.now = on_gpu(plan->now),
                          .tick = on_gpu(plan->tick),
                          .scores = on_gpu(plan->scores),
                          .rows = plan->score_rows,
                          .z = on_gpu(last->out),
                          .dz = b->training ? on_gpu(last->grad) : NULL,
                          .out = labelled ? NULL : on_gpu(plan->probabilities),
                          .labels = on_gpu(plan->labels),
                          .batch = (int)plan->batch,
                          .units = last->columns,
                          .pitch = last->pitch,
                          .sigmoid = plan->loss == NET_SIGMOID,
                          .weight = 1,
                          .scored = labelled};
    gpu_plan_add(b, "loss", tiles(plan->batch, 4), 1, 128, 0, &g, sizeof g);
}

static void aux_back(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    int own = l->inputs[0], head = l->inputs[1];
    b->written[own] = b->written[layer]; // the same memory
    if (!b->reaches[head])
        return;
    const struct value *value = &plan->values[head];
    struct cuda_loss g = {.now = on_gpu(plan->now),
                          .z = on_gpu(value->out),
                          .dz = on_gpu(value->grad),
                          .labels = on_gpu(plan->labels),
                          .batch = (int)plan->batch,
                          .units = value->columns,
                          .pitch = value->pitch,
                          .weight = l->weight,
                          .add = b->written[head]};
    gpu_plan_add(b, "loss", tiles(plan->batch, 4), 1, 128, 0, &g, sizeof g);
    b->written[head] = true;
}

static int optimizer(struct builder *b, const bool *trains)
{
    struct gpu_plan *plan = b->plan;
    const struct gpu_params *p = plan->params;
    struct cuda_param *rows = calloc((size_t)p->block_count * 2 + 1, sizeof *rows);
    int64_t chunk_count = 0, all = p->room / CUDA_CHUNK + 2 * p->block_count + 1;
    int32_t *chunk_param = malloc((size_t)all * sizeof *chunk_param);
    int64_t *chunk_at = malloc((size_t)all * sizeof *chunk_at);
    int count = 0;
    if (!rows || !chunk_param || !chunk_at)
        b->rc = err_memory(b->err);
    for (int i = 0; b->rc == 0 && i < p->block_count; i++) {
        const struct block *block = &p->blocks[i];
        if (!block->trained || block->lazy || is_fused(block) || !trains[block->layer])
            continue;
        const int64_t from[2] = {block->at, block->bias_at},
                      to[2] = {block->bias_at, block->at + block->room};
        for (int k = 0; k < 2; k++) {
            if (from[k] == to[k])
                continue;
            rows[count] = (struct cuda_param){.grad = (const float *)on_gpu(block->grad) +
                                                      (from[k] - block->at),
                                              .part = block->room,
                                              .parts = block->parts,
                                              .decayed = k == 0 && block->decayed,
                                              .at = from[k],
                                              .end = to[k]};
            for (int64_t at = from[k]; at < to[k]; at += CUDA_CHUNK, chunk_count++) {
                chunk_param[chunk_count] = count;
                chunk_at[chunk_count] = at;
            }
            count++;
        }
    }
    device_ptr on[3] = {0};
    const void *host[3] = {rows, chunk_param, chunk_at};
    const int64_t bytes[3] = {count * (int64_t)sizeof *rows,
                              chunk_count * (int64_t)sizeof *chunk_param,
                              chunk_count * (int64_t)sizeof *chunk_at};
    for (int i = 0; b->rc == 0 && chunk_count > 0 && i < 3; i++) {
        on[i] = gpu_plan_room(b, bytes[i]);
        if (b->rc == 0)
            b->rc = cuda_upload(plan->cuda, on[i], host[i], bytes[i], b->err);
    }
    if (b->rc == 0)
        b->rc = cuda_sync(plan->cuda, b->err);
    struct cuda_optimize g = {.optimizer = optimizer_of(plan),
                              .params = on_gpu(on[0]),
                              .chunk_param = on_gpu(on[1]),
                              .chunk_at = on_gpu(on[2])};
    if (chunk_count > 0)
        gpu_plan_add(b, "optimize", chunk_count, 1, 256, 0, &g, sizeof g);
    free(rows);
    free(chunk_param);
    free(chunk_at);
    return b->rc;
}

// ---- the lists ----

// A new list: nothing of it has been made.
static void forget(const struct builder *b)
{
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
            linear = linear_of(plan, i);
            linear_forward(b, &linear, l->relu, value->drop);
            break;
        case NET_LSTM:
            lstm_forward(b, i);
            break;
        case NET_EMBEDDING:
            embedding_forward(b, i);
            break;
        case NET_ONE_HOT:
            one_hot(b, i);
            break;
        case NET_MAX_POOL:
        case NET_AVERAGE_POOL:
            pool_forward(b, i);
            break;
        case NET_GLOBAL_AVERAGE:
            mean(b, i, false);
            break;
        case NET_BATCH_NORM:
            norm(b, i, false);
            break;
        case NET_DROPOUT:
            if (plan->values[l->inputs[0]].drop != i && !value->in_head)
                drop_each(b, i, false);
            break;
        case NET_CONCAT:
            concat(b, i, false);
            break;
        case NET_IMAGE:
        case NET_TOKENS:
        case NET_AUX:
            break;
        }
    }
    loss(b, labelled);
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
            relu_back(b, i);
        linear = linear_of(plan, i);
        if (plan->head == i)
            wrote(b, l->inputs[0], true);
        else
            linear_back(b, &linear);
        if (trains)
            linear_weights(b, &linear);
        break;
    case NET_LSTM:
        lstm_back(b, i, trains);
        break;
    case NET_EMBEDDING:
        if (trains)
            embedding_back(b, i);
        break;
    case NET_MAX_POOL:
    case NET_AVERAGE_POOL:
        pool_back(b, i);
        break;
    case NET_GLOBAL_AVERAGE:
        mean(b, i, true);
        break;
    case NET_BATCH_NORM:
        norm(b, i, true);
        break;
    case NET_DROPOUT:
        if (plan->values[l->inputs[0]].drop == i || plan->values[i].in_head)
            b->written[l->inputs[0]] = true; // the same memory, or the head's work
        else
            drop_each(b, i, true);
        break;
    case NET_CONCAT:
        concat(b, i, true);
        break;
    case NET_AUX:
        aux_back(b, i);
        break;
    case NET_IMAGE:
    case NET_TOKENS:
    case NET_ONE_HOT:
        break;
    }
}

static void build_backward(struct builder *b, int phase)
{
    struct gpu_plan *plan = b->plan;
    size_t count = (size_t)plan->layer_count;
    const struct recipe_phase *now = &plan->params->recipe.phases[phase];
    bool *flags = calloc(3 * count, sizeof *flags), *trains = flags;
    forget(b);
    if (!flags) {
        b->rc = err_memory(b->err);
        return;
    }
    b->to = &plan->backward[phase];
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
            embedding_order(b, i);
    for (int i = plan->layer_count - 1; i >= 0; i--)
        if (b->reaches[i] && b->written[i])
            back_layer(b, i, trains[i]);
    for (int group = 0; group < 3; group++)
        flush_weights(b, group);
    b->rc = optimizer(b, trains);
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
    plan->head = has_head(plan) ? plan->layer_count - 1 : -1;
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
    value->out = same ? same->out : gpu_plan_room(b, bytes);
    value->grad = same                                      ? same->grad
                  : l->learns || i + 1 == plan->layer_count ? gpu_plan_room(b, bytes)
                                                            : 0;
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
    if (l->op == NET_LSTM) {
        const struct value *in = &plan->values[l->inputs[0]];
        int64_t positions = plan->batch * in->rows * (l->both_ways ? 2 : 1);
        extra[0] = gpu_plan_room(b, positions * 4 * l->units * 4);
        extra[1] = gpu_plan_room(b, positions * 4 * l->units * 4);
        extra[2] = gpu_plan_room(b, lstm_room(plan, l, (int64_t[3]){0}));
        extra[3] = gpu_plan_room(b, positions * pad4(l->units) * 4);
    }
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
            struct walk walk = walk_of(plan, block->layer);
            int ways = l->both_ways ? 2 : 1,
                units = l->op == NET_LSTM ? 4 * l->units * ways : l->units;
            block->product = true;
            block->parts = weight_parts(plan, block->layer,
                                        second ? pad4(l->units) : walk.taps * walk.pitch, units);
        }
        if (!is_fused(block))
            block->grad = gpu_plan_room(b, block->parts * block->room * 4);
    }
}

// Adam's rate in each of the first steps, for rows that are caught up with.
static void give_embedding(struct builder *b, int layer)
{
    struct gpu_plan *plan = b->plan;
    const struct recipe *recipe = &plan->params->recipe;
    int vocabulary = plan->layers[layer].vocabulary;
    plan->embedding = layer;
    plan->ages = gpu_plan_room(b, (int64_t)vocabulary * 4);
    plan->order = gpu_plan_room(b, 3 * plan->batch * plan->values[layer].rows * 4);
    plan->rates = gpu_plan_room(b, RATES_KNOWN * 4);
    float *rates = malloc(RATES_KNOWN * sizeof *rates);
    if (!rates)
        b->rc = err_memory(b->err);
    double p1 = 1, p2 = 1;
    for (int t = 0; b->rc == 0 && t < RATES_KNOWN; t++) {
        p1 *= (double)recipe->rho;
        p2 *= (double)recipe->beta2;
        rates[t] = (float)adam_rate(recipe->phases[0].rate, p1, p2);
    }
    if (b->rc == 0)
        b->rc = cuda_upload(plan->cuda, plan->rates, rates, RATES_KNOWN * 4, b->err);
    if (b->rc == 0)
        b->rc = cuda_sync(plan->cuda, b->err);
    free(rates);
    struct cuda_embed g = embed_of(b, layer);
    b->to = &plan->catch_up;
    if (g.lazy)
        gpu_plan_add(b, "embed_catch_up", vocabulary, tiles(g.pitch, 128), 128, 0, &g, sizeof g);
}

int gpu_plan_new(struct gpu_plan *plan, int score_rows, struct err *err)
{
    size_t count = (size_t)plan->layer_count;
    struct builder b = {.plan = plan, .err = err};
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
        if (plan->layers[i].op != NET_DROPOUT)
            continue;
        if (plan->drop_count == CUDA_DROPS_MAX)
            return err_set(err, ERR_USAGE, "the cuda engine takes at most %d dropout layers",
                           CUDA_DROPS_MAX);
        plan->drop_slots[plan->drop_count++] = i;
    }
    find_readers(plan);
    find_head(plan);
    plan->now = gpu_plan_room(&b, sizeof(struct cuda_now));
    plan->tick = gpu_plan_room(&b, 4);
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
            give_embedding(&b, i);
    b.made = malloc(2 * count * sizeof *b.made);
    if (!b.made)
        return err_memory(err);
    b.read = b.made + count;
    build_forward(&b, &plan->forward, true, true);
    build_forward(&b, &plan->evaluate, false, true);
    build_forward(&b, &plan->predict, false, false);
    for (int i = 0; i < plan->params->recipe.phase_count; i++)
        build_backward(&b, i);
    free(b.made);
    return b.rc;
}

void gpu_plan_free(struct gpu_plan *plan)
{
    struct launches *lists[] = {&plan->forward,     &plan->evaluate,    &plan->predict,
                                &plan->backward[0], &plan->backward[1], &plan->catch_up};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]->items);
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
