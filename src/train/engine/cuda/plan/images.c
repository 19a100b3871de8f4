// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/plan/builder.h"

#include <stdlib.h>

// ---- which nets ----

static int readers_of(const struct net_layer *layers, int count, int of)
{
    int readers = 0;
    for (int i = of + 1; i < count; i++)
        for (int k = 0; k < layers[i].input_count; k++)
            readers += layers[i].inputs[k] == of;
    return readers;
}

// Whether a layer has kernels for images in bf16.
static bool takes_image(const struct net_layer *layers, int count, int i)
{
    const struct net_layer *l = &layers[i], *in = &layers[l->inputs[0]];
    switch (l->op) {
    case NET_CONV:
        return !l->bias && !l->relu && readers_of(layers, count, i) == 1 && i + 1 < count &&
               layers[i + 1].op == NET_BATCH_NORM && layers[i + 1].inputs[0] == i &&
               l->kernel_h * l->kernel_w <= TAPS_MAX;
    case NET_BATCH_NORM:
        return in->op == NET_CONV && l->out.dim[0] <= 2048;
    case NET_MAX_POOL:
    case NET_AVERAGE_POOL:
        return in->op != NET_CONV && l->kernel_h * l->kernel_w < 256;
    case NET_GLOBAL_AVERAGE:
        return in->op != NET_CONV;
    case NET_CONCAT:
        for (int k = 0; k < l->input_count; k++) {
            const struct net_layer *part = &layers[l->inputs[k]];
            if (part->op == NET_CONV || part->op == NET_IMAGE || part->out.dim[0] % 8 != 0 ||
                readers_of(layers, count, l->inputs[k]) != 1)
                return false;
        }
        return true;
    default:
        return false;
    }
}

bool images_in_bf16(const struct net_layer *layers, int count, enum engine_precision precision)
{
    if (precision != ENGINE_BF16 || layers[0].op != NET_IMAGE)
        return false;
    bool any = false;
    for (int i = 1; i < count; i++) {
        bool image = layers[layers[i].inputs[0]].out.rank == 3;
        any |= layers[i].op == NET_CONV;
        if (image && !takes_image(layers, count, i))
            return false;
    }
    return any;
}

static bool is_image(const struct gpu_plan *plan, int layer)
{
    return plan->layers[layer].out.rank == 3;
}

// ---- memory ----

static int64_t bytes_of(const struct gpu_plan *plan, const struct gpu_value *value)
{
    return plan->batch * value->rows * value->pitch * 2;
}

// The inputs of a concatenation lie in its memory.
static void place_inputs(struct gpu_plan *plan, int layer)
{
    const struct net_layer *l = &plan->layers[layer];
    const struct gpu_value *whole = &plan->values[layer];
    for (int k = 0, at = 0; k < l->input_count; at += plan->values[l->inputs[k]].columns, k++) {
        struct gpu_value *part = &plan->values[l->inputs[k]];
        part->pitch = whole->pitch;
        part->out = whole->out + (device_ptr)at * 2;
    }
}

// ---- gradients share memory ----

// The way back goes from the last layer to the first. A gradient lives from the last reader of the
// value, which writes it first, to the layer itself; for a concatenation, to its first input.
struct lifetime {
    int from, to; // layers; from >= to
};

static int first_input(const struct gpu_plan *plan, int layer)
{
    const struct net_layer *l = &plan->layers[layer];
    int first = layer;
    for (int k = 0; l->op == NET_CONCAT && k < l->input_count; k++) {
        int part = first_input(plan, l->inputs[k]);
        first = part < first ? part : first;
    }
    return first;
}

static struct lifetime lifetime_of(const struct gpu_plan *plan, int layer)
{
    struct lifetime t = {.from = layer, .to = first_input(plan, layer)};
    for (int i = layer + 1; i < plan->layer_count; i++)
        for (int k = 0; k < plan->layers[i].input_count; k++)
            if (plan->layers[i].inputs[k] == layer)
                t.from = i;
    return t;
}

static bool has_own_gradient(const struct gpu_plan *plan, int layer)
{
    enum net_op op = plan->layers[layer].op;
    return is_image(plan, layer) && op != NET_IMAGE && op != NET_CONV &&
           !gpu_is_joined(plan, layer); // it lies in the concatenation's
}

// The smallest memory that is free and large enough; else new memory.
static struct reused_memory *find_reused(struct gpu_plan *plan, int64_t bytes, int from)
{
    struct reused_memory *best = NULL;
    for (int i = 0; i < plan->reused_count; i++) {
        struct reused_memory *p = &plan->reused[i];
        if (p->until > from && p->bytes >= bytes && (!best || p->bytes < best->bytes))
            best = p;
    }
    if (!best) {
        best = &plan->reused[plan->reused_count++];
        *best = (struct reused_memory){.bytes = bytes, .user = -1};
    }
    return best;
}

