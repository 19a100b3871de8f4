// SPDX-License-Identifier: Apache-2.0
// What a block has beside its warps on compute capability 9.0: barriers in shared memory, bulk
// copies, products of warp groups, and a cluster of which it is one.
//
// There a block's warps meet in pairs and groups, at barriers of their own. So who may use a word
// of shared memory follows from vector clocks: each warp knows how far it has seen each of the
// others, and what the copies of each barrier wrote. Copies and products use shared memory as
// another proxy: they see what threads wrote only behind a fence.proxy.async.
#ifndef FARE_TESTS_ENGINE_PTX_HOPPER_H
#define FARE_TESTS_ENGINE_PTX_HOPPER_H

#include "train/engine/ptx/inside.h"

enum { BARRIERS = 32, GROUPS = WARPS / 4, IN_FLIGHT = 64, NOBODY = 255 };
// Warps, the copies of barriers, the products of warp groups.
enum { COPIES = WARPS, PRODUCTS = COPIES + BARRIERS, AGENTS = PRODUCTS + GROUPS };

struct seen { // of each agent, up to which of its clock
    uint32_t all[AGENTS], fenced[AGENTS];
};

struct barrier {
    uint32_t address, count, pending, phases;
    int64_t bytes; // that are still to come
    struct seen now, done;
    uint32_t maker, made_at; // warp and its clock
    uint32_t copies;         // begun
    bool fenced;
};

struct word { // of shared memory
    uint32_t clock, readers;
    uint8_t writer; // an agent
    bool by_copy;
};

struct product { // of a warp group, under way
    const struct inst *in;
    uint64_t a, b;
    uint32_t number, group;
};

struct group_warp { // what a warp has to do with products
    struct product products[IN_FLIGHT];
    int count;
    uint32_t begun, groups, fences;
    uint8_t *sums, *operands; // by row of registers: how many products have it
    uint32_t *touched;        // by row: the fence after which it was used last
};

struct cluster_barrier { // of all threads of a cluster
    uint32_t arrived, phases;
    uint32_t waits[WARPS]; // for the end of this phase, from 1; 0: it has not arrived
    struct seen now, done;
};

struct bulk { // a copy to shared memory, under way
    uint64_t map;
    uint32_t to, bytes, barrier, clock;
    int32_t at[5];
    uint16_t offset[2];
    bool is_tensor;
};

struct hopper {
    struct seen warps[WARPS];
    struct barrier barriers[BARRIERS];
    int barrier_count;
    struct word *words;
    uint32_t *read_at;    // by 16 bytes and warp: its clock
    uint32_t *product_at; // by 16 bytes and warp group: the number of the last product, from 1
    struct bulk *bulks;
    int bulk_count, bulk_room;
    struct cluster_barrier cluster;
    uint32_t progress; // grows when somebody who waits may go on
    struct group_warp groups[WARPS];
    uint64_t asked[GROUPS][IN_FLIGHT]; // what the products of a warp group are
};

struct hopper *hopper_new(const struct block *b);
void hopper_free(struct hopper *h);
void hopper_begin(struct block *b);
void hopper_end(struct block *b);                // faults what is left undone
bool hopper_complete_copy(struct block *b);      // the oldest one; false where there is none
void hopper_meet(struct block *b, uint32_t set); // warps at a barrier of the block

// Notes that a warp uses shared memory; a fault where it has no order with another's use.
// `by_proxy`: a product, or a copy's writing.
void hopper_use(struct warp *warp, const struct inst *in, int lane, uint32_t at, uint32_t bytes,
                bool writes, bool by_proxy);
// Notes that an instruction uses registers; a fault where a product has them.
void hopper_touch(struct warp *warp, const struct inst *in, int lane);

// Addresses of the cluster's shared memory that mapa made: a window for each block.
enum { CLUSTER_WINDOW = 1 << 24 };

bool hopper_is_over(const struct block *b, uint32_t rank); // all threads of that block have ended
// Where an address that a thread uses lies in the cluster's shared memory; `anywhere`: it may be
// another block's, which must not have ended.
uint32_t hopper_place(struct warp *warp, const struct inst *in, int lane, uint32_t address,
                      bool anywhere);

// A copy, whose destination must be free; it has arrived.
void hopper_begin_bulk(struct warp *warp, const struct inst *in, int lane, struct bulk bulk);
void hopper_end_bulk(struct block *b, const struct bulk *bulk);

op_run hopper_map, hopper_cluster_arrive, hopper_cluster_wait, hopper_arrive_at;
op_run hopper_init, hopper_arrive, hopper_expect, hopper_wait, hopper_fence_init,
    hopper_fence_proxy, hopper_copy, hopper_copy_tensor, hopper_prefetch_map, hopper_mma,
    hopper_fence, hopper_commit, hopper_wait_group, hopper_registers;

#endif
