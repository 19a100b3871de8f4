// SPDX-License-Identifier: Apache-2.0
// gemm: dense layers and convolutions, forward and backward, as products of matrices.
//
// A block makes a tile of the result. Tiles of the operands come in slices of k, copied to shared
// memory ahead of their use in a ring of stages, as they lie in memory: an operand whose k lies
// side by side has rows of k (pitch + 4, so that the eight rows and four columns that a warp reads
// meet no bank twice), the other has rows of m or n (+ 8). Windows of an image are found on the
// way: the matrix of all windows is never made.
//
// Shapes of a block: WIDE makes 128 × 64 with 4 × 2 warps; NARROW makes 128 × 32, two warps sharing
// each slice; DEEP makes 32 × 32, its eight warps taking an eighth of each slice. Shares are summed
// in a fixed order. Results are the same on every run. PRECISION: 0 true single precision, 1 tf32,
// 2 bf16 operands; sums are always f32.
#include "rules.cuh"

enum { FORWARD, BACK, WEIGHTS };

template <int KIND, int BM, int BN, int WM, int WN, int WK, int KS, int STAGES> struct shape {
    static constexpr int bm = BM, bn = BN, wm = WM, wn = WN, wk = WK, ks = KS, stages = STAGES;
    static constexpr bool a_rows = KIND != WEIGHTS, b_rows = KIND == FORWARD; // k side by side
    static constexpr int a_pitch = a_rows ? KS + 4 : BM + 8, b_pitch = b_rows ? KS + 4 : BN + 8;
    static constexpr int a_size = a_rows ? BM * a_pitch : KS * a_pitch;
    static constexpr int b_size = b_rows ? BN * b_pitch : KS * b_pitch;
    static constexpr int stage = a_size + b_size;
    static constexpr int mt = BM / WM / 16, nt = BN / WN / 8; // tiles of 16 × 8 of a warp
    // Vectors of four that a thread copies per stage.
    static constexpr int a_count = BM * KS / 4 / 256, b_count = BN * KS / 4 / 256;
    static constexpr int a_line = a_rows ? KS / 4 : BM / 4, b_line = b_rows ? KS / 4 : BN / 4;
    static constexpr int a_step = 256 / a_line, b_step = 256 / b_line; // lines between a thread's
};

