// SPDX-License-Identifier: Apache-2.0
// hopper: products of matrices on Hopper, for transformers.
//
// A block makes tiles of 128 × 256, one after the other. Its first warp group only copies: boxes of
// 64 in k go through a ring of four stages in shared memory, each with a barrier that it is full
// and one that it is free. The other two warp groups multiply 64 × 256 each, and write their part
// while the copies for the next tile arrive.
//
// Two blocks are a cluster. Their tiles lie above each other and share b: each block copies half of
// it to both, so that a stage costs 32 KB of the cache and not 48. A stage is free when both blocks
// have read it.
//
// Where k is short, storing a tile takes as long as making it. There the two warp groups have tiles
// of 128 × 128 of their own, and take turns: one stores while the other multiplies.
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
    GROUP_PAIRS = 8,    // pairs of tiles of m that share b's tiles while these are in the cache
    BLOCKS_OF_PAIR = 3, // bits
    TURN_N = 128,
    TURN_STAGES = 6,
    TURN_BYTES = A_BYTES + TURN_N * TILE_K * 2,
};

extern SHARED char product_memory[]; // up to 1023 bytes to align, stages, barriers, sums of rows

struct tile {
    int m, n, part;
};

// The tile of block `rank` of the cluster that makes pair `number`. Part by part; within a part in
// groups of GROUP_PAIRS rows of pairs, column by column. The last pair's second tile may lie behind
// m: its box of a is zeros, and nothing of it is stored.
DEVICE tile tile_of(int number, int pairs_m, int tiles_n, int rank)
{
    int part = number / (pairs_m * tiles_n), rest = number - part * pairs_m * tiles_n;
    int group = rest / (GROUP_PAIRS * tiles_n), first = group * GROUP_PAIRS;
    int rows = min_of(GROUP_PAIRS, pairs_m - first), within = rest - group * GROUP_PAIRS * tiles_n;
    tile t = {2 * (first + within % rows) + rank, within / rows, part};
    return t;
}

// This block's a, and its half of b for both.
template <bool TA, bool TB>
DEVICE void fill_stage(const cuda_product &g, u32 to, u32 full, tile t, int k, int rank)
{
    barrier_expect(full, STAGE_BYTES);
    if (TA)
        UNROLL
    for (int i = 0; i < TILE_M / 64; i++)
        copy_box(to + i * 8192, g.map_a, t.m * TILE_M + i * 64, k, full);
    else copy_box(to, g.map_a, k, t.m * TILE_M, full);
    to += A_BYTES + rank * (B_BYTES / 2);
    int n = t.n * TILE_N + rank * (TILE_N / 2);
    if (TB)
        UNROLL
    for (int i = 0; i < TILE_N / 128; i++)
        copy_box_to(to + i * 8192, g.map_b, n + i * 64, k, full, BLOCKS_OF_PAIR);
    else copy_box_to(to, g.map_b, k, n, full, BLOCKS_OF_PAIR);
}

