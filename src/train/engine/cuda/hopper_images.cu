// SPDX-License-Identifier: Apache-2.0
// hopper_images: convolutions of images in bf16 on Hopper, as products of matrices (image_conv.cu
// has the same for older GPUs).
//
// A block makes one tile. Its last warp copies boxes of 64 in k through a ring of stages in shared
// memory; each other warp group multiplies 64 rows. A box of windows is one cell of consecutive
// pixels' windows, for 64 channels: the copy engine walks through rows and samples, and fills in
// zeros outside the image and behind the last channel.
//   FORWARD  y (pixels, units) = windows of x × weights^T; sums of each column for the batch norm
//   BACK     dx (pixels of x, channels) = windows of dy × weights. With a stride, pixels of x are
//   in
//            classes by what cells of the kernel reach them.
//   WEIGHTS  dw (units, taps × channels) = dy^T × windows of x, in parts of the pixels; columns are
//            in blocks of 64 channels of a tap
#include "hopper.cuh"

enum { FORWARD, BACK, WEIGHTS };

extern SHARED char conv_memory[]; // up to 1023 bytes to align, the stages, the barriers

template <int KIND, int GROUPS, int BN, int STAGES> struct form {
    static constexpr int kind = KIND, groups = GROUPS, bm = 64 * GROUPS, bn = BN, stages = STAGES;
    static constexpr bool ta = KIND == WEIGHTS, tb = KIND != FORWARD; // k is not contiguous
    static constexpr int blocks = (BN + 63) / 64;                     // of columns, if tb
    static constexpr int a_bytes = bm * 128, b_bytes = tb ? blocks * 8192 : BN * 128;
    static constexpr int stage = a_bytes + b_bytes, threads = GROUPS * 128; // that multiply
    static constexpr int sums = BN / 2;                                     // of a thread
};

template <int THREADS> DEVICE void sync_groups(void)
{
    asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
}

// ---- copies ----

struct ring {
    u32 memory, full, empty, phase;
    int stage;

    template <class F> METHOD void next(void)
    {
        if (++stage == F::stages) {
            stage = 0;
            phase ^= 1;
        }
    }
    // Waits until a stage may be filled, and lets its barrier wait for the copies.
    template <class F> METHOD void begin(void)
    {
        barrier_wait(empty + 8 * stage, phase ^ 1);
        barrier_expect(full + 8 * stage, F::stage);
    }
};

// A class as registers: arguments with an index in a loop would be copied to local memory.
struct chosen {
    const void *map;
    int m, m0, n0, height, width, y, x, start_y, start_x, cells_h, cells_w, tap;

    METHOD void choose(const cuda_image_conv &g, int bm, int bn)
    {
        int first = 0;
        UNROLL
        for (int i = 0; i < CUDA_CLASSES; i++)
            if (i == 0 || (i < g.classes && (int)BLOCK >= g.of[i].first)) {
                map = g.of[i].map;
                first = g.of[i].first;
                m = g.of[i].m;
                height = g.of[i].height;
                width = g.of[i].width;
                y = g.of[i].y;
                x = g.of[i].x;
                start_y = g.of[i].start_y;
                start_x = g.of[i].start_x;
                cells_h = g.of[i].cells_h;
                cells_w = g.of[i].cells_w;
                tap = g.of[i].tap;
            }
        int tile = (int)BLOCK - first, tile_m = tile / g.tiles_n;
        m0 = tile_m * bm;
        n0 = (tile - tile_m * g.tiles_n) * bn;
    }
};

template <class F> DEVICE void copy_windows(const cuda_image_conv &g, const chosen &c, ring r)
{
    int pixels = c.height * c.width, sample = c.m0 / pixels, pixel = c.m0 - sample * pixels;
    int py = pixel / c.width, px = pixel - py * c.width;
    int step = F::kind == FORWARD ? g.stride : 1;
    int y = py * step + c.start_y, x = px * step + c.start_x, chunks = g.chunks;
    for (int cy = 0; cy < c.cells_h; cy++)
        for (int cx = 0; cx < c.cells_w; cx++) {
            int tap = c.tap + cy * g.tap_down + cx * g.tap_right;
            for (int k = 0; k < chunks; k++) {
                r.begin<F>();
                u32 a = r.memory + r.stage * F::stage, b = a + F::a_bytes,
                    full = r.full + 8 * r.stage;
                copy_cells(a, c.map, k * 64, x, y, sample, cx, cy, full);
                if (F::kind == FORWARD)
                    copy_box(b, g.map_b, k * 64, tap, c.n0, full);
                else
                    UNROLL
                for (int i = 0; i < F::blocks; i++)
                    copy_box(b + i * 8192, g.map_b, c.n0 + i * 64, tap, k * 64, full);
                r.next<F>();
            }
        }
}

