// SPDX-License-Identifier: Apache-2.0
// text: what the kernels of transformers share: tiles, GELU, and how sums are stored.
//
// Tiles in shared memory are blocks of rows of 128 bytes, whose eight pieces of 16 bytes are
// swapped by the row's number: neither copies nor ldmatrix collide. A bulk copy of Hopper with its
// swizzle of 128 bytes writes the same.
#ifndef FARE_ENGINE_CUDA_TEXT_CUH
#define FARE_ENGINE_CUDA_TEXT_CUH

#include "dev.cuh"

// ---- tiles ----

DEVICE u32 piece_at(u32 tile, int row, int piece)
{
    return tile + row * 128 + ((piece ^ (row & 7)) << 4);
}

DEVICE void load_matrices(u32 *r, u32 at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}

DEVICE void load_transposed(u32 *r, u32 at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}

// Operands of 16 × 16 from a tile: rows from `row`, columns from piece `piece`. The names say what
// lies in the tile's rows: `a` is m × k or (a_columns) k × m, `b` is n × k or (b_columns) k × n.
DEVICE void a_rows(u32 *r, u32 tile, int row, int piece)
{
    int lane = THREAD & 31;
    load_matrices(r, piece_at(tile, row + (lane & 15), piece + (lane >> 4)));
}

DEVICE void a_columns(u32 *r, u32 tile, int row, int piece)
{
    int lane = THREAD & 31;
    load_transposed(r, piece_at(tile, row + (lane & 7) + (lane >> 4) * 8, piece + (lane >> 3 & 1)));
}

// r[0], r[1] are of the first eight columns of the product, r[2], r[3] of the next.
DEVICE void b_rows(u32 *r, u32 tile, int row, int piece)
{
    int lane = THREAD & 31;
    load_matrices(r, piece_at(tile, row + (lane & 7) + (lane >> 4) * 8, piece + (lane >> 3 & 1)));
}

DEVICE void b_columns(u32 *r, u32 tile, int row, int piece)
{
    int lane = THREAD & 31;
    load_transposed(r, piece_at(tile, row + (lane & 15), piece + (lane >> 4)));
}

// ---- products ----