template <bool TA, bool TB, int KIND> DEVICE void product(const cuda_product &g)
{
    u32 memory = (shared_address(product_memory) + 1023) & ~1023u;
    u32 full = memory + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
    int group = of_warp(THREAD >> 7), rank = cluster_rank(), pairs_m = (g.tiles_m + 1) / 2;
    int all = pairs_m * g.tiles_n * g.parts;
    if (THREAD == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, 4); // both warp groups of both blocks
        }
        barriers_ready();
        prefetch_map(g.map_a);
        prefetch_map(g.map_b);
    }
    cluster_sync();
    int stage = 0;
    u32 phase = 0;
    if (group == 0) {
        REGISTERS_GIVE(40);
        if (THREAD != 0)
            return;
        for (int number = BLOCK / 2; number < all; number += BLOCKS / 2) {
            tile t = tile_of(number, pairs_m, g.tiles_n, rank);
            int end = min_of(g.k, (t.part + 1) * g.per_part);
            for (int k = t.part * g.per_part; k < end; k += TILE_K) {
                barrier_wait(empty + 8 * stage, phase ^ 1);
                fill_stage<TA, TB>(g, memory + stage * STAGE_BYTES, full + 8 * stage, t, k, rank);
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }
        }
        // The block stays until all have arrived at its barriers: who has read a stage has also
        // seen both halves of it come.
        for (int i = 0; i < STAGES; i++) {
            barrier_wait(empty + 8 * stage, phase ^ 1);
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        return;
    }
    REGISTERS_TAKE(232);
    float d[128];
    // A warp group's 64 rows of a: half of them, or one block of 64 columns.
    u32 a_at = memory + (group - 1) * 8192, b_at = memory + A_BYTES;
    u32 free = address_in(THREAD & 1, empty); // a group's first two threads tell a block each
    for (int number = BLOCK / 2; number < all; number += BLOCKS / 2) {
        tile t = tile_of(number, pairs_m, g.tiles_n, rank);
        int begin = t.part * g.per_part, end = min_of(g.k, begin + g.per_part), last = -1;
        for (int k = begin; k < end; k += TILE_K) {
            barrier_wait(full + 8 * stage, phase);
            u64 a = matrix_at(a_at + stage * STAGE_BYTES, 8192),
                b = matrix_at(b_at + stage * STAGE_BYTES, 8192);
            GROUP_FENCE();
            UNROLL
            for (int i = 0; i < 4; i++)
                group_mma<TA, TB>(d, a + i * (TA ? 128 : 2), b + i * (TB ? 128 : 2),
                                  k > begin || i);
            GROUP_COMMIT();
            group_wait<1>(); // the stage before has been read
            if (last >= 0 && (THREAD & 127) < 2)
                barrier_arrive_at(free + 8 * last);
            last = stage;
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        int row = t.m * TILE_M + (group - 1) * 64 + (THREAD >> 5 & 3) * 16 + (THREAD >> 2 & 7);
        beside<32, KIND> read;
        if (KIND != CUDA_PRODUCT_WIDE)
            read.read_bias(g, t.n * TILE_N);
        group_wait<0>(d);
        if ((THREAD & 127) < 2)
            barrier_arrive_at(free + 8 * last);
        if (KIND == CUDA_PRODUCT_WIDE)
            store_wide<32>(g, d, row, t.n * TILE_N, t.part);
        else {
            read.read_words(g, row, t.n * TILE_N);
            store_rows<32, KIND>(g, d, read, row, t.n * TILE_N);
        }
    }
}

// ---- warp groups in turns ----

template <bool TB>
DEVICE void fill_turn(const cuda_product &g, u32 to, u32 full, tile t, int k, int rank)
{
    int n = t.n * TURN_N + rank * (TURN_N / 2);
    barrier_expect(full, TURN_BYTES);
    copy_box(to, g.map_a, k, t.m * TILE_M, full);
    to += A_BYTES + rank * 8192;
    copy_box_to(to, g.map_b, TB ? n : k, TB ? k : n, full, BLOCKS_OF_PAIR);
}

// Brings a tile of `before` to the cache: two lines per thread.
DEVICE void fetch_before(const cuda_product &g, int row, int column)
{
    int r = min_of(row + (THREAD & 127), g.m - 1);
    UNROLL
    for (int c = column; c < column + TURN_N; c += 64)
        if (c < g.n)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(g.before + (i64)r * g.ldy + c));
}

// Lanes that have the same columns, eight rows apart, halve what each has left of them: `from`
// numbers of v become half as many.
template <int FROM> DEVICE void share_sums(float *v, int mask)
{
    bool upper = THREAD & mask;
    UNROLL
    for (int i = 0; i < FROM / 2; i++) {
        float low = v[i], high = v[i + FROM / 2], other = shuffle_xor(upper ? low : high, mask);
        v[i] = (upper ? high : low) + other;
    }
}

// The sums over a tile's 128 rows, in a fixed order; scratch: (4, 128).
DEVICE void sum_rows(const cuda_product &g, const float (&d)[2][64], float *scratch, tile t,
                     int group)
{
    float v[32];
    UNROLL
    for (int i = 0; i < 32; i++) {
        int at = (i >> 1) * 4 + (i & 1);
        v[i] = (d[0][at] + d[0][at + 2]) + (d[1][at] + d[1][at + 2]);
    }
    share_sums<32>(v, 16);
    share_sums<16>(v, 8);
    share_sums<8>(v, 4);
    int lane = THREAD & 31, thread = THREAD & 127;
    int first = (lane & 16 ? 64 : 0) + (lane & 8 ? 32 : 0) + (lane & 4 ? 16 : 0) + (lane & 3) * 2;
    float *to = scratch + (thread >> 5) * TURN_N + first;
    UNROLL
    for (int i = 0; i < 2; i++)
        *(f2 *)(to + i * 8) = f2{v[2 * i], v[2 * i + 1]};
    group_sync(group);
    int column = t.n * TURN_N + thread;
    float sum = 0;
    UNROLL
    for (int i = 0; i < 4; i++)
        sum += scratch[i * TURN_N + thread];
    if (column < g.n && t.m < g.tiles_m)
        g.sums[(i64)t.m * g.n + column] = sum;
    group_sync(group); // before the next tile's
}

