// SPDX-License-Identifier: Apache-2.0
// image_conv: convolutions of images in bf16, as products of matrices.
//
// A block computes a tile of the result in slices of 64 k, copied ahead to shared memory 16 bytes
// at a time: eight channels of a pixel, or eight weights. A tile has the layout of global memory,
// lines of k or lines across it, with its pieces of 16 bytes swizzled by the line's number so that
// eight lines have no bank conflicts. Convolutions are implicit: a bit for each tap of a pixel's
// window tells whether it is inside the image.
//   FORWARD  y (pixels, units) = windows of x × weights^T; sums of each column for the batch norm
//   BACK     dx (pixels of x, channels) = windows of dy × weights
//   WEIGHTS  dw (units, taps × channels) = dy^T × windows of x, in parts of the pixels
#include "dev.cuh"

enum { FORWARD, BACK, WEIGHTS };

extern SHARED __attribute__((aligned(128))) unsigned char image_memory[];

DEVICE void load_matrices(u32 *to, u32 from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from));
}

DEVICE void load_matrices_across(u32 *to, u32 from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from));
}

// Where piece `piece` of a line of PIECES lies.
template <int PIECES> DEVICE int piece_at(int line, int piece)
{
    int turn = PIECES % 8 == 0 ? line & 7 : line >> 1 & 3;
    return (line * PIECES + (piece ^ turn)) * 16;
}

template <int KIND, int BM, int BN, int WM, int WN, int STAGES> struct form {
    static constexpr int bm = BM, bn = BN, wm = WM, wn = WN, stages = STAGES;
    static constexpr bool a_rows = KIND != WEIGHTS, b_rows = KIND == FORWARD; // lines of k
    static constexpr int a_bytes = BM * 128, b_bytes = BN * 128, stage = a_bytes + b_bytes;
    static constexpr int mt = BM / WM / 16, nt = BN / WN / 8; // tiles of 16 × 8 of a warp
    static_assert(WM * WN == 8 && nt % 2 == 0 && mt > 0, "eight warps");
};

// ---- copies to shared memory ----

// Windows as lines: a thread copies one piece of the k of several pixels.
template <int LINES> struct window_lines {
    const u16 *image;
    const int *taps; // their offsets
    int tap, channel, tap_count, depth;
    int base[LINES];
    u32 inside[LINES];

    template <int KIND> METHOD void begin(const cuda_image_conv &g, int m0, const int *taps_)
    {
        int k = (THREAD & 7) * 8, pixels = g.out_height * g.out_width;
        image = g.a;
        taps = taps_;
        depth = g.depth;
        tap_count = g.taps;
        tap = k / depth;
        channel = k - tap * depth;
        UNROLL
        for (int i = 0; i < LINES; i++) {
            int line = m0 + (int)(THREAD >> 3) + 32 * i;
            int sample = line / pixels, pixel = line - sample * pixels;
            int py = pixel / g.out_width, px = pixel - py * g.out_width;
            int y0 = KIND == BACK ? py + g.top : py * g.stride - g.top;
            int x0 = KIND == BACK ? px + g.left : px * g.stride - g.left;
            int fy = KIND == BACK ? y0 / g.stride : y0, fx = KIND == BACK ? x0 / g.stride : x0;
            base[i] = ((sample * g.height + fy) * g.width + fx) * g.pitch;
            // Going back with a stride, taps that fall between the windows are outside too.
            u32 columns = 0, all = 0;
            for (int kx = 0; kx < g.kernel_w; kx++) {
                int cx = KIND == BACK ? x0 - kx : x0 + kx;
                bool met = cx >= 0 && (KIND != BACK || g.stride == 1 || cx % g.stride == 0);
                columns |= (u32)(met && (KIND == BACK ? cx / g.stride : cx) < g.width) << kx;
            }
            for (int n = 0, ky = 0; n < g.taps && line < g.m; n += g.kernel_w, ky++) {
                int cy = KIND == BACK ? y0 - ky : y0 + ky;
                bool met = cy >= 0 && (KIND != BACK || g.stride == 1 || cy % g.stride == 0);
                all |= met && (KIND == BACK ? cy / g.stride : cy) < g.height ? columns << n : 0;
            }
            inside[i] = all;
        }
    }

    METHOD void load(u32 to)
    {
        bool there = tap < tap_count;
        int offset = (there ? taps[tap] : 0) + channel;
        UNROLL
        for (int i = 0; i < LINES; i++) {
            bool here = there && (inside[i] >> tap & 1);
            copy16(to + piece_at<8>(THREAD >> 3, THREAD & 7) + i * 32 * 128,
                   image + (here ? base[i] + offset : 0), here);
        }
        channel += 64;
        while (channel >= depth) {
            channel -= depth;
            tap++;
        }
    }
};

