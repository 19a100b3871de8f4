// SPDX-License-Identifier: Apache-2.0
// text: the kernels of transformers in bf16, for GPUs since sm_80: products, attention, layer norm,
// embeddings, the loss. hopper.cu has faster products for compute capability 9.0.
#include "text.cuh"

extern SHARED __attribute__((aligned(128))) char text_memory[];

// Copies `rows` rows of 64 numbers to a tile; rows from `there` on are zeros.
DEVICE void copy_tile(u32 tile, const unsigned short *from, i64 pitch, int rows, int there,
                      int threads)
{
    for (int i = THREAD; i < rows * 8; i += threads) {
        int row = i >> 3, piece = i & 7;
        bool has = row < there;
        copy16(piece_at(tile, row, piece), from + (has ? row * pitch : 0) + piece * 8, has);
    }
}

// ---- products: tiles of 128 × 128, eight warps with 64 × 32 each ----

enum { SIDE = 128, DEPTH = 64, RING = 3, OPERAND = SIDE * DEPTH * 2 };

// Rows of k, or (COLUMNS) columns of k in two blocks of 64.
template <bool COLUMNS>
DEVICE void copy_operand(u32 to, const unsigned short *x, i64 pitch, int at, int count, int k,
                         int end)
{
    if (!COLUMNS) {
        int there = count - at;
        for (int i = THREAD; i < SIDE * 8; i += 256) {
            int row = i >> 3, piece = i & 7;
            bool has = row < there && k + piece * 8 < end;
            copy16(piece_at(to, row, piece), has ? x + (at + row) * pitch + k + piece * 8 : x, has);
        }
        return;
    }
    for (int i = THREAD; i < SIDE * 8; i += 256) {
        int block = i >> 9, row = i >> 3 & 63, piece = i & 7, column = at + block * 64 + piece * 8;
        bool has = k + row < end && column < count;
        copy16(piece_at(to + block * 8192, row, piece), has ? x + (k + row) * pitch + column : x,
               has);
    }
}

