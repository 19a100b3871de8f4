// SPDX-License-Identifier: Apache-2.0
// hopper_attention: attention on Hopper, for times that are multiples of 64 (text.cu has it for
// all).
//
// Products are a warp group's, 64 × 64 × 64: scores lie in registers, where they are an operand of
// the next product as well. Tiles come by bulk copies. A block has few warps, and a processor
// several blocks, so that products of one overlap with exponentials of another. Operands that many
// products share stay in shared memory: ptxas 13.0 overwrites them in registers.
#ifndef FARE_ENGINE_CUDA_HOPPER_ATTENTION_CUH
#define FARE_ENGINE_CUDA_HOPPER_ATTENTION_CUH

#include "hopper.cuh"
#include "text.cuh"

// Rows from `row` on of part 0 (q), 1 (k) or 2 (v) of a head.
DEVICE void copy_head(u32 to, const cuda_attention &g, int part, int head, i64 row, u32 barrier)
{
    copy_box(to, g.map_qkv, (part * g.heads + head) * HEAD, (int)row, barrier);
}

// s = (64 rows of a) × (64 rows of b)^T, both in shared memory.
DEVICE void group_scores(float (&s)[32], u32 a, u32 b)
{
    u64 x = matrix_at(a, 8192), y = matrix_at(b, 8192);
    UNROLL
    for (int k = 0; k < 4; k++)
        group_mma<0, 0>(s, x + 2 * k, y + 2 * k, k);
}

// 64 × 64 numbers as operands, in bf16.
DEVICE void group_pack(u32 (&a)[4][4], const float (&p)[32])
{
    UNROLL
    for (int i = 0; i < 16; i++)
        a[i >> 2][i & 3] = bf16_pair(p[2 * i], p[2 * i + 1]);
}

// o = a × (64 rows of the tile), plus o if `keep`.
DEVICE void group_add(float (&o)[32], const u32 (&a)[4][4], u32 tile, bool keep)
{
    u64 b = matrix_at(tile, 8192);
    UNROLL
    for (int k = 0; k < 4; k++)
        group_mma<1>(o, a[k], b + 128 * k, keep || k);
}

enum { FORWARD_RING = 3 };

