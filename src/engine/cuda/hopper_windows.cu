// SPDX-License-Identifier: Apache-2.0
// hopper_windows: convolutions with few channels on Hopper, in tf32 (gemm.cu has the same for older
// GPUs and other sizes).
//
// The copy engine brings one cell of consecutive pixels' windows at a time, 32 channels of each, so
// that nobody walks through windows.
//   FORWARD, BACK  A block keeps all weights in shared memory, in lines of k, and makes tiles of 64
//                  pixels, one after the other.
//   WEIGHTS        Tensor cores take operands of 32 bits from shared memory in lines of k only, but
//                  here k is the pixel. So warps load them as registers.
#include "hopper.cuh"

enum { FORWARD, BACK, WEIGHTS };
enum { STAGES = 4, BOX = 64 * 128, COLUMNS = 3, PIXELS = 32, SMALL_BOX = PIXELS * 128 };

extern SHARED char windows_memory[]; // up to 1023 bytes to align, weights, stages, barriers

struct ring {
    u32 memory, full, empty, phase;
    int stage;

    METHOD void next(void)
    {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
};

DEVICE ring ring_at(u32 memory, int stage_bytes, int readers)
{
    ring r = {memory, memory + STAGES * stage_bytes, memory + STAGES * (stage_bytes + 8), 0, 0};
    if (THREAD == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(r.full + 8 * i, 1);
            barrier_init(r.empty + 8 * i, readers);
        }
        barriers_ready();
    }
    return r;
}

// ---- forward and back ----

// Where number k of line n lies in a box of lines of 128 bytes.
DEVICE u32 number_at(int n, int k)
{
    return n * 128 + ((k >> 2 ^ (n & 7)) << 4) + (k & 3) * 4;
}

// The weights as lines of k for each cell of a window and 32 of k: boxes of N lines.
template <int N> DEVICE void load_forward(const cuda_gemm &g, u32 to)
{
    int pieces = g.k / 4;
    for (int i = THREAD; i < N * pieces; i += 128) {
        int n = i / pieces, k = (i - n * pieces) * 4;
        bool here = n < g.units;
        copy16(to + (k >> 5) * (N * 128) + number_at(n, k & 31),
               g.b + (here ? (i64)n * g.ldb + k : 0), here);
    }
    copies_end_group();
    copies_wait<0>();
}

// Going back, k is (cell, unit), and cells come in the opposite order of taps.
template <int N> DEVICE void load_back(const cuda_gemm &g, u32 to, int chunks)
{
    constexpr int fours = N / 4;
    int lines = g.taps * chunks * 32;
    // Some at a time, so that loads do not wait for each other.
    constexpr int some = 9;
    for (int first = THREAD; first < lines * fours; first += 128 * some) {
        f4 v[some];
        UNROLL
        for (int s = 0; s < some; s++) {
            int i = first + 128 * s, line = i / fours, n = (i - line * fours) * 4;
            int cell = line / (chunks * 32), unit = line - cell * chunks * 32;
            v[s] = f4{0, 0, 0, 0};
            if (line < lines && unit < g.units)
                v[s] =
                    *(const f4 *)(g.b + (i64)unit * g.ldb + (g.taps - 1 - cell) * g.tap_pitch + n);
        }
        UNROLL
        for (int s = 0; s < some; s++) {
            int i = first + 128 * s, line = i / fours, n = (i - line * fours) * 4;
            u32 box = to + (line >> 5) * (N * 128);
            const float each[4] = {v[s].x, v[s].y, v[s].z, v[s].w};
            UNROLL
            for (int k = 0; k < 4; k++)
                if (line < lines)
                    asm volatile("st.shared.f32 [%0], %1;" ::"r"(box + number_at(n + k, line & 31)),
                                 "f"(each[k])
                                 : "memory");
        }
    }
}

DEVICE void copy_tiles(const cuda_windows &w, ring r)
{
    int width = w.job.out_width, pixels = w.job.out_height * width, cells_w = w.job.kernel_w;
    int cells_h = w.job.taps / cells_w, chunks = w.chunks;
    for (int tile = BLOCK; tile < w.tiles; tile += BLOCKS) {
        int sample = tile * 64 / pixels, pixel = tile * 64 - sample * pixels;
        int y = pixel / width, x = pixel - y * width + w.start_x;
        y += w.start_y;
        for (int cy = 0; cy < cells_h; cy++)
            for (int cx = 0; cx < cells_w; cx++)
                for (int k = 0; k < chunks; k++) {
                    u32 full = r.full + 8 * r.stage;
                    barrier_wait(r.empty + 8 * r.stage, r.phase ^ 1);
                    barrier_expect(full, BOX);
                    copy_cells(r.memory + r.stage * BOX, w.map_a, k * 32, x, y, sample, cx, cy,
                               full);
                    r.next();
                }
    }
}

