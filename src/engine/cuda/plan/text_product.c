// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/plan/text_product.h"

#include <assert.h>

struct kind { // of kernels: its tile and its needs
    const char *names[5];
    int m, n;
    unsigned threads, shared;
};

static const struct kind hopper = {
    {"hopper_nn", "hopper_nn_gelu", "hopper_nt", "hopper_nt_gelu", "hopper_tn"},
    128,
    256,
    384,
    4 * 49152 + 1024 + 64};
static const struct kind portable = {
    {"product_nn", "product_nn_gelu", "product_nt", "product_nt_gelu", "product_tn"},
    128,
    128,
    256,
    PRODUCT_SHARED};

bool product_on_hopper(const struct device *device)
{
    return device->major == 9 && device->map;
}

static const struct kind *kind_for(const struct device *device)
{
    return product_on_hopper(device) ? &hopper : &portable;
}

void *product_map(struct builder *b, struct matrix x, int rows)
{
    return gpu_plan_map(b, &(struct tensor){.at = x.at,
                                            .rank = 2,
                                            .size = {x.columns, x.rows},
                                            .pitch = {(int64_t)x.columns * 2},
                                            .box = {64, rows}});
}

// How the tiles of a TN product are divided among the blocks of Hopper's kernel (kernels.h).
struct division {
    int whole, rest, teams, share, parts, blocks;
};

// The parts of tiles whose k is divided: one per team, and those of the blocks left over.
static int division_parts(const struct division *d, int64_t boxes)
{
    int64_t left = boxes - (int64_t)d->teams * d->share, all = d->rest * left,
            others = d->blocks - (int64_t)d->teams * d->rest, most = 0;
    for (int64_t tile = 0; all > 0 && tile < d->rest; tile++) {
        int64_t first = ((tile * left + 1) * others - 1) / all,
                last = ((tile + 1) * left * others - 1) / all;
        if (last - first + 1 > most)
            most = last - first + 1;
    }
    return (int)(d->teams + most);
}

#define STORE_BOXES 6 // storing a tile takes as long as so many boxes (an H200)

// The boxes of a team, so that the slowest block ends soonest. The blocks left over store several
// pieces each.
static int division_share(const struct division *d, int64_t boxes)
{
    int64_t others = d->blocks - (int64_t)d->teams * d->rest, best = tiles(boxes, d->teams),
            least = best + STORE_BOXES;
    for (int64_t share = d->rest * boxes / d->blocks; others > 0 && share < best; share++) {
        int64_t left = boxes - d->teams * share, each = tiles(d->rest * left, (int)others);
        int64_t slowest = each + (each / left + 2) * STORE_BOXES;
        if (slowest < share + STORE_BOXES)
            slowest = share + STORE_BOXES;
        if (slowest < least) {
            least = slowest;
            best = share;
        }
    }
    return (int)best;
}

// Divided are the tiles that would not fill the last round of blocks, if their k is long enough.
static struct division divide(const struct device *device, int64_t m, int64_t n, int64_t k)
{
    int64_t all = tiles(m, hopper.m) * tiles(n, hopper.n), boxes = tiles(k, 64),
            processors = device->processors, rest = all % processors;
    struct division d = {
        .whole = (int)all, .parts = 1, .blocks = (int)(all < processors ? all : processors)};
    bool filled = (double)all >= 0.94 * (double)(tiles(all, (int)processors) * processors);
    if (rest == 0 || filled || boxes < 8 || (all > processors && rest * boxes < 4 * processors) ||
        rest * boxes > INT32_MAX / processors) // which the kernel counts in
        return d;
    int64_t most = rest * (boxes / 4); // at least four boxes per block
    d.whole = (int)(all - rest);
    d.rest = (int)rest;
    d.blocks = (int)(most < processors ? most : processors);
    d.teams = d.blocks / d.rest;
    d.share = division_share(&d, boxes);
    d.parts = division_parts(&d, boxes);
    return d;
}

int product_parts(const struct device *device, int64_t m, int64_t n, int64_t k)
{
    if (product_on_hopper(device))
        return divide(device, m, n, k).parts;
    int64_t blocks = tiles(m, portable.m) * tiles(n, portable.n);
    int best = 1;
    double least = 0;
    for (int parts = 1; parts <= 8 && parts * 256 <= k; parts++) {
        int64_t waves = (blocks * parts + device->processors - 1) / device->processors;
        double cost = (double)waves / parts * (1 + 0.05 * parts);
        if (parts == 1 || cost < least) {
            best = parts;
            least = cost;
        }
    }
    int64_t per_part = tiles(tiles(k, best), 64) * 64;
    return (int)tiles(k, (int)per_part);
}

void product_add(struct builder *b, enum product_form form, struct matrix x, struct matrix y,
                 struct cuda_product *g)
{
    const struct device *device = &b->plan->device;
    const struct kind *kind = kind_for(device);
    bool x_columns = form == PRODUCT_TN, y_columns = form != PRODUCT_NT && form != PRODUCT_NT_GELU;
    g->a = on_gpu(x.at);
    g->b = on_gpu(y.at);
    g->m = x_columns ? x.columns : (int)x.rows;
    g->k = x_columns ? (int)x.rows : x.columns;
    g->n = y_columns ? y.columns : (int)y.rows;
    g->lda = x.columns;
    g->ldb = y.columns;
    if (g->parts == 0)
        g->parts = 1;
    g->per_part = (int)tiles(tiles(g->k, g->parts), 64) * 64;
    g->tiles_m = (int)tiles(g->m, kind->m);
    g->tiles_n = (int)tiles(g->n, kind->n);
    int64_t blocks = (int64_t)g->tiles_m * g->tiles_n * (kind == &hopper ? 1 : g->parts);
    if (kind == &hopper) {
        g->map_a = product_map(b, x, x_columns ? 64 : 128);
        g->map_b = product_map(b, y, y_columns ? 64 : 256);
        struct division d = {.whole = (int)blocks,
                             .blocks =
                                 blocks < device->processors ? (int)blocks : device->processors};
        if (g->parts > 1)
            d = divide(device, g->m, g->n, g->k);
        assert(g->parts == 1 || g->parts == d.parts);
        g->whole = d.whole;
        g->rest = d.rest;
        g->teams = d.teams;
        g->share = d.share;
        blocks = d.blocks; // a block makes several tiles
    }
    gpu_plan_add(b, kind->names[form], blocks, 1, kind->threads, kind->shared, g, sizeof *g);
}
