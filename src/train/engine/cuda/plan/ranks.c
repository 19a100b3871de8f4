// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/plan/builder.h"

// Numbers behind the gradients: of the score, loss and right; then of the ranks, what they waited.
#define SCORE 2

static int64_t tail(const struct gpu_plan *plan)
{
    return SCORE + plan->device.ranks;
}

// ---- memory ----

void ranks_memory(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    if (!plan->device.several)
        return;
    plan->sums = gpu_plan_alloc_zeros(b, (plan->params->sums + tail(plan)) * 4);
    plan->waited = gpu_plan_alloc_zeros(b, 8);
    plan->totals = gpu_plan_alloc_zeros(b, plan->ring_rows * (int64_t)sizeof(struct cuda_total));
}

void ranks_gradient(struct builder *b, struct gpu_block *block)
{
    if (block->sum_at >= 0 && block->parts == 1)
        block->grad = b->plan->sums + (device_ptr)block->sum_at * 4;
    else
        block->grad = gpu_plan_alloc_zeros(b, block->parts * block->size * 4);
}

// ---- sums ----

static void add_sum(struct builder *b, device_ptr at, int64_t count, bool reals)
{
    const int none = 0;
    int before = b->last_sum;
    gpu_plan_add(b, "sum over ranks", 1, 1, 1, 0, &none, sizeof none);
    if (b->rc != 0)
        return;
    struct launch *sum = &b->to->items[b->to->count - 1];
    sum->sum_at = at;
    sum->sum_count = count;
    sum->reals = reals;
    if (before >= 0)
        sum->depends_on[sum->depends_count++] = before;
    b->last_sum = b->to->count - 1;
}

void ranks_sum_reals(struct builder *b, device_ptr at, int64_t count)
{
    add_sum(b, at, count, true);
}

// ---- the score ----

static struct cuda_totals totals_of(const struct builder *b)
{
    const struct gpu_plan *plan = b->plan;
    return (struct cuda_totals){.now = on_gpu(plan->now),
                                .scores = on_gpu(plan->scores),
                                .sums = on_gpu(plan->sums + (device_ptr)plan->params->sums * 4),
                                .totals = on_gpu(plan->totals),
                                .waited = on_gpu(plan->waited),
                                .ready = on_gpu(plan->waited + 4),
                                .ring = plan->ring_rows,
                                .batch = (int)plan->batch,
                                .rank = plan->device.rank,
                                .ranks = plan->device.ranks,
                                .training = b->training};
}

void ranks_score(struct builder *b)
{
    const struct gpu_plan *plan = b->plan;
    if (!plan->device.several)
        return;
    struct cuda_totals g = totals_of(b);
    gpu_plan_add(b, "score_sum", 1, 1, 256, 0, &g, sizeof g);
    if (b->training)
        return;
    add_sum(b, plan->sums + (device_ptr)plan->params->sums * 4, SCORE, false);
    gpu_plan_add(b, "score_keep", 1, 1, 32, 0, &g, sizeof g);
}

// ---- gradients ----

// Adds the parts of gradients up, of those between the two numbers.
static void fold(struct builder *b, int64_t from, int64_t to)
{
    const struct gpu_plan *plan = b->plan;
    struct cuda_folds folds = {0};
    int64_t blocks = 0;
    for (int i = 0; i < plan->params->block_count; i++) {
        const struct gpu_block *block = &plan->params->blocks[i];
        if (block->sum_at < from || block->sum_at >= to || block->parts == 1)
            continue;
        folds.job[folds.count++] =
            (struct cuda_fold){.from = on_gpu(block->grad),
                               .to = on_gpu(plan->sums + (device_ptr)block->sum_at * 4),
                               .part = block->size,
                               .size = block->size,
                               .parts = block->parts,
                               .first = (int)blocks};
        blocks += tiles(block->size, CUDA_CHUNK);
        if (folds.count < CUDA_FOLDS_MAX)
            continue;
        gpu_plan_add(b, "gradient_fold", blocks, 1, 256, 0, &folds, sizeof folds);
        folds.count = 0;
        blocks = 0;
    }
    if (folds.count > 0)
        gpu_plan_add(b, "gradient_fold", blocks, 1, 256, 0, &folds, sizeof folds);
}

// Sums what is complete.
static void flush(struct builder *b)
{
    const struct gpu_plan *plan = b->plan;
    if (b->ready == b->unsummed)
        return;
    gpu_weights_flush_all(b);
    fold(b, b->ready, b->unsummed);
    add_sum(b, plan->sums + (device_ptr)b->ready * 4, b->unsummed - b->ready, false);
    gpu_plan_fork(b);
    b->unsummed = b->ready;
}

void ranks_begin(struct builder *b)
{
    b->ready = b->plan->params->sums; // but for the score, which is complete
    b->unsummed = b->ready + tail(b->plan);
}

void ranks_ready(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    int64_t least = plan->bucket_bytes > 0 ? plan->bucket_bytes : RANKS_BUCKET, first = b->ready;
    if (!plan->device.several)
        return;
    for (int i = 0; i < plan->params->block_count; i++) {
        const struct gpu_block *block = &plan->params->blocks[i];
        if (block->layer == layer && block->sum_at >= 0 && block->sum_at < first)
            first = block->sum_at;
    }
    b->ready = first;
    if ((b->unsummed - b->ready) * 4 >= least)
        flush(b);
}

void ranks_end(struct builder *b)
{
    const struct gpu_plan *plan = b->plan;
    if (!plan->device.several)
        return;
    struct cuda_totals g = totals_of(b);
    flush(b);
    gpu_plan_add(b, "gradients_ready", 1, 1, 32, 0, &g, sizeof g);
    gpu_plan_add(b, "score_keep", 1, 1, 32, 0, &g, sizeof g);
    gpu_plan_join(b); // the sums
}