KERNEL(256, 2) hopper_attention_forward(const cuda_attention g)
{
    extern SHARED char attention_memory[];
    u32 memory = (shared_address(attention_memory) + 1023) & ~1023u,
        ring = memory + 2 * ATTENTION_TILE;
    u32 full = ring + FORWARD_RING * 2 * ATTENTION_TILE, empty = full + 8 * FORWARD_RING,
        q_full = empty + 8 * FORWARD_RING;
    int pair = BLOCK_Y, sample = pair / g.heads, head = pair - sample * g.heads;
    int first = (BLOCKS - 1 - BLOCK) * ROWS, group = of_warp(THREAD >> 7), warp = THREAD >> 5 & 3;
    int blocks = min_of(first + ROWS, g.time) / KEYS, row = first + group * 64;
    i64 base = (i64)sample * g.time;
    if (THREAD == 0) {
        for (int i = 0; i < FORWARD_RING; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, 2);
        }
        barrier_init(q_full, 1);
        barriers_ready();
        barrier_expect(q_full, 2 * ATTENTION_TILE);
        copy_head(memory, g, 0, head, base + first, q_full);
        copy_head(memory + ATTENTION_TILE, g, 0, head, base + first + 64, q_full);
        for (int j = 0; j < min_of(FORWARD_RING - 1, blocks); j++) {
            u32 to = ring + j * 2 * ATTENTION_TILE;
            barrier_expect(full + 8 * j, 2 * ATTENTION_TILE);
            copy_head(to, g, 1, head, base + j * KEYS, full + 8 * j);
            copy_head(to + ATTENTION_TILE, g, 2, head, base + j * KEYS, full + 8 * j);
        }
    }
    SYNC();
    float o[32], most[2] = {-1e30f, -1e30f}, sum[2] = {0, 0};
    barrier_wait(q_full, 0);
    UNROLL
    for (int i = 0; i < 32; i++)
        o[i] = 0;
    int stage = 0;
    u32 phase = 0;
    for (int j = 0; j < blocks; j++) {
        u32 now = ring + stage * 2 * ATTENTION_TILE;
        barrier_wait(full + 8 * stage, phase);
        if (THREAD == 0 && j + FORWARD_RING - 1 < blocks) {
            // The stage before this one, once both warp groups are done with it.
            int to = stage == 0 ? FORWARD_RING - 1 : stage - 1, next = j + FORWARD_RING - 1;
            if (j > 0)
                barrier_wait(empty + 8 * to, stage == 0 ? phase ^ 1 : phase);
            barrier_expect(full + 8 * to, 2 * ATTENTION_TILE);
            copy_head(ring + to * 2 * ATTENTION_TILE, g, 1, head, base + next * KEYS,
                      full + 8 * to);
            copy_head(ring + to * 2 * ATTENTION_TILE + ATTENTION_TILE, g, 2, head,
                      base + next * KEYS, full + 8 * to);
        }
        WARP_SYNC();
        if (j * KEYS <= row + 63) {
            float s[32];
            GROUP_FENCE();
            group_scores(s, memory + group * ATTENTION_TILE, now);
            GROUP_COMMIT();
            group_wait<0>(s);
            if (j * KEYS + KEYS - 1 > row)
                hide_later(s, j * KEYS, row + warp * 16, -1e30f);
            softmax_add(s, o, most, sum);
            u32 p[4][4];
            group_pack(p, s);
            GROUP_FENCE();
            group_add(o, p, now + ATTENTION_TILE, true);
            GROUP_COMMIT();
            group_wait<0>(o);
        }
        if ((THREAD & 127) == 0)
            barrier_arrive(empty + 8 * stage);
        if (++stage == FORWARD_RING) {
            stage = 0;
            phase ^= 1;
        }
    }
    softmax_store(g, pair, row + warp * 16, o, most, sum);
}

// A block's sums over the 64 rows of a head's gradient, times `by`. scratch: 4 × 64.
DEVICE void sum_head(float *to, const float (&o)[32], float by, float *scratch)
{
    int lane = THREAD & 31, warp = THREAD >> 5;
    SYNC();
    UNROLL
    for (int i = 0; i < 16; i++) {
        int at = (i >> 1) * 4 + (i & 1);
        float x = o[at] + o[at + 2];
        UNROLL
        for (int k = 4; k < 32; k <<= 1)
            x += shuffle_xor(x, k);
        if (lane < 4)
            scratch[warp * HEAD + (i >> 1) * 8 + lane * 2 + (i & 1)] = x;
    }
    SYNC();
    if (THREAD < HEAD)
        to[THREAD] = (scratch[THREAD] + scratch[HEAD + THREAD] + scratch[2 * HEAD + THREAD] +
                      scratch[3 * HEAD + THREAD]) *
                     by;
}

// Where a block of 64 rows has its sums of q, k or v.
DEVICE float *head_sums(const cuda_attention &g, int pair, int first, int which)
{
    int sample = pair / g.heads, head = pair - sample * g.heads;
    i64 part = (i64)sample * (g.time / 64) + first / 64;
    return g.sums + ((part * 3 + which) * g.heads + head) * HEAD;
}

