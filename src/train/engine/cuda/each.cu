// SPDX-License-Identifier: Apache-2.0
// each: element-wise kernels: gathering samples, pools, dropout, concatenation, means, batch norm.
// A thread does four channels of a pixel if it can.
#include "dev.cuh"

// ---- gathering samples ----

// A block per sample of the batch; missing samples become zeros.
KERNEL(256, 1) gather(const cuda_gather g)
{
    SHARED float scale[256];
    if (g.time == 0)
        scale[THREAD] = g.scale[THREAD];
    const char *row = g.table + (long)(*g.next_step % g.rows) * g.row_bytes;
    const cuda_now *now = (const cuda_now *)row;
    const u32 *samples = (const u32 *)(row + sizeof(cuda_now));
    int i = BLOCK;
    if (i == 0 && THREAD < sizeof(cuda_now) / 4)
        ((u32 *)g.now)[THREAD] = ((const u32 *)now)[THREAD];
    bool counts = i < now->count;
    u32 sample = counts ? samples[i] : 0, at = counts && now->from >= 0 ? now->from + i : sample;
    if (THREAD == 0)
        g.labels[i] = counts ? g.set_labels[at] : 0;
    if (g.time > 0) {
        i64 from = g.starts ? g.starts[sample] : sample * g.stride;
        i64 length = g.starts ? g.starts[sample + 1] - from : g.time;
        for (int t = THREAD; t < g.time; t += 256)
            g.out_tokens[i * g.time + t] = counts && t < length ? g.tokens[from + t] : 0;
        return;
    }
    SYNC();
    u4 words = {0, 0, 0, 0};
    if (g.shift || g.flip)
        words =
            philox(sample, 0, now->augment[2], now->augment[3], now->augment[0], now->augment[1]);
    int right = g.shift ? shift_of(words.x, g.width) : 0,
        down = g.shift ? shift_of(words.y, g.height) : 0;
    bool flipped = (g.shift || g.flip) && words.z >> 31;
    int pixels = g.height * g.width;
    const u8 *from = g.pixels + (i64)at * g.channels * pixels;
    float *to = g.image + (i64)i * g.sample_pitch;
    for (int p = THREAD; p < pixels; p += 256) {
        int y = p / g.width, x = p - y * g.width;
        int sx = (flipped ? g.width - 1 - x : x) + right, sy = y + down;
        sx = sx < 0 ? 0 : sx >= g.width ? g.width - 1 : sx;
        sy = sy < 0 ? 0 : sy >= g.height ? g.height - 1 : sy;
        for (int c = 0; c < g.padded; c++)
            to[p * g.pixel_pitch + c * g.channel_pitch] =
                counts && c < g.channels ? scale[from[c * pixels + sy * g.width + sx]] : 0;
    }
}

// ---- pools ----

// Dropout of an image counts its numbers as (sample, channel, row, column).
DEVICE u64 image_index(int sample, int channel, int channels, int pixels, int pixel)
{
    return ((u64)sample * channels + channel) * pixels + pixel;
}

KERNEL(256, 1) pool_forward(const cuda_pool g)
{
    int line = g.pitch / 4;
    i64 i = (i64)BLOCK * 256 + THREAD, all = (i64)g.batch * g.out_height * g.out_width * line;
    if (i >= all)
        return;
    int c = (int)(i % line) * 4;
    i64 pixel = i / line;
    int out_pixels = g.out_height * g.out_width, sample = (int)(pixel / out_pixels);
    int at = (int)(pixel - (i64)sample * out_pixels), y = at / g.out_width,
        x = at - y * g.out_width;
    const u32 *stream = DROP_STREAM(g.drop);
    int first = DROP_FIRST(g.drop);
    float v[4];
    int cells = 0;
    UNROLL
    for (int k = 0; k < 4; k++)
        v[k] = g.average ? 0 : -__builtin_inff();
    for (int ky = 0; ky < g.size_h; ky++) {
        int sy = y * g.stride - g.top + ky;
        if (sy < 0 || sy >= g.height)
            continue;
        for (int kx = 0; kx < g.size_w; kx++) {
            int sx = x * g.stride - g.left + kx;
            if (sx < 0 || sx >= g.width)
                continue;
            f4 cell =
                *(const f4 *)(g.x + (((i64)sample * g.height + sy) * g.width + sx) * g.pitch + c);
            cells++;
            v[0] = g.average ? v[0] + cell.x : max_of(v[0], cell.x);
            v[1] = g.average ? v[1] + cell.y : max_of(v[1], cell.y);
            v[2] = g.average ? v[2] + cell.z : max_of(v[2], cell.z);
            v[3] = g.average ? v[3] + cell.w : max_of(v[3], cell.w);
        }
    }
    UNROLL
    for (int k = 0; k < 4; k++) {
        if (g.average)
            v[k] /= (float)cells;
        if (stream)
            v[k] = drop_one(stream, g.drop.threshold, g.drop.scale,
                            image_index(sample + first, c + k, g.channels, out_pixels, at), v[k]);
    }
    f4 out = {v[0], v[1], v[2], v[3]};
    *(f4 *)(g.out + pixel * g.pitch + c) = out;
}