// Copies the slices of both operands, one after the other. What it needs of the job it keeps in
// registers: the copies could change anything in memory, for all the compiler knows.
template <class S, int KIND, bool WINDOWS> struct loader {
    const float *a, *b;
    int a_at, b_at; // within a line, in numbers
    int a_first, b_first;
    int k, k_end;                              // where the next slice begins
    bool a_there, b_there;                     // where it does not depend on k
    int b_offset, b_step_offset, ldb, b_limit; // b_limit: lines that b has, from b_first
    // Plain: offset of the first line and between lines. Windows over an image: below.
    int a_offset, a_step_offset, a_limit;
    int height, width, pitch, kernel_w, stride, units, units_pitch, tap_pitch, out_width,
        out_height;
    int row_offset[S::a_count], row_y[S::a_count], row_x[S::a_count];
    int ky, kx, channel; // of a's vector: they move with k; for weights they stay
    int unit[S::b_count], b_tap[S::b_count]; // back: of b's lines

    METHOD loader(const cuda_gemm &g, int m0, int n0, int k0, int k_end_)
    {
        int t = THREAD;
        a = g.a;
        b = g.b;
        k = k0;
        k_end = k_end_;
        a_at = t % S::a_line * 4;
        a_first = t / S::a_line;
        b_at = t % S::b_line * 4;
        b_first = t / S::b_line;
        ldb = g.ldb;
        pitch = g.pitch;
        if (KIND == FORWARD) { // weights, a unit after the other
            b_offset = (n0 + b_first) * ldb + k0 + b_at;
            b_step_offset = S::b_step * ldb;
            b_limit = g.n - n0 - b_first;
        } else if (KIND == WEIGHTS || !WINDOWS) { // rows of dy, or weights: k is the unit
            b_offset = (k0 + b_first) * ldb + n0 + b_at;
            b_step_offset = S::b_step * ldb;
            b_limit = k_end - k0 - b_first;
            if (KIND == BACK)
                b_limit = min_of(b_limit, g.units - k0 - b_first);
            b_there = n0 + b_at < g.n;
        } else { // weights: k is tap, unit
            units = g.units;
            units_pitch = g.units_pitch;
            tap_pitch = g.tap_pitch;
            b_offset = n0 + b_at;
            b_there = n0 + b_at < g.n;
            UNROLL
            for (int i = 0; i < S::b_count; i++) {
                int at = k0 + b_first + i * S::b_step;
                b_tap[i] = at / units_pitch;
                unit[i] = at - b_tap[i] * units_pitch;
            }
        }
        if (!WINDOWS) {
            a_step_offset = S::a_step * pitch;
            if (KIND == WEIGHTS) {
                a_offset = (k0 + a_first) * pitch + m0 + a_at;
                a_limit = k_end - k0 - a_first;
                a_there = m0 + a_at < g.m;
            } else {
                a_offset = (m0 + a_first) * pitch + k0 + a_at;
                a_limit = g.m - m0 - a_first;
            }
            return;
        }
        height = g.height;
        width = g.width;
        kernel_w = g.kernel_w;
        stride = g.stride;
        out_width = g.out_width;
        out_height = g.out_height;
        int from = (KIND == WEIGHTS ? m0 : k0) + a_at, tap = from / pitch;
        channel = from - tap * pitch;
        ky = tap / kernel_w;
        kx = tap - ky * kernel_w;
        a_there = KIND != WEIGHTS || from < g.m;
        a_limit = g.m - m0 - a_first;
        UNROLL
        for (int i = 0; i < S::a_count; i++) {
            int row = (KIND == WEIGHTS ? k0 : m0) + a_first + i * S::a_step;
            int pixels = out_height * out_width, sample = row / pixels,
                pixel = row - sample * pixels;
            int y = pixel / out_width, x = pixel - y * out_width;
            if (KIND == BACK) {
                row_y[i] = y + g.top;
                row_x[i] = x + g.left;
                row_offset[i] = sample * height * width * pitch;
            } else {
                row_y[i] = y * stride - g.top;
                row_x[i] = x * stride - g.left;
                row_offset[i] = sample * height * width * pitch;
            }
        }
        if (KIND == WEIGHTS) { // where a row of pixels ends, and where the image does
            units = out_width * stride - g.left;
            units_pitch = out_height * stride - g.top;
        }
    }

    METHOD void load_a_windows(float *to)
    {
        bool there = a_there && (KIND == WEIGHTS || k + a_at < k_end);
        UNROLL
        for (int i = 0; i < S::a_count; i++) {
            int y, x;
            bool inside = there;
            if (KIND == BACK) {
                y = row_y[i] - ky;
                x = row_x[i] - kx;
                if (stride > 1) {
                    inside &= y >= 0 && x >= 0 && y % stride == 0 && x % stride == 0;
                    y /= stride;
                    x /= stride;
                }
            } else {
                y = row_y[i] + ky;
                x = row_x[i] + kx;
            }
            int line = a_first + i * S::a_step;
            inside &= KIND == WEIGHTS ? k + line < k_end : i * S::a_step < a_limit;
            inside &= (u32)y < (u32)height && (u32)x < (u32)width;
            int offset = inside ? row_offset[i] + (y * width + x) * pitch + channel : 0;
            copy16(to + line * S::a_pitch + a_at, a + offset, inside);
            if (KIND == WEIGHTS) { // KS pixels on
                row_x[i] += S::ks * stride;
                while (row_x[i] >= units) {
                    row_x[i] -= out_width * stride;
                    row_y[i] += stride;
                    if (row_y[i] >= units_pitch) {
                        row_y[i] -= out_height * stride;
                        row_offset[i] += height * width * pitch;
                    }
                }
            }
        }
        if (KIND != WEIGHTS) {
            channel += S::ks;
            while (channel >= pitch) {
                channel -= pitch;
                if (++kx == kernel_w) {
                    kx = 0;
                    ky++;
                }
            }
        }
    }

    METHOD void load(float *stage)
    {
        float *to_a = stage, *to_b = stage + S::a_size;
        if (WINDOWS) {
            load_a_windows(to_a);
        } else {
            bool there = KIND == WEIGHTS ? a_there : k + a_at < k_end;
            UNROLL
            for (int i = 0; i < S::a_count; i++) {
                bool here = there && i * S::a_step < a_limit;
                copy16(to_a + (a_first + i * S::a_step) * S::a_pitch + a_at,
                       a + (here ? a_offset + i * a_step_offset : 0), here);
            }
            if (KIND == WEIGHTS) {
                a_offset += S::ks * pitch;
                a_limit -= S::ks;
            } else {
                a_offset += S::ks;
            }
        }
        UNROLL
        for (int i = 0; i < S::b_count; i++) {
            bool here;
            int offset;
            if (KIND == BACK && WINDOWS) {
                here = b_there && k + b_first + i * S::b_step < k_end && unit[i] < units;
                offset = unit[i] * ldb + b_tap[i] * tap_pitch + b_offset;
                unit[i] += S::ks;
                while (unit[i] >= units_pitch) {
                    unit[i] -= units_pitch;
                    b_tap[i]++;
                }
            } else {
                here = (KIND == FORWARD ? k + b_at < k_end : b_there) && i * S::b_step < b_limit;
                offset = b_offset + i * b_step_offset;
            }
            copy16(to_b + (b_first + i * S::b_step) * S::b_pitch + b_at, b + (here ? offset : 0),
                   here);
        }
        if (KIND == FORWARD) {
            b_offset += S::ks;
        } else if (KIND == WEIGHTS || !WINDOWS) {
            b_offset += S::ks * ldb;
            b_limit -= S::ks;
        }
        k += S::ks;
    }
};

