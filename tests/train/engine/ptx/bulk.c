// SPDX-License-Identifier: Apache-2.0
// Bulk copies to shared memory: lines, boxes of tensors, and windows of images (im2col).
#include "hopper.h"

#include <string.h>

#include "train/engine/ptx/tensor_map.h"

static uint32_t lane_of(const struct warp *warp, uint32_t row, int lane)
{
    return warp->regs[row + (uint32_t)lane];
}

static uint64_t wide_of(const struct warp *warp, uint32_t row, int lane)
{
    uint64_t x;
    memcpy(&x, &warp->regs[row + 2 * (uint32_t)lane], sizeof x);
    return x;
}

// Of its own block: only a copy to several is for others.
static uint32_t place_of(struct warp *warp, const struct inst *in, uint32_t row, int lane,
                         uint32_t offset)
{
    return hopper_place(warp, in, lane, lane_of(warp, row, lane) + offset, false);
}

// [base] of shared memory, o[0] the address, o[1] bytes, o[2] the barrier.
void hopper_copy(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    for (int lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1) {
            struct bulk bulk = {.map = wide_of(warp, in->o[0], lane),
                                .to = place_of(warp, in, in->base, lane, (uint32_t)in->offset),
                                .bytes = lane_of(warp, in->o[1], lane),
                                .barrier = place_of(warp, in, in->o[2], lane, 0)};
            if (bulk.map % 16)
                ptx_fault(warp, in, lane, "copies from %#llx, which is not aligned",
                          (unsigned long long)bulk.map);
            for (uint32_t i = 0; i < bulk.bytes; i += 16)
                (void)ptx_at(warp, in, lane, GLOBAL, bulk.map + i, 16, false);
            hopper_begin_bulk(warp, in, lane, bulk);
        }
}

static const struct tensor_map *map_at(struct warp *warp, const struct inst *in, int lane,
                                       uint64_t at)
{
    const struct tensor_map *map = NULL;
    if (at % 64)
        ptx_fault(warp, in, lane, "a tensor map at %#llx, which is not aligned",
                  (unsigned long long)at);
    for (uint64_t i = 0; i < 128; i += 16) {
        const void *part = ptx_at(warp, in, lane, GLOBAL, at + i, 16, false);
        map = i == 0 ? part : map;
    }
    if (map->magic != TENSOR_MAP)
        ptx_fault(warp, in, lane, "there is no tensor map at %#llx", (unsigned long long)at);
    return map;
}

// o[0] is its address.
void hopper_prefetch_map(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    for (int lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1)
            (void)map_at(warp, in, lane, wide_of(warp, in->base, lane) + (uint64_t)in->offset);
}

static uint32_t box_bytes(const struct tensor_map *map)
{
    uint32_t bytes = map->bytes;
    for (int i = 0; i < (map->is_im2col ? 2 : map->rank); i++)
        bytes *= map->box[i];
    return bytes;
}

typedef void visit_line(struct block *b, uint64_t from, uint32_t to, uint32_t bytes, void *more);

// A line of the box: elements along the first dimension; those outside of the tensor are zeros.
static void line(struct block *b, const struct tensor_map *map, const int64_t *at, uint32_t to,
                 visit_line *visit, void *more)
{
    uint64_t from = map->base;
    bool inside = true;
    for (int i = 1; i < map->rank; i++) {
        inside &= at[i] >= 0 && at[i] < (int64_t)map->size[i];
        from += inside ? (uint64_t)at[i] * map->pitch[i - 1] : 0;
    }
    for (uint32_t k = 0; k < map->box[0]; k++) {
        int64_t x = at[0] + k;
        bool there = inside && x >= 0 && x < (int64_t)map->size[0];
        visit(b, there ? from + (uint64_t)x * map->bytes : 0, to + k * map->bytes, map->bytes,
              more);
    }
}

static void windows(struct block *b, const struct tensor_map *map, const struct bulk *bulk,
                    visit_line *visit, void *more)
{
    int64_t at[5] = {bulk->at[0], bulk->at[1], bulk->at[2], bulk->at[3], 0};
    for (uint32_t pixel = 0; pixel < map->box[1]; pixel++) {
        const int64_t cell[5] = {at[0], at[1] + bulk->offset[0], at[2] + bulk->offset[1], at[3], 0};
        line(b, map, cell, bulk->to + pixel * map->box[0] * map->bytes, visit, more);
        at[1] += map->each[1];
        if (at[1] < (int64_t)map->size[1] + map->upper[0])
            continue;
        at[1] = map->lower[0];
        at[2] += map->each[2];
        if (at[2] < (int64_t)map->size[2] + map->upper[1])
            continue;
        at[2] = map->lower[1];
        at[3]++;
    }
}