// The largest of windows of 2 × 2 side by side: a thread does four pixels, one after the other in
// their image, for four channels, so that dropout's words are made once for four numbers.
KERNEL(128, 4) pool_forward_2(const cuda_pool g)
{
    int line = g.pitch / 4, out_pixels = g.out_height * g.out_width, fours = (out_pixels + 3) / 4;
    int i = (int)BLOCK * 128 + (int)THREAD, row = i / line, c = (i - row * line) * 4;
    int sample = row / fours, at = (row - sample * fours) * 4, count = min_of(4, out_pixels - at);
    if (sample >= g.batch)
        return;
    const u32 *stream = DROP_STREAM(g.drop);
    int first = DROP_FIRST(g.drop), down = g.width * g.pitch;
    f4 cells[4][4];
    UNROLL
    for (int k = 0; k < 4; k++) {
        int p = at + min_of(k, count - 1), y = p / g.out_width, x = p - y * g.out_width;
        const float *from =
            g.x + (((i64)sample * g.height + 2 * y) * g.width + 2 * x) * g.pitch + c;
        cells[k][0] = *(const f4 *)from;
        cells[k][1] = *(const f4 *)(from + g.pitch);
        cells[k][2] = *(const f4 *)(from + down);
        cells[k][3] = *(const f4 *)(from + down + g.pitch);
    }
    float v[4][4]; // pixel, channel
    UNROLL
    for (int k = 0; k < 4; k++) {
        f4 *w = cells[k];
        v[k][0] = max_of(max_of(w[0].x, w[1].x), max_of(w[2].x, w[3].x));
        v[k][1] = max_of(max_of(w[0].y, w[1].y), max_of(w[2].y, w[3].y));
        v[k][2] = max_of(max_of(w[0].z, w[1].z), max_of(w[2].z, w[3].z));
        v[k][3] = max_of(max_of(w[0].w, w[1].w), max_of(w[2].w, w[3].w));
    }
    if (stream)
        UNROLL
    for (int channel = 0; channel < 4; channel++) {
        u64 index = image_index(sample + first, c + channel, g.channels, out_pixels, at);
        int before = (int)(index & 3); // numbers of the first four words that are not ours
        u4 w = dropout_words(stream, index / 4), next = {0, 0, 0, 0};
        if (before > 0)
            next = dropout_words(stream, index / 4 + 1);
        const u32 word[8] = {w.x, w.y, w.z, w.w, next.x, next.y, next.z, next.w};
        UNROLL
        for (int k = 0; k < 4; k++) {
            u32 own = before == 0   ? word[k]
                      : before == 1 ? word[k + 1]
                      : before == 2 ? word[k + 2]
                                    : word[k + 3];
            v[k][channel] = own >= g.drop.threshold ? v[k][channel] * g.drop.scale : 0;
        }
    }
    float *to = g.out + ((i64)sample * out_pixels + at) * g.pitch + c;
    UNROLL
    for (int k = 0; k < 4; k++)
        if (k < count)
            *(f4 *)(to + k * g.pitch) = f4{v[k][0], v[k][1], v[k][2], v[k][3]};
}