// Gradients of k and v: a block has 64 keys, and goes through the queries from them on.
KERNEL(128, 3) hopper_attention_keys(const cuda_attention g)
{
    extern SHARED char attention_memory[];
    u32 memory = (shared_address(attention_memory) + 1023) & ~1023u,
        ring = memory + 2 * ATTENTION_TILE;
    u32 numbers = ring + 4 * ATTENTION_TILE, full = numbers + 4 * KEYS * 4, kv_full = full + 16;
    const char *generic = attention_memory + (memory - shared_address(attention_memory));
    int pair = BLOCK_Y, sample = pair / g.heads, head = pair - sample * g.heads, time = g.time;
    int first = BLOCK * KEYS, warp = THREAD >> 5, lane = THREAD & 31, blocks = time / KEYS;
    i64 base = (i64)sample * time;
    auto load = [&](int j) ALWAYS {
        u32 bar = full + 8 * (j & 1), to = ring + (j & 1) * 2 * ATTENTION_TILE,
            line = numbers + (j & 1) * 2 * KEYS * 4;
        barrier_expect(bar, 2 * ATTENTION_TILE + 2 * KEYS * 4);
        copy_head(to, g, 0, head, base + j * KEYS, bar);
        copy_box(to + ATTENTION_TILE, g.map_d, head * HEAD, (int)(base + j * KEYS), bar);
        copy_line(line, g.log_sum + (i64)pair * time + j * KEYS, KEYS * 4, bar);
        copy_line(line + KEYS * 4, g.delta + (i64)pair * time + j * KEYS, KEYS * 4, bar);
    };
    int begin = first / KEYS;
    if (THREAD == 0) {
        barrier_init(full, 1);
        barrier_init(full + 8, 1);
        barrier_init(kv_full, 1);
        barriers_ready();
        barrier_expect(kv_full, 2 * ATTENTION_TILE);
        copy_head(memory, g, 1, head, base + first, kv_full);
        copy_head(memory + ATTENTION_TILE, g, 2, head, base + first, kv_full);
        load(begin);
        if (begin + 1 < blocks)
            load(begin + 1);
    }
    SYNC();
    float dk[32], dv[32];
    barrier_wait(kv_full, 0);
    int row = first + warp * 16 + (lane >> 2);
    for (int j = begin; j < blocks; j++) {
        u32 now = ring + (j & 1) * 2 * ATTENTION_TILE;
        const float *of =
            (const float *)(generic + (numbers - memory)) + (j & 1) * 2 * KEYS + (lane & 3) * 2;
        u32 turn = (u32)((j - begin) >> 1 & 1);
        barrier_wait(full + 8 * (j & 1), turn);
        float s[32], t[32];
        GROUP_FENCE();
        group_scores(s, memory, now);
        GROUP_COMMIT();
        group_scores(t, memory + ATTENTION_TILE, now + ATTENTION_TILE);
        GROUP_COMMIT();
        group_wait<1>(s);
        UNROLL
        for (int i = 0; i < 32; i++)
            s[i] = exp2_of(s[i] * SCORE_SCALE - of[(i >> 2) * 8 + (i & 1)]);
        if (j == begin)
            UNROLL
        for (int i = 0; i < 32; i++) {
            int query = j * KEYS + (i >> 2) * 8 + (lane & 3) * 2 + (i & 1), key = row + (i & 2) * 4;
            s[i] = key > query ? 0 : s[i];
        }
        group_wait<0>(t);
        UNROLL
        for (int i = 0; i < 32; i++)
            t[i] = s[i] * (t[i] - of[KEYS + (i >> 2) * 8 + (i & 1)]);
        u32 p[4][4], d[4][4];
        group_pack(p, s);
        group_pack(d, t);
        GROUP_FENCE();
        group_add(dv, p, now + ATTENTION_TILE, j > begin);
        group_add(dk, d, now, j > begin);
        GROUP_COMMIT();
        group_wait<0>(dv);
        group_wait<0>(dk);
        SYNC();
        if (THREAD == 0 && j + 2 < blocks)
            load(j + 2);
        WARP_SYNC();
    }
    i64 width = (i64)g.heads * HEAD, pitch = 3 * width;
    unsigned short *to = g.y + base * pitch + head * HEAD;
    store_head(to + width, pitch, first + warp * 16, time, dk, 0.125f, 0.125f);
    store_head(to + 2 * width, pitch, first + warp * 16, time, dv, 1, 1);
    float *scratch = (float *)(attention_memory + (ring - shared_address(attention_memory)));
    sum_head(head_sums(g, pair, first, 1), dk, 0.125f, scratch);
    sum_head(head_sums(g, pair, first, 2), dv, 1, scratch);
}