// Windows across: a thread copies the same channels of the same tap for several pixels.
template <int BN> struct window_columns {
    static constexpr int pieces = BN / 8, step = 256 / pieces, lines = 64 / step;
    const u16 *image;
    int x[lines], y[lines], sample[lines];
    int width, height, out_width, out_height, pitch, stride, jump_x, jump_y, low_x, low_y, left;
    bool there;

    METHOD void begin(const cuda_image_conv &g, int n0, int k0, int k_end)
    {
        int n = n0 + (int)(THREAD % pieces) * 8, tap = n / g.depth, channel = n - tap * g.depth;
        int ky = tap / g.kernel_w, kx = tap - ky * g.kernel_w, pixels = g.out_height * g.out_width;
        there = tap < g.taps;
        image = g.b + channel;
        width = g.width;
        height = g.height;
        out_width = g.out_width;
        out_height = g.out_height;
        pitch = g.pitch;
        stride = g.stride;
        low_y = ky - g.top;
        low_x = kx - g.left;
        jump_y = 64 / out_width;
        jump_x = 64 - jump_y * out_width;
        left = k_end - k0 - (int)(THREAD / pieces);
        UNROLL
        for (int i = 0; i < lines; i++) {
            int line = k0 + (int)(THREAD / pieces) + step * i;
            sample[i] = line / pixels;
            int pixel = line - sample[i] * pixels;
            y[i] = pixel / out_width;
            x[i] = pixel - y[i] * out_width;
        }
    }

    METHOD void load(u32 to)
    {
        UNROLL
        for (int i = 0; i < lines; i++) {
            int sx = x[i] * stride + low_x, sy = y[i] * stride + low_y;
            bool here = there && (u32)sx < (u32)width && (u32)sy < (u32)height && step * i < left;
            int at = here ? ((sample[i] * height + sy) * width + sx) * pitch : 0;
            copy16(to + piece_at<pieces>(THREAD / pieces + step * i, THREAD % pieces), image + at,
                   here);
            x[i] += jump_x;
            y[i] += jump_y;
            if (x[i] >= out_width) {
                x[i] -= out_width;
                y[i]++;
            }
            while (y[i] >= out_height) {
                y[i] -= out_height;
                sample[i]++;
            }
        }
        left -= 64;
    }
};

// Weights as lines of k, one per unit.
template <int LINES> struct weight_lines {
    const u16 *from;
    i64 next;
    int k, k_end, left;

    METHOD void begin(const cuda_image_conv &g, int n0)
    {
        int n = n0 + (int)(THREAD >> 3);
        k = (THREAD & 7) * 8;
        k_end = g.k;
        left = g.units - n;
        from = g.b + (i64)(n < g.units ? n : 0) * g.ldb + k;
        next = (i64)32 * g.ldb;
    }

    METHOD void load(u32 to)
    {
        UNROLL
        for (int i = 0; i < LINES; i++) {
            bool here = k < k_end && 32 * i < left;
            copy16(to + piece_at<8>(THREAD >> 3, THREAD & 7) + i * 32 * 128,
                   here ? from + i * next : from, here);
        }
        from += k + 64 < k_end ? 64 : 0;
        k += 64;
    }
};

// Weights across: k is (tap, unit), a line has the channels of one.
template <int BN> struct weight_columns {
    static constexpr int pieces = BN / 8, lines = pieces / 4;
    const u16 *from;
    int tap[lines], unit[lines], units, depth, tap_count, ldb, tap_pitch, n0, n;

    METHOD void begin(const cuda_image_conv &g, int n0_)
    {
        from = g.b;
        units = g.units;
        depth = g.depth;
        tap_count = g.taps;
        ldb = g.ldb;
        tap_pitch = g.tap_pitch;
        n0 = n0_;
        n = g.n;
        UNROLL
        for (int i = 0; i < lines; i++) {
            int line = (int)(THREAD + 256 * i) / pieces;
            tap[i] = line / depth;
            unit[i] = line - tap[i] * depth;
        }
    }

    METHOD void load(u32 to)
    {
        UNROLL
        for (int i = 0; i < lines; i++) {
            int at = THREAD + 256 * i, line = at / pieces, piece = at - line * pieces;
            int column = n0 + piece * 8;
            bool here = tap[i] < tap_count && unit[i] < units && column < n;
            copy16(to + piece_at<pieces>(line, piece),
                   from + (here ? unit[i] * ldb + tap[i] * tap_pitch + column : 0), here);
            unit[i] += 64;
            while (unit[i] >= depth) {
                unit[i] -= depth;
                tap[i]++;
            }
        }
    }
};