// A thread per four numbers of the input goes through their windows. Among equal cells the first
// one, row by row, was chosen.
KERNEL(256, 1) pool_back(const cuda_pool g)
{
    int line = g.pitch / 4;
    i64 i = (i64)BLOCK * 256 + THREAD, all = (i64)g.batch * g.height * g.width * line;
    if (i >= all)
        return;
    int c = (int)(i % line) * 4;
    i64 pixel = i / line;
    int pixels = g.height * g.width, sample = (int)(pixel / pixels);
    int at = (int)(pixel - (i64)sample * pixels), y = at / g.width, x = at - y * g.width;
    int out_pixels = g.out_height * g.out_width;
    const u32 *stream = DROP_STREAM(g.drop);
    int first = DROP_FIRST(g.drop);
    const float *plane = g.x + (i64)sample * pixels * g.pitch + c;
    float own[4] = {0, 0, 0, 0}, sum[4] = {0, 0, 0, 0};
    if (!g.average || g.relu) {
        f4 v = *(const f4 *)(plane + (i64)at * g.pitch);
        own[0] = v.x;
        own[1] = v.y;
        own[2] = v.z;
        own[3] = v.w;
    }
    int y0 = (y + g.top - g.size_h + g.stride) / g.stride,
        x0 = (x + g.left - g.size_w + g.stride) / g.stride;
    y0 = y + g.top - g.size_h + 1 <= 0 ? 0 : y0;
    x0 = x + g.left - g.size_w + 1 <= 0 ? 0 : x0;
    for (int oy = y0; oy < g.out_height && oy * g.stride - g.top <= y; oy++)
        for (int ox = x0; ox < g.out_width && ox * g.stride - g.left <= x; ox++) {
            int out_at = oy * g.out_width + ox;
            f4 d4 = *(const f4 *)(g.dy + ((i64)sample * out_pixels + out_at) * g.pitch + c);
            float d[4] = {d4.x, d4.y, d4.z, d4.w};
            int top = oy * g.stride - g.top, left = ox * g.stride - g.left;
            int y1 = top < 0 ? 0 : top, x1 = left < 0 ? 0 : left;
            int y2 = min_of(top + g.size_h, g.height), x2 = min_of(left + g.size_w, g.width);
            bool chosen[4] = {true, true, true, true};
            if (!g.average)
                for (int sy = y1; sy < y2; sy++)
                    for (int sx = x1; sx < x2; sx++) {
                        bool before = sy < y || (sy == y && sx < x);
                        if (sy == y && sx == x)
                            continue;
                        f4 v = *(const f4 *)(plane + (i64)(sy * g.width + sx) * g.pitch);
                        chosen[0] &= before ? v.x < own[0] : !(v.x > own[0]);
                        chosen[1] &= before ? v.y < own[1] : !(v.y > own[1]);
                        chosen[2] &= before ? v.z < own[2] : !(v.z > own[2]);
                        chosen[3] &= before ? v.w < own[3] : !(v.w > own[3]);
                    }
            float share = g.average ? 1.0f / (float)((y2 - y1) * (x2 - x1)) : 1;
            UNROLL
            for (int k = 0; k < 4; k++) {
                if (!chosen[k])
                    continue;
                float v = d[k] * share;
                if (stream)
                    v = drop_one(stream, g.drop.threshold, g.drop.scale,
                                 image_index(sample + first, c + k, g.channels, out_pixels, out_at),
                                 v);
                sum[k] += v;
            }
        }
    UNROLL
    for (int k = 0; k < 4; k++)
        if (g.relu && !(own[k] > 0))
            sum[k] = 0;
    f4 *to = (f4 *)(g.out + pixel * g.pitch + c);
    f4 out = {sum[0], sum[1], sum[2], sum[3]};
    if (g.add) {
        f4 old = *to;
        ADD_FOUR(out, old);
    }
    *to = out;
}

// Windows of 2 × 2 side by side: a thread does the cells of one, for four channels, and cells of
// the last row and column that are in no window. After relu, y tells what dropout left.
KERNEL(256, 4) pool_back_2(const cuda_pool g)
{
    int line = g.pitch / 4, high = (g.height + 1) / 2, wide = (g.width + 1) / 2;
    int i = (int)BLOCK * 256 + (int)THREAD, window = i / line, c = (i - window * line) * 4;
    int lines = window / wide, x = window - lines * wide, sample = lines / high;
    int y = lines - sample * high;
    if (sample >= g.batch)
        return;
    bool right = 2 * x + 1 < g.width, below = 2 * y + 1 < g.height;
    i64 corner = (((i64)sample * g.height + 2 * y) * g.width + 2 * x) * g.pitch + c;
    int down = g.width * g.pitch;
    float to[4][4] = {};
    if (y < g.out_height && x < g.out_width) {
        int out_pixels = g.out_height * g.out_width, at = y * g.out_width + x;
        i64 own = ((i64)sample * out_pixels + at) * g.pitch + c;
        f4 a = *(const f4 *)(g.x + corner), b = *(const f4 *)(g.x + corner + g.pitch);
        f4 e = *(const f4 *)(g.x + corner + down), f = *(const f4 *)(g.x + corner + down + g.pitch);
        f4 d4 = *(const f4 *)(g.dy + own), y4 = d4;
        if (g.relu)
            y4 = *(const f4 *)(g.y + own);
        const u32 *stream = DROP_STREAM(g.drop);
        int first = DROP_FIRST(g.drop);
        const float v[4][4] = {
            {a.x, b.x, e.x, f.x}, {a.y, b.y, e.y, f.y}, {a.z, b.z, e.z, f.z}, {a.w, b.w, e.w, f.w}};
        const float d[4] = {d4.x, d4.y, d4.z, d4.w}, out[4] = {y4.x, y4.y, y4.z, y4.w};
        UNROLL
        for (int k = 0; k < 4; k++) {
            int best = 0;
            float most = v[k][0], value = d[k];
            UNROLL
            for (int j = 1; j < 4; j++)
                if (v[k][j] > most) {
                    most = v[k][j];
                    best = j;
                }
            if (g.relu)
                value = out[k] > 0 ? (stream ? value * g.drop.scale : value) : 0;
            else if (stream)
                value =
                    drop_one(stream, g.drop.threshold, g.drop.scale,
                             image_index(sample + first, c + k, g.channels, out_pixels, at), value);
            UNROLL
            for (int j = 0; j < 4; j++)
                to[j][k] = j == best ? value : 0;
        }
    }
    UNROLL
    for (int j = 0; j < 4; j++)
        if ((j % 2 == 0 || right) && (j < 2 || below))
            *(f4 *)(g.out + corner + (j & 1) * g.pitch + (j >> 1) * down) =
                f4{to[j][0], to[j][1], to[j][2], to[j][3]};
}