template <class F>
DEVICE void copy_columns(const cuda_image_conv &g, int tile_m, int tile_n, int k0, int k_end,
                         ring r)
{
    int channel[F::blocks], cell_x[F::blocks], cell_y[F::blocks];
    UNROLL
    for (int i = 0; i < F::blocks; i++) {
        int block = min_of(tile_n * F::blocks + i, g.taps * g.chunks - 1), tap = block / g.chunks;
        channel[i] = (block - tap * g.chunks) * 64;
        cell_y[i] = tap / g.kernel_w;
        cell_x[i] = tap - cell_y[i] * g.kernel_w;
    }
    int pixels = g.out_height * g.out_width, sample = k0 / pixels, pixel = k0 - sample * pixels;
    int py = pixel / g.out_width, px = pixel - py * g.out_width;
    for (int k = k0; k < k_end; k += 64) {
        r.begin<F>();
        u32 a = r.memory + r.stage * F::stage, b = a + F::a_bytes, full = r.full + 8 * r.stage;
        UNROLL
        for (int i = 0; i < F::groups; i++)
            copy_box(a + i * 8192, g.map_a, tile_m * F::bm + i * 64, k, full);
        UNROLL
        for (int i = 0; i < F::blocks; i++)
            copy_cells(b + i * 8192, g.map_b, channel[i], px * g.stride - g.left,
                       py * g.stride - g.top, sample, cell_x[i], cell_y[i], full);
        r.next<F>();
        for (px += 64; px >= g.out_width; px -= g.out_width)
            if (++py == g.out_height) {
                py = 0;
                sample++;
            }
    }
}

// ---- products ----

template <class F> DEVICE void multiply(float (&d)[F::sums], ring r, int steps)
{
    u32 a_at = r.memory + of_warp(THREAD >> 7) * 8192, b_at = r.memory + F::a_bytes;
    int last = -1;
    for (int s = 0; s < steps; s++) {
        barrier_wait(r.full + 8 * r.stage, r.phase);
        u64 a = matrix_at(a_at + r.stage * F::stage, 8192),
            b = matrix_at(b_at + r.stage * F::stage, 8192);
        GROUP_FENCE();
        UNROLL
        for (int i = 0; i < 4; i++)
            group_mma<F::ta, F::tb>(d, a + i * (F::ta ? 128 : 2), b + i * (F::tb ? 128 : 2),
                                    s > 0 || i);
        GROUP_COMMIT();
        group_wait<1>(); // the stage before has been read
        if (last >= 0 && (THREAD & 127) == 0)
            barrier_arrive(r.empty + 8 * last);
        last = r.stage;
        r.next<F>();
    }
    group_wait<0>(d);
}

// ---- results ----

// What follows the stages when these are free: the tile as bf16, where its rows go, sums.
template <class F> struct staged {
    static constexpr int pitch = F::bn * 2 + 16; // bytes; no bank conflicts
    static constexpr int pairs = F::bn / 2, segments = F::threads / pairs;
    static constexpr int per = (F::bm + segments - 1) / segments;
    static constexpr int rows_at = F::bm * pitch, sums_at = rows_at + F::bm * 4;
    static_assert(sums_at + segments * 2 * F::bn * 4 <= F::stages * F::stage, "in the stages");
};

