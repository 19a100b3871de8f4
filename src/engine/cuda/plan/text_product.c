// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/plan/text_product.h"

struct kind { // of kernels: its tile and its needs
    const char *names[5];
    int m, n;
    int pair; // tiles of m that blocks of a cluster make together
    unsigned threads, shared;
};

// Shared memory: stages, room to align them, barriers, sums of rows (hopper.cu).
static const struct kind hopper = {
    {[PRODUCT_NN] = "hopper_nn", [PRODUCT_NT] = "hopper_nt", [PRODUCT_TN] = "hopper_tn"},
    128,
    256,
    2,
    384,
    4 * 49152 + 1024 + 64};
static const struct kind hopper_turns = {
    {"hopper_nn_turns", "hopper_nn_gelu", "hopper_nt_turns", "hopper_nt_gelu"},
    128,
    128,
    2,
    384,
    6 * 32768 + 1024 + 112 + 2 * 4 * 128 * 4};
static const struct kind portable = {
    {"product_nn", "product_nn_gelu", "product_nt", "product_nt_gelu", "product_tn"},
    128,
    128,
    1,
    256,
    PRODUCT_SHARED};

bool product_on_hopper(const struct gpu_device *device)
{
    return device->major == 9 && device->map;
}

// Up to this k, storing a tile of 128 × 256 takes a fifth of its time or more.
enum { TURNS_K = 1600 };

static const struct kind *kind_for(const struct gpu_device *device, enum product_form form,
                                   int64_t k)
{
    if (!product_on_hopper(device))
        return &portable;
    bool turns =
        form == PRODUCT_NN_GELU || form == PRODUCT_NT_GELU || (form != PRODUCT_TN && k <= TURNS_K);
    return turns ? &hopper_turns : &hopper;
}

void *product_map(struct builder *b, struct matrix x, int rows)
{
    return gpu_plan_map(b, &(struct mapped_tensor){.at = x.at,
                                                   .rank = 2,
                                                   .size = {x.columns, x.rows},
                                                   .pitch = {(int64_t)x.columns * 2},
                                                   .box = {64, rows}});
}

static int64_t block_count(const struct kind *kind, int64_t m, int64_t n, int parts)
{
    return tiles(m, kind->m * kind->pair) * kind->pair * tiles(n, kind->n) * parts;
}

// Blocks that run beside each other. Of an odd number of processors one stays idle.
static int64_t block_room(const struct gpu_device *device, const struct kind *kind)
{
    int64_t whole = device->processors / kind->pair;
    return (whole > 0 ? whole : 1) * kind->pair;
}

// Measured on an H200: each part costs about a twentieth of the product in memory traffic.
int product_parts(const struct gpu_device *device, int64_t m, int64_t n, int64_t k)
{
    const struct kind *kind = kind_for(device, PRODUCT_TN, k);
    int64_t room = block_room(device, kind);
    int best = 1;
    double least = 0;
    for (int parts = 1; parts <= 8 && parts * 256 <= k; parts++) {
        int64_t waves = (block_count(kind, m, n, parts) + room - 1) / room;
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
    const struct gpu_device *device = &b->plan->device;
    bool x_columns = form == PRODUCT_TN, y_columns = form != PRODUCT_NT && form != PRODUCT_NT_GELU;
    g->a = on_gpu(x.at);
    g->b = on_gpu(y.at);
    g->m = x_columns ? x.columns : (int)x.rows;
    g->k = x_columns ? (int)x.rows : x.columns;
    g->n = y_columns ? y.columns : (int)y.rows;
    const struct kind *kind = kind_for(device, form, g->k);
    g->lda = x.columns;
    g->ldb = y.columns;
    if (g->parts == 0)
        g->parts = 1;
    g->per_part = (int)tiles(tiles(g->k, g->parts), 64) * 64;
    g->tiles_m = (int)tiles(g->m, kind->m);
    g->tiles_n = (int)tiles(g->n, kind->n);
    int64_t blocks = block_count(kind, g->m, g->n, g->parts), room = block_room(device, kind);
    if (kind != &portable) {
        g->map_a = product_map(b, x, x_columns ? 64 : 128);
        // or half of a tile, for both blocks
        g->map_b = product_map(b, y, y_columns ? 64 : kind->n / kind->pair);
        if (blocks > room) // a block makes several tiles
            blocks = room;
    }
    gpu_plan_add(b, kind->names[form], blocks, 1, kind->threads, kind->shared, g, sizeof *g);
}