// ---- element by element ----

KERNEL(256, 1) each(const cuda_each g)
{
    i64 i = (i64)BLOCK * 256 + THREAD;
    if (i >= (i64)g.rows * g.pitch)
        return;
    i64 row = i / g.pitch;
    int c = (int)(i - row * g.pitch);
    float v = g.x[i];
    if (g.kind == CUDA_EACH_RELU_BACK) {
        g.y[i] = v > 0 ? g.y[i] * g.scale : 0;
        return;
    }
    const u32 *stream = DROP_STREAM(g.drop);
    int first = DROP_FIRST(g.drop);
    u64 index = g.pixels > 1 ? image_index((int)(row / g.pixels) + first, c, g.columns, g.pixels,
                                           (int)(row % g.pixels))
                             : (u64)(row + (i64)first * g.sample_rows) * g.columns + c;
    v = c < g.columns && stream ? drop_one(stream, g.drop.threshold, g.drop.scale, index, v)
        : c < g.columns         ? v
                                : 0;
    g.y[i] = g.add ? g.y[i] + v : v;
}

KERNEL(256, 1) copy_part(const cuda_copy g)
{
    i64 i = (i64)BLOCK * 256 + THREAD;
    if (i >= (i64)g.rows * g.count)
        return;
    i64 row = i / g.count;
    int c = (int)(i - row * g.count);
    float v = g.from[row * g.from_pitch + g.from_at + c];
    float *to = g.to + row * g.to_pitch + g.to_at + c;
    *to = g.add ? *to + v : v;
}

// A thread per channel of a sample; back: per number.
KERNEL(256, 1) mean_of(const cuda_mean g)
{
    i64 i = (i64)BLOCK * 256 + THREAD;
    float share = 1.0f / (float)g.pixels;
    if (g.back) {
        if (i >= (i64)g.batch * g.pixels * g.pitch)
            return;
        i64 sample = i / ((i64)g.pixels * g.pitch);
        float v = g.x[sample * g.pitch + i % g.pitch] * share;
        g.y[i] = g.add ? g.y[i] + v : v;
        return;
    }
    if (i >= (i64)g.batch * g.pitch)
        return;
    i64 sample = i / g.pitch;
    const float *from = g.x + sample * g.pixels * g.pitch + i % g.pitch;
    float sum = 0;
    for (int p = 0; p < g.pixels; p++)
        sum += from[(i64)p * g.pitch];
    g.y[i] = sum * share;
}

KERNEL(256, 1) one_hot(const cuda_one_hot g)
{
    i64 i = (i64)BLOCK * 256 + THREAD;
    if (i >= (i64)g.rows * g.pitch)
        return;
    i64 row = i / g.pitch;
    g.y[i] = g.tokens[row] == (int)(i - row * g.pitch) ? 1 : 0;
}

KERNEL(256, 1) fill(const cuda_fill g)
{
    for (i64 i = (i64)BLOCK * 256 + THREAD; i < g.count; i += (i64)BLOCKS * 256)
        g.to[i] = g.value;
}

// ---- batch norm ----

// What is subtracted before squaring, the same at all ranks.
DEVICE float norm_shift(const cuda_norm &g, int c)
{
    return g.totals ? g.running_mean[c] : g.x[c];
}