// Sums and sums of squares of the tile's columns, over the samples of the batch, of the rounded
// values that are stored.
template <class F> DEVICE void sum_columns(const cuda_image_conv &g, const chosen &c, char *tile)
{
    using S = staged<F>;
    int thread = THREAD, segment = thread / S::pairs, pair = thread - segment * S::pairs;
    int rows = min_of(F::bm, g.now->count * g.pixels - c.m0);
    float(*part)[2][F::bn] = (float(*)[2][F::bn])(tile + S::sums_at);
    if (segment < S::segments) {
        float s0 = 0, s1 = 0, q0 = 0, q1 = 0;
        int from = segment * S::per, to = min_of(rows, from + S::per);
        for (int row = from; row < to; row++) {
            u32 v = *(const u32 *)(tile + row * S::pitch + pair * 4);
            s0 += low_of(v);
            q0 += low_of(v) * low_of(v);
            s1 += high_of(v);
            q1 += high_of(v) * high_of(v);
        }
        *(f2 *)&part[segment][0][pair * 2] = f2{s0, s1};
        *(f2 *)&part[segment][1][pair * 2] = f2{q0, q1};
    }
    sync_groups<F::threads>();
    int tile_m = c.m0 / F::bm;
    for (int i = thread; i < 2 * F::bn; i += F::threads) {
        int which = i / F::bn, n = i - which * F::bn;
        float sum = part[0][which][n];
        for (int k = 1; k < S::segments; k++)
            sum += part[k][which][n];
        if (c.n0 + n < g.n)
            g.sums[((i64)tile_m * 2 + which) * g.n + c.n0 + n] = sum;
    }
}

DEVICE u32 add_pairs(u32 a, u32 b)
{
    return bf16_pair(low_of(a) + low_of(b), high_of(a) + high_of(b));
}

// The tile as bf16, row by row, 16 bytes at a time.
template <class F>
DEVICE void store_tile(const cuda_image_conv &g, const chosen &c, const float (&d)[F::sums],
                       char *tile)
{
    using S = staged<F>;
    constexpr int pieces = F::bn / 8;
    int thread = THREAD, *rows = (int *)(tile + S::rows_at);
    sync_groups<F::threads>(); // all stages have been read
    if (thread < F::bm) {
        int m = c.m0 + thread, at = -1;
        if (m < c.m && g.every == 1)
            at = m;
        else if (m < c.m) {
            int pixels = c.height * c.width, sample = m / pixels, pixel = m - sample * pixels;
            int py = pixel / c.width, px = pixel - py * c.width;
            at = (sample * g.out_height + c.y + py * g.every) * g.out_width + c.x + px * g.every;
        }
        rows[thread] = at;
    }
    char *to = tile + ((thread >> 5) * 16 + (thread >> 2 & 7)) * S::pitch + (thread & 3) * 4;
    UNROLL
    for (int j = 0; j < F::bn / 8; j++) {
        *(u32 *)(to + j * 16) = bf16_pair(d[4 * j], d[4 * j + 1]);
        *(u32 *)(to + j * 16 + 8 * S::pitch) = bf16_pair(d[4 * j + 2], d[4 * j + 3]);
    }
    sync_groups<F::threads>();
    // Some at a time: what is added to is read before the first store.
    constexpr int all = pieces / 2, some = all % 4 == 0 ? 4 : 3;
    static_assert(all % some == 0 && all * F::threads == F::bm * pieces, "every piece");
    int left = g.n - c.n0;
    UNROLL
    for (int i = 0; i < all; i += some) {
        u4 v[some], old[some], *at[some];
        UNROLL
        for (int k = 0; k < some; k++) {
            int piece = thread + (i + k) * F::threads, m = piece / pieces, row = rows[m];
            int n = (piece - m * pieces) * 8;
            at[k] =
                row < 0 || n >= left ? nullptr : (u4 *)((u16 *)g.y + (i64)row * g.ldy + c.n0 + n);
            v[k] = *(const u4 *)(tile + m * S::pitch + n * 2);
            if (g.add && at[k])
                old[k] = *at[k];
        }
        UNROLL
        for (int k = 0; k < some; k++) {
            if (g.add)
                v[k] = u4{add_pairs(v[k].x, old[k].x), add_pairs(v[k].y, old[k].y),
                          add_pairs(v[k].z, old[k].z), add_pairs(v[k].w, old[k].w)};
            if (at[k])
                *at[k] = v[k];
        }
    }
}

