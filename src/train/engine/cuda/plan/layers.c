// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/plan/builder.h"

static struct cuda_pool pool_of(const struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    const struct net_shape *in = &plan->layers[l->inputs[0]].out;
    const struct gpu_value *value = &plan->values[layer];
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
                              .drop = gpu_plan_drop(b, value->drop)};
}

// The largest of windows of 2 × 2 side by side; their kernels count with 32 bits.
static bool is_plain(const struct cuda_pool *pool)
{
    return !pool->average && pool->size_h == 2 && pool->size_w == 2 && pool->stride == 2 &&
           pool->top == 0 && pool->left == 0 && pool->height / 2 == pool->out_height &&
           pool->width / 2 == pool->out_width &&
           (int64_t)pool->batch * pool->height * pool->width * pool->pitch <= INT32_MAX;
}

void gpu_pool(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    int input = plan->layers[layer].inputs[0];
    const struct gpu_value *in = &plan->values[input], *value = &plan->values[layer];
    struct cuda_pool pool = pool_of(b, layer);
    int64_t quads = pool.pitch / 4; // of channels
    if (!back) {
        pool.out = on_gpu(value->out);
        int64_t pixels = (int64_t)pool.out_height * pool.out_width;
        if (is_plain(&pool))
            gpu_plan_add(b, "pool_forward_2", tiles(plan->batch * tiles(pixels, 4) * quads, 128), 1,
                         128, 0, &pool, sizeof pool);
        else
            gpu_plan_each(b, "pool_forward", plan->batch * pixels * quads, &pool, sizeof pool);
        return;
    }
    if (!b->reaches[input])
        return;
    pool.dy = on_gpu(value->grad);
    pool.out = on_gpu(in->grad);
    pool.relu = in->masked;
    pool.add = b->written[input];
    pool.y = on_gpu(value->out);
    if (is_plain(&pool) && !pool.add)
        gpu_plan_each(b, "pool_back_2",
                      plan->batch * tiles(pool.height, 2) * tiles(pool.width, 2) * quads, &pool,
                      sizeof pool);
    else
        gpu_plan_each(b, "pool_back", plan->batch * pool.height * pool.width * quads, &pool,
                      sizeof pool);
    b->written[input] = true;
}

void gpu_drop(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    int input = plan->layers[layer].inputs[0];
    const struct gpu_value *from = &plan->values[input], *to = &plan->values[layer];
    if (back && !b->reaches[input])
        return;
    struct cuda_each each = {.kind = CUDA_EACH_DROP,
                             .x = on_gpu(back ? to->grad : from->out),
                             .y = on_gpu(back ? from->grad : to->out),
                             .rows = (int)plan->batch * to->rows,
                             .pitch = to->pitch,
                             .columns = to->columns,
                             .pixels = plan->layers[layer].out.rank == 3 ? to->rows : 1,
                             .sample_rows = to->rows,
                             .add = back && b->written[input],
                             .drop = gpu_plan_drop(b, layer)};
    gpu_plan_each(b, "each", (int64_t)each.rows * each.pitch, &each, sizeof each);
    wrote(b, input, back);
}

void gpu_relu_back(struct builder *b, int layer)
{
    const struct gpu_value *value = &b->plan->values[layer];
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

void gpu_concat(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    const struct gpu_value *whole = &plan->values[layer];
    for (int i = 0, at = 0; i < l->input_count; at += plan->values[l->inputs[i]].columns, i++) {
        int input = l->inputs[i];
        const struct gpu_value *part = &plan->values[input];
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

void gpu_mean(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    int input = plan->layers[layer].inputs[0];
    const struct gpu_value *from = &plan->values[input], *to = &plan->values[layer];
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

// extra: sums, mean, inverse, totals over ranks.
void gpu_norm(struct builder *b, int layer, bool back)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    int input = l->inputs[0];
    const struct gpu_value *in = &plan->values[input], *value = &plan->values[layer];
    const struct gpu_block *both = gpu_params_block(plan->params, layer, 0);
    const struct gpu_block *running = gpu_params_block(plan->params, layer, 1);
    const device_ptr *extra = &plan->extra[4 * layer];
    device_ptr half = (device_ptr)value->pitch * 4;
    int rows = (int)plan->batch * value->rows;
    struct cuda_norm g = {.x = on_gpu(in->out),
                          .dy = back ? on_gpu(value->grad) : NULL,
                          .y = on_gpu(value->out),
                          .sums = on_gpu(extra[0]),
                          .totals = on_gpu(extra[3]),
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
        if (g.totals) {
            gpu_plan_each(b, "norm_fold", g.pitch, &g, sizeof g);
            ranks_sum_reals(b, extra[3], 2 * (int64_t)g.pitch);
        }
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

// ---- samples ----
//
// The launch that copies a batch's samples from a data set on the GPU to the net's input,
// by the next row of the step table.

static void text_gather(const struct gpu_plan *plan, const struct gpu_set *set, device_ptr table,
                        int64_t row_bytes, struct launch *out)
{
    struct cuda_text_gather g = {.table = on_gpu(table),
                                 .rows = plan->ring_rows,
                                 .row_bytes = (int)row_bytes,
                                 .now = on_gpu(plan->now),
                                 .next_step = on_gpu(plan->next_step),
                                 .from = on_gpu(set->tokens),
                                 .tokens = on_gpu(plan->tokens),
                                 .labels = on_gpu(plan->labels),
                                 .batch = (int)plan->batch,
                                 .time = plan->values[0].rows};
    launch_make(out, "text_gather", (unsigned)tiles((int64_t)g.batch * g.time, 256), 1, 256, 0, &g,
                sizeof g);
}

void gpu_gather(const struct gpu_plan *plan, int buffer, const struct engine_set *from,
                const struct gpu_set *set, device_ptr table, int64_t row_bytes, struct launch *out)
{
    const struct gpu_value *in = &plan->values[0];
    if (plan->is_text) { // it has one buffer
        text_gather(plan, set, table, row_bytes, out);
        return;
    }
    const struct plan_buffer *to = &plan->buffers[buffer];
    bool flat = image_is_flat(plan->layers, plan->layer_count, 0);
    struct cuda_gather g = {.table = on_gpu(table),
                            .rows = plan->ring_rows,
                            .row_bytes = (int)row_bytes,
                            .now = on_gpu(to->now),
                            .next_step = on_gpu(plan->next_step),
                            .pixels = on_gpu(set->pixels),
                            .scale = on_gpu(set->scale),
                            .tokens = on_gpu(set->tokens),
                            .starts = on_gpu(set->starts),
                            .stride = from->token_stride,
                            .set_labels = on_gpu(set->labels),
                            .image = on_gpu(to->image),
                            .out_tokens = on_gpu(to->tokens),
                            .labels = on_gpu(to->labels),
                            .batch = (int)plan->batch,
                            .channels = from->channels,
                            .height = from->height,
                            .width = from->width,
                            .time = from->time,
                            .padded = flat ? from->channels : in->pitch,
                            .pixel_pitch = flat ? 1 : in->pitch,
                            .channel_pitch = flat ? from->height * from->width : 1,
                            .sample_pitch = in->rows * in->pitch,
                            .shift = from->shift_flip,
                            .flip = from->flip};
    launch_make(out, plan->images ? "image_gather" : "gather", (unsigned)plan->batch,
                plan->images ? 32 : 1, 256, 0, &g, sizeof g);
}