// Pixels as lines across k: the gradient of the result.
template <int BM> struct pixel_columns {
    static constexpr int pieces = BM / 8, lines = pieces / 4;
    const u16 *from;
    int pitch, k, k_end, m0, m;

    METHOD void begin(const cuda_image_conv &g, int m0_, int k0, int k_end_)
    {
        from = g.a;
        pitch = g.units_pitch;
        k = k0;
        k_end = k_end_;
        m0 = m0_;
        m = g.m;
    }

    METHOD void load(u32 to)
    {
        UNROLL
        for (int i = 0; i < lines; i++) {
            int at = THREAD + 256 * i, line = at / pieces, piece = at - line * pieces;
            int column = m0 + piece * 8;
            bool here = k + line < k_end && column < m;
            copy16(to + piece_at<pieces>(line, piece),
                   from + (here ? (i64)(k + line) * pitch + column : 0), here);
        }
        k += 64;
    }
};

// ---- products ----

template <class F> struct tile {
    float c[F::mt][F::nt][4];
    u32 a_at[F::a_rows ? 4 : F::mt], b_at[F::b_rows ? 4 : F::nt / 2]; // in a stage

    METHOD void begin(int m0, int n0)
    {
        int lane = THREAD & 31;
        UNROLL
        for (int i = 0; i < F::mt; i++)
            UNROLL
        for (int j = 0; j < F::nt; j++)
            UNROLL
        for (int r = 0; r < 4; r++)
            c[i][j][r] = 0;
        if constexpr (F::a_rows) {
            UNROLL
            for (int q = 0; q < 4; q++)
                a_at[q] = piece_at<8>(m0 + (lane & 15), 2 * q + (lane >> 4));
        } else {
            UNROLL
            for (int i = 0; i < F::mt; i++)
                a_at[i] = piece_at<F::bm / 8>((lane & 7) + (lane >> 4 << 3),
                                              m0 / 8 + 2 * i + (lane >> 3 & 1));
        }
        if constexpr (F::b_rows) {
            UNROLL
            for (int q = 0; q < 4; q++)
                b_at[q] = F::a_bytes +
                          piece_at<8>(n0 + (lane & 7) + (lane >> 4 << 3), 2 * q + (lane >> 3 & 1));
        } else {
            UNROLL
            for (int j = 0; j < F::nt / 2; j++)
                b_at[j] = F::a_bytes + piece_at<F::bn / 8>((lane & 7) + (lane >> 3 & 1) * 8,
                                                           n0 / 8 + 2 * j + (lane >> 4));
        }
    }

    METHOD void add(u32 stage)
    {
        UNROLL
        for (int q = 0; q < 4; q++) {
            u32 a[F::mt][4], b[F::nt / 2][4];
            UNROLL
            for (int i = 0; i < F::mt; i++)
                if constexpr (F::a_rows)
                    load_matrices(a[i], stage + a_at[q] + i * 16 * 128);
                else
                    load_matrices_across(a[i], stage + a_at[i] + q * 16 * F::bm * 2);
            UNROLL
            for (int j = 0; j < F::nt / 2; j++)
                if constexpr (F::b_rows)
                    load_matrices(b[j], stage + b_at[q] + j * 16 * 128);
                else
                    load_matrices_across(b[j], stage + b_at[j] + q * 16 * F::bn * 2);
            UNROLL
            for (int i = 0; i < F::mt; i++)
                UNROLL
            for (int j = 0; j < F::nt; j++)
                mma_bf16(c[i][j], a[i], b[j / 2][2 * (j & 1)], b[j / 2][2 * (j & 1) + 1]);
        }
    }
};