template <int KIND, int N>
DEVICE void store_pixels(const cuda_gemm &g, const float (&d)[N / 2], int row, const f2 *bias)
{
    int column = (THREAD & 3) * 2;
    f2 mask[KIND == BACK ? N / 8 : 1];
    UNROLL
    for (int half = 0; half < 2; half++) {
        int r = row + 8 * half;
        if (r >= g.m)
            continue;
        float *to = g.y + (i64)r * g.ldy + column;
        if (KIND == BACK && g.mask) {
            const float *from = g.mask + (i64)r * g.ldy + column;
            UNROLL
            for (int j = 0; j < N / 8; j++)
                mask[j] = *(const f2 *)(from + j * 8);
        }
        UNROLL
        for (int j = 0; j < N / 8; j++) {
            f2 v = {d[4 * j + 2 * half], d[4 * j + 2 * half + 1]};
            if (KIND == FORWARD) {
                v.x += bias[j].x;
                v.y += bias[j].y;
                if (g.relu)
                    v = f2{max_of(v.x, 0), max_of(v.y, 0)};
            } else if (g.mask) {
                v = f2{mask[j].x > 0 ? v.x * g.mask_scale : 0,
                       mask[j].y > 0 ? v.y * g.mask_scale : 0};
            }
            *(f2 *)(to + j * 8) = v;
        }
    }
}

template <int KIND, int N> DEVICE void convolve(const cuda_windows &w)
{
    u32 weights = (shared_address(windows_memory) + 1023) & ~1023u;
    int steps = w.job.taps * w.chunks;
    ring r = ring_at(weights + steps * (N * 128), BOX, 1);
    SYNC();
    if (THREAD >= 128) {
        if (THREAD == 128)
            copy_tiles(w, r);
        return;
    }
    if (KIND == FORWARD)
        load_forward<N>(w.job, weights);
    else
        load_back<N>(w.job, weights, w.chunks);
    f2 bias[N / 8];
    UNROLL
    for (int j = 0; j < N / 8; j++)
        bias[j] = KIND == FORWARD && w.job.bias
                      ? *(const f2 *)(w.job.bias + j * 8 + (THREAD & 3) * 2)
                      : f2{0, 0};
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync 1, 128;" ::: "memory");
    float d[N / 2];
    for (int tile = BLOCK; tile < w.tiles; tile += BLOCKS) {
        int last = -1;
        for (int s = 0; s < steps; s++) {
            barrier_wait(r.full + 8 * r.stage, r.phase);
            u64 a = matrix_at(r.memory + r.stage * BOX, 16),
                b = matrix_at(weights + s * (N * 128), 16);
            GROUP_FENCE();
            UNROLL
            for (int i = 0; i < 4; i++)
                group_mma_tf32(d, a + i * 2, b + i * 2, s > 0 || i);
            GROUP_COMMIT();
            group_wait<1>(); // the stage before has been read
            if (last >= 0 && THREAD == 0)
                barrier_arrive(r.empty + 8 * last);
            last = r.stage;
            r.next();
        }
        group_wait<0>(d);
        if (THREAD == 0)
            barrier_arrive(r.empty + 8 * last);
        store_pixels<KIND, N>(w.job, d, tile * 64 + (THREAD >> 5) * 16 + (THREAD >> 2 & 7), bias);
    }
}

// ---- weights ----