// Sums of a part of the rows, for 32 channels, around a number of them so that no digits are lost
// where the mean is far from zero. Back: of the gradient, and of it times the normed input.
KERNEL(256, 1) norm_sums(const cuda_norm g)
{
    SHARED float both[2][8][32];
    int c = (int)BLOCK_Y * 32 + (THREAD & 31), lane = THREAD & 31, line = THREAD >> 5;
    int per = (g.rows + g.parts - 1) / g.parts, from = BLOCK * per,
        to = min_of(g.now->count * g.pixels, from + per);
    float s = 0, q = 0;
    if (c < g.pitch) {
        bool back = g.dy != nullptr;
        float shift = back ? g.mean[c] : norm_shift(g, c), inverse = back ? g.inverse[c] : 1;
        for (int r = from + line; r < to; r += 8) {
            float x = g.x[(i64)r * g.pitch + c] - shift;
            if (back) {
                float d = g.dy[(i64)r * g.pitch + c];
                if (g.relu && !(g.out[(i64)r * g.pitch + c] > 0))
                    d = 0;
                s += d;
                q += d * x * inverse;
            } else {
                s += x;
                q += x * x;
            }
        }
    }
    both[0][line][lane] = s;
    both[1][line][lane] = q;
    SYNC();
    if (line == 0 && c < g.pitch) {
        for (int k = 1; k < 8; k++) {
            s += both[0][k][lane];
            q += both[1][k][lane];
        }
        g.sums[((i64)BLOCK * 2) * g.pitch + c] = s;
        g.sums[((i64)BLOCK * 2 + 1) * g.pitch + c] = q;
    }
}

DEVICE void norm_totals(const cuda_norm &g, int c, double *s, double *q)
{
    *s = *q = 0;
    for (int p = 0; p < g.parts; p++) {
        *s += g.sums[((i64)p * 2) * g.pitch + c];
        *q += g.sums[((i64)p * 2 + 1) * g.pitch + c];
    }
}

// Several ranks: this one's totals, before those of all.
KERNEL(256, 1) norm_fold(const cuda_norm g)
{
    int c = BLOCK * 256 + THREAD;
    if (c < g.pitch)
        norm_totals(g, c, g.totals + c, g.totals + g.pitch + c);
}

// The channels: mean and inverse, running averages; back: gradients of weight and bias.
KERNEL(256, 1) norm_channels(const cuda_norm g)
{
    int c = BLOCK * 256 + THREAD;
    if (c >= g.pitch)
        return;
    double s, q;
    if (g.totals) {
        s = g.totals[c];
        q = g.totals[g.pitch + c];
    } else {
        norm_totals(g, c, &s, &q);
    }
    if (g.dy) {
        g.bias_grad[c] = (float)s;
        g.weight_grad[c] = (float)q;
        return;
    }
    double n = (double)g.now->total * g.pixels, m = s / n, var = q / n - m * m,
           mean = m + (double)norm_shift(g, c);
    var = var < 0 ? 0 : var;
    g.mean[c] = (float)mean;
    float root = sqrt_of((float)(var + (double)g.epsilon));
    g.inverse[c] = 1 / root;
    if (c >= g.channels)
        return;
    double unbiased = n > 1 ? var * n / (n - 1) : var, decay = g.decay;
    g.running_mean[c] = (float)(decay * (double)g.running_mean[c] + (1 - decay) * mean);
    g.running_var[c] = (float)(decay * (double)g.running_var[c] + (1 - decay) * unbiased);
}

KERNEL(256, 1) norm_each(const cuda_norm g)
{
    i64 i = (i64)BLOCK * 256 + THREAD;
    if (i >= (i64)g.rows * g.pitch)
        return;
    int c = (int)(i % g.pitch);
    if (c >= g.channels) {
        g.y[i] = 0;
        return;
    }
    float mean, inverse;
    if (g.training) {
        mean = g.mean[c];
        inverse = g.inverse[c];
    } else {
        mean = g.running_mean[c];
        inverse = 1 / sqrt_of(g.running_var[c] + g.epsilon);
    }
    float x = (g.x[i] - mean) * inverse, w = g.weight[c];
    if (!g.dy) {
        float y = x * w + g.bias[c];
        g.y[i] = g.relu ? max_of(y, 0) : y;
        return;
    }
    float d = g.dy[i];
    i64 rows = (i64)g.now->count * g.pixels;
    float n = (float)((i64)g.now->total * g.pixels);
    if (g.relu && !(g.out[i] > 0))
        d = 0;
    float dx = w * inverse * (d - g.bias_grad[c] / n - x * (g.weight_grad[c] / n));
    if (i >= rows * g.pitch) // missing samples
        dx = 0;
    g.y[i] = g.add ? g.y[i] + dx : dx;
}