// Sums and sums of squares of the tile's columns, over the samples of the batch, of the rounded
// values that are stored.
template <class F>
DEVICE void sum_columns(const cuda_image_conv &g, const u32 (&packed)[F::mt][F::nt][2], int tile_m,
                        int m0, int n0, int wm, int wn)
{
    float(*part)[2][F::bn] = (float(*)[2][F::bn])(image_memory + F::bm * (F::bn + 8) * 2);
    int lane = THREAD & 31, lg = lane >> 2, lt = lane & 3, end = g.now->count * g.pixels;
    UNROLL
    for (int j = 0; j < F::nt; j++) {
        float s[2] = {0, 0}, q[2] = {0, 0};
        UNROLL
        for (int i = 0; i < F::mt; i++)
            UNROLL
        for (int r = 0; r < 2; r++) {
            int m = m0 + wm * (F::bm / F::wm) + 16 * i + 8 * r + lg;
            float low = m < end ? low_of(packed[i][j][r]) : 0,
                  high = m < end ? high_of(packed[i][j][r]) : 0;
            s[0] += low;
            q[0] += low * low;
            s[1] += high;
            q[1] += high * high;
        }
        UNROLL
        for (int r = 0; r < 2; r++) {
            UNROLL
            for (int k = 4; k < 32; k <<= 1) {
                s[r] += shuffle_xor(s[r], k);
                q[r] += shuffle_xor(q[r], k);
            }
            int n = wn * (F::bn / F::wn) + 8 * j + 2 * lt + r;
            if (lg == 0) {
                part[wm][0][n] = s[r];
                part[wm][1][n] = q[r];
            }
        }
    }
    SYNC();
    for (int i = THREAD; i < 2 * F::bn; i += 256) {
        int which = i / F::bn, n = i - which * F::bn;
        float sum = part[0][which][n];
        UNROLL
        for (int w = 1; w < F::wm; w++)
            sum += part[w][which][n];
        if (n0 + n < g.n)
            g.sums[((i64)tile_m * 2 + which) * g.n + n0 + n] = sum;
    }
}

// The tile as bf16, row by row, 16 bytes at a time.
template <class F>
DEVICE void store_tile(const cuda_image_conv &g, const u32 (&packed)[F::mt][F::nt][2], int m0,
                       int n0, int wm, int wn)
{
    constexpr int pitch = F::bn + 8, pieces = F::bn / 8;
    u16 *lines = (u16 *)image_memory;
    int lane = THREAD & 31, lg = lane >> 2, lt = lane & 3;
    UNROLL
    for (int i = 0; i < F::mt; i++)
        UNROLL
    for (int j = 0; j < F::nt; j++)
        UNROLL
    for (int r = 0; r < 2; r++) {
        int m = wm * (F::bm / F::wm) + 16 * i + 8 * r + lg,
            n = wn * (F::bn / F::wn) + 8 * j + 2 * lt;
        *(u32 *)(lines + m * pitch + n) = packed[i][j][r];
    }
    SYNC();
    for (int i = THREAD; i < F::bm * pieces; i += 256) {
        int m = i / pieces, n = (i - m * pieces) * 8;
        if (m0 + m >= g.m || n0 + n >= g.n)
            continue;
        u4 v = *(const u4 *)(lines + m * pitch + n);
        u4 *to = (u4 *)((u16 *)g.y + (i64)(m0 + m) * g.ldy + n0 + n);
        if (g.add) {
            u4 old = *to;
            v.x = bf16_pair(low_of(v.x) + low_of(old.x), high_of(v.x) + high_of(old.x));
            v.y = bf16_pair(low_of(v.y) + low_of(old.y), high_of(v.y) + high_of(old.y));
            v.z = bf16_pair(low_of(v.z) + low_of(old.z), high_of(v.z) + high_of(old.z));
            v.w = bf16_pair(low_of(v.w) + low_of(old.w), high_of(v.w) + high_of(old.w));
        }
        *to = v;
    }
}

template <class F>
DEVICE void store_weights(const cuda_image_conv &g, const tile<F> &sums, int z, int m0, int n0)
{
    int lane = THREAD & 31, lg = lane >> 2, lt = lane & 3;
    float *y = (float *)g.y + z * g.part;
    UNROLL
    for (int i = 0; i < F::mt; i++)
        UNROLL
    for (int r = 0; r < 2; r++) {
        int m = m0 + 16 * i + 8 * r + lg;
        UNROLL
        for (int j = 0; j < F::nt; j++) {
            int n = n0 + 8 * j + 2 * lt;
            f2 v = {sums.c[i][j][2 * r], sums.c[i][j][2 * r + 1]};
            if (m < g.units && n < g.n)
                *(f2 *)(y + (i64)m * g.ldy + n) = v;
        }
    }
}