template <int N>
DEVICE void copy_columns(const cuda_windows &w, int tile_m, int k0, int k_end, ring r)
{
    constexpr int stage = (COLUMNS + N / 32) * SMALL_BOX;
    const cuda_gemm &g = w.job;
    int channel[COLUMNS], cell_x[COLUMNS], cell_y[COLUMNS];
    UNROLL
    for (int i = 0; i < COLUMNS; i++) {
        int box = min_of(tile_m * COLUMNS + i, g.taps * w.chunks - 1), tap = box / w.chunks;
        channel[i] = (box - tap * w.chunks) * 32;
        cell_y[i] = tap / g.kernel_w;
        cell_x[i] = tap - cell_y[i] * g.kernel_w;
    }
    int width = g.out_width, height = g.out_height, pixels = height * width;
    int sample = k0 / pixels, pixel = k0 - sample * pixels, y = pixel / width,
        x = pixel - y * width;
    for (int k = k0; k < k_end; k += PIXELS) {
        u32 to = r.memory + r.stage * stage, full = r.full + 8 * r.stage;
        barrier_wait(r.empty + 8 * r.stage, r.phase ^ 1);
        barrier_expect(full, stage);
        UNROLL
        for (int i = 0; i < COLUMNS; i++)
            copy_cells(to + i * SMALL_BOX, w.map_a, channel[i], x + w.start_x, y + w.start_y,
                       sample, cell_x[i], cell_y[i], full);
        UNROLL
        for (int i = 0; i < N / 32; i++)
            copy_box(to + (COLUMNS + i) * SMALL_BOX, w.map_b, i * 32, k, full);
        r.next();
        for (x += PIXELS; x >= width; x -= width)
            if (++y == height) {
                y = 0;
                sample++;
            }
    }
}

// Four numbers of line k of a box: 4 g to 4 g + 3.
DEVICE f4 four_of(u32 box, int k, int g)
{
    f4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(box + k * 128 + ((g ^ (k & 7)) << 4))
                 : "memory");
    return v;
}

// A warp's 32 × 32 sums: of thread (g, t), tile (i, j) and number c: row 4 g + 2 i + c / 2, column
// 4 (2 t + c % 2) + j.
DEVICE void add_box(float (&d)[2][4][4], u32 a, u32 b)
{
    int lane = THREAD & 31, g = lane >> 2, t = lane & 3;
    UNROLL
    for (int k = 0; k < PIXELS; k += 16) {
        f4 x[4], y[4];
        UNROLL
        for (int i = 0; i < 4; i++) {
            x[i] = four_of(a, k + t + 4 * i, g);
            y[i] = four_of(b, k + t + 4 * i, g);
        }
        UNROLL
        for (int h = 0; h < 4; h += 2) {
            const u32 u[2][4] = {{bits(x[h].x), bits(x[h].y), bits(x[h + 1].x), bits(x[h + 1].y)},
                                 {bits(x[h].z), bits(x[h].w), bits(x[h + 1].z), bits(x[h + 1].w)}};
            const u32 v[4][2] = {{bits(y[h].x), bits(y[h + 1].x)},
                                 {bits(y[h].y), bits(y[h + 1].y)},
                                 {bits(y[h].z), bits(y[h + 1].z)},
                                 {bits(y[h].w), bits(y[h + 1].w)}};
            UNROLL
            for (int i = 0; i < 2; i++)
                UNROLL
            for (int j = 0; j < 4; j++)
                mma_tf32(d[i][j], u[i], v[j][0], v[j][1]);
        }
    }
}

template <int N> DEVICE void weights(const cuda_windows &w)
{
    constexpr int wide = N / 32, warps = COLUMNS * wide, stage = (COLUMNS + wide) * SMALL_BOX;
    const cuda_gemm &g = w.job;
    int tile_m = BLOCK % g.tiles_m, z = BLOCK / g.tiles_m, k0 = z * g.per_part;
    int k_end = min_of(g.k, k0 + g.per_part), steps = (k_end - k0 + PIXELS - 1) / PIXELS;
    ring r = ring_at((shared_address(windows_memory) + 1023) & ~1023u, stage, warps);
    SYNC();
    int warp = THREAD >> 5, lane = THREAD & 31, wm = warp / wide, wn = warp - wm * wide;
    if (warp == warps) {
        if (lane == 0)
            copy_columns<N>(w, tile_m, k0, k_end, r);
        return;
    }
    float d[2][4][4] = {}, bias = 0;
    bool sums_bias = g.bias && tile_m == 0 && wm == 0;
    for (int s = 0; s < steps; s++) {
        barrier_wait(r.full + 8 * r.stage, r.phase);
        u32 at = r.memory + r.stage * stage, b = at + (COLUMNS + wn) * SMALL_BOX;
        add_box(d, at + wm * SMALL_BOX, b);
        if (sums_bias)
            for (int k = 0; k < PIXELS; k++) {
                float v;
                asm volatile("ld.shared.f32 %0, [%1];"
                             : "=f"(v)
                             : "r"(b + number_at(k, lane))
                             : "memory");
                bias += v;
            }
        WARP_SYNC();
        if (lane == 0)
            barrier_arrive(r.empty + 8 * r.stage);
        r.next();
    }
    int m = (tile_m * COLUMNS + wm) * 32 + (lane >> 2) * 4, quad = lane & 3;
    if (sums_bias && wn * 32 + lane < g.units)
        g.bias_grad[z * g.part + wn * 32 + lane] = bias;
    if (m >= g.m)
        return;
    UNROLL
    for (int j = 0; j < 4; j++)
        UNROLL
    for (int c = 0; c < 2; c++) {
        int n = wn * 32 + 4 * (2 * quad + c) + j;
        f4 v = {d[0][j][c], d[0][j][2 + c], d[1][j][c], d[1][j][2 + c]};
        if (n < g.units)
            *(f4 *)(g.y + z * g.part + (i64)n * g.ldy + m) = v;
    }
}