template <class S, int P> struct sums {
    float c[S::mt][S::nt][4];

    DEVICE float a_value(const float *a, int m, int k)
    {
        return S::a_rows ? a[m * S::a_pitch + k] : a[k * S::a_pitch + m];
    }
    DEVICE float b_value(const float *b, int n, int k)
    {
        return S::b_rows ? b[n * S::b_pitch + k] : b[k * S::b_pitch + n];
    }

    // A warp's part of a stage: its tile, its share of k.
    METHOD void add(const float *stage, int m0, int n0, int k0)
    {
        const float *a = stage, *b = stage + S::a_size;
        int lane = THREAD & 31, g = lane >> 2, t = lane & 3;
        constexpr int depth = S::ks / S::wk;
        if (P == 0) {
            UNROLL
            for (int k = 0; k < depth; k++) {
                float x[S::mt][2], y[S::nt][2];
                UNROLL
                for (int i = 0; i < S::mt; i++) {
                    x[i][0] = a_value(a, m0 + 16 * i + g, k0 + k);
                    x[i][1] = a_value(a, m0 + 16 * i + g + 8, k0 + k);
                }
                UNROLL
                for (int j = 0; j < S::nt; j++) {
                    y[j][0] = b_value(b, n0 + 8 * j + 2 * t, k0 + k);
                    y[j][1] = b_value(b, n0 + 8 * j + 2 * t + 1, k0 + k);
                }
                UNROLL
                for (int i = 0; i < S::mt; i++)
                    UNROLL
                for (int j = 0; j < S::nt; j++) {
                    c[i][j][0] += x[i][0] * y[j][0];
                    c[i][j][1] += x[i][0] * y[j][1];
                    c[i][j][2] += x[i][1] * y[j][0];
                    c[i][j][3] += x[i][1] * y[j][1];
                }
            }
            return;
        }
#if HAS_ASYNC
        constexpr int step = P == 1 ? 8 : 16;
        UNROLL
        for (int k = k0; k < k0 + depth; k += step) {
            u32 x[S::mt][4], y[S::nt][2];
            UNROLL
            for (int i = 0; i < S::mt; i++)
                UNROLL
            for (int r = 0; r < 4; r++) {
                int m = m0 + 16 * i + g + 8 * (r & 1);
                if (P == 1)
                    x[i][r] = tf32_of(a_value(a, m, k + t + 4 * (r >> 1)));
                else
                    x[i][r] = bf16_pair(a_value(a, m, k + t + 8 * (r >> 1)),
                                        a_value(a, m, k + t + 4 + 8 * (r >> 1)));
            }
            UNROLL
            for (int j = 0; j < S::nt; j++)
                UNROLL
            for (int r = 0; r < 2; r++) {
                int n = n0 + 8 * j + g;
                if (P == 1)
                    y[j][r] = tf32_of(b_value(b, n, k + t + 4 * r));
                else
                    y[j][r] =
                        bf16_pair(b_value(b, n, k + t + 8 * r), b_value(b, n, k + t + 4 + 8 * r));
            }
            UNROLL
            for (int i = 0; i < S::mt; i++)
                UNROLL
            for (int j = 0; j < S::nt; j++) {
                if (P == 1)
                    mma_tf32(c[i][j], x[i], y[j]);
                else
                    mma_bf16(c[i][j], x[i], y[j]);
            }
        }
#endif
    }
};