static void give_image_gradients(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    plan->reused = calloc((size_t)plan->layer_count, sizeof *plan->reused);
    if (!plan->reused) {
        b->rc = err_memory(b->err);
        return;
    }
    // In the order in which lifetimes begin. Memory keeps the size of its first user.
    for (int from = plan->layer_count - 1; from >= 0; from--)
        for (int i = from; i >= 0; i--) {
            struct gpu_value *value = &plan->values[i];
            if (!has_own_gradient(plan, i) || lifetime_of(plan, i).from != from)
                continue;
            struct reused_memory *reused = find_reused(plan, bytes_of(plan, value), from);
            if (!reused->at)
                reused->at = gpu_plan_alloc(b, reused->bytes);
            value->grad = reused->at;
            value->previous = reused->user;
            reused->user = i;
            reused->until = lifetime_of(plan, i).to;
        }
    for (int i = plan->layer_count - 1; i >= 0; i--) {
        const struct net_layer *l = &plan->layers[i];
        for (int k = 0, at = 0; l->op == NET_CONCAT && k < l->input_count;
             at += plan->values[l->inputs[k]].columns, k++)
            plan->values[l->inputs[k]].grad = plan->values[i].grad + (device_ptr)at * 2;
    }
}

enum { CHANNEL_FIGURES = 6 }; // a batch norm's mean, inverse, scale, shift, by_z, rest

static int norm_parts(const struct gpu_plan *plan, int layer)
{
    int64_t parts = plan->batch * plan->values[layer].rows / 64;
    int most = 4 * plan->device.processors;
    return parts < 1 ? 1 : parts > most ? most : (int)parts;
}

void images_memory(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    for (int i = plan->layer_count - 1; i >= 0; i--) { // concatenations before their inputs
        struct gpu_value *value = &plan->values[i];
        const struct net_layer *l = &plan->layers[i];
        device_ptr *extra = &plan->extra[4 * i];
        value->previous = -1;
        int channels = pad8(value->columns);
        if (!is_image(plan, i))
            continue;
        if (!value->out) {
            value->pitch = channels;
            value->out = gpu_plan_alloc(b, bytes_of(plan, value));
        }
        if (b->rc == 0 && plan->batch * value->rows * value->pitch > INT32_MAX)
            b->rc =
                err_set(b->err, ERR_USAGE, "layer '%s' is too large for a batch of %lld in bf16",
                        l->name, (long long)plan->batch);
        if (l->op == NET_CONCAT)
            place_inputs(plan, i);
        if (l->op == NET_MAX_POOL)
            extra[0] = gpu_plan_alloc(b, plan->batch * value->rows * channels);
        if (l->op == NET_BATCH_NORM) {
            int64_t rows = plan->batch * value->rows, parts = tiles(rows, 64);
            extra[0] = gpu_plan_alloc(b, (parts > 1 ? parts : 1) * 2 * channels * 4);
            extra[1] = gpu_plan_alloc(b, (int64_t)CHANNEL_FIGURES * channels * 4);
            extra[2] = plan->device.several ? gpu_plan_alloc(b, (int64_t)channels * 16) : 0;
        }
    }
    if (b->rc == 0)
        give_image_gradients(b);
}

// ---- dependencies ----

// Branches of a net run concurrently: a launch depends on the writers of its inputs, and on the
// last writer of a gradient that it adds to.

static void depend_on_launch(struct launch *launch, int which)
{
    for (int i = 0; i < launch->depends_count; i++)
        if (launch->depends_on[i] == which)
            return;
    if (launch->depends_count < LAUNCH_DEPENDENCIES)
        launch->depends_on[launch->depends_count++] = which;
    else
        launch->explicit_only = false; // too many: it waits for all
}

static void depend_on(const struct builder *b, struct launch *launch, int layer)
{
    const struct net_layer *l = &b->plan->layers[layer];
    if (b->writer[layer] >= 0) {
        depend_on_launch(launch, b->writer[layer]);
        return;
    }
    for (int k = 0; l->op == NET_CONCAT && k < l->input_count; k++) // the writers of its inputs
        depend_on(b, launch, l->inputs[k]);
}

// The first writer of a gradient waits for the readers of the one in the same memory before.
static void depend_on_readers(const struct builder *b, struct launch *launch, int layer)
{
    const struct net_layer *l = &b->plan->layers[layer];
    if (b->reader[layer] >= 0)
        depend_on_launch(launch, b->reader[layer]);
    for (int k = 0; l->op == NET_CONCAT && k < l->input_count; k++)
        depend_on_readers(b, launch, l->inputs[k]);
}