// ---- the first layer: windows of 3 × 3 over at most four channels ----
//
// Tensor cores would wait for memory. A warp takes rows of the result, each lane a unit; the three
// rows of the image that it needs are in shared memory, with zeros around them.

enum { FIRST_WIDTH = 40, FIRST_WARPS = 16 }; // pixels of a row with its padding

struct first_row {
    int y, sample, group;

    METHOD void begin(const cuda_gemm &g, int row, int groups)
    {
        int line = row / groups;
        group = row - line * groups;
        sample = line / g.out_height;
        y = line - sample * g.out_height;
    }

    // Rows y - top to y - top + 2 of the image.
    METHOD void load(const cuda_gemm &g, f4 *to)
    {
        WARP_SYNC();
        UNROLL
        for (int r = 0; r < 3; r++)
            for (int i = THREAD & 31; i < FIRST_WIDTH; i += 32) {
                int x = i - g.left, sy = y - g.top + r;
                f4 v = {0, 0, 0, 0};
                if ((u32)x < (u32)g.width && (u32)sy < (u32)g.height)
                    v = *(const f4 *)(g.a + ((i64)(sample * g.height + sy) * g.width + x) * 4);
                to[r * FIRST_WIDTH + i] = v;
            }
        WARP_SYNC();
    }
};

template <int C> DEVICE void channels_of(float *to, const f4 *from)
{
    if (C == 1) {
        to[0] = from->x;
        return;
    }
    f4 v = *from;
    const float each[4] = {v.x, v.y, v.z, v.w};
    UNROLL
    for (int c = 0; c < C; c++)
        to[c] = each[c];
}

// Goes along a row of the result: f(x, window), which keeps its columns in turn.
template <int C, class F> DEVICE void each_window(const f4 *rows, int width, F f)
{
    float window[3][3][C]; // column, row, channel
    UNROLL
    for (int k = 0; k < 2; k++)
        UNROLL
    for (int r = 0; r < 3; r++)
        channels_of<C>(window[k][r], rows + r * FIRST_WIDTH + k);
    for (int x0 = 0; x0 < width; x0 += 3)
        UNROLL
    for (int k = 0; k < 3; k++) {
        int x = x0 + k;
        if (x < width) {
            UNROLL
            for (int r = 0; r < 3; r++)
                channels_of<C>(window[(k + 2) % 3][r], rows + r * FIRST_WIDTH + x + 2);
            f(x, window[k], window[(k + 1) % 3], window[(k + 2) % 3]);
        }
    }
}