template <class F>
DEVICE void store_weights(const cuda_image_conv &g, const float (&d)[F::sums], int tile_m,
                          int tile_n, int z)
{
    int thread = THREAD, quad = (thread & 3) * 2;
    int row = tile_m * F::bm + (thread >> 5) * 16 + (thread >> 2 & 7);
    float *y = (float *)g.y + z * g.part + quad;
    UNROLL
    for (int i = 0; i < F::blocks; i++) {
        int block = tile_n * F::blocks + i, tap = block / g.chunks;
        int channel = (block - tap * g.chunks) * 64, left = tap < g.taps ? g.depth - channel : 0;
        UNROLL
        for (int half = 0; half < 2; half++) {
            int r = row + 8 * half;
            float *to = y + (i64)r * g.ldy + tap * g.depth + channel;
            UNROLL
            for (int j = 0; j < 8; j++)
                if (r < g.units && j * 8 < left)
                    *(f2 *)(to + j * 8) =
                        f2{d[32 * i + 4 * j + 2 * half], d[32 * i + 4 * j + 2 * half + 1]};
        }
    }
}

template <class F> DEVICE void convolve(const cuda_image_conv &g)
{
    u32 base = shared_address(conv_memory), memory = (base + 1023) & ~1023u;
    ring r = {memory, memory + F::stages * F::stage, memory + F::stages * F::stage + F::stages * 8,
              0, 0};
    if (THREAD == 0) {
        for (int i = 0; i < F::stages; i++) {
            barrier_init(r.full + 8 * i, 1);
            barrier_init(r.empty + 8 * i, F::groups);
        }
        barriers_ready();
    }
    SYNC();
    if constexpr (F::kind == WEIGHTS) {
        int tile_n = BLOCK % g.tiles_n, rest = BLOCK / g.tiles_n;
        int tile_m = rest % g.tiles_m, z = rest / g.tiles_m;
        int k0 = z * g.per_part, k_end = min_of(g.k, k0 + g.per_part);
        if (THREAD >= F::threads) {
            if (THREAD == F::threads)
                copy_columns<F>(g, tile_m, tile_n, k0, k_end, r);
            return;
        }
        float d[F::sums];
        multiply<F>(d, r, (k_end - k0 + 63) / 64);
        store_weights<F>(g, d, tile_m, tile_n, z);
    } else {
        chosen c;
        c.choose(g, F::bm, F::bn);
        if (THREAD >= F::threads) {
            if (THREAD == F::threads)
                copy_windows<F>(g, c, r);
            return;
        }
        float d[F::sums];
        multiply<F>(d, r, c.cells_h * c.cells_w * g.chunks);
        char *tile = conv_memory + (memory - base);
        store_tile<F>(g, c, d, tile);
        if (F::kind == FORWARD && g.sums)
            sum_columns<F>(g, c, tile);
    }
}

#define CONV(name, kind, groups, bn, stages, blocks)                                               \
    KERNEL(groups * 128 + 32, blocks) name(const cuda_image_conv g)                                \
    {                                                                                              \
        convolve<form<kind, groups, bn, stages>>(g);                                               \
    }

// The host has these shapes too (plan/image_conv.c).
CONV(hopper_forward_256, FORWARD, 2, 256, 4, 1)
CONV(hopper_forward_192, FORWARD, 2, 192, 4, 1)
CONV(hopper_forward_128, FORWARD, 2, 128, 3, 2)
CONV(hopper_forward_96, FORWARD, 2, 96, 3, 2)
CONV(hopper_forward_64, FORWARD, 2, 64, 4, 2)
CONV(hopper_forward_few, FORWARD, 1, 64, 4, 3)
CONV(hopper_back_256, BACK, 2, 256, 4, 1)
CONV(hopper_back_192, BACK, 2, 192, 4, 1)
CONV(hopper_back_128, BACK, 2, 128, 3, 2)
CONV(hopper_back_96, BACK, 2, 96, 3, 2)
CONV(hopper_back_64, BACK, 2, 64, 4, 2)
CONV(hopper_back_few, BACK, 1, 64, 4, 3)
CONV(hopper_weights_256, WEIGHTS, 2, 256, 4, 1)
CONV(hopper_weights_128, WEIGHTS, 2, 128, 3, 2)
CONV(hopper_weights_64, WEIGHTS, 1, 128, 4, 2)
