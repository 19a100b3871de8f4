// SPDX-License-Identifier: Apache-2.0
// gemm: dense layers and convolutions, forward and backward, as products of matrices.
//
// A block computes a tile of the result. Tiles of the operands come in slices of k, copied ahead to
// shared memory in a ring of stages, in the layout of global memory: an operand whose k is
// contiguous has rows of k, the other has rows of m or n. A thread reads four numbers at once: of
// the first kind four k of a row, of the second four rows or columns of a k. Neighbours for the
// tensor cores need not be neighbours in memory, as long as both operands agree, so numbers are
// placed to avoid bank conflicts. Convolutions are implicit: the matrix of all windows never
// exists.
//
// Shapes of a block: WIDE is 128 × 64 with 4 × 2 warps; NARROW 128 × 32, two warps sharing each
// slice; MEDIUM 64 × 64 likewise; DEEP 32 × 32, its eight warps taking an eighth of each slice;
// SMALL 64 × 32 with four shares. Shares are summed in a fixed order, so results are the same on
// every run. A warp does 32 × 32. PRECISION: 0 true single precision, 1 tf32 (the hardware ignores
// the other bits), 2 bf16 operands; sums are always f32.
#include "rules.cuh"

enum { FORWARD, BACK, WEIGHTS };

template <int KIND, int BM, int BN, int WM, int WN, int WK, int KS, int STAGES> struct shape {
    static constexpr int bm = BM, bn = BN, wm = WM, wn = WN, wk = WK, ks = KS, stages = STAGES;
    static constexpr bool a_rows = KIND != WEIGHTS, b_rows = KIND == FORWARD; // k side by side
    static constexpr int a_pitch = a_rows ? KS : BM + 8, b_pitch = b_rows ? KS : BN + 8;
    static constexpr int a_size = a_rows ? BM * a_pitch : KS * a_pitch;
    static constexpr int b_size = b_rows ? BN * b_pitch : KS * b_pitch;
    static constexpr int stage = a_size + b_size;
    static_assert(BM / WM == 32 && BN / WN == 32, "a warp makes 32 x 32");
    static constexpr int mt = 2, nt = 4; // tiles of 16 × 8 of a warp
    // Vectors of four that a thread copies per stage.
    static constexpr int a_count = BM * KS / 4 / 256, b_count = BN * KS / 4 / 256;
    static constexpr int a_line = a_rows ? KS / 4 : BM / 4, b_line = b_rows ? KS / 4 : BN / 4;
    static constexpr int a_step = 256 / a_line, b_step = 256 / b_line; // lines between a thread's
};

// Where four k of a row lie: odd rows have the halves of 32 numbers exchanged, so that the eight
// threads that read at once find eight places.
template <class S> DEVICE int swizzled(int row, int k)
{
    return S::ks >= 32 ? k ^ ((row & 1) << 4) : k;
}

// How many windows, each `stride` from the one before it, begin before a cell.
DEVICE int reached(int cell, int stride)
{
    return cell <= 0 ? 0 : (cell + stride - 1) / stride;
}