// Bias, relu and dropout of four columns of a row, which are stored.
DEVICE void end_row(const float *bias, int relu, const u32 *stream, u32 threshold, float scale,
                    int columns, int row, int col, f4 v, float *to)
{
    if (bias) {
        f4 b = *(const f4 *)(bias + col);
        v.x += b.x;
        v.y += b.y;
        v.z += b.z;
        v.w += b.w;
    }
    if (relu) {
        v.x = max_of(v.x, 0);
        v.y = max_of(v.y, 0);
        v.z = max_of(v.z, 0);
        v.w = max_of(v.w, 0);
    }
    if (stream) {
        u64 index = (u64)row * columns + col;
        if ((columns & 3) == 0) {
            u4 words = dropout_words(stream, index / 4);
            v.x = words.x >= threshold ? v.x * scale : 0;
            v.y = words.y >= threshold ? v.y * scale : 0;
            v.z = words.z >= threshold ? v.z * scale : 0;
            v.w = words.w >= threshold ? v.w * scale : 0;
        } else {
            v.x = drop_one(stream, threshold, scale, index, v.x);
            v.y = drop_one(stream, threshold, scale, index + 1, v.y);
            v.z = drop_one(stream, threshold, scale, index + 2, v.z);
            v.w = drop_one(stream, threshold, scale, index + 3, v.w);
        }
    }
    *(f4 *)to = v;
}

template <int KIND>
DEVICE void store(const cuda_gemms &jobs, const cuda_gemm &g, int z, int m, int n, f4 v)
{
    if (KIND == FORWARD) {
        if (m >= g.m || n >= g.ldy)
            return;
        if (g.parts > 1)
            *(f4 *)(g.y + z * g.part + (long)m * g.ldy + n) = v;
        else
            end_row(g.bias, g.relu, DROP_STREAM(g.drop), g.drop.threshold, g.drop.scale, g.columns,
                    m, n, v, g.y + (long)m * g.ldy + n);
    } else if (KIND == BACK) {
        if (m >= g.m || n >= g.n)
            return;
        float *to = g.y + (long)m * g.ldy + n;
        if (g.add) {
            f4 old = *(const f4 *)to;
            v.x += old.x;
            v.y += old.y;
            v.z += old.z;
            v.w += old.w;
        }
        if (g.mask) {
            f4 y = *(const f4 *)(g.mask + (long)m * g.ldy + n);
            v.x = y.x > 0 ? v.x * g.mask_scale : 0;
            v.y = y.y > 0 ? v.y * g.mask_scale : 0;
            v.z = y.z > 0 ? v.z * g.mask_scale : 0;
            v.w = y.w > 0 ? v.w * g.mask_scale : 0;
        }
        *(f4 *)to = v;
    } else { // four inputs of one unit
        if (m >= g.m || n >= g.units)
            return;
        if (g.fused)
            step_four(jobs.optimizer, g.at + (i64)n * g.ldy + m,
                      g.decayed ? jobs.optimizer.weight_decay : 0, v);
        else
            *(f4 *)(g.y + z * g.part + (long)n * g.ldy + m) = v;
    }
}

