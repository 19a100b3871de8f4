// SPDX-License-Identifier: Apache-2.0
// image: kernels for images in bf16 other than convolutions (image_conv.cu): gathering samples,
// batch norm, pools, means. A thread does eight channels of a pixel.
#include "dev.cuh"

struct eight {
    float v[8];
};

DEVICE eight spread(u4 from)
{
    eight to = {{low_of(from.x), high_of(from.x), low_of(from.y), high_of(from.y), low_of(from.z),
                 high_of(from.z), low_of(from.w), high_of(from.w)}};
    return to;
}

DEVICE u4 pack(const eight &from)
{
    u4 to = {bf16_pair(from.v[0], from.v[1]), bf16_pair(from.v[2], from.v[3]),
             bf16_pair(from.v[4], from.v[5]), bf16_pair(from.v[6], from.v[7])};
    return to;
}

DEVICE eight load_eight(const float *from)
{
    f4 a = *(const f4 *)from, b = *(const f4 *)(from + 4);
    eight to = {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
    return to;
}

DEVICE void store_eight(float *to, const eight &from)
{
    f4 a = {from.v[0], from.v[1], from.v[2], from.v[3]},
       b = {from.v[4], from.v[5], from.v[6], from.v[7]};
    *(f4 *)to = a;
    *(f4 *)(to + 4) = b;
}

// Stores eight numbers, or adds them to those in memory.
DEVICE void put(u16 *to, eight v, bool add)
{
    if (add) {
        eight old = spread(*(const u4 *)to);
        UNROLL
        for (int k = 0; k < 8; k++)
            v.v[k] += old.v[k];
    }
    *(u4 *)to = pack(v);
}

// ---- gathering samples ----

DEVICE int within(int x, int side)
{
    return x < 0 ? 0 : x >= side ? side - 1 : x;
}

// A block per sample and piece of it; missing samples become zeros.
KERNEL(256, 1) image_gather(const cuda_gather g)
{
    SHARED float scale[256];
    scale[THREAD] = g.scale[THREAD];
    const char *row = g.table + (long)(*g.next_step % g.rows) * g.row_bytes;
    const cuda_now *now = (const cuda_now *)row;
    const u32 *samples = (const u32 *)(row + sizeof(cuda_now));
    int i = BLOCK;
    if (i == 0 && BLOCK_Y == 0 && THREAD < sizeof(cuda_now) / 4)
        ((u32 *)g.now)[THREAD] = ((const u32 *)now)[THREAD];
    bool counts = i < now->count;
    u32 sample = counts ? samples[i] : 0, at = counts && now->from >= 0 ? now->from + i : sample;
    if (THREAD == 0 && BLOCK_Y == 0)
        g.labels[i] = counts ? g.set_labels[at] : 0;
    SYNC();
    u4 words = {0, 0, 0, 0};
    if (g.shift || g.flip)
        words =
            philox(sample, 0, now->augment[2], now->augment[3], now->augment[0], now->augment[1]);
    int right = g.shift ? shift_of(words.x, g.width) : 0,
        down = g.shift ? shift_of(words.y, g.height) : 0;
    bool flipped = words.z >> 31;
    int pixels = g.height * g.width;
    const u8 *from = g.pixels + (i64)at * g.channels * pixels;
    u16 *to = (u16 *)g.image + (i64)i * g.sample_pitch;
    for (int p = (int)BLOCK_Y * 256 + THREAD; p < pixels; p += (int)BLOCKS_Y * 256) {
        int y = p / g.width, x = p - y * g.width;
        int sx = within((flipped ? g.width - 1 - x : x) + right, g.width),
            cell = within(y + down, g.height) * g.width + sx;
        for (int c = 0; c < g.padded; c += 8) {
            eight v;
            UNROLL
            for (int k = 0; k < 8; k++)
                v.v[k] = counts && c + k < g.channels ? scale[from[(c + k) * pixels + cell]] : 0;
            *(u4 *)(to + (i64)p * g.pixel_pitch + c) = pack(v);
        }
    }
}

KERNEL(256, 1) image_round(const cuda_image_round g)
{
    for (i64 i = (i64)BLOCK * 256 + THREAD; i < g.count; i += (i64)BLOCKS * 256)
        g.to[i] = bf16_of(g.from[i]);
}

// ---- batch norm ----

// A block's threads: pieces of eight channels side by side, then lines of pixels.
struct place {
    int piece, line, lines;
    bool there;
};
DEVICE place place_of(int channels)
{
    int pieces = channels / 8, lines = 256 / pieces;
    place p = {(int)THREAD % pieces, (int)THREAD / pieces, lines, (int)THREAD / pieces < lines};
    return p;
}

// Sums over the parts of 8 channels in a fixed order: 32 lines of threads, four parts of each on
// their way at once. The first line's threads have them.
DEVICE void sum_parts(const cuda_image_norm &g, double *s, double *q)
{
    SHARED float both[2][32][8];
    int lane = THREAD & 7, line = THREAD >> 3, c = (int)BLOCK * 8 + lane;
    const float *from = g.sums + c;
    float some[2][4] = {};
    for (int p = line; p < g.parts; p += 4 * 32)
        UNROLL
    for (int k = 0; k < 4; k++)
        if (p + 32 * k < g.parts) {
            i64 at = (i64)(p + 32 * k) * 2 * g.channels;
            some[0][k] += from[at];
            some[1][k] += from[at + g.channels];
        }
    UNROLL
    for (int k = 0; k < 2; k++)
        both[k][line][lane] = (some[k][0] + some[k][1]) + (some[k][2] + some[k][3]);
    SYNC();
    *s = *q = 0;
    if (line > 0)
        return;
    UNROLL
    for (int k = 0; k < 32; k++) {
        *s += (double)both[0][k][lane];
        *q += (double)both[1][k][lane];
    }
}

// Several ranks: this one's totals, before those of all.
KERNEL(256, 1) image_norm_fold(const cuda_image_norm g)
{
    int c = (int)BLOCK * 8 + (THREAD & 7);
    double s, q;
    sum_parts(g, &s, &q);
    if (THREAD >= 8)
        return;
    g.totals[c] = s;
    g.totals[g.channels + c] = q;
}

DEVICE void channel_totals(const cuda_image_norm &g, int c, double *s, double *q)
{
    if (!g.totals) {
        sum_parts(g, s, q);
        return;
    }
    *s = g.totals[c];
    *q = g.totals[g.channels + c];
}

// The factor and the summand of each channel, from its sums.
KERNEL(256, 1) image_norm_channels(const cuda_image_norm g)
{
    double s = 0, q = 0, mean, var;
    int c = (int)BLOCK * 8 + (THREAD & 7);
    // Divisions begin before the sums arrive.
    double n = (double)g.now->total * g.pixels, share = 1 / n;
    float more = n > 1 ? (float)n / (float)(n - 1) : 1;
    if (g.training)
        channel_totals(g, c, &s, &q);
    if (THREAD >= 8)
        return;
    bool real = c < g.columns;
    if (g.training) {
        mean = s * share;
        var = q * share - mean * mean;
        var = var < 0 ? 0 : var;
        double unbiased = var * (double)more, decay = g.decay;
        if (real) {
            g.running_mean[c] = (float)(decay * (double)g.running_mean[c] + (1 - decay) * mean);
            g.running_var[c] = (float)(decay * (double)g.running_var[c] + (1 - decay) * unbiased);
        }
    } else {
        mean = real ? (double)g.running_mean[c] : 0;
        var = real ? (double)g.running_var[c] : 1;
    }
    float inverse = 1 / sqrt_of((float)(var + (double)g.epsilon));
    float scale = real ? g.weight[c] * inverse : 0;
    g.mean[c] = (float)mean;
    g.inverse[c] = inverse;
    g.scale[c] = scale;
    g.shift[c] = real ? (float)((double)g.bias[c] - mean * (double)scale) : 0;
}

KERNEL(256, 1) image_norm(const cuda_image_norm g)
{
    place p = place_of(g.channels);
    if (!p.there)
        return;
    int c = p.piece * 8, step = p.lines * (int)BLOCKS;
    eight scale = load_eight(g.scale + c), shift = load_eight(g.shift + c);
    for (int row = (int)BLOCK * p.lines + p.line; row < g.rows; row += step) {
        eight v = spread(*(const u4 *)(g.z + (i64)row * g.z_pitch + c));
        UNROLL
        for (int k = 0; k < 8; k++) {
            v.v[k] = v.v[k] * scale.v[k] + shift.v[k];
            v.v[k] = g.relu ? max_of(v.v[k], 0) : v.v[k];
        }
        *(u4 *)(g.y + (i64)row * g.pitch + c) = pack(v);
    }
}

// The gradient before relu's mask, and whether it passes.
DEVICE eight slope_of(const eight &z, eight d, const eight &scale, const eight &shift, int relu)
{
    UNROLL
    for (int k = 0; k < 8; k++)
        if (relu && !(z.v[k] * scale.v[k] + shift.v[k] > 0))
            d.v[k] = 0;
    return d;
}

// Sums of the gradient and of it times the normed input, for a part of the rows.
KERNEL(256, 1) image_norm_sums(const cuda_image_norm g)
{
    SHARED float both[2][256 * 8];
    place p = place_of(g.channels);
    int c = p.piece * 8, end = min_of(g.rows, g.now->count * g.pixels);
    int per = (g.rows + g.parts - 1) / g.parts, from = BLOCK * per, to = min_of(end, from + per);
    if (p.there) {
        eight scale = load_eight(g.scale + c), shift = load_eight(g.shift + c);
        eight mean = load_eight(g.mean + c), s = {}, q = {};
        UNROLL_BY(4)
        for (int row = from + p.line; row < to; row += p.lines) {
            eight z = spread(*(const u4 *)(g.z + (i64)row * g.z_pitch + c));
            eight d = slope_of(z, spread(*(const u4 *)(g.dy + (i64)row * g.pitch + c)), scale,
                               shift, g.relu);
            UNROLL
            for (int k = 0; k < 8; k++) {
                s.v[k] += d.v[k];
                q.v[k] += d.v[k] * (z.v[k] - mean.v[k]);
            }
        }
        store_eight(&both[0][p.line * g.channels + c], s);
        store_eight(&both[1][p.line * g.channels + c], q);
    }
    SYNC();
    for (int i = THREAD; i < 2 * g.channels; i += 256) {
        int which = i / g.channels, at = i - which * g.channels;
        float sum = 0;
        for (int k = 0; k < p.lines; k++)
            sum += both[which][k * g.channels + at];
        g.sums[((i64)BLOCK * 2 + which) * g.channels + at] = sum;
    }
}

// dz = by_d × d + by_z × z + rest.
KERNEL(256, 1) image_norm_back_channels(const cuda_image_norm g)
{
    double s, q;
    int c = (int)BLOCK * 8 + (THREAD & 7);
    double share = 1 / ((double)g.now->total * g.pixels);
    channel_totals(g, c, &s, &q);
    if (THREAD >= 8)
        return;
    bool real = c < g.columns;
    double inverse = g.inverse[c], scale = g.scale[c];
    q *= inverse; // times the normed input
    if (real) {
        g.bias_grad[c] = (float)s;
        g.weight_grad[c] = (float)q;
    }
    double by_z = -scale * inverse * q * share;

    g.by_z[c] = (float)by_z;
    g.rest[c] = (float)(-scale * s * share - by_z * (double)g.mean[c]);
}

KERNEL(256, 1) image_norm_back(const cuda_image_norm g)
{
    place p = place_of(g.channels);
    if (!p.there)
        return;
    int c = p.piece * 8, step = p.lines * (int)BLOCKS, end = g.now->count * g.pixels;
    eight scale = load_eight(g.scale + c), shift = load_eight(g.shift + c);
    eight by_z = load_eight(g.by_z + c), rest = load_eight(g.rest + c);
    for (int row = (int)BLOCK * p.lines + p.line; row < g.rows; row += step) {
        u16 *at = (u16 *)g.z + (i64)row * g.z_pitch + c; // overwrites z
        eight z = spread(*(const u4 *)at);
        eight d =
            slope_of(z, spread(*(const u4 *)(g.dy + (i64)row * g.pitch + c)), scale, shift, g.relu);
        UNROLL
        for (int k = 0; k < 8; k++)
            d.v[k] = row < end ? d.v[k] * scale.v[k] + (z.v[k] * by_z.v[k] + rest.v[k]) : 0;
        *(u4 *)at = pack(d);
    }
}

// ---- pools ----

struct cell {
    int sample, y, x, c;
    i64 pixel;
    bool there;
};
DEVICE cell cell_of(int batch, int height, int width, int channels)
{
    int pieces = channels / 8;
    u32 i = BLOCK * 256 + THREAD, pixel = i / pieces, sample = pixel / (height * width);
    int at = (int)(pixel - sample * (height * width)), y = at / width;
    cell to = {(int)sample,        y, at - y * width, (int)(i - pixel * pieces) * 8, pixel,
               (int)sample < batch};
    return to;
}

// Goes through the cells of a window of the input: f(eight numbers, which cell).
template <class F> DEVICE void each_cell(const cuda_image_pool &g, const cell &o, F f)
{
    for (int ky = 0; ky < g.size_h; ky++) {
        int sy = o.y * g.stride - g.top + ky;
        if (sy < 0 || sy >= g.height)
            continue;
        for (int kx = 0; kx < g.size_w; kx++) {
            int sx = o.x * g.stride - g.left + kx;
            if (sx < 0 || sx >= g.width)
                continue;
            i64 at = (((i64)o.sample * g.height + sy) * g.width + sx) * g.in_pitch + o.c;
            f(spread(*(const u4 *)(g.in + at)), (u32)(ky * g.size_w + kx));
        }
    }
}

// Keeps the index of the window's largest cell, row by row, for the way back.
KERNEL(256, 1) image_max(const cuda_image_pool g)
{
    cell o = cell_of(g.batch, g.out_height, g.out_width, g.channels);
    if (!o.there)
        return;
    eight best;
    u32 which[8];
    UNROLL
    for (int k = 0; k < 8; k++) {
        best.v[k] = -__builtin_inff();
        which[k] = 0;
    }
    each_cell(g, o, [&](eight v, u32 cell) ALWAYS {
        UNROLL
        for (int k = 0; k < 8; k++)
            if (v.v[k] > best.v[k]) {
                best.v[k] = v.v[k];
                which[k] = cell;
            }
    });
    *(u4 *)(g.out + o.pixel * g.out_pitch + o.c) = pack(best);
    u2 kept = {which[0] | which[1] << 8 | which[2] << 16 | which[3] << 24,
               which[4] | which[5] << 8 | which[6] << 16 | which[7] << 24};
    *(u2 *)(g.chosen + o.pixel * g.channels + o.c) = kept;
}

DEVICE int first_window(int at, int before, int size, int stride)
{
    int first = at + before - size + 1;
    return first <= 0 ? 0 : (first + stride - 1) / stride;
}

// Goes through the windows of a cell of the input: f(its gradient, y, x, its pixel).
template <class F> DEVICE void each_window(const cuda_image_pool &g, const cell &i, F f)
{
    int y0 = first_window(i.y, g.top, g.size_h, g.stride),
        x0 = first_window(i.x, g.left, g.size_w, g.stride);
    for (int oy = y0; oy < g.out_height && oy * g.stride - g.top <= i.y; oy++)
        for (int ox = x0; ox < g.out_width && ox * g.stride - g.left <= i.x; ox++) {
            i64 pixel = ((i64)i.sample * g.out_height + oy) * g.out_width + ox;
            f(spread(*(const u4 *)(g.out + pixel * g.out_pitch + i.c)), oy, ox, pixel);
        }
}

KERNEL(256, 1) image_max_back(const cuda_image_pool g)
{
    cell i = cell_of(g.batch, g.height, g.width, g.channels);
    if (!i.there)
        return;
    eight sum = {};
    each_window(g, i, [&](eight d, int oy, int ox, i64 pixel) ALWAYS {
        u32 mine = (i.y - oy * g.stride + g.top) * g.size_w + i.x - ox * g.stride + g.left;
        u2 kept = *(const u2 *)(g.chosen + pixel * g.channels + i.c);
        UNROLL
        for (int k = 0; k < 8; k++)
            if (((k < 4 ? kept.x : kept.y) >> 8 * (k & 3) & 255) == mine)
                sum.v[k] += d.v[k];
    });
    put(g.in + i.pixel * g.in_pitch + i.c, sum, g.add);
}

DEVICE int cells_of(int o, int before, int size, int stride, int side)
{
    int from = o * stride - before, to = min_of(from + size, side);
    return to - (from < 0 ? 0 : from);
}

// Of one cell in its window's average.
DEVICE float share_of(const cuda_image_pool &g, int oy, int ox)
{
    return 1.0f / (float)(cells_of(oy, g.top, g.size_h, g.stride, g.height) *
                          cells_of(ox, g.left, g.size_w, g.stride, g.width));
}

KERNEL(256, 1) image_average(const cuda_image_pool g)
{
    cell o = cell_of(g.batch, g.out_height, g.out_width, g.channels);
    if (!o.there)
        return;
    eight sum = {};
    each_cell(g, o, [&](eight v, u32) ALWAYS {
        UNROLL
        for (int k = 0; k < 8; k++)
            sum.v[k] += v.v[k];
    });
    float share = share_of(g, o.y, o.x);
    UNROLL
    for (int k = 0; k < 8; k++)
        sum.v[k] *= share;
    *(u4 *)(g.out + o.pixel * g.out_pitch + o.c) = pack(sum);
}

KERNEL(256, 1) image_average_back(const cuda_image_pool g)
{
    cell i = cell_of(g.batch, g.height, g.width, g.channels);
    if (!i.there)
        return;
    eight sum = {};
    each_window(g, i, [&](eight d, int oy, int ox, i64) ALWAYS {
        float share = share_of(g, oy, ox);
        UNROLL
        for (int k = 0; k < 8; k++)
            sum.v[k] += d.v[k] * share;
    });
    put(g.in + i.pixel * g.in_pitch + i.c, sum, g.add);
}

// Windows of 3 × 3 that step by one, around their middle: a thread walks along a row, three numbers
// of a column at a time, for CUDA_WALK pixels of it. The way back is the same walk over shares of
// the gradient.
KERNEL(256, 1) image_average_3(const cuda_image_pool g)
{
    int pieces = g.channels / 8;
    u32 i = BLOCK * 256 + THREAD, row = i / pieces;
    int c = (int)(i - row * pieces) * 8, y = (int)(row % g.height);
    int x0 = (int)BLOCK_Y * CUDA_WALK, x1 = min_of(x0 + CUDA_WALK, g.width);
    if (row >= (u32)(g.batch * g.height))
        return;
    const u16 *from = (g.back ? g.out : g.in) + c;
    u16 *to = (g.back ? g.in : g.out) + c;
    int from_pitch = g.back ? g.out_pitch : g.in_pitch,
        to_pitch = g.back ? g.in_pitch : g.out_pitch;
    float tall[3], wide[2] = {1.0f / (float)(g.width < 3 ? g.width : 3),
                              1.0f / (float)(g.width < 2 ? 1 : 2)}; // shares: inside, at an end
    UNROLL
    for (int k = 0; k < 3; k++) {
        int cells = 3 - (y + k - 1 == 0) - (y + k - 1 == g.height - 1);
        tall[k] = 1.0f / (float)cells;
    }
    eight old = {}, now = {};
    i64 first = (i64)row * g.width;
    for (int x = x0 > 0 ? x0 - 1 : 0; x <= x1; x++) {
        eight next = {};
        if (x < g.width) {
            float share = x == 0 || x == g.width - 1 ? wide[1] : wide[0];
            UNROLL
            for (int k = 0; k < 3; k++) {
                if (y + k - 1 < 0 || y + k - 1 >= g.height)
                    continue;
                eight v =
                    spread(*(const u4 *)(from + (first + (k - 1) * g.width + x) * from_pitch));
                UNROLL
                for (int n = 0; n < 8; n++)
                    next.v[n] += g.back ? v.v[n] * (share * tall[k]) : v.v[n];
            }
        }
        if (x > x0) {
            float share = g.back ? 1 : tall[1] * (x == 1 || x == g.width ? wide[1] : wide[0]);
            eight sum;
            UNROLL
            for (int n = 0; n < 8; n++)
                sum.v[n] = (old.v[n] + now.v[n] + next.v[n]) * share;
            put(to + (first + x - 1) * to_pitch, sum, g.add);
        }
        old = now;
        now = next;
    }
}

// ---- the mean of an image, a vector of f32 ----

KERNEL(256, 1) image_mean(const cuda_image_mean g)
{
    int pieces = g.channels / 8, i = (int)BLOCK * 256 + THREAD, sample = i / pieces,
        c = (i - sample * pieces) * 8;
    if (sample >= g.batch)
        return;
    eight sum = {};
    for (int p = 0; p < g.pixels; p++) {
        eight v = spread(*(const u4 *)(g.image + ((i64)sample * g.pixels + p) * g.image_pitch + c));
        UNROLL
        for (int k = 0; k < 8; k++)
            sum.v[k] += v.v[k];
    }
    UNROLL
    for (int k = 0; k < 8; k++)
        if (c + k < g.pitch)
            g.vector[(i64)sample * g.pitch + c + k] = sum.v[k] / (float)g.pixels;
}

KERNEL(256, 1) image_mean_back(const cuda_image_mean g)
{
    int pieces = g.channels / 8;
    i64 i = (i64)BLOCK * 256 + THREAD, row = i / pieces;
    int c = (int)(i - row * pieces) * 8, sample = (int)(row / g.pixels);
    if (sample >= g.batch)
        return;
    eight v;
    UNROLL
    for (int k = 0; k < 8; k++)
        v.v[k] = c + k < g.pitch ? g.vector[(i64)sample * g.pitch + c + k] / (float)g.pixels : 0;
    put(g.image + row * g.image_pitch + c, v, g.add);
}