// Copies the slices of both operands in sequence. It keeps the job's numbers in registers, since
// the compiler must assume that copies change memory. A thread copies vectors at the same place of
// several lines; a thread's lines are an even number of lines apart, so that they are placed alike
// (see sums::load()).
template <class S, int KIND, bool WINDOWS> struct loader {
    const float *a, *b;                     // of the thread's first line, in the next slice
    i64 a_lines, b_lines, a_slice, b_slice; // to the thread's next line; to the next slice
    u32 a_to, b_to;                         // in a stage
    int k, k_end;                           // where the next slice begins
    int a_at, a_left, b_at,
        b_left;                   // left: lines or columns that are there, from the thread's first
    bool a_there, b_there, whole; // whole: only the end of k can be missing
    // Windows over an image: the thread's lines are pixels, or for weights its vector is a tap.
    int pitch, tap, channel, offset, line_offset[S::a_count];
    u32 valid[S::a_count]; // a bit for each tap
    const int *taps;       // their offsets
    int unit[S::b_count], unit_tap[S::b_count], units, units_pitch, ldb,
        tap_pitch; // back: of b's lines
    int width, height, x[S::a_count], y[S::a_count], row_jump, image_jump, low_x, span_x, low_y,
        span_y; // weights

    METHOD loader(const cuda_gemm &g, int m0, int n0, int k0, int k_end_, const int *taps_)
    {
        int t = THREAD, a_first = t / S::a_line, b_first = t / S::b_line;
        a_at = t % S::a_line * 4;
        b_at = t % S::b_line * 4;
        k = k0;
        k_end = k_end_;
        taps = taps_;
        pitch = g.pitch;
        a_to = (a_first * S::a_pitch + (S::a_rows ? swizzled<S>(a_first, a_at) : a_at)) * 4;
        int b_row = S::a_rows && !S::b_rows
                        ? (b_first & ~15) | (b_first & 3) << 2 | (b_first >> 2 & 3)
                        : b_first;
        b_to =
            (S::a_size + b_row * S::b_pitch + (S::b_rows ? swizzled<S>(b_first, b_at) : b_at)) * 4;
        whole = m0 + S::bm <= g.m && n0 + S::bn <= g.n;
        // b: weights, a unit after the other; rows of dy; weights, where k is the unit.
        ldb = g.ldb;
        b_lines = (i64)S::b_step * ldb;
        b_there = true;
        if (KIND == FORWARD) {
            b = g.b + (i64)(n0 + b_first) * ldb + k0 + b_at;
            b_slice = S::ks;
            b_left = g.n - n0 - b_first;
        } else {
            b = g.b + (i64)(k0 + b_first) * ldb + n0 + b_at;
            b_slice = (i64)S::ks * ldb;
            b_left = k_end - k0 - b_first;
            b_there = n0 + b_at < g.n;
        }
        if (KIND == BACK && !WINDOWS)
            k_end = min_of(k_end, g.units), b_left = k_end - k0 - b_first;
        if (KIND == BACK && WINDOWS) { // k is tap, unit
            b = g.b + n0 + b_at;
            units = g.units;
            units_pitch = g.units_pitch;
            tap_pitch = g.tap_pitch;
            UNROLL
            for (int i = 0; i < S::b_count; i++) {
                int at = k0 + b_first + i * S::b_step;
                unit_tap[i] = at / units_pitch;
                unit[i] = at - unit_tap[i] * units_pitch;
            }
        }
        a_lines = (i64)S::a_step * pitch;
        if (!WINDOWS && KIND == WEIGHTS) {
            a = g.a + (i64)(k0 + a_first) * pitch + m0 + a_at;
            a_slice = (i64)S::ks * pitch;
            a_left = k_end - k0 - a_first;
            a_there = m0 + a_at < g.m;
        } else if (!WINDOWS) {
            a = g.a + (i64)(m0 + a_first) * pitch + k0 + a_at;
            a_slice = S::ks;
            a_left = g.m - m0 - a_first;
        }
        if (!WINDOWS)
            return;
        a = g.a;
        int from = (KIND == WEIGHTS ? m0 : k0) + a_at, pixels = g.out_height * g.out_width;
        tap = from / pitch;
        channel = from - tap * pitch;
        width = g.width;
        height = g.height;
        a_there = from < g.m;
        UNROLL
        for (int i = 0; i < S::a_count; i++) {
            int line = (KIND == WEIGHTS ? k0 : m0) + a_first + i * S::a_step;
            int sample = line / pixels, pixel = line - sample * pixels;
            int py = pixel / g.out_width, px = pixel - py * g.out_width;
            int y0 = KIND == BACK ? py + g.top : py * g.stride - g.top;
            int x0 = KIND == BACK ? px + g.left : px * g.stride - g.left;
            line_offset[i] = sample * height * width;
            if (KIND == WEIGHTS) {
                x[i] = px;
                y[i] = py;
                line_offset[i] = (line_offset[i] + y0 * width + x0) * pitch;
                continue;
            }
            // From a window's first cell every tap is as far; some are outside. Going back with a
            // stride, those that fall between the windows are too.
            int fy = KIND == BACK ? y0 / g.stride : y0, fx = KIND == BACK ? x0 / g.stride : x0;
            line_offset[i] = (line_offset[i] + fy * width + fx) * pitch;
            u32 columns = 0, rows = 0;
            for (int kx = 0; kx < g.kernel_w; kx++) {
                int cx = KIND == BACK ? x0 - kx : x0 + kx;
                bool met = cx >= 0 && (KIND != BACK || g.stride == 1 || cx % g.stride == 0);
                columns |= (u32)(met && (KIND == BACK ? cx / g.stride : cx) < width) << kx;
            }
            for (int n = 0, ky = 0; n < g.taps && line < g.m; n += g.kernel_w, ky++) {
                int cy = KIND == BACK ? y0 - ky : y0 + ky;
                bool met = cy >= 0 && (KIND != BACK || g.stride == 1 || cy % g.stride == 0);
                rows |= met && (KIND == BACK ? cy / g.stride : cy) < height ? columns << n : 0;
            }
            valid[i] = rows;
        }
        if (KIND == WEIGHTS) { // the tap stays: which pixels it is inside for
            int ky = tap / g.kernel_w, kx = tap - ky * g.kernel_w, s = g.stride;
            offset = (ky * width + kx) * pitch + channel;
            units = g.out_width;
            units_pitch = g.out_height;
            row_jump = (s * width - g.out_width * s) * pitch;
            image_jump = (height - g.out_height * s) * width * pitch;
            tap_pitch = S::ks * s * pitch;
            low_x = reached(g.left - kx, s);
            span_x = reached(width + g.left - kx, s) - low_x;
            low_y = reached(g.top - ky, s);
            span_y = reached(height + g.top - ky, s) - low_y;
            b_left = a_first;
        } else {
            offset = tap < g.taps ? taps[tap] + channel : 0;
        }
    }

    METHOD void load_a_windows(u32 to)
    {
        bool there = KIND == WEIGHTS ? a_there : k + a_at < k_end;
        UNROLL
        for (int i = 0; i < S::a_count; i++) {
            bool inside = there;
            if (KIND == WEIGHTS) {
                inside &= k + b_left + i * S::a_step < k_end;
                inside &= (u32)(x[i] - low_x) < (u32)span_x && (u32)(y[i] - low_y) < (u32)span_y;
            } else {
                inside &= valid[i] >> tap & 1;
            }
            int from = line_offset[i] + offset;
            copy16(to + a_to + i * S::a_step * S::a_pitch * 4, a + (inside ? from : 0), inside);
            if (KIND == WEIGHTS) { // KS pixels on
                x[i] += S::ks;
                line_offset[i] += tap_pitch;
                while (x[i] >= units) {
                    x[i] -= units;
                    line_offset[i] += row_jump;
                    if (++y[i] == units_pitch) {
                        y[i] = 0;
                        line_offset[i] += image_jump;
                    }
                }
            }
        }
        if (KIND != WEIGHTS) {
            channel += S::ks;
            offset += S::ks;
            if (channel >= pitch) {
                while (channel >= pitch) {
                    channel -= pitch;
                    tap++;
                }
                offset = k + S::ks + a_at < k_end ? taps[tap] + channel : 0;
            }
        }
    }

    METHOD void load(u32 to)
    {
        bool all = whole && k + S::ks <= k_end;
        if (WINDOWS) {
            load_a_windows(to);
        } else {
            const float *p = a;
            bool there = KIND == WEIGHTS ? a_there : k + a_at < k_end;
            UNROLL
            for (int i = 0; i < S::a_count; i++) {
                bool here = all || (there && i * S::a_step < a_left);
                copy16(to + a_to + i * S::a_step * S::a_pitch * 4, here ? p : a, here);
                p += a_lines;
            }
            a += a_slice;
            if (KIND == WEIGHTS)
                a_left -= S::ks;
        }
        if (KIND == BACK && WINDOWS) {
            UNROLL
            for (int i = 0; i < S::b_count; i++) {
                bool here = b_there && unit[i] < units &&
                            k + (int)THREAD / S::b_line + i * S::b_step < k_end;
                copy16(to + b_to + i * S::b_step * S::b_pitch * 4,
                       b + (here ? unit[i] * ldb + unit_tap[i] * tap_pitch : 0), here);
                unit[i] += S::ks;
                while (unit[i] >= units_pitch) {
                    unit[i] -= units_pitch;
                    unit_tap[i]++;
                }
            }
        } else {
            const float *p = b;
            bool there = KIND == FORWARD ? k + b_at < k_end : b_there;
            int left = KIND == WEIGHTS && WINDOWS ? k_end - k - (int)THREAD / S::b_line : b_left;
            UNROLL
            for (int i = 0; i < S::b_count; i++) {
                bool here = all || (there && i * S::b_step < left);
                copy16(to + b_to + i * S::b_step * S::b_pitch * 4, here ? p : b, here);
                p += b_lines;
            }
            b += b_slice;
            if (KIND != FORWARD && !WINDOWS)
                b_left -= S::ks;
        }
        k += S::ks;
    }
};