static struct launch *last_launch(const struct builder *b)
{
    return b->rc == 0 ? &b->to->items[b->to->count - 1] : NULL;
}

// The last launch reads `from` and writes `to`, or nothing that others read if that is -1.
static void depend(const struct builder *b, int from, int to)
{
    struct launch *launch = last_launch(b);
    if (!launch)
        return;
    launch->explicit_only = true;
    depend_on(b, launch, from);
    if (to >= 0)
        b->writer[to] = b->to->count - 1;
}

// The last launch reads the gradient of `from` and writes, or adds to, that of `to`.
static void depend_back(const struct builder *b, int from, int to)
{
    struct launch *launch = last_launch(b);
    if (!launch)
        return;
    launch->explicit_only = true;
    depend_on(b, launch, from);
    if (b->writer[to] >= 0)
        depend_on_launch(launch, b->writer[to]);
    else if (b->plan->values[to].previous >= 0)
        depend_on_readers(b, launch, b->plan->values[to].previous);
    b->writer[to] = b->reader[from] = b->to->count - 1;
}

// ---- convolutions ----

static void conv_forward(struct builder *b, int layer)
{
    image_conv_forward(b, layer);
    depend(b, b->plan->layers[layer].inputs[0], layer);
}

static void conv_back(struct builder *b, int layer)
{
    int input = b->plan->layers[layer].inputs[0];
    image_conv_back(b, layer);
    depend_back(b, layer, input);
    b->written[input] = true;
}

static void conv_weights(struct builder *b, int layer)
{
    image_conv_weights(b, layer);
    depend(b, layer, -1);
}

// ---- batch norm ----

static struct cuda_image_norm image_norm_of(const struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    const struct gpu_value *in = &plan->values[l->inputs[0]], *value = &plan->values[layer];
    const struct gpu_block *both = gpu_params_block(plan->params, layer, 0);
    const struct gpu_block *running = gpu_params_block(plan->params, layer, 1);
    int channels = pad8(value->columns);
    device_ptr line = (device_ptr)channels * 4, figures = plan->extra[4 * layer + 1];
    return (struct cuda_image_norm){
        .z = on_gpu(in->out),
        .y = on_gpu(value->out),
        .dy = on_gpu(value->grad),
        .sums = on_gpu(plan->extra[4 * layer]),
        .totals = on_gpu(plan->extra[4 * layer + 2]),
        .mean = on_gpu(figures),
        .inverse = on_gpu(figures + line),
        .scale = on_gpu(figures + 2 * line),
        .shift = on_gpu(figures + 3 * line),
        .by_z = on_gpu(figures + 4 * line),
        .rest = on_gpu(figures + 5 * line),
        .weight = on_gpu(gpu_params_at(plan->params, both->at)),
        .bias = on_gpu(gpu_params_at(plan->params, both->at) + line),
        .weight_grad = on_gpu(both->grad),
        .bias_grad = on_gpu(both->grad + line),
        .running_mean = on_gpu(gpu_params_at(plan->params, running->at)),
        .running_var = on_gpu(gpu_params_at(plan->params, running->at) + line),
        .now = on_gpu(plan->now),
        .rows = (int)plan->batch * value->rows,
        .pixels = value->rows,
        .z_pitch = in->pitch,
        .pitch = value->pitch,
        .channels = channels,
        .columns = value->columns,
        .epsilon = l->epsilon,
        .decay = l->decay,
        .relu = l->relu,
        .training = b->training};
}

// A thread does several rows, so that it reads a channel's figures once.
static void norm_rows(struct builder *b, const char *kernel, const struct cuda_image_norm *g)
{
    int lines = 256 / (g->channels / 8);
    int64_t blocks = tiles(g->rows, 4 * lines), most = 16L * b->plan->device.processors;
    gpu_plan_add(b, kernel, blocks < most ? blocks : most, 1, 256, 0, g, sizeof *g);
}

// Several ranks: the channels' totals over all of them. `from`: the layer whose writer made the
// sums.
static void norm_totals(struct builder *b, int from, int layer, const struct cuda_image_norm *g)
{
    if (!g->totals)
        return;
    gpu_plan_add(b, "image_norm_fold", g->channels / 8, 1, 256, 0, g, sizeof *g);
    depend(b, from, layer);
    ranks_sum_reals(b, b->plan->extra[4 * layer + 2], 2 * (int64_t)g->channels);
    depend(b, layer, layer);
}

static void image_norm_forward(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    int conv = plan->layers[layer].inputs[0];
    struct cuda_image_norm g = image_norm_of(b, layer);
    g.parts = (int)tiles(g.rows, image_conv_rows(plan, conv));
    if (b->training)
        norm_totals(b, conv, layer, &g);
    gpu_plan_add(b, "image_norm_channels", g.channels / 8, 1, 256, 0, &g, sizeof g);
    depend(b, b->training && g.totals ? layer : conv, layer);
    norm_rows(b, "image_norm", &g);
    depend(b, layer, layer);
}