// Its grid is one number: job after job, tile after tile.
template <class S, int KIND, bool WINDOWS, int P>
DEVICE void product(const cuda_gemms &jobs, float *shared)
{
    int block = BLOCK, which = 0;
    while (which + 1 < jobs.count && block >= jobs.job[which + 1].first)
        which++;
    const cuda_gemm &g = jobs.job[which];
    block -= g.first;
    int tile_m = block % g.tiles_m, rest = block / g.tiles_m;
    int tile_n = rest % g.tiles_n, z = rest / g.tiles_n;
    int m0 = tile_m * S::bm, n0 = tile_n * S::bn, k0 = z * g.per_part;
    int k_end = min_of(g.k, k0 + g.per_part), slices = (k_end - k0 + S::ks - 1) / S::ks;
    loader<S, KIND, WINDOWS> from(g, m0, n0, k0, k_end);
    sums<S, P> sum;
    UNROLL
    for (int i = 0; i < S::mt; i++)
        UNROLL
    for (int j = 0; j < S::nt; j++)
        UNROLL
    for (int r = 0; r < 4; r++)
        sum.c[i][j][r] = 0;
    float bias = 0;
    bool sums_bias = KIND == WEIGHTS && g.bias && tile_m == 0 && THREAD < S::bn;
    UNROLL
    for (int s = 0; s < S::stages - 1; s++) {
        if (s < slices)
            from.load(shared + s * S::stage);
        copies_end_group();
    }
    int warp = THREAD >> 5, wk = warp % S::wk, wn = warp / S::wk % S::wn, wm = warp / S::wk / S::wn;
    int wm0 = wm * (S::bm / S::wm), wn0 = wn * (S::bn / S::wn), wk0 = wk * (S::ks / S::wk);
    for (int s = 0; s < slices; s++) {
        copies_wait<S::stages - 2>();
        SYNC();
        int ahead = s + S::stages - 1;
        if (ahead < slices)
            from.load(shared + ahead % S::stages * S::stage);
        copies_end_group();
        const float *stage = shared + s % S::stages * S::stage;
        sum.add(stage, wm0, wn0, wk0);
        if (sums_bias)
            for (int k = 0; k < S::ks; k++)
                bias += stage[S::a_size + k * S::b_pitch + THREAD];
    }
    if (sums_bias && n0 + (int)THREAD < g.units) {
        if (g.fused)
            step_one(jobs.optimizer, g.bias_at + n0 + THREAD, 0, bias);
        else
            g.bias_grad[z * g.part + n0 + THREAD] = bias;
    }
    // Through shared memory, so that rows are stored whole: the tile as (m, n), or (n, m) for
    // weights.
    copies_wait<0>();
    SYNC();
    constexpr int pitch = (KIND == WEIGHTS ? S::bm : S::bn) + 4;
    constexpr int size = (KIND == WEIGHTS ? S::bn : S::bm) * pitch;
    int lane = THREAD & 31, lg = lane >> 2, lt = lane & 3;
    float *tile = shared + wk * size;
    UNROLL
    for (int i = 0; i < S::mt; i++)
        UNROLL
    for (int j = 0; j < S::nt; j++)
        UNROLL
    for (int r = 0; r < 4; r++) {
        int m = wm0 + 16 * i + lg + 8 * (r >> 1), n = wn0 + 8 * j + 2 * lt + (r & 1);
        tile[KIND == WEIGHTS ? n * pitch + m : m * pitch + n] = sum.c[i][j][r];
    }
    SYNC();
    constexpr int line = (KIND == WEIGHTS ? S::bm : S::bn) / 4;
    for (int i = THREAD; i < S::bm * S::bn / 4; i += 256) {
        int at = i / line * pitch + i % line * 4;
        f4 v = *(const f4 *)(shared + at);
        UNROLL
        for (int w = 1; w < S::wk; w++) {
            f4 more = *(const f4 *)(shared + w * size + at);
            v.x += more.x;
            v.y += more.y;
            v.z += more.z;
            v.w += more.w;
        }
        if (KIND == WEIGHTS)
            store<KIND>(jobs, g, z, m0 + i % line * 4, n0 + i / line, v);
        else
            store<KIND>(jobs, g, z, m0 + i / line, n0 + i % line * 4, v);
    }
}

