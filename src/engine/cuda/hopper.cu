// SPDX-License-Identifier: Apache-2.0
// hopper: products of matrices on Hopper, for transformers.
//
// A block makes tiles of 128 × 256, one after the other. Its first warp group only copies: boxes of
// 64 in k go through a ring of four stages in shared memory, each with a barrier that it is full
// and one that it is free. The other two warp groups multiply 64 × 256 each, and write their part
// while the copies for the next tile arrive. In products for weights' gradients, two more warps of
// the first group sum the columns of b as they come by: the gradients of the biases.
#include "hopper.cuh"
#include "hopper_attention.cuh"
#include "text.cuh"

enum {
    TILE_M = 128,
    TILE_N = 256,
    TILE_K = 64,
    STAGES = 4,
    A_BYTES = TILE_M * TILE_K * 2,
    B_BYTES = TILE_N * TILE_K * 2,
    STAGE_BYTES = A_BYTES + B_BYTES,
    GROUP_M = 16, // tiles of m that share b's tiles while these are in the cache
};

extern SHARED char product_memory[]; // up to 1023 bytes to align, the stages, the barriers

// A part of a tile's k, in boxes of 64, that one block makes.
struct piece {
    int m, n, part, begin, end;
};

// In groups of GROUP_M rows of tiles, column by column; with tiles whose k is divided, along the
// longer side, so that blocks at the same k share more.
DEVICE void place_tile(piece &p, const cuda_product &g, int number)
{
    if (g.rest > 0) {
        bool tall = g.tiles_m > g.tiles_n;
        int side = tall ? g.tiles_m : g.tiles_n, slow = number / side, fast = number - slow * side;
        p.m = tall ? fast : slow;
        p.n = tall ? slow : fast;
        return;
    }
    int group = number / (GROUP_M * g.tiles_n), first = group * GROUP_M;
    int rows = min_of(GROUP_M, g.tiles_m - first), within = number - group * GROUP_M * g.tiles_n;
    p.m = first + within % rows;
    p.n = within / rows;
}

// The pieces of a block, one after the other: whole tiles, then its share of the others.
struct pieces {
    int number, team, boxes, left, at, to;

    METHOD void start(const cuda_product &g)
    {
        number = BLOCK;
        boxes = (g.k + TILE_K - 1) / TILE_K;
        left = boxes - g.teams * g.share;
        at = to = 0;
        team = g.rest > 0 ? BLOCK / g.rest : 0;
        if (g.rest == 0)
            return;
        int others = BLOCKS - g.teams * g.rest, me = BLOCK - g.teams * g.rest, all = g.rest * left;
        if (team < g.teams)
            to = 1;
        else {
            at = all * me / others;
            to = all * (me + 1) / others;
        }
    }

    METHOD bool next(const cuda_product &g, piece &p)
    {
        if (number < g.whole) {
            place_tile(p, g, number);
            p.part = p.begin = 0;
            p.end = boxes;
            number += BLOCKS;
            return true;
        }
        if (at >= to)
            return false;
        int tile;
        if (team < g.teams) {
            tile = BLOCK - team * g.rest;
            p.part = team;
            p.begin = team * g.share;
            p.end = min_of(boxes, p.begin + g.share);
            at = to;
        } else {
            int others = BLOCKS - g.teams * g.rest, all = g.rest * left;
            tile = at / left;
            int within = at - tile * left, count = min_of(to - at, left - within);
            int first = ((tile * left + 1) * others - 1) / all;
            p.part = BLOCK - g.teams * g.rest - first + g.teams;
            p.begin = boxes - left + within;
            p.end = p.begin + count;
            at += count;
        }
        place_tile(p, g, g.whole + tile);
        return p.begin < p.end;
    }
};

struct ring {
    int stage;
    u32 phase;

    METHOD void step()
    {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
};

template <bool TA, bool TB>
DEVICE void fill_stage(const cuda_product &g, u32 to, u32 full, const piece &t, int k)
{
    barrier_expect(full, STAGE_BYTES);
    if (TA)
        UNROLL
    for (int i = 0; i < TILE_M / 64; i++)
        copy_box(to + i * 8192, g.map_a, t.m * TILE_M + i * 64, k, full);
    else copy_box(to, g.map_a, k, t.m * TILE_M, full);
    to += A_BYTES;
    if (TB)
        UNROLL
    for (int i = 0; i < TILE_N / 64; i++)
        copy_box(to + i * 8192, g.map_b, t.n * TILE_N + i * 64, k, full);
    else copy_box(to, g.map_b, k, t.n * TILE_N, full);
}

// Brings a warp group's 64 × 256 numbers of `before` to the cache: two lines per thread.
DEVICE void fetch_before(const cuda_product &g, int row, int column)
{
    int thread = THREAD & 127;
    UNROLL
    for (int i = 0; i < 2; i++) {
        int r = min_of(row + (thread >> 1), g.m - 1), c = column + (thread & 1) * 64 + i * 128;
        if (c < g.n)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(g.before + (i64)r * g.ldy + c));
    }
}

// Adds eight rows of a lane's four columns; all of them are read before the first is added.
DEVICE void add_rows(float (&sum)[4], u32 at, u32 word)
{
    u32 x[8], y[8];
    UNROLL
    for (int i = 0; i < 8; i++)
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                     : "=r"(x[i]), "=r"(y[i])
                     : "r"(at + i * 128 + ((word ^ i) << 4)));
    UNROLL
    for (int i = 0; i < 8; i++) {
        sum[0] += low_of(x[i]);
        sum[1] += high_of(x[i]);
        sum[2] += low_of(y[i]);
        sum[3] += high_of(y[i]);
    }
}