static void image_norm_back(struct builder *b, int layer)
{
    struct cuda_image_norm g = image_norm_of(b, layer);
    g.parts = norm_parts(b->plan, layer);
    gpu_plan_add(b, "image_norm_sums", g.parts, 1, 256, 0, &g, sizeof g);
    depend(b, layer, layer);
    norm_totals(b, layer, layer, &g);
    gpu_plan_add(b, "image_norm_back_channels", g.channels / 8, 1, 256, 0, &g, sizeof g);
    depend(b, layer, layer);
    int conv = b->plan->layers[layer].inputs[0];
    if (!b->reaches[conv])
        return;
    norm_rows(b, "image_norm_back", &g);
    depend(b, layer, conv);
    b->reader[layer] = b->writer[conv];
    b->written[conv] = true;
}

// ---- pools and means ----

static void image_pool(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    int input = l->inputs[0];
    const struct net_shape *shape = &plan->layers[input].out;
    const struct gpu_value *in = &plan->values[input], *out = &plan->values[layer];
    bool average = l->op == NET_AVERAGE_POOL;
    if (back && !b->reaches[input])
        return;
    struct cuda_image_pool g = {.in = on_gpu(back ? in->grad : in->out),
                                .out = on_gpu(back ? out->grad : out->out),
                                .chosen = on_gpu(plan->extra[4 * layer]),
                                .batch = (int)plan->batch,
                                .channels = pad8(shape->dim[0]),
                                .in_pitch = in->pitch,
                                .out_pitch = out->pitch,
                                .height = shape->dim[1],
                                .width = shape->dim[2],
                                .out_height = l->out.dim[1],
                                .out_width = l->out.dim[2],
                                .size_h = l->kernel_h,
                                .size_w = l->kernel_w,
                                .stride = l->stride,
                                .top = l->pad_top,
                                .left = l->pad_left,
                                .add = back && b->written[input],
                                .back = back};
    const char *kernel = back ? (average ? "image_average_back" : "image_max_back")
                              : (average ? "image_average" : "image_max");
    if (average && g.size_h == 3 && g.size_w == 3 && g.stride == 1 && g.top == 1 && g.left == 1 &&
        g.out_height == g.height && g.out_width == g.width)
        gpu_plan_add(b, "image_average_3", tiles(plan->batch * g.height * g.channels / 8, 256),
                     tiles(g.width, CUDA_WALK), 256, 0, &g, sizeof g);
    else
        gpu_plan_each(b, kernel, plan->batch * (back ? in : out)->rows * g.channels / 8, &g,
                      sizeof g);
    if (back)
        depend_back(b, layer, input);
    else
        depend(b, input, layer);
    wrote(b, input, back);
}

static void image_mean(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    int input = plan->layers[layer].inputs[0];
    const struct gpu_value *in = &plan->values[input], *out = &plan->values[layer];
    if (back && !b->reaches[input])
        return;
    struct cuda_image_mean g = {.image = on_gpu(back ? in->grad : in->out),
                                .vector = on_gpu(back ? out->grad : out->out),
                                .batch = (int)plan->batch,
                                .pixels = in->rows,
                                .channels = pad8(in->columns),
                                .image_pitch = in->pitch,
                                .pitch = out->pitch,
                                .add = back && b->written[input]};
    gpu_plan_each(b, back ? "image_mean_back" : "image_mean",
                  plan->batch * (back ? in->rows : 1) * g.channels / 8, &g, sizeof g);
    if (back && b->rc == 0)
        b->writer[input] = b->to->count - 1; // it waits for all before it
    wrote(b, input, back);
}

// ---- layers ----

bool images_layer(struct builder *b, int layer, bool back, bool trains)
{
    const struct net_layer *l = &b->plan->layers[layer];
    switch (l->op) {
    case NET_CONV:
        if (!back)
            conv_forward(b, layer);
        if (back && b->reaches[l->inputs[0]])
            conv_back(b, layer);
        if (back && trains)
            conv_weights(b, layer);
        return true;
    case NET_BATCH_NORM:
        (back ? image_norm_back : image_norm_forward)(b, layer);
        return true;
    case NET_MAX_POOL:
    case NET_AVERAGE_POOL:
        image_pool(b, layer, back);
        return true;
    case NET_GLOBAL_AVERAGE:
        image_mean(b, layer, back);
        return true;
    case NET_CONCAT: // its inputs are in place already
        for (int k = 0; back && k < l->input_count; k++) {
            b->written[l->inputs[k]] = true;
            b->writer[l->inputs[k]] = b->writer[layer];
        }
        return true;
    default:
        return false;
    }
}
