// SPDX-License-Identifier: Apache-2.0
// hopper_windows: convolutions with few channels on Hopper, in tf32 (gemm.cu has the same for older
// GPUs and other sizes).
//
// A block brings the rows of an image that a band of rows of the result needs, once: all cells of
// the windows are read from there. Pixels of a band are counted as they lie in it, with the columns
// to the right of the result that belong to windows only; what is made for those is not kept.
//   FORWARD, BACK  A block keeps all weights in shared memory. An operand of the tensor cores may
//                  begin at any line of a box: swizzling goes by the address.
//   WEIGHTS        Tensor cores take operands of 32 bits from shared memory in lines of k only, but
//                  here k is the pixel. So warps load them as registers.
#include "hopper.cuh"

enum { FORWARD, BACK };
enum { THREADS = 384, GROUPS = THREADS / 128, STAGES = 3, WARPS = 12 };

extern SHARED char windows_memory[]; // up to 1023 bytes to align, then as the kernels say

DEVICE void put_four(u32 to, f4 v)
{
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(v.x), "f"(v.y), "f"(v.z),
                 "f"(v.w)
                 : "memory");
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
    for (int i = THREAD; i < N * pieces; i += THREADS) {
        int n = i / pieces, k = (i - n * pieces) * 4;
        bool here = n < g.units;
        copy16(to + (k >> 5) * (N * 128) + number_at(n, k & 31),
               g.b + (here ? (i64)n * g.ldb + k : 0), here);
    }
    copies_end_group();
    copies_wait<0>();
}

// Going back, k is (cell, unit), and cells come in the opposite order of taps. A thread brings four
// units of one channel.
template <int N> DEVICE void load_back(const cuda_gemm &g, u32 to)
{
    constexpr int some = 12; // at a time, so that loads do not wait for each other
    int all = g.k / 4 * N, units = g.pitch;
    for (int first = THREAD; first < all; first += THREADS * some) {
        f4 v[some];
        UNROLL
        for (int s = 0; s < some; s++) {
            int i = first + THREADS * s, n = i % N, k = i / N * 4, cell = k / units;
            int unit = k - cell * units;
            const float *from = g.b + (i64)unit * g.ldb + (g.taps - 1 - cell) * g.tap_pitch + n;
            v[s] = f4{0, 0, 0, 0};
            if (i < all) {
                if (unit < g.units)
                    v[s].x = from[0];
                if (unit + 1 < g.units)
                    v[s].y = from[g.ldb];
                if (unit + 2 < g.units)
                    v[s].z = from[2 * g.ldb];
                if (unit + 3 < g.units)
                    v[s].w = from[3 * g.ldb];
            }
        }
        UNROLL
        for (int s = 0; s < some; s++) {
            int i = first + THREADS * s, n = i % N, k = i / N * 4;
            if (i < all)
                put_four(to + (k >> 5) * (N * 128) + number_at(n, k & 31), v[s]);
        }
    }
}

// Boxes of 32 channels of the rows that a band needs, each of w.lines lines, with zeros around the
// image.
DEVICE void copy_image(const cuda_windows &w, int number, u32 to, u32 full)
{
    int sample = number / w.bands, top = (number - sample * w.bands) * w.rows;
    for (int i = 0; i < w.chunks; i++)
        copy_box(to + i * w.lines * 128, w.map_a, i * 32, w.start_x, top + w.start_y, sample, full);
}

template <int KIND, int N>
DEVICE void store_pixel(const cuda_gemm &g, const float (&d)[N / 2], int half, i64 r,
                        const f2 *bias)
{
    int column = (THREAD & 3) * 2;
    float *to = g.y + r * g.ldy + column;
    f2 mask[KIND == BACK ? N / 8 : 1];
    if (KIND == BACK && g.mask) {
        const float *from = g.mask + r * g.ldy + column;
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
            v = f2{mask[j].x > 0 ? v.x * g.mask_scale : 0, mask[j].y > 0 ? v.y * g.mask_scale : 0};
        }
        *(f2 *)(to + j * 8) = v;
    }
}