#ifndef PRECISION
#define PRECISION 0
#endif

extern __attribute__((shared)) float shared_memory[];

// Older GPUs have 48 KiB of shared memory for a block. The host knows these sizes too (plan.c).
#if HAS_ASYNC
template <int KIND> using wide = shape<KIND, 128, 64, 4, 2, 1, 32, 3>;
template <int KIND> using narrow = shape<KIND, 128, 32, 4, 1, 2, 32, 3>;
template <int KIND>
using deep = shape<KIND, 32, 32, 1, 1, 8, PRECISION == 2 ? 128 : 64, PRECISION == 2 ? 2 : 5>;
#else
template <int KIND> using wide = shape<KIND, 128, 64, 4, 2, 1, 16, 2>;
template <int KIND> using narrow = shape<KIND, 128, 32, 4, 1, 2, 32, 2>;
template <int KIND> using deep = shape<KIND, 32, 32, 1, 1, 8, 64, 2>;
#endif

#define GEMM(name, kind, form, windows, blocks)                                                    \
    KERNEL(256, blocks) name(const cuda_gemms jobs)                                                \
    {                                                                                              \
        product<form<kind>, kind, windows, PRECISION>(jobs, shared_memory);                        \
    }

GEMM(gemm_forward_wide, FORWARD, wide, false, 2)
GEMM(gemm_forward_deep, FORWARD, deep, false, 1)
GEMM(gemm_back_wide, BACK, wide, false, 2)
GEMM(gemm_back_deep, BACK, deep, false, 1)
GEMM(gemm_weights_wide, WEIGHTS, wide, false, 2)
GEMM(gemm_weights_deep, WEIGHTS, deep, false, 2)
GEMM(conv_forward_narrow, FORWARD, narrow, true, 2)
GEMM(conv_back_narrow, BACK, narrow, true, 2)
GEMM(conv_forward_wide, FORWARD, wide, true, 2)
GEMM(conv_forward_deep, FORWARD, deep, true, 1)
GEMM(conv_back_wide, BACK, wide, true, 2)
GEMM(conv_back_deep, BACK, deep, true, 1)
GEMM(conv_weights_wide, WEIGHTS, wide, true, 2)

// Sums the parts of a forward product.
KERNEL(256, 1) gemm_finish(const cuda_finish f)
{
    int line = f.pitch / 4, i = BLOCK * 256 + THREAD;
    if (i >= f.rows * line)
        return;
    int row = i / line, col = i % line * 4;
    const float *from = f.parts + (long)row * f.pitch + col;
    f4 v = *(const f4 *)from;
    for (int k = 1; k < f.count; k++) {
        f4 more = *(const f4 *)(from + k * f.part);
        v.x += more.x;
        v.y += more.y;
        v.z += more.z;
        v.w += more.w;
    }
    end_row(f.bias, f.relu, DROP_STREAM(f.drop), f.drop.threshold, f.drop.scale, f.columns, row,
            col, v, f.y + (long)row * f.pitch + col);
}