static void box(struct block *b, const struct tensor_map *map, const struct bulk *bulk,
                visit_line *visit, void *more)
{
    uint32_t lines = box_bytes(map) / (map->box[0] * map->bytes);
    if (map->is_im2col) {
        windows(b, map, bulk, visit, more);
        return;
    }
    for (uint32_t n = 0; n < lines; n++) {
        int64_t at[5] = {bulk->at[0]};
        uint32_t left = n;
        for (int i = 1; i < map->rank; i++) {
            at[i] = bulk->at[i] + (int64_t)(left % map->box[i]) * map->each[i];
            left /= map->box[i];
        }
        line(b, map, at, bulk->to + n * map->box[0] * map->bytes, visit, more);
    }
}

struct asks {
    struct warp *warp;
    const struct inst *in;
    int lane;
};

static void ask(struct block *b, uint64_t from, uint32_t to, uint32_t bytes, void *more)
{
    const struct asks *a = more;
    (void)b;
    (void)to;
    if (from)
        (void)ptx_at(a->warp, a->in, a->lane, GLOBAL, from, bytes, false);
}

// The same place and barrier of each block whose bit is set.
static void begin_in_all(struct warp *warp, const struct inst *in, int lane, struct bulk bulk)
{
    uint32_t blocks = lane_of(warp, in->o[9], lane), to = bulk.to - warp->base,
             barrier = bulk.barrier - warp->base, cluster = warp->block->kernel->cluster;
    if (blocks == 0 || blocks >> cluster)
        ptx_fault(warp, in, lane, "copies to blocks %#x of a cluster of %u", blocks, cluster);
    for (uint32_t rank = 0; rank < cluster; rank++)
        if (blocks >> rank & 1) {
            uint32_t window = (rank + 1) * CLUSTER_WINDOW;
            bulk.to = hopper_place(warp, in, lane, window + to, true);
            bulk.barrier = hopper_place(warp, in, lane, window + barrier, true);
            hopper_begin_bulk(warp, in, lane, bulk);
        }
}

// [base] of shared memory, o[0] the map, o[1] on the place, o[6] the barrier, o[7] and o[8]
// offsets; count: dimensions; is_fixed: to the blocks of o[9].
void hopper_copy_tensor(struct warp *warp, const struct inst *in, uint32_t lanes)
{
    for (int lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1) {
            struct bulk bulk = {.map = wide_of(warp, in->o[0], lane),
                                .to = place_of(warp, in, in->base, lane, (uint32_t)in->offset),
                                .barrier = place_of(warp, in, in->o[6], lane, 0),
                                .is_tensor = true};
            const struct tensor_map *map = map_at(warp, in, lane, bulk.map);
            if (map->rank != in->count || map->is_im2col != in->is_signed)
                ptx_fault(warp, in, lane, "its tensor map is of another kind");
            for (int i = 0; i < in->count; i++)
                bulk.at[i] = (int32_t)lane_of(warp, in->o[1 + i], lane);
            for (int i = 0; i < 2 && map->is_im2col; i++)
                bulk.offset[i] = (uint16_t)lane_of(warp, in->o[7 + i], lane);
            bulk.bytes = box_bytes(map);
            if ((bulk.to - warp->base) % 128)
                ptx_fault(warp, in, lane, "copies a box to %u, which is not aligned",
                          bulk.to - warp->base);
            box(warp->block, map, &bulk, ask, &(struct asks){warp, in, lane});
            if (in->is_fixed)
                begin_in_all(warp, in, lane, bulk);
            else
                hopper_begin_bulk(warp, in, lane, bulk);
        }
}

// Lines of as many bytes as the swizzle is wide have their pieces of 16 bytes in another order.
static void put(struct block *b, uint64_t from, uint32_t to, uint32_t bytes, void *more)
{
    const struct tensor_map *map = more;
    uint32_t mask = map->swizzle ? (1u << map->swizzle) - 1 : 0;
    unsigned char *at = b->shared + (to ^ (to >> 7 & mask) << 4);
    if (from)
        memcpy(at, (const void *)(uintptr_t)from, bytes);
    else
        memset(at, 0, bytes);
}

bool hopper_complete_copy(struct block *b)
{
    struct hopper *h = b->hopper;
    if (h->bulk_count == 0)
        return false;
    struct bulk bulk = h->bulks[0];
    struct warp *there = &b->warps[bulk.to / (b->all_bytes / b->kernel->cluster) *
                                   (uint32_t)b->warp_count / b->kernel->cluster];
    if (hopper_is_over(b, there->rank))
        ptx_fault(there, b->kernel->code, 0, "the block ends without waiting for a copy to %u",
                  bulk.to - there->base);
    h->bulk_count--;
    memmove(h->bulks, h->bulks + 1, (size_t)h->bulk_count * sizeof *h->bulks);
    if (bulk.is_tensor) {
        struct tensor_map map;
        memcpy(&map, (const void *)(uintptr_t)bulk.map, sizeof map);
        box(b, &map, &bulk, put, &map);
    } else {
        memcpy(b->shared + bulk.to, (const void *)(uintptr_t)bulk.map, bulk.bytes);
    }
    hopper_end_bulk(b, &bulk);
    return true;
}