template <class F, class A, class B> DEVICE void add_slices(tile<F> &sums, A &a, B &b, int slices)
{
    u32 base = shared_address(image_memory);
    UNROLL
    for (int s = 0; s < F::stages - 1; s++) {
        if (s < slices) {
            a.load(base + s * F::stage);
            b.load(base + s * F::stage + F::a_bytes);
        }
        copies_end_group();
    }
    u32 stage = base, next = base + (F::stages - 1) * F::stage, end = base + F::stages * F::stage;
    for (int s = 0; s < slices; s++) {
        copies_wait<F::stages - 2>();
        SYNC();
        if (s + F::stages - 1 < slices) {
            a.load(next);
            b.load(next + F::a_bytes);
        }
        copies_end_group();
        sums.add(stage);
        stage = stage + F::stage == end ? base : stage + F::stage;
        next = next + F::stage == end ? base : next + F::stage;
    }
    copies_wait<0>();
    SYNC();
}

template <class F, int KIND> DEVICE void convolve(const cuda_image_conv &g)
{
    int tile_n = BLOCK % g.tiles_n, rest = BLOCK / g.tiles_n;
    int tile_m = rest % g.tiles_m, z = rest / g.tiles_m;
    int m0 = tile_m * F::bm, n0 = tile_n * F::bn, warp = THREAD >> 5;
    int wm = warp / F::wn, wn = warp % F::wn;
    int *taps = (int *)(image_memory + F::stages * F::stage);
    tile<F> sums;
    sums.begin(wm * (F::bm / F::wm), wn * (F::bn / F::wn));
    if constexpr (KIND == WEIGHTS) {
        int k0 = z * g.per_part, k_end = min_of(g.k, k0 + g.per_part);
        pixel_columns<F::bm> a;
        window_columns<F::bn> b;
        a.begin(g, m0, k0, k_end);
        b.begin(g, n0, k0, k_end);
        add_slices(sums, a, b, (k_end - k0 + 63) / 64);
        store_weights(g, sums, z, m0 + wm * (F::bm / F::wm), n0 + wn * (F::bn / F::wn));
        return;
    } else {
        for (int n = THREAD; n < g.taps; n += 256) {
            int ky = n / g.kernel_w, kx = n - ky * g.kernel_w;
            taps[n] = KIND == BACK ? -(ky / g.stride * g.width + kx / g.stride) * g.pitch
                                   : (ky * g.width + kx) * g.pitch;
        }
        SYNC();
        window_lines<F::bm / 32> a;
        a.template begin<KIND>(g, m0, taps);
        if constexpr (KIND == FORWARD) {
            weight_lines<F::bn / 32> b;
            b.begin(g, n0);
            add_slices(sums, a, b, (g.k + 63) / 64);
        } else {
            weight_columns<F::bn> b;
            b.begin(g, n0);
            add_slices(sums, a, b, (g.k + 63) / 64);
        }
        u32 packed[F::mt][F::nt][2];
        UNROLL
        for (int i = 0; i < F::mt; i++)
            UNROLL
        for (int j = 0; j < F::nt; j++) {
            packed[i][j][0] = bf16_pair(sums.c[i][j][0], sums.c[i][j][1]);
            packed[i][j][1] = bf16_pair(sums.c[i][j][2], sums.c[i][j][3]);
        }
        store_tile<F>(g, packed, m0, n0, wm, wn);
        if (KIND == FORWARD && g.sums)
            sum_columns<F>(g, packed, tile_m, m0, n0, wm, wn);
    }
}

#define CONV(name, kind, bm, bn, wm, wn, stages)                                                   \
    KERNEL(256, 2) name(const cuda_image_conv g)                                                   \
    {                                                                                              \
        convolve<form<kind, bm, bn, wm, wn, stages>, kind>(g);                                     \
    }

// The host has these shapes too (plan/images.c).
CONV(image_forward_32, FORWARD, 128, 32, 4, 2, 4)
CONV(image_forward_64, FORWARD, 128, 64, 4, 2, 4)
CONV(image_forward_96, FORWARD, 128, 96, 4, 2, 3)
CONV(image_forward_128, FORWARD, 128, 128, 2, 4, 3)
CONV(image_forward_few, FORWARD, 64, 64, 2, 4, 4)
CONV(image_back_32, BACK, 128, 32, 4, 2, 4)
CONV(image_back_64, BACK, 128, 64, 4, 2, 4)
CONV(image_back_96, BACK, 128, 96, 4, 2, 3)
CONV(image_back_128, BACK, 128, 128, 2, 4, 3)
CONV(image_back_few, BACK, 64, 64, 2, 4, 4)
CONV(image_weights_96, WEIGHTS, 96, 128, 2, 4, 3)
CONV(image_weights_64, WEIGHTS, 64, 128, 2, 4, 4)
CONV(image_weights_128, WEIGHTS, 128, 128, 2, 4, 3)