template <bool TA, bool TB, int KIND> DEVICE void product(const cuda_product &g)
{
    u32 memory = shared_address(text_memory);
    int tile = BLOCK, part = tile / (g.tiles_m * g.tiles_n);
    tile -= part * g.tiles_m * g.tiles_n;
    int m0 = tile % g.tiles_m * SIDE, n0 = tile / g.tiles_m * SIDE;
    int begin = part * g.per_part, end = min_of(g.k, begin + g.per_part);
    int warp = THREAD >> 5, wm = (warp & 1) * 64, wn = (warp >> 1) * 32;
    float d[4][16];
    UNROLL
    for (int i = 0; i < 4; i++)
        UNROLL
    for (int j = 0; j < 16; j++)
        d[i][j] = 0;
    int steps = (end - begin + DEPTH - 1) / DEPTH;
    for (int i = 0; i < RING - 1; i++) {
        int k = begin + i * DEPTH;
        if (i < steps) {
            copy_operand<TA>(memory + i * 2 * OPERAND, g.a, g.lda, m0, g.m, k, end);
            copy_operand<TB>(memory + i * 2 * OPERAND + OPERAND, g.b, g.ldb, n0, g.n, k, end);
        }
        copies_end_group();
    }
    for (int step = 0; step < steps; step++) {
        copies_wait<RING - 2>();
        SYNC();
        int next = step + RING - 1;
        if (next < steps) {
            u32 to = memory + next % RING * 2 * OPERAND;
            int k = begin + next * DEPTH;
            copy_operand<TA>(to, g.a, g.lda, m0, g.m, k, end);
            copy_operand<TB>(to + OPERAND, g.b, g.ldb, n0, g.n, k, end);
        }
        copies_end_group();
        u32 a_tile = memory + step % RING * 2 * OPERAND, b_tile = a_tile + OPERAND;
        UNROLL
        for (int k = 0; k < 4; k++) {
            u32 a[4][4], b[2][4];
            UNROLL
            for (int i = 0; i < 4; i++)
                if (TA)
                    a_columns(a[i], a_tile + (wm >> 6) * 8192, k * 16, i * 2);
                else
                    a_rows(a[i], a_tile, wm + i * 16, k * 2);
            UNROLL
            for (int j = 0; j < 2; j++)
                if (TB)
                    b_columns(b[j], b_tile + (wn >> 6) * 8192, k * 16, (wn & 63) / 8 + j * 2);
                else
                    b_rows(b[j], b_tile, wn + j * 16, k * 2);
            UNROLL
            for (int i = 0; i < 4; i++)
                UNROLL
            for (int j = 0; j < 4; j++)
                mma_bf16(d[i] + 4 * j, a[i], b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
        }
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        int row = m0 + wm + i * 16 + (THREAD >> 2 & 7);
        if (KIND == CUDA_PRODUCT_WIDE)
            store_wide<4>(g, d[i], row, n0 + wn, part);
        else {
            beside<4, KIND> read;
            read.read_bias(g, n0 + wn);
            read.read_words(g, row, n0 + wn);
            store_rows<4, KIND>(g, d[i], read, row, n0 + wn);
        }
    }
}

#define PRODUCT(name, ta, tb, kind)                                                                \
    KERNEL(256, 1) name(const cuda_product g)                                                      \
    {                                                                                              \
        product<ta, tb, kind>(g);                                                                  \
    }
PRODUCT(product_nn, false, true, CUDA_PRODUCT_PLAIN)
PRODUCT(product_nn_gelu, false, true, CUDA_PRODUCT_GELU)
PRODUCT(product_nt, false, false, CUDA_PRODUCT_PLAIN)
PRODUCT(product_nt_gelu, false, false, CUDA_PRODUCT_GELU_BACK)
PRODUCT(product_tn, true, true, CUDA_PRODUCT_WIDE)

// ---- attention ----
//
// A warp has 16 rows of the scores, queries or (attention_keys) keys, in registers, where they are
// an operand of the next product as well. Exponentials are of base 2.

// (16 rows) × (64 rows of the tile)^T; a: 16 × 64.
DEVICE void scores_of(float (&s)[32], const u32 (&a)[4][4], u32 tile)
{
    UNROLL
    for (int i = 0; i < 32; i++)
        s[i] = 0;
    UNROLL
    for (int k = 0; k < 4; k++)
        UNROLL
    for (int j = 0; j < 4; j++) {
        u32 b[4];
        b_rows(b, tile, j * 16, k * 2);
        mma_bf16(s + 8 * j, a[k], b[0], b[1]);
        mma_bf16(s + 8 * j + 4, a[k], b[2], b[3]);
    }
}

// o += p (16 × 64, rounded to bf16) × (64 rows of the tile).
DEVICE void add_product(float (&o)[32], const float (&p)[32], u32 tile)
{
    UNROLL
    for (int k = 0; k < 4; k++) {
        const float *s = p + 8 * k;
        u32 a[4] = {bf16_pair(s[0], s[1]), bf16_pair(s[2], s[3]), bf16_pair(s[4], s[5]),
                    bf16_pair(s[6], s[7])};
        UNROLL
        for (int j = 0; j < 4; j++) {
            u32 b[4];
            b_columns(b, tile, k * 16, j * 2);
            mma_bf16(o + 8 * j, a, b[0], b[1]);
            mma_bf16(o + 8 * j + 4, a, b[2], b[3]);
        }
    }
}

KERNEL(256, 2) attention_forward(const cuda_attention g)
{
    u32 memory = shared_address(text_memory), q_tile = memory, ring = memory + 2 * ATTENTION_TILE;
    int pair = BLOCK_Y, sample = pair / g.heads, head = pair - sample * g.heads, time = g.time;
    int first = (BLOCKS - 1 - BLOCK) * ROWS, warp = THREAD >> 5;
    i64 width = (i64)g.heads * HEAD, pitch = 3 * width;
    const unsigned short *q = g.qkv + (i64)sample * time * pitch + head * HEAD, *k = q + width,
                         *v = k + width;
    copy_tile(q_tile, q + first * pitch, pitch, ROWS, time - first, 256);
    int last = min_of(first + ROWS, time), blocks = (last + KEYS - 1) / KEYS;
    copy_tile(ring, k, pitch, KEYS, time, 256);
    copy_tile(ring + ATTENTION_TILE, v, pitch, KEYS, time, 256);
    copies_end_group();
    u32 a[4][4];
    float o[32], most[2] = {-1e30f, -1e30f}, sum[2] = {0, 0};
    UNROLL
    for (int i = 0; i < 32; i++)
        o[i] = 0;
    int row = first + warp * 16;
    for (int j = 0; j < blocks; j++) {
        copies_wait<0>();
        SYNC();
        u32 now = ring + (j & 1) * 2 * ATTENTION_TILE;
        if (j + 1 < blocks) {
            u32 next = ring + ((j + 1) & 1) * 2 * ATTENTION_TILE;
            int from = (j + 1) * KEYS;
            copy_tile(next, k + from * pitch, pitch, KEYS, time - from, 256);
            copy_tile(next + ATTENTION_TILE, v + from * pitch, pitch, KEYS, time - from, 256);
        }
        copies_end_group();
        if (j == 0)
            load_head(a, q_tile, warp * 16);
        if (j * KEYS > row + 15)
            continue; // after all of this warp's queries
        float s[32];
        scores_of(s, a, now);
        if (j * KEYS + KEYS - 1 > row)
            hide_later(s, j * KEYS, row, -1e30f);
        softmax_add(s, o, most, sum);
        add_product(o, s, now + ATTENTION_TILE);
    }
    softmax_store(g, pair, row, o, most, sum);
}

// A quad per row and head: the sum of out × d_out.
KERNEL(256, 1) attention_delta(const cuda_attention g)
{
    i64 number = (i64)BLOCK * 64 + (THREAD >> 2), count = (i64)g.samples * g.time * g.heads;
    if (number >= count)
        number = count - 1; // all lanes take part in the sum
    i64 token = number / g.heads;
    int head = (int)(number - token * g.heads);
    i64 at = token * g.heads * HEAD + head * HEAD + (THREAD & 3) * 16;
    float sum = 0;
    UNROLL
    for (int i = 0; i < 2; i++) {
        u4 x = *(const u4 *)(g.out + at + i * 8), y = *(const u4 *)(g.d_out + at + i * 8);
        sum += low_of(x.x) * low_of(y.x) + high_of(x.x) * high_of(y.x) + low_of(x.y) * low_of(y.y) +
               high_of(x.y) * high_of(y.y) + low_of(x.z) * low_of(y.z) +
               high_of(x.z) * high_of(y.z) + low_of(x.w) * low_of(y.w) +
               high_of(x.w) * high_of(y.w);
    }
    sum = quad_sum(sum);
    i64 sample = token / g.time;
    if ((THREAD & 3) == 0)
        g.delta[(sample * g.heads + head) * g.time + (token - sample * g.time)] = sum;
}

// Gradients of k and v: a block has 128 keys, and goes through the queries from them on.
KERNEL(256, 1) attention_keys(const cuda_attention g)
{
    u32 memory = shared_address(text_memory), ring = memory + 4 * ATTENTION_TILE;
    float *numbers = (float *)(text_memory + 8 * ATTENTION_TILE); // (2, log_sum and delta, 64)
    int pair = BLOCK_Y, sample = pair / g.heads, head = pair - sample * g.heads, time = g.time;
    int first = BLOCK * ROWS, warp = THREAD >> 5, lane = THREAD & 31;
    i64 width = (i64)g.heads * HEAD, pitch = 3 * width;
    const unsigned short *q = g.qkv + (i64)sample * time * pitch + head * HEAD, *k = q + width,
                         *v = k + width, *d = g.d_out + (i64)sample * time * width + head * HEAD;
    const float *log_sum = g.log_sum + (i64)pair * time, *delta = g.delta + (i64)pair * time;
    copy_tile(memory, k + first * pitch, pitch, ROWS, time - first, 256);
    copy_tile(memory + 2 * ATTENTION_TILE, v + first * pitch, pitch, ROWS, time - first, 256);
    u32 ka[4][4], va[4][4];
    float dk[32], dv[32];
    UNROLL
    for (int i = 0; i < 32; i++)
        dk[i] = dv[i] = 0;
    int row = first + warp * 16, begin = first / KEYS, blocks = (time + KEYS - 1) / KEYS;
    for (int j = begin - 1; j < blocks; j++) {
        if (j + 1 < blocks) { // first round: only this
            int from = (j + 1) * KEYS;
            u32 next = ring + ((j + 1) & 1) * 2 * ATTENTION_TILE;
            copy_tile(next, q + from * pitch, pitch, KEYS, time - from, 256);
            copy_tile(next + ATTENTION_TILE, d + from * width, width, KEYS, time - from, 256);
            if (THREAD < 2 * KEYS) {
                int query = from + (THREAD & 63);
                float x = query >= time ? 0 : THREAD < KEYS ? log_sum[query] : delta[query];
                numbers[((j + 1) & 1) * 2 * KEYS + THREAD] = x;
            }
        }
        copies_end_group();
        if (j >= begin && j * KEYS + KEYS - 1 >= row) {
            u32 now = ring + (j & 1) * 2 * ATTENTION_TILE;
            const float *of = numbers + (j & 1) * 2 * KEYS;
            float s[32], t[32];
            scores_of(s, ka, now);
            scores_of(t, va, now + ATTENTION_TILE);
            bool masked = j * KEYS < row + 15 || j * KEYS + KEYS > time;
            UNROLL
            for (int i = 0; i < 32; i++) {
                int column = (i >> 2) * 8 + (lane & 3) * 2 + (i & 1), query = j * KEYS + column,
                    key = row + (lane >> 2) + (i & 2) * 4;
                float p = exp2_of(s[i] * SCORE_SCALE - of[column]);
                if (masked && (key > query || query >= time))
                    p = 0;
                s[i] = p;
                t[i] = p * (t[i] - of[KEYS + column]);
            }
            add_product(dv, s, now + ATTENTION_TILE);
            add_product(dk, t, now);
        }
        copies_wait<0>();
        SYNC();
        if (j < begin) {
            load_head(ka, memory, warp * 16);
            load_head(va, memory + 2 * ATTENTION_TILE, warp * 16);
        }
    }
    unsigned short *to = g.y + (i64)sample * time * pitch + head * HEAD;
    store_head(to + width, pitch, row, time, dk, 0.125f, 0.125f);
    store_head(to + 2 * width, pitch, row, time, dv, 1, 1);
}

// Gradient of q: a block has 128 queries, and goes through the keys up to them.
KERNEL(256, 1) attention_queries(const cuda_attention g)
{
    u32 memory = shared_address(text_memory), ring = memory + 4 * ATTENTION_TILE;
    int pair = BLOCK_Y, sample = pair / g.heads, head = pair - sample * g.heads, time = g.time;
    int first = (BLOCKS - 1 - BLOCK) * ROWS, warp = THREAD >> 5, lane = THREAD & 31;
    i64 width = (i64)g.heads * HEAD, pitch = 3 * width;
    const unsigned short *q = g.qkv + (i64)sample * time * pitch + head * HEAD, *k = q + width,
                         *v = k + width, *d = g.d_out + (i64)sample * time * width + head * HEAD;
    copy_tile(memory, q + first * pitch, pitch, ROWS, time - first, 256);
    copy_tile(memory + 2 * ATTENTION_TILE, d + first * width, width, ROWS, time - first, 256);
    copy_tile(ring, k, pitch, KEYS, time, 256);
    copy_tile(ring + ATTENTION_TILE, v, pitch, KEYS, time, 256);
    copies_end_group();
    u32 qa[4][4], da[4][4];
    float dq[32], log_sum[2], delta[2];
    UNROLL
    for (int i = 0; i < 32; i++)
        dq[i] = 0;
    int row = first + warp * 16, last = min_of(first + ROWS, time),
        blocks = (last + KEYS - 1) / KEYS;
    UNROLL
    for (int half = 0; half < 2; half++) {
        int query = min_of(row + (lane >> 2) + 8 * half, time - 1);
        log_sum[half] = g.log_sum[(i64)pair * time + query];
        delta[half] = g.delta[(i64)pair * time + query];
    }
    for (int j = 0; j < blocks; j++) {
        copies_wait<0>();
        SYNC();
        u32 now = ring + (j & 1) * 2 * ATTENTION_TILE;
        if (j + 1 < blocks) {
            u32 next = ring + ((j + 1) & 1) * 2 * ATTENTION_TILE;
            int from = (j + 1) * KEYS;
            copy_tile(next, k + from * pitch, pitch, KEYS, time - from, 256);
            copy_tile(next + ATTENTION_TILE, v + from * pitch, pitch, KEYS, time - from, 256);
        }
        copies_end_group();
        if (j == 0) {
            load_head(qa, memory, warp * 16);
            load_head(da, memory + 2 * ATTENTION_TILE, warp * 16);
        }
        if (j * KEYS > row + 15)
            continue;
        float s[32], t[32];
        scores_of(s, qa, now);
        scores_of(t, da, now + ATTENTION_TILE);
        bool masked = j * KEYS + KEYS - 1 > row;
        UNROLL
        for (int i = 0; i < 32; i++) {
            int half = i >> 1 & 1, key = j * KEYS + (i >> 2) * 8 + (lane & 3) * 2 + (i & 1),
                query = row + (lane >> 2) + 8 * half;
            float p = exp2_of(s[i] * SCORE_SCALE - log_sum[half]);
            if (masked && key > query)
                p = 0;
            t[i] = p * (t[i] - delta[half]);
        }
        add_product(dq, t, now);
    }
    store_head(g.y + (i64)sample * time * pitch + head * HEAD, pitch, row, time, dq, 0.125f,
               0.125f);
}