// Gradient of q: a block has 64 queries, and goes through the keys up to them.
KERNEL(128, 3) hopper_attention_queries(const cuda_attention g)
{
    extern SHARED char attention_memory[];
    u32 memory = (shared_address(attention_memory) + 1023) & ~1023u,
        ring = memory + 2 * ATTENTION_TILE;
    u32 full = ring + 4 * ATTENTION_TILE, q_full = full + 16;
    int pair = BLOCK_Y, sample = pair / g.heads, head = pair - sample * g.heads, time = g.time;
    int first = (BLOCKS - 1 - BLOCK) * KEYS, warp = THREAD >> 5, lane = THREAD & 31,
        blocks = first / KEYS + 1;
    i64 base = (i64)sample * time;
    auto load = [&](int j) ALWAYS {
        u32 bar = full + 8 * (j & 1), to = ring + (j & 1) * 2 * ATTENTION_TILE;
        barrier_expect(bar, 2 * ATTENTION_TILE);
        copy_head(to, g, 1, head, base + j * KEYS, bar);
        copy_head(to + ATTENTION_TILE, g, 2, head, base + j * KEYS, bar);
    };
    if (THREAD == 0) {
        barrier_init(full, 1);
        barrier_init(full + 8, 1);
        barrier_init(q_full, 1);
        barriers_ready();
        barrier_expect(q_full, 2 * ATTENTION_TILE);
        copy_head(memory, g, 0, head, base + first, q_full);
        copy_box(memory + ATTENTION_TILE, g.map_d, head * HEAD, (int)(base + first), q_full);
        load(0);
        if (blocks > 1)
            load(1);
    }
    SYNC();
    int row = first + warp * 16 + (lane >> 2);
    float dq[32], log_sum[2], delta[2];
    UNROLL
    for (int half = 0; half < 2; half++) {
        log_sum[half] = g.log_sum[(i64)pair * time + row + 8 * half];
        delta[half] = g.delta[(i64)pair * time + row + 8 * half];
    }
    barrier_wait(q_full, 0);
    for (int j = 0; j < blocks; j++) {
        u32 now = ring + (j & 1) * 2 * ATTENTION_TILE;
        barrier_wait(full + 8 * (j & 1), (u32)(j >> 1 & 1));
        float s[32], t[32];
        GROUP_FENCE();
        group_scores(s, memory, now);
        GROUP_COMMIT();
        group_scores(t, memory + ATTENTION_TILE, now + ATTENTION_TILE);
        GROUP_COMMIT();
        group_wait<1>(s);
        UNROLL
        for (int i = 0; i < 32; i++)
            s[i] = exp2_of(s[i] * SCORE_SCALE - log_sum[i >> 1 & 1]);
        if (j == blocks - 1)
            hide_later(s, j * KEYS, first + warp * 16, 0);
        group_wait<0>(t);
        UNROLL
        for (int i = 0; i < 32; i++)
            t[i] = s[i] * (t[i] - delta[i >> 1 & 1]);
        u32 d[4][4];
        group_pack(d, t);
        GROUP_FENCE();
        group_add(dq, d, now, j > 0);
        GROUP_COMMIT();
        group_wait<0>(dq);
        SYNC();
        if (THREAD == 0 && j + 2 < blocks)
            load(j + 2);
        WARP_SYNC();
    }
    i64 width = (i64)g.heads * HEAD, pitch = 3 * width;
    store_head(g.y + base * pitch + head * HEAD, pitch, first + warp * 16, time, dq, 0.125f,
               0.125f);
    float *scratch = (float *)(attention_memory + (ring - shared_address(attention_memory)));
    sum_head(head_sums(g, pair, first, 0), dq, 0.125f, scratch);
}

#endif