// Which row or column of a warp's 32 × 32 a thread's number belongs to, by where the tensor cores
// have it: row g or g + 8 of tile i, column c of tile j.
template <class S> DEVICE int row_of(int i, int half, int g)
{
    return S::a_rows ? 16 * i + 8 * half + g : 4 * g + 2 * i + half;
}
template <class S> DEVICE int column_of(int j, int c)
{
    return S::b_rows ? 8 * j + c : 4 * c + j;
}

template <class S, int P> struct sums {
    float c[S::mt][S::nt][4];

    METHOD void zero(void)
    {
        UNROLL
        for (int i = 0; i < S::mt; i++)
            UNROLL
        for (int j = 0; j < S::nt; j++)
            UNROLL
        for (int r = 0; r < 4; r++)
            c[i][j][r] = 0;
    }

    // a's numbers of 16 k: [tile][k of a thread: 4][row, row + 8]; b's: [tile][k]. Thread t of four
    // has k = 4 t ... 4 t + 3 where rows of k are involved, else t, t + 4, t + 8, t + 12.
    METHOD void load(const float *a, const float *b, int m0, int n0, int k, float x[S::mt][4][2],
                     float y[S::nt][4])
    {
        int lane = THREAD & 31, g = lane >> 2, t = lane & 3;
        UNROLL
        for (int i = 0; i < 4; i++) {
            f4 v;
            if (S::a_rows) { // row 16 (i / 2) + 8 (i % 2) + g
                int row = m0 + 16 * (i >> 1) + 8 * (i & 1) + g;
                v = *(const f4 *)(a + row * S::a_pitch + swizzled<S>(row, k + 4 * t));
                x[i >> 1][0][i & 1] = v.x;
                x[i >> 1][1][i & 1] = v.y;
                x[i >> 1][2][i & 1] = v.z;
                x[i >> 1][3][i & 1] = v.w;
            } else { // k = t + 4 i
                v = *(const f4 *)(a + (k + t + 4 * i) * S::a_pitch + m0 + 4 * g);
                x[0][i][0] = v.x;
                x[0][i][1] = v.y;
                x[1][i][0] = v.z;
                x[1][i][1] = v.w;
            }
        }
        UNROLL
        for (int j = 0; j < 4; j++) {
            f4 v;
            if (S::b_rows) {
                int row = n0 + 8 * j + g;
                v = *(const f4 *)(b + row * S::b_pitch + swizzled<S>(row, k + 4 * t));
                y[j][0] = v.x;
                y[j][1] = v.y;
                y[j][2] = v.z;
                y[j][3] = v.w;
            } else { // with rows of k beside them, the lines lie as loader puts them
                v = *(const f4 *)(b + (k + t + 4 * j) * S::b_pitch + n0 + 4 * g);
                y[0][j] = v.x;
                y[1][j] = v.y;
                y[2][j] = v.z;
                y[3][j] = v.w;
            }
        }
    }

    METHOD void add_plain(const float *a, const float *b, int m0, int n0, int k)
    {
        int lane = THREAD & 31, g = lane >> 2, t = lane & 3;
        float x[S::mt][2], y[S::nt][2];
        UNROLL
        for (int i = 0; i < S::mt; i++)
            UNROLL
        for (int half = 0; half < 2; half++) {
            int row = m0 + row_of<S>(i, half, g);
            x[i][half] =
                S::a_rows ? a[row * S::a_pitch + swizzled<S>(row, k)] : a[k * S::a_pitch + row];
        }
        UNROLL
        for (int j = 0; j < S::nt; j++)
            UNROLL
        for (int r = 0; r < 2; r++) {
            int row = n0 + column_of<S>(j, 2 * t + r);
            y[j][r] = S::b_rows ? b[row * S::b_pitch + swizzled<S>(row, k)]
                                : b[line_of(k) * S::b_pitch + row];
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

    // Where line k of b lies: beside rows of k, thread t's four (4 t ... 4 t + 3) are four apart.
    DEVICE int line_of(int k)
    {
        return S::a_rows ? (k & ~15) | (k & 3) << 2 | (k >> 2 & 3) : k;
    }

    // A warp's part of a stage: its tile, its share of k.
    METHOD void add(const float *stage, int m0, int n0, int k0)
    {
        const float *a = stage, *b = stage + S::a_size;
        constexpr int depth = S::ks / S::wk;
        if (P == 0) {
            UNROLL
            for (int k = 0; k < depth; k++)
                add_plain(a, b, m0, n0, k0 + k);
            return;
        }
#if HAS_ASYNC
        UNROLL
        for (int k = k0; k < k0 + depth; k += 16) {
            float x[S::mt][4][2], y[S::nt][4];
            load(a, b, m0, n0, k, x, y);
            if (P == 1) {
                UNROLL
                for (int h = 0; h < 4; h += 2)
                    UNROLL
                for (int i = 0; i < S::mt; i++)
                    UNROLL
                for (int j = 0; j < S::nt; j++) {
                    u32 u[4] = {bits(x[i][h][0]), bits(x[i][h][1]), bits(x[i][h + 1][0]),
                                bits(x[i][h + 1][1])};
                    u32 v[2] = {bits(y[j][h]), bits(y[j][h + 1])};
                    mma_tf32(c[i][j], u, v[0], v[1]);
                }
            } else {
                u32 u[S::mt][4], v[S::nt][2];
                UNROLL
                for (int i = 0; i < S::mt; i++)
                    UNROLL
                for (int r = 0; r < 4; r++)
                    u[i][r] = bf16_pair(x[i][2 * (r >> 1)][r & 1], x[i][2 * (r >> 1) + 1][r & 1]);
                UNROLL
                for (int j = 0; j < S::nt; j++)
                    UNROLL
                for (int r = 0; r < 2; r++)
                    v[j][r] = bf16_pair(y[j][2 * r], y[j][2 * r + 1]);
                UNROLL
                for (int i = 0; i < S::mt; i++)
                    UNROLL
                for (int j = 0; j < S::nt; j++)
                    mma_bf16(c[i][j], u[i], v[j][0], v[j][1]);
            }
        }
#endif
    }
};

// Bias, relu and dropout of four columns of a row, which are stored. `row` counts from the first
// one of all ranks.
DEVICE void end_row(const float *bias, int relu, const u32 *stream, u32 threshold, float scale,
                    int columns, int row, int col, f4 v, float *to)
{
    if (bias) {
        f4 b = *(const f4 *)(bias + col);
        ADD_FOUR(v, b);
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

template <int KIND, class JOBS>
DEVICE void store(const JOBS &jobs, const cuda_gemm &g, int z, int m, int n, f4 v)
{
    if constexpr (KIND == FORWARD) {
        if (m >= g.m || n >= g.ldy)
            return;
        if (g.parts > 1)
            *(f4 *)(g.y + z * g.part + (long)m * g.ldy + n) = v;
        else
            end_row(g.bias, g.relu, DROP_STREAM(g.drop), g.drop.threshold, g.drop.scale, g.columns,
                    m + DROP_FIRST(g.drop), n, v, g.y + (long)m * g.ldy + n);
    } else if constexpr (KIND == BACK) {
        if (m >= g.m || n >= g.n)
            return;
        float *to = g.y + (long)m * g.ldy + n;
        if (g.add) {
            f4 old = *(const f4 *)to;
            ADD_FOUR(v, old);
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

// `jobs` has the optimizer, where weights are made.
template <class S, int KIND, bool WINDOWS, int P, class JOBS>
DEVICE void product(const cuda_gemm &g, const JOBS &jobs, int block, float *shared)
{
    int tile_m = block % g.tiles_m, rest = block / g.tiles_m;
    int tile_n = rest % g.tiles_n, z = rest / g.tiles_n;
    int m0 = tile_m * S::bm, n0 = tile_n * S::bn, k0 = z * g.per_part;
    int k_end = min_of(g.k, k0 + g.per_part), slices = (k_end - k0 + S::ks - 1) / S::ks;
    // How far every tap is from a window's first cell: behind the stages.
    int *taps = (int *)(shared + S::stages * S::stage);
    if (WINDOWS && KIND != WEIGHTS) {
        for (int n = THREAD; n < g.taps; n += 256) {
            int ky = n / g.kernel_w, kx = n - ky * g.kernel_w;
            taps[n] = KIND == BACK ? -(ky / g.stride * g.width + kx / g.stride) * g.pitch
                                   : (ky * g.width + kx) * g.pitch;
        }
        SYNC();
    }
    loader<S, KIND, WINDOWS> from(g, m0, n0, k0, k_end, taps);
    sums<S, P> sum;
    sum.zero();
    float bias = 0;
    u32 base = shared_address(shared);
    bool sums_bias = KIND == WEIGHTS && g.bias && tile_m == 0 && THREAD < S::bn;
    UNROLL
    for (int s = 0; s < S::stages - 1; s++) {
        if (s < slices)
            from.load(base + s * S::stage * 4);
        copies_end_group();
    }
    int warp = THREAD >> 5, wk = warp % S::wk, wn = warp / S::wk % S::wn, wm = warp / S::wk / S::wn;
    int wm0 = wm * (S::bm / S::wm), wn0 = wn * (S::bn / S::wn), wk0 = wk * (S::ks / S::wk);
    const float *stage = shared, *end = shared + S::stages * S::stage;
    u32 next = base + (S::stages - 1) * S::stage * 4;
    for (int s = 0; s < slices; s++) {
        copies_wait<S::stages - 2>();
        SYNC();
        if (s + S::stages - 1 < slices)
            from.load(next);
        copies_end_group();
        sum.add(stage, wm0, wn0, wk0);
        if (sums_bias)
            for (int k = 0; k < S::ks; k++)
                bias += stage[S::a_size + k * S::b_pitch + THREAD];
        next = next + S::stage * 4 == base + S::stages * S::stage * 4 ? base : next + S::stage * 4;
        stage = stage + S::stage == end ? shared : stage + S::stage;
    }
    if constexpr (KIND == WEIGHTS) {
        if (sums_bias && n0 + (int)THREAD < g.units) {
            if (g.fused)
                step_one(jobs.optimizer, g.bias_at + n0 + THREAD, 0, bias);
            else
                g.bias_grad[z * g.part + n0 + THREAD] = bias;
        }
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
        int m = wm0 + row_of<S>(i, r >> 1, lg), n = wn0 + column_of<S>(j, 2 * lt + (r & 1));
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
            ADD_FOUR(v, more);
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

// Older GPUs have 48 KiB of shared memory for a block. The host has these sizes too
// (plan/products.c).
#if HAS_ASYNC
template <int KIND> using wide = shape<KIND, 128, 64, 4, 2, 1, 32, 3>;
template <int KIND> using narrow = shape<KIND, 128, 32, 4, 1, 2, 32, 3>;
template <int KIND> using medium = shape<KIND, 64, 64, 2, 2, 2, 32, 4>;
template <int KIND> using small = shape<KIND, 64, 32, 2, 1, 4, 64, 2>;
template <int KIND>
using deep = shape<KIND, 32, 32, 1, 1, 8, (PRECISION > 0) ? 128 : 64, (PRECISION > 0) ? 3 : 4>;
#else
template <int KIND> using wide = shape<KIND, 128, 64, 4, 2, 1, 16, 2>;
template <int KIND> using narrow = shape<KIND, 128, 32, 4, 1, 2, 32, 2>;
template <int KIND> using medium = shape<KIND, 64, 64, 2, 2, 2, 32, 2>;
template <int KIND> using small = shape<KIND, 64, 32, 2, 1, 4, 32, 2>;
template <int KIND> using deep = shape<KIND, 32, 32, 1, 1, 8, 64, 2>;
#endif

#define GEMM(name, kind, form, windows, blocks)                                                    \
    KERNEL(256, blocks) name(const cuda_gemm job)                                                  \
    {                                                                                              \
        product<form<kind>, kind, windows, PRECISION>(job, job, BLOCK, shared_memory);             \
    }

// Several in one launch, job after job.
#define GEMMS(name, form, windows)                                                                 \
    KERNEL(256, 2) name(const cuda_gemms jobs)                                                     \
    {                                                                                              \
        int block = BLOCK, which = 0;                                                              \
        while (which + 1 < jobs.count && block >= jobs.job[which + 1].first)                       \
            which++;                                                                               \
        product<form<WEIGHTS>, WEIGHTS, windows, PRECISION>(                                       \
            jobs.job[which], jobs, block - jobs.job[which].first, shared_memory);                  \
    }

GEMM(gemm_forward_wide, FORWARD, wide, false, 2)
GEMM(gemm_forward_deep, FORWARD, deep, false, 2)
GEMM(gemm_forward_medium, FORWARD, medium, false, 2)
GEMM(gemm_back_medium, BACK, medium, false, 2)
GEMM(conv_forward_medium, FORWARD, medium, true, 2)
GEMM(conv_back_medium, BACK, medium, true, 2)
GEMM(gemm_back_wide, BACK, wide, false, 2)
GEMM(gemm_back_deep, BACK, deep, false, 2)
GEMM(conv_forward_wide, FORWARD, wide, true, 2)
GEMM(conv_forward_narrow, FORWARD, narrow, true, 2)
GEMM(conv_forward_deep, FORWARD, deep, true, 2)
GEMM(conv_back_wide, BACK, wide, true, 2)
GEMM(conv_back_narrow, BACK, narrow, true, 2)
GEMM(conv_back_deep, BACK, deep, true, 2)
GEMMS(gemm_weights_wide, wide, false)
GEMMS(gemm_weights_small, small, false)
GEMMS(conv_weights_wide, wide, true)

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
        ADD_FOUR(v, more);
    }
    end_row(f.bias, f.relu, DROP_STREAM(f.drop), f.drop.threshold, f.drop.scale, f.columns,
            row + DROP_FIRST(f.drop), col, v, f.y + (long)row * f.pitch + col);
}