// GELU in its tanh form, and its slope, of two numbers at once: in half precision, which has more
// digits than the bf16 that they come from and go to. Large numbers become infinite, and tanh 1.
#define HALF2(name, instruction)                                                                   \
    DEVICE u32 name(u32 a, u32 b)                                                                  \
    {                                                                                              \
        u32 y;                                                                                     \
        asm(instruction " %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));                                \
        return y;                                                                                  \
    }
HALF2(half2_mul, "mul.rn.f16x2")

DEVICE u32 half2_fma(u32 a, u32 b, u32 c)
{
    u32 y;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}

DEVICE u32 half2_tanh(u32 x)
{
    u32 y;
    asm("tanh.approx.f16x2 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}

enum : u32 { // of two equal halves
    HALF2_HALF = 0x38003800,
    HALF2_MINUS_ONE = 0xbc00bc00,
    HALF2_A = 0x3a623a62,            // √(2 ÷ π) = 0.7979
    HALF2_B = 0x28912891,            // 0.044715 √(2 ÷ π) = 0.03568
    HALF2_MINUS_HALF_A = 0xb662b662, // -A ÷ 2
    HALF2_MINUS_HALF_C = 0xaadbaadb, // -3 B ÷ 2 = -0.0535
};

DEVICE u32 bf16_of_halves(u32 x)
{
    return bf16_pair(half_low(x), half_high(x));
}

// Of a pair of bf16, as a pair of bf16.
DEVICE u32 gelu_pair(u32 pair)
{
    u32 x = half_pair(low_of(pair), high_of(pair));
    u32 t = half2_tanh(half2_mul(x, half2_fma(half2_mul(x, x), HALF2_B, HALF2_A)));
    u32 half = half2_mul(x, HALF2_HALF);
    return bf16_of_halves(half2_fma(half, t, half));
}

// As halves: ½ (1 + t) + x (-½ a - 3/2 b x²) (t² - 1). Where x² is infinite the last is 0, so that
// it comes before the square.
DEVICE u32 gelu_slopes(u32 pair)
{
    u32 x = half_pair(low_of(pair), high_of(pair)), square = half2_mul(x, x);
    u32 t = half2_tanh(half2_mul(x, half2_fma(square, HALF2_B, HALF2_A)));
    u32 rest = half2_fma(t, t, HALF2_MINUS_ONE), by_x = half2_mul(rest, x);
    u32 part =
        half2_fma(half2_mul(by_x, x), HALF2_MINUS_HALF_C, half2_mul(rest, HALF2_MINUS_HALF_A));
    return half2_fma(part, x, half2_fma(t, HALF2_HALF, HALF2_HALF));
}

// Transposes 4 × 4 words between the four neighbouring lanes q of a quad: v[i] of lane q becomes
// v[q] of lane i.
DEVICE void quad_transpose(u32 (&v)[4])
{
    bool odd = THREAD & 1, high = THREAD & 2;
    u32 a = v[0], b = v[1], c = v[2], d = v[3];
    u32 x = (u32)shuffle_xor((int)(odd ? a : b), 1), y = (u32)shuffle_xor((int)(odd ? c : d), 1);
    a = odd ? x : a;
    b = odd ? b : x;
    c = odd ? y : c;
    d = odd ? d : y;
    x = (u32)shuffle_xor((int)(high ? a : c), 2);
    y = (u32)shuffle_xor((int)(high ? b : d), 2);
    v[0] = high ? x : a;
    v[1] = high ? y : b;
    v[2] = high ? c : x;
    v[3] = high ? d : y;
}

// Stores the sums of a warp's 16 rows and COUNT × 8 columns: of block j, d[4 j] and d[4 j + 1] are
// of this lane's row, d[4 j + 2] and d[4 j + 3] of the row eight further down. Reads of bias and
// `before` may go past the last column, but not past memory: the planner leaves room.
template <int COUNT>
DEVICE void store_wide(const cuda_product &g, const float *d, int row, int column, int part)
{
    float *y = (float *)g.y + (i64)part * g.part + column + (THREAD & 3) * 2;
    bool sum = g.kind == CUDA_PRODUCT_SUM;
    UNROLL
    for (int half = 0; half < 2; half++) {
        int r = row + 8 * half;
        if (r >= g.m)
            continue;
        float *to = y + (i64)r * g.ldy;
        UNROLL
        for (int j = 0; j < COUNT; j++, to += 8)
            if (column + j * 8 < g.n) {
                float x0 = d[4 * j + 2 * half], x1 = d[4 * j + 2 * half + 1];
                if (sum) {
                    x0 += to[0];
                    x1 += to[1];
                }
                *(f2 *)to = f2{x0, x1};
            }
    }
}

// What is read before the sums are stored, so that reads do not wait for each other: a lane's bias,
// and words of `before`.
template <int COUNT, int KIND> struct beside {
    f2 bias[KIND == CUDA_PRODUCT_GELU_BACK ? 1 : COUNT];
    u32 words[2][KIND == CUDA_PRODUCT_GELU_BACK ? COUNT : 1];

    METHOD void read_bias(const cuda_product &g, int column)
    {
        if (KIND != CUDA_PRODUCT_GELU_BACK) {
            const float *from = g.bias + column + (THREAD & 3) * 2;
            UNROLL
            for (int j = 0; j < COUNT; j++)
                bias[j] = *(const f2 *)(from + j * 8);
        }
    }

    METHOD void read_words(const cuda_product &g, int row, int column)
    {
        if (KIND == CUDA_PRODUCT_GELU_BACK)
            UNROLL
        for (int half = 0; half < 2; half++) {
            i64 at = (i64)min_of(row + 8 * half, g.m - 1) * g.ldy + column + (THREAD & 3) * 2;
            const u16 *from = g.before + at;
            UNROLL
            for (int j = 0; j < COUNT; j++)
                words[half][j] = *(const u32 *)(from + j * 8);
        }
    }
};

// The sums as bf16, with what the product's kind adds; after GELU_BACK `d` has what was stored.
template <int COUNT, int KIND>
DEVICE void store_rows(const cuda_product &g, float *d, const beside<COUNT, KIND> &read, int row,
                       int column)
{
    int quad = THREAD & 3, left = g.n - column - quad * 8;
    UNROLL
    for (int half = 0; half < 2; half++) {
        int r = row + 8 * half;
        bool there = r < g.m;
        i64 at = (i64)r * g.ldy + column + quad * 8;
        u16 *to = (u16 *)g.y + at, *to_before = g.before + at;
        UNROLL
        for (int j = 0; j < COUNT; j += 4) {
            u32 out[4], before[4];
            UNROLL
            for (int i = 0; i < 4; i++) {
                float x = d[4 * (j + i) + 2 * half], y = d[4 * (j + i) + 2 * half + 1];
                if (KIND == CUDA_PRODUCT_GELU_BACK) {
                    u32 slopes = gelu_slopes(read.words[half][j + i]);
                    x *= half_low(slopes);
                    y *= half_high(slopes);
                    out[i] = bf16_pair(x, y);
                    d[4 * (j + i) + 2 * half] = x;
                    d[4 * (j + i) + 2 * half + 1] = y;
                    continue;
                }
                x += read.bias[j + i].x;
                y += read.bias[j + i].y;
                out[i] = bf16_pair(x, y);
                if (KIND == CUDA_PRODUCT_GELU) {
                    before[i] = out[i];
                    out[i] = gelu_pair(out[i]);
                }
            }
            quad_transpose(out);
            if (KIND == CUDA_PRODUCT_GELU) {
                quad_transpose(before);
                if (there && left > j * 8)
                    *(u4 *)(to_before + j * 8) = u4{before[0], before[1], before[2], before[3]};
            }
            if (there && left > j * 8)
                *(u4 *)(to + j * 8) = u4{out[0], out[1], out[2], out[3]};
        }
    }
}

// ---- attention: 16 rows of a head per warp ----

enum { ROWS = 128, KEYS = 64, HEAD = CUDA_HEAD_WIDTH, ATTENTION_TILE = 64 * 128 };
#define SCORE_SCALE 0.1803368801f // log2(e) ÷ √64; exponentials are of base 2

// Stores 16 × 64 numbers, times a factor for each of this lane's two rows.
DEVICE void store_head(unsigned short *to, i64 pitch, int row, int rows, const float (&o)[32],
                       float by0, float by1)
{
    int lane = THREAD & 31, quad = lane & 3;
    row += lane >> 2;
    UNROLL
    for (int half = 0; half < 2; half++)
        UNROLL
    for (int j = 0; j < 8; j += 4) {
        float by = half ? by1 : by0;
        u32 out[4];
        UNROLL
        for (int i = 0; i < 4; i++)
            out[i] = bf16_pair(o[4 * (j + i) + 2 * half] * by, o[4 * (j + i) + 2 * half + 1] * by);
        quad_transpose(out);
        if (row + 8 * half < rows)
            *(u4 *)(to + (row + 8 * half) * pitch + (j + quad) * 8) =
                u4{out[0], out[1], out[2], out[3]};
    }
}

DEVICE void load_head(u32 (&a)[4][4], u32 tile, int row)
{
    UNROLL
    for (int k = 0; k < 4; k++)
        a_rows(a[k], tile, row, k * 2);
}

DEVICE float quad_max(float x)
{
    x = max_of(x, shuffle_xor(x, 1));
    return max_of(x, shuffle_xor(x, 2));
}

DEVICE float quad_sum(float x)
{
    x += shuffle_xor(x, 1);
    return x + shuffle_xor(x, 2);
}

// Scores of this lane's two rows, as products have them: keys from `key` on; those after the row's
// query are `hidden`.
DEVICE void hide_later(float (&s)[32], int key, int query, float hidden)
{
    int lane = THREAD & 31;
    key += (lane & 3) * 2;
    query += lane >> 2;
    UNROLL
    for (int i = 0; i < 32; i++)
        s[i] = key + (i >> 2) * 8 + (i & 1) > query + (i & 2) * 4 ? hidden : s[i];
}

// The softmax of rows whose scores come in tiles: these become exponentials relative to `most`, a
// score near the largest. Where a larger one comes, `o` and `sum`, so far, are scaled to it; one
// that is larger by 2^8 at most is let be, since these have room for it.
DEVICE void softmax_add(float (&s)[32], float (&o)[32], float (&most)[2], float (&sum)[2])
{
    float top[2];
    bool grown = false;
    UNROLL
    for (int half = 0; half < 2; half++) {
        top[half] = most[half];
        UNROLL
        for (int i = 0; i < 16; i++)
            top[half] = max_of(top[half], s[(i >> 1) * 4 + (i & 1) + 2 * half]);
        top[half] = quad_max(top[half]);
        grown |= (top[half] - most[half]) * SCORE_SCALE > 8;
    }
    if (warp_any(grown))
        UNROLL
    for (int half = 0; half < 2; half++) {
        float by = exp2_of((most[half] - top[half]) * SCORE_SCALE);
        most[half] = top[half];
        sum[half] *= by;
        UNROLL
        for (int i = 0; i < 16; i++)
            o[(i >> 1) * 4 + (i & 1) + 2 * half] *= by;
    }
    UNROLL
    for (int half = 0; half < 2; half++) {
        float shift = most[half] * SCORE_SCALE, part = 0;
        UNROLL
        for (int i = 0; i < 16; i++) {
            float &x = s[(i >> 1) * 4 + (i & 1) + 2 * half];
            x = exp2_of(x * SCORE_SCALE - shift);
            part += x;
        }
        sum[half] += part;
    }
}

// Its end: the rows from `row` on, and what the way back needs of them.
DEVICE void softmax_store(const cuda_attention &g, int pair, int row, const float (&o)[32],
                          const float (&most)[2], const float (&sum)[2])
{
    int lane = THREAD & 31, sample = pair / g.heads, head = pair - sample * g.heads;
    i64 width = (i64)g.heads * HEAD;
    float by[2];
    UNROLL
    for (int half = 0; half < 2; half++) {
        float total = quad_sum(sum[half]);
        int query = row + (lane >> 2) + 8 * half;
        by[half] = 1 / total;
        if (query < g.time && (lane & 3) == 0)
            g.log_sum[(i64)pair * g.time + query] = most[half] * SCORE_SCALE + log2_of(total);
    }
    store_head(g.y + (i64)sample * g.time * width + head * HEAD, width, row, g.time, o, by[0],
               by[1]);
}

#endif
