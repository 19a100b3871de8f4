// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/plan/builder.h"

#include <stdlib.h>

bool gpu_has_head(const struct gpu_plan *plan)
{
    int last = plan->layer_count - 1;
    const struct net_layer *l = &plan->layers[last];
    if (l->op != NET_DENSE || l->relu || !l->bias)
        return false;
    const struct gpu_value *in = &plan->values[l->inputs[0]];
    return in->rows == 1 && in->pitch <= CUDA_HEAD_INPUTS &&
           plan->values[last].pitch <= CUDA_HEAD_UNITS &&
           (int64_t)in->pitch * (plan->values[last].columns + 3) <= 12 * 1024 - 128 &&
           in->readers == 1 && plan->layers[l->inputs[0]].op != NET_IMAGE;
}

static void head(struct builder *b, bool labelled)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[plan->head];
    const struct gpu_value *last = &plan->values[plan->head], *in = &plan->values[l->inputs[0]];
    int from = in->in_head ? plan->layers[l->inputs[0]].inputs[0] : l->inputs[0]; // before dropout
    const struct gpu_value *x = &plan->values[from];
    const struct gpu_block *block = gpu_params_block(plan->params, plan->head, 0);
    bool back = b->training && plan->layers[from].learns;
    struct cuda_head g = {.now = on_gpu(plan->now),
                          .next_step = on_gpu(plan->next_step),
                          .scores = on_gpu(plan->scores),
                          .rows = plan->ring_rows,
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
                          .drop = gpu_plan_drop(b, in->in_head ? l->inputs[0] : -1)};
    unsigned shared = (unsigned)((g.units + 3) * g.inputs + 128) * 4;
    gpu_plan_add(b, "head", tiles(plan->batch, 4), 1, 128, shared, &g, sizeof g);
}

void gpu_loss(struct builder *b, bool labelled)
{
    const struct gpu_plan *plan = b->plan;
    if (plan->head >= 0) {
        head(b, labelled);
        return;
    }
    const struct gpu_value *last = &plan->values[plan->layer_count - 1];
    struct cuda_loss g = {.now = on_gpu(plan->now),
                          .next_step = on_gpu(plan->next_step),
                          .scores = on_gpu(plan->scores),
                          .rows = plan->ring_rows,
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

void gpu_aux_back(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    int own = l->inputs[0], head = l->inputs[1];
    b->written[own] = b->written[layer]; // they share memory
    if (!b->reaches[head])
        return;
    const struct gpu_value *value = &plan->values[head];
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

// Blocks that sum squares. As many run beside each other on 132 multiprocessors; it is the same on
// every GPU, because the sum's rounding depends on it.
enum { SQUARE_SUMS = 6 * 132 };

static void add_adamw(struct builder *b, const struct cuda_optimize *all, int64_t chunks)
{
    int sums = chunks < SQUARE_SUMS ? (int)chunks : SQUARE_SUMS;
    struct cuda_adamw g = {.all = *all,
                           .squares = on_gpu(gpu_plan_alloc(b, sums * 4)),
                           .factor = on_gpu(gpu_plan_alloc(b, 4)),
                           .chunks = (int)chunks,
                           .sums = sums,
                           .clip = b->plan->params->recipe.clip};
    if (g.clip > 0) {
        gpu_plan_add(b, "adamw_squares", sums, 1, 256, 0, &g, sizeof g);
        gpu_plan_add(b, "adamw_factor", 1, 1, 1024, 0, &g, sizeof g);
    }
    gpu_plan_add(b, "adamw", chunks, 1, 256, 0, &g, sizeof g);
}

void gpu_optimize(struct builder *b, const bool *trains)
{
    struct gpu_plan *plan = b->plan;
    const struct gpu_params *p = plan->params;
    struct cuda_param *rows = calloc((size_t)p->block_count * 2 + 1, sizeof *rows);
    bool adamw = p->recipe.optimizer == OPTIMIZER_ADAMW;
    int64_t chunk_count = 0, all = 2 * p->block_count + 1;
    for (int i = 0; i < p->block_count; i++)
        all += p->blocks[i].size * (p->blocks[i].parts > CUDA_FEW_PARTS ? CUDA_SUMMERS : 1) /
                   CUDA_CHUNK +
               1;
    int32_t *chunk_param = malloc((size_t)all * sizeof *chunk_param);
    int64_t *chunk_at = malloc((size_t)all * sizeof *chunk_at);
    int count = 0;
    if (!rows || !chunk_param || !chunk_at)
        b->rc = err_memory(b->err);
    for (int i = 0; b->rc == 0 && i < p->block_count; i++) {
        const struct gpu_block *block = &p->blocks[i];
        if (!block->trained || block->lazy || gpu_is_fused(block) || !trains[block->layer])
            continue;
        const int64_t from[2] = {block->at, block->bias_at},
                      to[2] = {block->bias_at, block->at + block->size};
        for (int k = 0; k < 2; k++) {
            if (from[k] == to[k])
                continue;
            bool summed = block->sum_at >= 0;
            device_ptr grad = summed ? plan->sums + (device_ptr)block->sum_at * 4 : block->grad;
            rows[count] =
                (struct cuda_param){.grad = (const float *)on_gpu(grad) + (from[k] - block->at),
                                    .part = block->size,
                                    .parts = summed ? 1 : block->parts,
                                    .decayed = k == 0 && block->decayed,
                                    .at = from[k],
                                    .end = to[k]};
            bool many = rows[count].parts > CUDA_FEW_PARTS && !adamw;
            int chunk = many ? CUDA_CHUNK / CUDA_SUMMERS : CUDA_CHUNK;
            for (int64_t at = from[k]; at < to[k]; at += chunk, chunk_count++) {
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
        on[i] = gpu_plan_alloc(b, bytes[i]);
        gpu_plan_upload(b, on[i], host[i], bytes[i]);
    }
    struct cuda_optimize g = {.optimizer = gpu_plan_optimizer(plan),
                              .params = on_gpu(on[0]),
                              .chunk_param = on_gpu(on[1]),
                              .chunk_at = on_gpu(on[2])};
    if (chunk_count > 0 && adamw)
        add_adamw(b, &g, chunk_count);
    else if (chunk_count > 0)
        gpu_plan_add(b, "optimize", chunk_count, 1, 256, 0, &g, sizeof g);
    if (b->rc == 0 && chunk_count > 0 && b->lazy_reader >= 0) {
        struct launch *optimize = &b->to->items[b->to->count - 1];
        optimize->depends_on[optimize->depends_count++] = b->lazy_reader;
    }
    free(rows);
    free(chunk_param);
    free(chunk_at);
}