template <bool TB, int KIND> DEVICE void product_in_turns(const cuda_product &g)
{
    u32 memory = (shared_address(product_memory) + 1023) & ~1023u;
    u32 full = memory + TURN_STAGES * TURN_BYTES, empty = full + TURN_STAGES * 8;
    u32 turns = empty + TURN_STAGES * 8; // each warp group's
    char *sums = product_memory + (turns + 16 - shared_address(product_memory));
    int group = of_warp(THREAD >> 7), rank = cluster_rank(), pairs_m = (g.tiles_m + 1) / 2;
    int all = pairs_m * g.tiles_n, boxes = (g.k + TILE_K - 1) / TILE_K;
    if (THREAD == 0) {
        for (int i = 0; i < TURN_STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, 2); // a warp group of each block
        }
        barrier_init(turns, 1);
        barrier_init(turns + 8, 1);
        barriers_ready();
        prefetch_map(g.map_a);
        prefetch_map(g.map_b);
    }
    cluster_sync();
    int stage = 0;
    u32 phase = 0;
    if (group == 0) {
        REGISTERS_GIVE(40);
        if (THREAD != 0)
            return;
        for (int number = BLOCK / 2; number < all; number += BLOCKS / 2) {
            tile t = tile_of(number, pairs_m, g.tiles_n, rank);
            for (int k = 0; k < g.k; k += TILE_K) {
                barrier_wait(empty + 8 * stage, phase ^ 1);
                fill_turn<TB>(g, memory + stage * TURN_BYTES, full + 8 * stage, t, k, rank);
                if (++stage == TURN_STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }
        }
        for (int i = 0; i < TURN_STAGES; i++) { // as in product()
            barrier_wait(empty + 8 * stage, phase ^ 1);
            if (++stage == TURN_STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        return;
    }
    REGISTERS_TAKE(232);
    float d[2][64]; // of the tile's upper and lower rows
    u32 free = address_in(THREAD & 1, empty);
    u32 mine = turns + (group - 1) * 8, others = turns + (2 - group) * 8;
    int skipped = (group - 1) * boxes; // the other's
    u32 turn = group - 1;              // the first has its first turn at once
    for (int number = BLOCK / 2 + (group - 1) * (BLOCKS / 2); number < all; number += BLOCKS) {
        tile t = tile_of(number, pairs_m, g.tiles_n, rank);
        stage += skipped;
        phase ^= stage / TURN_STAGES & 1;
        stage %= TURN_STAGES;
        skipped = boxes;
        // A stage tells whether its last use but one or its last is over, no more: the other warp
        // group must have come to its last box.
        barrier_wait(mine, turn ^ 1);
        turn ^= 1;
        if (KIND == CUDA_PRODUCT_GELU_BACK)
            fetch_before(g, t.m * TILE_M, t.n * TURN_N);
        int last = -1;
        for (int box = 0; box < boxes; box++) {
            barrier_wait(full + 8 * stage, phase);
            u64 a = matrix_at(memory + stage * TURN_BYTES, 8192),
                b = matrix_at(memory + stage * TURN_BYTES + A_BYTES, 8192);
            GROUP_FENCE();
            UNROLL
            for (int i = 0; i < 4; i++) {
                group_mma<false, TB>(d[0], a + i * 2, b + i * (TB ? 128 : 2), box || i);
                group_mma<false, TB>(d[1], a + i * 2 + 512, b + i * (TB ? 128 : 2), box || i);
            }
            GROUP_COMMIT();
            group_wait<1>();
            if (last >= 0 && (THREAD & 127) < 2)
                barrier_arrive_at(free + 8 * last);
            last = stage;
            if (++stage == TURN_STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        if ((THREAD & 127) == 0)
            barrier_arrive(others);
        int row = t.m * TILE_M + (THREAD >> 5 & 3) * 16 + (THREAD >> 2 & 7);
        beside<16, KIND> read[2]; // the second for `before` only
        read[0].read_bias(g, t.n * TURN_N);
        UNROLL
        for (int i = 0; i < 2; i++)
            read[i].read_words(g, row + i * 64, t.n * TURN_N);
        group_wait<0>(d);
        if ((THREAD & 127) < 2)
            barrier_arrive_at(free + 8 * last);
        UNROLL
        for (int i = 0; i < 2; i++)
            store_rows<16, KIND>(g, d[i], read[KIND == CUDA_PRODUCT_GELU_BACK ? i : 0],
                                 row + i * 64, t.n * TURN_N);
        if (KIND == CUDA_PRODUCT_GELU_BACK)
            sum_rows(g, d, (float *)sums + (group - 1) * 4 * TURN_N, t, group);
    }
}

#define PRODUCT(name, ta, tb, kind)                                                                \
    KERNEL(384, 1) name(const cuda_product g)                                                      \
    {                                                                                              \
        product<ta, tb, kind>(g);                                                                  \
    }
#define IN_TURNS(name, tb, kind)                                                                   \
    KERNEL(384, 1) name(const cuda_product g)                                                      \
    {                                                                                              \
        product_in_turns<tb, kind>(g);                                                             \
    }
PRODUCT(hopper_nn, false, true, CUDA_PRODUCT_PLAIN)
PRODUCT(hopper_nt, false, false, CUDA_PRODUCT_PLAIN)
PRODUCT(hopper_tn, true, true, CUDA_PRODUCT_WIDE)
IN_TURNS(hopper_nn_turns, true, CUDA_PRODUCT_PLAIN)
IN_TURNS(hopper_nn_gelu, true, CUDA_PRODUCT_GELU)
IN_TURNS(hopper_nt_turns, false, CUDA_PRODUCT_PLAIN)
IN_TURNS(hopper_nt_gelu, false, CUDA_PRODUCT_GELU_BACK)