// Two warps, a lane has four columns of b.
DEVICE void sum_columns(const cuda_product &g, u32 memory, u32 full, u32 empty)
{
    int warp = (THREAD >> 5) - 1, lane = THREAD & 31, box = warp * 2 + (lane >> 4);
    u32 at = memory + A_BYTES + box * 8192 + (lane & 1) * 8, word = lane >> 1 & 7;
    ring now = {0, 0};
    pieces mine;
    piece t;
    mine.start(g);
    while (mine.next(g, t)) {
        bool sums = g.sums && t.m == 0;
        float sum[4] = {0, 0, 0, 0};
        for (int k = t.begin; k < t.end; k++, now.step()) {
            barrier_wait(full + 8 * now.stage, now.phase);
            if (sums)
#pragma unroll 1
                for (int row = 0; row < TILE_K; row += 8)
                    add_rows(sum, at + now.stage * STAGE_BYTES + row * 128, word);
            WARP_SYNC();
            if (lane == 0)
                barrier_arrive(empty + 8 * now.stage);
        }
        int column = t.n * TILE_N + box * 64 + word * 8 + (lane & 1) * 4;
        if (!sums || column >= g.n)
            continue;
        float *to = g.sums + t.part * g.part + column;
        UNROLL
        for (int i = 0; i < 4; i++)
            to[i] = g.kind == CUDA_PRODUCT_SUM ? to[i] + sum[i] : sum[i];
    }
}

template <bool TA, bool TB, int KIND> DEVICE void product(const cuda_product &g)
{
    u32 memory = (shared_address(product_memory) + 1023) & ~1023u;
    u32 full = memory + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
    int group = THREAD >> 7;
    if (THREAD == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, KIND == CUDA_PRODUCT_WIDE ? 4 : 2);
        }
        barriers_ready();
        prefetch_map(g.map_a);
        prefetch_map(g.map_b);
    }
    SYNC();
    ring now = {0, 0};
    pieces mine;
    piece t;
    if (group == 0) {
        REGISTERS_GIVE(40);
        if (KIND == CUDA_PRODUCT_WIDE && (THREAD >> 5 == 1 || THREAD >> 5 == 2))
            sum_columns(g, memory, full, empty);
        if (THREAD != 0)
            return;
        mine.start(g);
        while (mine.next(g, t))
            for (int k = t.begin; k < t.end; k++, now.step()) {
                barrier_wait(empty + 8 * now.stage, now.phase ^ 1);
                fill_stage<TA, TB>(g, memory + now.stage * STAGE_BYTES, full + 8 * now.stage, t,
                                   k * TILE_K);
            }
        return;
    }
    REGISTERS_TAKE(232);
    float d[128];
    // A warp group's 64 rows of a: half of them, or one block of 64 columns.
    u32 a_at = memory + (group - 1) * 8192, b_at = memory + A_BYTES;
    mine.start(g);
    while (mine.next(g, t)) {
        if (KIND == CUDA_PRODUCT_GELU_BACK)
            fetch_before(g, t.m * TILE_M + (group - 1) * 64, t.n * TILE_N);
        int last = -1;
        for (int k = t.begin; k < t.end; k++, now.step()) {
            barrier_wait(full + 8 * now.stage, now.phase);
            u64 a = matrix_at(a_at + now.stage * STAGE_BYTES, 8192),
                b = matrix_at(b_at + now.stage * STAGE_BYTES, 8192);
            GROUP_FENCE();
            UNROLL
            for (int i = 0; i < 4; i++)
                group_mma<TA, TB>(d, a + i * (TA ? 128 : 2), b + i * (TB ? 128 : 2),
                                  k > t.begin || i);
            GROUP_COMMIT();
            group_wait<1>(); // the stage before has been read
            if (last >= 0 && (THREAD & 127) == 0)
                barrier_arrive(empty + 8 * last);
            last = now.stage;
        }
        int row = t.m * TILE_M + (group - 1) * 64 + (THREAD >> 5 & 3) * 16 + (THREAD >> 2 & 7);
        beside<32, KIND> read;
        if (KIND != CUDA_PRODUCT_WIDE)
            read.read_bias(g, t.n * TILE_N);
        group_wait<0>(d);
        if ((THREAD & 127) == 0)
            barrier_arrive(empty + 8 * last);
        if (KIND == CUDA_PRODUCT_WIDE)
            store_wide<32>(g, d, row, t.n * TILE_N, t.part);
        else {
            read.read_words(g, row, t.n * TILE_N);
            store_rows<32, KIND>(g, d, read, row, t.n * TILE_N);
        }
    }
}

#define PRODUCT(name, ta, tb, kind)                                                                \
    KERNEL(384, 1) name(const cuda_product g)                                                      \
    {                                                                                              \
        product<ta, tb, kind>(g);                                                                  \
    }
PRODUCT(hopper_nn, false, true, CUDA_PRODUCT_PLAIN)
PRODUCT(hopper_nn_gelu, false, true, CUDA_PRODUCT_GELU)
PRODUCT(hopper_nt, false, false, CUDA_PRODUCT_PLAIN)
PRODUCT(hopper_nt_gelu, false, false, CUDA_PRODUCT_GELU_BACK)
PRODUCT(hopper_tn, true, true, CUDA_PRODUCT_WIDE)
