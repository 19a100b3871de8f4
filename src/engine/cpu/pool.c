// SPDX-License-Identifier: Apache-2.0
// Pools: maximum, average, and the average of a whole image. A maximum pool that is the only reader
// of a layer with relu applies the relu's mask on the way back.
#include "engine/cpu/number.h"
#include "engine/cpu/plan.h"
#include "engine/cpu/team.h"

enum { PLANE_MAX = 16 }; // channels of a block

struct pool {
    struct op op;
    struct pass_pool shape;
    int index_buffer; // maximum: the winners, (batch, blocks, out pixels, block) bytes
    uint8_t *index;
};

struct job {
    const struct pool *pool;
    void (*plane)(const struct pool *pool, int64_t sample, int block);
};

static void work(void *job_, int thread, int threads)
{
    const struct job *job = job_;
    const struct op *op = &job->pool->op;
    int blocks = plan_input(op, 0)->as.blocks;
    int64_t from, to;
    team_part(op->plan->batch * blocks, 1, thread, threads, &from, &to);
    for (int64_t i = from; i < to; i++)
        job->plane(job->pool, i / blocks, (int)(i % blocks));
}

static void run(const struct op *op, void (*plane)(const struct pool *, int64_t, int))
{
    struct job job = {(const struct pool *)op, plane};
    team_run(work, &job);
}

static void *plane_at(const struct value *value, void *base, int64_t sample, int block)
{
    int64_t at = image_at(&value->as, sample, block * value->as.block, 0);
    return number_at(base, at, value->bf16);
}

static uint8_t *index_at(const struct pool *pool, int64_t sample, int block)
{
    const struct image *as = &plan_output(&pool->op)->as;
    return pool->index + (sample * as->blocks + block) * image_plane(as);
}

static void max_plane(const struct pool *pool, int64_t sample, int block)
{
    const struct value *x = plan_input(&pool->op, 0), *y = plan_output(&pool->op);
    pool->op.plan->passes->max_pool(&pool->shape, plane_at(x, x->out, sample, block),
                                    plane_at(y, y->out, sample, block),
                                    index_at(pool, sample, block), x->relu_later);
}

static void max_plane_back(const struct pool *pool, int64_t sample, int block)
{
    const struct value *x = plan_input(&pool->op, 0), *y = plan_output(&pool->op);
    pool->op.plan->passes->max_pool_back(
        &pool->shape, plane_at(y, y->grad, sample, block), index_at(pool, sample, block),
        plane_at(x, x->grad, sample, block), plan_adds(&pool->op, 0));
}

static void average_plane(const struct pool *pool, int64_t sample, int block)
{
    const struct value *x = plan_input(&pool->op, 0), *y = plan_output(&pool->op);
    pool->op.plan->passes->average_pool(&pool->shape, plane_at(x, x->out, sample, block),
                                        plane_at(y, y->out, sample, block));
}

static void average_plane_back(const struct pool *pool, int64_t sample, int block)
{
    const struct value *x = plan_input(&pool->op, 0), *y = plan_output(&pool->op);
    pool->op.plan->passes->average_pool_back(&pool->shape, plane_at(y, y->grad, sample, block),
                                             plane_at(x, x->grad, sample, block),
                                             plan_adds(&pool->op, 0));
}

// ---- the average of everything: an image becomes a row ----

static int channels_in(const struct image *as, int block)
{
    int left = as->channels - block * as->block;
    return left < as->block ? left : as->block;
}

static void global_plane(const struct pool *pool, int64_t sample, int block)
{
    const struct value *x = plan_input(&pool->op, 0), *y = plan_output(&pool->op);
    const struct image *as = &x->as;
    float sum[PLANE_MAX];
    pool->op.plan->passes->plane_sum(plane_at(x, x->out, sample, block), image_pixels(as),
                                     as->block, sum, x->bf16);
    for (int c = 0; c < channels_in(as, block); c++)
        number_put(y->out, sample * y->columns + block * as->block + c,
                   sum[c] / (float)image_pixels(as), y->bf16);
}

static void global_plane_back(const struct pool *pool, int64_t sample, int block)
{
    const struct value *x = plan_input(&pool->op, 0), *y = plan_output(&pool->op);
    const struct image *as = &x->as;
    float share[PLANE_MAX] = {0};
    for (int c = 0; c < channels_in(as, block); c++)
        share[c] = number_get(y->grad, sample * y->columns + block * as->block + c, y->grad_bf16) /
                   (float)image_pixels(as);
    pool->op.plan->passes->plane_fill(plane_at(x, x->grad, sample, block), image_pixels(as),
                                      as->block, share, plan_adds(&pool->op, 0), x->bf16);
}

// ---- the op ----

static int forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)pass;
    (void)err;
    run(op, op->layer->op == NET_MAX_POOL       ? max_plane
            : op->layer->op == NET_AVERAGE_POOL ? average_plane
                                                : global_plane);
    return 0;
}

static int backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    if (plan_wants_input(op, pass, 0))
        run(op, op->layer->op == NET_MAX_POOL       ? max_plane_back
                : op->layer->op == NET_AVERAGE_POOL ? average_plane_back
                                                    : global_plane_back);
    return 0;
}

static int bind(struct op *op, struct err *err)
{
    (void)err;
    struct pool *pool = (struct pool *)op;
    pool->index = arena_at(&op->plan->arena, pool->index_buffer);
    return 0;
}

static int make(struct op *op, struct err *err)
{
    struct pool *pool = (struct pool *)op;
    struct plan *plan = op->plan;
    const struct net_layer *layer = op->layer;
    const struct value *input = plan_input(op, 0), *output = plan_output(op);
    pool->shape = (struct pass_pool){.in_h = input->as.height,
                                     .in_w = input->as.width,
                                     .out_h = output->as.height,
                                     .out_w = output->as.width,
                                     .kernel_h = layer->kernel_h,
                                     .kernel_w = layer->kernel_w,
                                     .stride = layer->stride,
                                     .pad_top = layer->pad_top,
                                     .pad_left = layer->pad_left,
                                     .block = plan->block,
                                     .bf16 = input->bf16};
    pool->index_buffer = -1;
    if (layer->op != NET_MAX_POOL)
        return 0;
    if ((int64_t)layer->kernel_h * layer->kernel_w >= PASS_POOL_DEAD)
        return err_set(err, ERR_FAIL, "the window of a maximum pool holds at most %d cells",
                       PASS_POOL_DEAD - 1);
    size_t bytes = (size_t)(plan->batch * output->as.blocks * image_plane(&output->as));
    return plan_buffer(op, bytes, PLAN_FORWARD, PLAN_BACKWARD, &pool->index_buffer, err);
}

const struct op_class pool_class = {.size = sizeof(struct pool),
                                    .make = make,
                                    .bind = bind,
                                    .forward = forward,
                                    .backward = backward};