template <int C> DEVICE void first_forward(const cuda_gemm &g)
{
    SHARED f4 rows[8][3 * FIRST_WIDTH];
    int warp = THREAD >> 5, lane = THREAD & 31, groups = g.units / 32;
    int all = g.m / g.out_width * groups, step = (int)BLOCKS * 8;
    for (int row = (int)BLOCK * 8 + warp; row < all; row += step) {
        first_row at;
        at.begin(g, row, groups);
        at.load(g, rows[warp]);
        int unit = at.group * 32 + lane;
        float w[9][C], bias = g.bias ? g.bias[unit] : 0;
        UNROLL
        for (int t = 0; t < 9; t++)
            channels_of<C>(w[t], (const f4 *)(g.b + (i64)unit * g.ldb + t * 4));
        float *y = g.y + (i64)(at.sample * g.out_height + at.y) * g.out_width * g.ldy + unit;
        each_window<C>(
            rows[warp], g.out_width,
            [&](int x, const float(&a)[3][C], const float(&b)[3][C], const float(&c)[3][C]) ALWAYS {
                float sum = bias;
                UNROLL
                for (int r = 0; r < 3; r++)
                    UNROLL
                for (int k = 0; k < C; k++)
                    sum += a[r][k] * w[3 * r][k] + b[r][k] * w[3 * r + 1][k] +
                           c[r][k] * w[3 * r + 2][k];
                y[(i64)x * g.ldy] = g.relu ? max_of(sum, 0) : sum;
            });
    }
}

// A block has a part of the rows; g.ldb is dy's pitch.
template <int C> DEVICE void first_weights(const cuda_gemm &g)
{
    constexpr int count = 9 * C + 1; // sums of a unit: the weights', and the bias's
    f4 *rows = (f4 *)windows_memory + (THREAD >> 5) * 3 * FIRST_WIDTH;
    int warp = THREAD >> 5, lane = THREAD & 31, groups = g.units / 32;
    int all = g.k / g.out_width, per = (all + g.parts - 1) / g.parts, z = BLOCK / groups;
    int group = BLOCK - z * groups, end = min_of(all, (z + 1) * per);
    float sums[count] = {};
    for (int row = z * per + warp; row < end; row += FIRST_WARPS) {
        first_row at;
        at.begin(g, row, 1);
        at.load(g, rows);
        const float *dy = g.b + (i64)row * g.out_width * g.ldb + group * 32 + lane;
        each_window<C>(
            rows, g.out_width,
            [&](int x, const float(&a)[3][C], const float(&b)[3][C], const float(&c)[3][C]) ALWAYS {
                float d = dy[(i64)x * g.ldb];
                UNROLL
                for (int r = 0; r < 3; r++)
                    UNROLL
                for (int k = 0; k < C; k++) {
                    sums[(3 * r) * C + k] += d * a[r][k];
                    sums[(3 * r + 1) * C + k] += d * b[r][k];
                    sums[(3 * r + 2) * C + k] += d * c[r][k];
                }
                sums[count - 1] += d;
            });
    }
    SYNC();
    float(*all_sums)[count][32] = (float(*)[count][32])windows_memory;
    UNROLL
    for (int i = 0; i < count; i++)
        all_sums[warp][i][lane] = sums[i];
    SYNC();
    for (int i = THREAD; i < count * 32; i += FIRST_WARPS * 32) {
        int which = i >> 5, unit = group * 32 + (i & 31);
        float sum = all_sums[0][which][i & 31];
        for (int w = 1; w < FIRST_WARPS; w++)
            sum += all_sums[w][which][i & 31];
        if (which == count - 1) {
            if (g.bias)
                g.bias_grad[z * g.part + unit] = sum;
        } else {
            g.y[z * g.part + (i64)unit * g.ldy + which / C * 4 + which % C] = sum;
        }
    }
}

#define FIRST(c)                                                                                   \
    KERNEL(256, 2) hopper_first_forward_##c(const cuda_windows w)                                  \
    {                                                                                              \
        first_forward<c>(w.job);                                                                   \
    }                                                                                              \
    KERNEL(FIRST_WARPS * 32, 1) hopper_first_weights_##c(const cuda_windows w)                     \
    {                                                                                              \
        first_weights<c>(w.job);                                                                   \
    }
FIRST(1)
FIRST(3)
FIRST(4)

#define WINDOWS(n)                                                                                 \
    KERNEL(160, 2) hopper_windows_forward_##n(const cuda_windows w)                                \
    {                                                                                              \
        convolve<FORWARD, n>(w);                                                                   \
    }                                                                                              \
    KERNEL(160, 2) hopper_windows_back_##n(const cuda_windows w)                                   \
    {                                                                                              \
        convolve<BACK, n>(w);                                                                      \
    }                                                                                              \
    KERNEL(COLUMNS *n + 32, 2) hopper_windows_weights_##n(const cuda_windows w)                    \
    {                                                                                              \
        weights<n>(w);                                                                             \
    }
WINDOWS(32)
WINDOWS(64)