// Shared memory: weights, stages of a band, barriers.
template <int KIND, int N, int CHUNKS> DEVICE void convolve(const cuda_windows &w)
{
    const cuda_gemm &g = w.job;
    int box = w.lines * 128, stage_bytes = CHUNKS * box;
    u32 weights = of_warp((shared_address(windows_memory) + 1023) & ~1023u);
    u32 image = weights + g.k * N * 4, full = image + w.stages * stage_bytes, phase = 0;
    int group = of_warp(THREAD >> 7), wide = g.out_width + 2;
    int bytes = (w.rows + 2) * wide * CHUNKS * 128;
    if (THREAD == 0) {
        for (int i = 0; i < w.stages; i++)
            barrier_init(full + 8 * i, 1);
        barriers_ready();
        for (int i = 0, n = BLOCK; i < w.stages && n < w.all; i++, n += BLOCKS) {
            barrier_expect(full + 8 * i, bytes);
            copy_image(w, n, image + i * stage_bytes, full + 8 * i);
        }
    }
    if (KIND == FORWARD)
        load_forward<N>(g, weights);
    else
        load_back<N>(g, weights);
    f2 bias[KIND == FORWARD ? N / 8 : 1];
    if (KIND == FORWARD)
        UNROLL
    for (int j = 0; j < N / 8; j++)
        bias[j] = g.bias ? *(const f2 *)(g.bias + j * 8 + (THREAD & 3) * 2) : f2{0, 0};
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    SYNC();
    float d[N / 2];
    int stage = 0;
    for (int number = BLOCK; number < w.all; number += BLOCKS) {
        int sample = number / w.bands, top = (number - sample * w.bands) * w.rows;
        int rows = min_of(w.rows, g.out_height - top);
        u32 at_stage = image + stage * stage_bytes;
        barrier_wait(full + 8 * stage, phase);
        for (int tile = group; tile * 64 < rows * wide; tile += GROUPS) {
            u64 a = matrix_at(at_stage + tile * 64 * 128, 16), b = matrix_at(weights, 16);
            GROUP_FENCE();
#pragma unroll 1
            for (int row = 0; row < 3; row++) {
                UNROLL
                for (int k = 0; k < 3 * CHUNKS; k++)
                    UNROLL
                for (int i = 0; i < 4; i++)
                    group_mma_tf32(d, a + k / CHUNKS * 8 + k % CHUNKS * (box / 16) + i * 2,
                                   b + k * (N * 8) + i * 2, row + k + i > 0);
                GROUP_COMMIT();
                group_wait<1>();
                a += wide * 8;
                b += 3 * CHUNKS * (N * 8);
            }
            group_wait<0>(d);
            int at = tile * 64 + (THREAD >> 5 & 3) * 16 + (THREAD >> 2 & 7);
            UNROLL
            for (int half = 0; half < 2; half++, at += 8) {
                int y = at / wide, x = at - y * wide;
                if (y < rows && x < g.out_width)
                    store_pixel<KIND, N>(
                        g, d, half, ((i64)sample * g.out_height + top + y) * g.out_width + x, bias);
            }
        }
        SYNC();
        int next = number + w.stages * (int)BLOCKS;
        if (THREAD == 0 && next < w.all) {
            barrier_expect(full + 8 * stage, bytes);
            copy_image(w, next, at_stage, full + 8 * stage);
        }
        if (++stage == w.stages) {
            stage = 0;
            phase ^= 1;
        }
    }
}

// ---- weights of 3 × 3 cells ----

struct ring {
    u32 full, empty, phase;
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
    ring r = {memory + STAGES * stage_bytes, memory + STAGES * (stage_bytes + 8), 0, 0};
    if (THREAD == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(r.full + 8 * i, 1);
            barrier_init(r.empty + 8 * i, readers);
        }
        barriers_ready();
    }
    return r;
}

// Fills a stage: boxes of the image's band, and of dy's, of w.pixels lines.
DEVICE void copy_band(const cuda_windows &w, int number, u32 to, u32 full)
{
    const cuda_gemm &g = w.job;
    int wide = g.out_width + 2, units = g.ldb / 32;
    int sample = number / w.bands, top = (number - sample * w.bands) * w.rows;
    barrier_expect(full, ((w.rows + 2) * w.chunks + w.rows * units) * wide * 128);
    copy_image(w, number, to, full);
    to += w.chunks * w.lines * 128;
    for (int i = 0; i < units; i++, to += w.pixels * 128)
        copy_box(to, w.map_b, i * 32, 0, top, sample, full);
}

// Lines behind the boxes are read, for pixels that do not count: zeros, in all stages.
DEVICE void clear_lines(const cuda_windows &w, int stage_bytes, u32 memory)
{
    int wide = w.job.out_width + 2, units = w.job.ldb / 32, boxes = w.chunks + units;
    for (int i = THREAD >> 3; i < STAGES * boxes; i += THREADS / 8) {
        int stage = i / boxes, box = i - stage * boxes, of_dy = box - w.chunks;
        u32 at = memory + stage * stage_bytes +
                 (of_dy < 0 ? box * w.lines : w.chunks * w.lines + of_dy * w.pixels) * 128;
        int first = (of_dy < 0 ? w.rows + 2 : w.rows) * wide, end = of_dy < 0 ? w.lines : w.pixels;
        for (int line = first; line < end; line++)
            put_four(at + line * 128 + (THREAD & 7) * 16, f4{0, 0, 0, 0});
    }
}

// Four numbers of a line of a box: 4 g to 4 g + 3.
DEVICE f4 four_of(u32 box, int line, int g)
{
    f4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(box + line * 128 + ((g ^ (line & 7)) << 4))
                 : "memory");
    return v;
}

// A warp's 32 × 32 sums, over 16 pixels: of thread (g, t), tile (i, j) and number c: row
// 4 g + 2 i + c / 2, column 4 (2 t + c % 2) + j.
DEVICE void add_pixels(float (&d)[2][4][4], const f4 (&x)[4], const f4 (&y)[4])
{
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

// Of 16 pixels, those that a thread brings, so that the eight threads whose loads go together have
// them from different banks: lines are swizzled by their number.
DEVICE int pixel_of(int t, int i)
{
    return 2 * t + (i & 1) + (i >> 1) * 8;
}

// A warp has a row of cells, 32 channels and 32 units, and one of `shares` shares of the pixels.
DEVICE void weights(const cuda_windows &w)
{
    const cuda_gemm &g = w.job;
    int wide = g.out_width + 2, units = g.ldb / 32, kinds = 3 * w.chunks * units;
    int stage_bytes = (w.lines * w.chunks + w.pixels * units) * 128;
    u32 memory = (shared_address(windows_memory) + 1023) & ~1023u;
    ring r = ring_at(memory, stage_bytes, WARPS);
    int warp = THREAD >> 5, lane = THREAD & 31, quad = lane >> 2, t = lane & 3;
    clear_lines(w, stage_bytes, memory);
    SYNC();
    int to_copy = BLOCK; // the next band, by the first thread
    if (THREAD == 0)
        for (int i = 0; i < STAGES && to_copy < w.all; i++, to_copy += BLOCKS)
            copy_band(w, to_copy, memory + i * stage_bytes, r.full + 8 * i);
    int share = warp / kinds, shares = WARPS / kinds, kind = warp - share * kinds;
    int unit = kind % units, chunk = kind / units % w.chunks, cell_y = kind / (units * w.chunks);
    u32 x_at = chunk * w.lines * 128, y_at = (w.chunks * w.lines + unit * w.pixels) * 128;
    bool sums_bias = g.bias && chunk == 0 && cell_y == 0;
    float d[3][2][4][4] = {};
    f4 bias = {0, 0, 0, 0};
    for (int number = BLOCK; number < w.all; number += BLOCKS) {
        // The stage before is filled again; by now the others should be done with it too.
        if (THREAD == 0 && number != (int)BLOCK && to_copy < w.all) {
            int stage = r.stage == 0 ? STAGES - 1 : r.stage - 1;
            barrier_wait(r.empty + 8 * stage, r.phase ^ (r.stage == 0));
            copy_band(w, to_copy, memory + stage * stage_bytes, r.full + 8 * stage);
            to_copy += BLOCKS;
        }
        WARP_SYNC();
        barrier_wait(r.full + 8 * r.stage, r.phase);
        u32 at = memory + r.stage * stage_bytes;
        for (int pixel = share * 16; pixel < w.pixels; pixel += shares * 16) {
            f4 x[4], y[4];
            UNROLL
            for (int i = 0; i < 4; i++)
                y[i] = four_of(at + y_at, pixel + pixel_of(t, i), quad);
            UNROLL
            for (int cell = 0; cell < 3; cell++) {
                UNROLL
                for (int i = 0; i < 4; i++)
                    x[i] = four_of(at + x_at, pixel + pixel_of(t, i) + cell_y * wide + cell, quad);
                add_pixels(d[cell], x, y);
            }
            if (sums_bias)
                UNROLL
            for (int i = 0; i < 4; i++)
                ADD_FOUR(bias, y[i]);
        }
        WARP_SYNC();
        if (lane == 0)
            barrier_arrive(r.empty + 8 * r.stage);
        r.next();
    }
    // The other shares hand theirs over; the stages have been read.
    SYNC();
    f4 *sums = (f4 *)(windows_memory + (memory - shared_address(windows_memory)));
    constexpr int fours = 25; // of a thread
    if (share > 0) {
        f4 *to = sums + ((share - 1) * kinds + kind) * fours * 32 + lane;
        UNROLL
        for (int k = 0; k < 24; k++) {
            const float *v = d[k / 8][k / 4 % 2][k % 4];
            to[k * 32] = f4{v[0], v[1], v[2], v[3]};
        }
        to[24 * 32] = bias;
    }
    SYNC();
    if (share > 0)
        return;
    for (int s = 1; s < shares; s++) {
        const f4 *from = sums + ((s - 1) * kinds + kind) * fours * 32 + lane;
        UNROLL
        for (int k = 0; k < 24; k++) {
            float *v = d[k / 8][k / 4 % 2][k % 4];
            f4 more = from[k * 32];
            v[0] += more.x;
            v[1] += more.y;
            v[2] += more.z;
            v[3] += more.w;
        }
        f4 more = from[24 * 32];
        ADD_FOUR(bias, more);
    }
    float *to = g.y + BLOCK * g.part;
    UNROLL
    for (int cell = 0; cell < 3; cell++) {
        int m = ((cell_y * 3 + cell) * w.chunks + chunk) * 32 + quad * 4;
        UNROLL
        for (int j = 0; j < 4; j++)
            UNROLL
        for (int c = 0; c < 2; c++) {
            int n = unit * 32 + 4 * (2 * t + c) + j;
            const float(*v)[4][4] = d[cell];
            if (n < g.units)
                *(f4 *)(to + (i64)n * g.ldy + m) =
                    f4{v[0][j][c], v[0][j][2 + c], v[1][j][c], v[1][j][2 + c]};
        }
    }
    if (sums_bias) {
        UNROLL
        for (int mask = 1; mask < 4; mask *= 2) {
            f4 more = {shuffle_xor(bias.x, mask), shuffle_xor(bias.y, mask),
                       shuffle_xor(bias.z, mask), shuffle_xor(bias.w, mask)};
            ADD_FOUR(bias, more);
        }
        int n = unit * 32 + quad * 4;
        const float each[4] = {bias.x, bias.y, bias.z, bias.w};
        UNROLL
        for (int k = 0; k < 4; k++)
            if (t == k && n + k < g.units)
                g.bias_grad[BLOCK * g.part + n + k] = each[k];
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
    constexpr int count = 9 * C + 1;             // sums of a unit: the weights', and the bias's
    constexpr int some_ahead = C == 1 ? 13 : 11; // of dy, read before they are used
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
        float ahead[some_ahead];
        for (int x0 = 0; x0 < g.out_width; x0 += some_ahead) {
            int some = min_of(some_ahead, g.out_width - x0);
            UNROLL
            for (int k = 0; k < some_ahead; k++)
                ahead[k] = k < some ? dy[(i64)(x0 + k) * g.ldb] : 0;
            float window[3][3][C]; // column, row, channel
            UNROLL
            for (int k = 0; k < 2; k++)
                UNROLL
            for (int r = 0; r < 3; r++)
                channels_of<C>(window[k][r], rows + r * FIRST_WIDTH + x0 + k);
            // Behind the row's end dy is taken for zero.
            UNROLL
            for (int x = 0; x < some_ahead; x++) {
                int column = min_of(x0 + x + 2, FIRST_WIDTH - 1);
                UNROLL
                for (int r = 0; r < 3; r++)
                    channels_of<C>(window[(x + 2) % 3][r], rows + r * FIRST_WIDTH + column);
                UNROLL
                for (int t = 0; t < 9; t++)
                    UNROLL
                for (int k = 0; k < C; k++)
                    sums[t * C + k] += ahead[x] * window[(x + t % 3) % 3][t / 3][k];
                sums[count - 1] += ahead[x];
            }
        }
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

#define BANDS(name, kind, n)                                                                       \
    KERNEL(THREADS, 1) name(const cuda_windows w)                                                  \
    {                                                                                              \
        if (w.chunks == 1)                                                                         \
            convolve<kind, n, 1>(w);                                                               \
        else                                                                                       \
            convolve<kind, n, 2>(w);                                                               \
    }
BANDS(hopper_windows_forward_32, FORWARD, 32)
BANDS(hopper_windows_forward_64, FORWARD, 64)
BANDS(hopper_windows_back_32, BACK, 32)
BANDS(hopper_windows_back_64, BACK, 64)
KERNEL(THREADS, 1) hopper_windows_weights(const cuda_windows w)
{
    weights(w);
}
