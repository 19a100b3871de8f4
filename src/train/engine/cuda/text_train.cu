// SPDX-License-Identifier: Apache-2.0
// text_train: the kernels of transformers beside products and attention: embeddings, layer norm,
// sums over rows, the loss, AdamW. Values are bf16, eight to a vector; sums are f32, in a fixed
// order.
#include "text.cuh"

// ---- vectors of eight numbers ----

DEVICE void unpack(float *to, u4 v)
{
    to[0] = low_of(v.x), to[1] = high_of(v.x), to[2] = low_of(v.y), to[3] = high_of(v.y);
    to[4] = low_of(v.z), to[5] = high_of(v.z), to[6] = low_of(v.w), to[7] = high_of(v.w);
}

DEVICE u4 pack(const float *from)
{
    u4 v = {bf16_pair(from[0], from[1]), bf16_pair(from[2], from[3]), bf16_pair(from[4], from[5]),
            bf16_pair(from[6], from[7])};
    return v;
}

DEVICE void load_floats(float *to, const float *from)
{
    f4 a = *(const f4 *)from, b = *(const f4 *)(from + 4);
    to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w;
    to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
}

// ---- input ----

KERNEL(256, 1) text_gather(const cuda_text_gather g)
{
    const cuda_now *now = (const cuda_now *)(g.table + (long)(*g.next_step % g.rows) * g.row_bytes);
    int i = BLOCK * 256 + THREAD, count = g.batch * g.time, slot = now->from;
    if (BLOCK == 0 && THREAD < sizeof(cuda_now) / 4)
        ((u32 *)g.now)[THREAD] = ((const u32 *)now)[THREAD];
    if (i >= count)
        return;
    const int *from = g.from + (i64)slot * 2 * count;
    bool there = i < now->count * g.time;
    g.tokens[i] = there ? from[i] : 0;
    g.labels[i] = there ? from[count + i] : 0;
}

// A thread per eight numbers.
KERNEL(256, 1) token_embed(const cuda_token_embed g)
{
    int pieces = g.columns / 8;
    i64 i = (i64)BLOCK * 256 + THREAD, row = i / pieces;
    int piece = (int)(i - row * pieces), t = (int)(row % g.time);
    if (row >= (i64)g.samples * g.time)
        return;
    float a[8], b[8];
    load_floats(a, g.table + (i64)g.tokens[row] * g.columns + piece * 8);
    load_floats(b, g.positions + (i64)t * g.columns + piece * 8);
    UNROLL
    for (int k = 0; k < 8; k++)
        a[k] += b[k];
    *(u4 *)(g.y + i * 8) = pack(a);
}

// The sum over the samples, for each position.
KERNEL(256, 1) position_back(const cuda_token_embed g)
{
    int pieces = g.columns / 8, i = BLOCK * 256 + THREAD;
    if (i >= g.time * pieces)
        return;
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0}, x[8];
    i64 pitch = (i64)g.time * g.columns;
    for (int s = 0; s < g.samples; s++) {
        unpack(x, *(const u4 *)(g.y + s * pitch + (i64)i * 8));
        UNROLL
        for (int k = 0; k < 8; k++)
            sum[k] += x[k];
    }
    float *to = g.d_positions + (i64)i * 8;
    UNROLL
    for (int k = 0; k < 8; k++)
        to[k] = g.add ? to[k] + sum[k] : sum[k];
}

// A block per position; the first one of a token adds the gradients of all to the token's row. Each
// warp takes every fourth, so that the order of the sum is fixed.
KERNEL(128, 8) token_back(const cuda_token_embed g)
{
    SHARED float sums[4][256];
    int position = BLOCK, count = g.count[position], warp = THREAD >> 5, lane = THREAD & 31;
    if (count == 0)
        return;
    const int *all = g.order + g.first[position];
    int column = BLOCK_Y * 256 + lane * 8;
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0}, x[8];
    if (column < g.columns)
        for (int i = warp; i < count; i += 4) {
            unpack(x, *(const u4 *)(g.y + (i64)all[i] * g.columns + column));
            UNROLL
            for (int k = 0; k < 8; k++)
                sum[k] += x[k];
        }
    UNROLL
    for (int k = 0; k < 8; k++)
        sums[warp][lane * 8 + k] = sum[k];
    SYNC();
    for (int i = THREAD; i < 256 && BLOCK_Y * 256 + i < g.columns; i += 128)
        g.d_table[(i64)g.tokens[position] * g.columns + BLOCK_Y * 256 + i] +=
            sums[0][i] + sums[1][i] + sums[2][i] + sums[3][i];
}

// ---- layer norm: a warp per row, PIECES vectors per lane ----

template <int PIECES> DEVICE void norm_rows(const cuda_row_norm &g)
{
    int lane = THREAD & 31, row = BLOCK * 8 + (THREAD >> 5), columns = g.columns;
    if (row >= g.rows)
        return;
    float x[PIECES][8], sum = 0, squares = 0;
    i64 at = (i64)row * columns + lane * 8;
    UNROLL
    for (int p = 0; p < PIECES; p++) {
        bool has = lane * 8 + p * 256 < columns;
        u4 v = {0, 0, 0, 0};
        if (has)
            v = *(const u4 *)(g.x + at + p * 256);
        unpack(x[p], v);
        if (g.more && has) {
            float more[8];
            unpack(more, *(const u4 *)(g.more + at + p * 256));
            UNROLL
            for (int k = 0; k < 8; k++)
                x[p][k] += more[k];
            v = pack(x[p]);
            *(u4 *)(g.sum + at + p * 256) = v;
            unpack(x[p], v); // as the way back sees it
        }
        UNROLL
        for (int k = 0; k < 8; k++)
            sum += x[p][k];
    }
    float mean = warp_sum(sum) / (float)columns;
    UNROLL
    for (int p = 0; p < PIECES; p++)
        if (lane * 8 + p * 256 < columns)
            UNROLL
    for (int k = 0; k < 8; k++) {
        float d = x[p][k] - mean;
        squares += d * d;
    }
    float inverse = 1 / sqrt_of(warp_sum(squares) / (float)columns + g.epsilon);
    if (lane == 0) {
        g.mean[row] = mean;
        g.inverse[row] = inverse;
    }
    UNROLL
    for (int p = 0; p < PIECES; p++)
        if (lane * 8 + p * 256 < columns) {
            float w[8], b[8];
            load_floats(w, g.weight + lane * 8 + p * 256);
            load_floats(b, g.bias + lane * 8 + p * 256);
            UNROLL
            for (int k = 0; k < 8; k++)
                w[k] = (x[p][k] - mean) * inverse * w[k] + b[k];
            *(u4 *)(g.y + at + p * 256) = pack(w);
        }
}

// A block goes through every BLOCKS-th eight rows. Its sums over rows go to one part.
template <int PIECES> DEVICE void norm_rows_back(const cuda_row_norm &g)
{
    SHARED float shared[8][256];
    int lane = THREAD & 31, warp = THREAD >> 5, columns = g.columns;
    float by_normed[PIECES][8], by_one[PIECES][8], of_sum[PIECES][8];
    UNROLL
    for (int p = 0; p < PIECES; p++)
        UNROLL
    for (int k = 0; k < 8; k++)
        by_normed[p][k] = by_one[p][k] = of_sum[p][k] = 0;
    for (int row = BLOCK * 8 + warp; row < g.rows; row += BLOCKS * 8) {
        i64 at = (i64)row * columns + lane * 8;
        float mean = g.mean[row], inverse = g.inverse[row], first = 0, second = 0;
        u4 xs[PIECES], ds[PIECES];
        UNROLL
        for (int p = 0; p < PIECES; p++)
            if (lane * 8 + p * 256 < columns) {
                xs[p] = *(const u4 *)(g.sum + at + p * 256);
                ds[p] = *(const u4 *)(g.dy + at + p * 256);
            }
        UNROLL
        for (int p = 0; p < PIECES; p++)
            if (lane * 8 + p * 256 < columns) {
                float x[8], d[8], w[8];
                unpack(x, xs[p]);
                unpack(d, ds[p]);
                load_floats(w, g.weight + lane * 8 + p * 256);
                UNROLL
                for (int k = 0; k < 8; k++) {
                    float normed = (x[k] - mean) * inverse;
                    by_normed[p][k] += d[k] * normed;
                    by_one[p][k] += d[k];
                    first += d[k] * w[k];
                    second += d[k] * w[k] * normed;
                }
            }
        first = warp_sum(first) / (float)columns;
        second = warp_sum(second) / (float)columns;
        UNROLL
        for (int p = 0; p < PIECES; p++)
            if (lane * 8 + p * 256 < columns) {
                float x[8], d[8], w[8], old[8];
                unpack(x, xs[p]);
                unpack(d, ds[p]);
                load_floats(w, g.weight + lane * 8 + p * 256);
                if (!g.first)
                    unpack(old, *(const u4 *)(g.d_sum + at + p * 256));
                UNROLL
                for (int k = 0; k < 8; k++) {
                    float normed = (x[k] - mean) * inverse;
                    d[k] = inverse * (d[k] * w[k] - first - normed * second);
                    d[k] += g.first ? 0 : old[k];
                }
                u4 v = pack(d);
                *(u4 *)(g.d_sum + at + p * 256) = v;
                unpack(d, v);
                UNROLL
                for (int k = 0; k < 8; k++)
                    of_sum[p][k] += d[k];
            }
    }
    UNROLL
    for (int which = 0; which < 3; which++)
        UNROLL
    for (int p = 0; p < PIECES; p++) {
        SYNC();
        UNROLL
        for (int k = 0; k < 8; k++)
            shared[warp][lane * 8 + k] = which == 0   ? by_normed[p][k]
                                         : which == 1 ? by_one[p][k]
                                                      : of_sum[p][k];
        SYNC();
        int column = p * 256 + THREAD;
        float sum = 0;
        for (int i = 0; i < 8; i++)
            sum += shared[i][THREAD];
        if (column < columns)
            g.sums[((i64)BLOCK * 3 + which) * columns + column] = sum;
    }
}

#define ROW_NORM(pieces, blocks)                                                                   \
    KERNEL(256, 1) row_norm_##pieces(const cuda_row_norm g)                                        \
    {                                                                                              \
        norm_rows<pieces>(g);                                                                      \
    }                                                                                              \
    KERNEL(256, blocks) row_norm_back_##pieces(const cuda_row_norm g)                              \
    {                                                                                              \
        norm_rows_back<pieces>(g);                                                                 \
    }
ROW_NORM(1, 2)
ROW_NORM(3, 2)
ROW_NORM(4, 1)
ROW_NORM(5, 1)
ROW_NORM(8, 1)

// ---- sums over rows: of 256 columns per block, a part per block ----

KERNEL(256, 1) column_sums(const cuda_column_sums g)
{
    SHARED float shared[8][256];
    int lane = THREAD & 31, warp = THREAD >> 5, column = BLOCK * 256 + lane * 8;
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0}, x[8];
    if (column < g.columns)
#pragma unroll 4
        for (int row = BLOCK_Y * 8 + warp; row < g.rows; row += BLOCKS_Y * 8) {
            unpack(x, *(const u4 *)(g.x + (i64)row * g.columns + column));
            UNROLL
            for (int k = 0; k < 8; k++)
                sum[k] += x[k];
        }
    UNROLL
    for (int k = 0; k < 8; k++)
        shared[warp][lane * 8 + k] = sum[k];
    SYNC();
    float all = 0;
    for (int i = 0; i < 8; i++)
        all += shared[i][THREAD];
    if (BLOCK * 256 + THREAD < g.columns)
        g.sums[(i64)BLOCK_Y * g.columns + BLOCK * 256 + THREAD] = all;
}

// 32 columns per block, eight threads for each.
KERNEL(256, 1) sum_parts(const cuda_sum_parts g)
{
    SHARED float shared[8][32];
    int lane = THREAD & 31, part = THREAD >> 5, column = BLOCK * 32 + lane, result = BLOCK_Y;
    float sum = 0;
    if (column < g.columns)
#pragma unroll 16
        for (int i = part; i < g.count; i += 8)
            sum += g.parts[((i64)i * g.results + result) * g.columns + column];
    shared[part][lane] = sum;
    SYNC();
    float *to = result == 0 ? g.to[0] : result == 1 ? g.to[1] : g.to[2];
    if (part != 0 || column >= g.columns || !to)
        return;
    for (int i = 1; i < 8; i++)
        sum += shared[i][lane];
    to[column] = g.add ? to[column] + sum : sum;
}

// ---- the loss, and predictions: a block per row of logits ----

template <int WARPS> DEVICE float block_sum(float x, float *shared)
{
    x = warp_sum(x);
    SYNC();
    if ((THREAD & 31) == 0)
        shared[THREAD >> 5] = x;
    SYNC();
    x = 0;
    for (int i = 0; i < WARPS; i++)
        x += shared[i];
    return x;
}

template <int WARPS> DEVICE float block_most(float x, float *shared)
{
    for (int k = 16; k > 0; k >>= 1)
        x = max_of(x, shuffle_xor(x, k));
    SYNC();
    if ((THREAD & 31) == 0)
        shared[THREAD >> 5] = x;
    SYNC();
    x = shared[0];
    for (int i = 1; i < WARPS; i++)
        x = max_of(x, shared[i]);
    return x;
}

// Of two pairs of bf16; a number counts more than NaN.
DEVICE u32 most_of_pairs(u32 a, u32 b)
{
    u32 y;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

enum { LOSS_THREADS = 512, LOSS_WARPS = LOSS_THREADS / 32 };
enum : u32 { NOTHING = 0xff80 }; // minus infinity in bf16
extern SHARED __attribute__((aligned(128))) char text_memory[];

// Whether a number before `label` is as large.
DEVICE bool one_before(const u4 *kept, int label, float most, float *shared)
{
    int found = 0;
    for (int i = THREAD; i * 8 < label; i += LOSS_THREADS) {
        float x[8];
        unpack(x, kept[i]);
        UNROLL
        for (int k = 0; k < 8; k++)
            found |= i * 8 + k < label && x[k] == most;
    }
    return block_sum<LOSS_WARPS>(found ? 1 : 0, shared) > 0;
}

// The row stays in shared memory between its parts: it is read and written once. Padding becomes
// minus infinity there, so that inner loops test nothing, and the label's gradient is mended after.
KERNEL(LOSS_THREADS, 2) token_loss(const cuda_token_loss g)
{
    SHARED float shared[LOSS_WARPS];
    u4 *kept = (u4 *)text_memory;
    u16 *numbers = (u16 *)text_memory;
    int row = BLOCK, label = g.labels[row], vectors = g.pitch / 8;
    u16 *z = g.logits + (i64)row * g.pitch;
    bool counts = g.first + row < g.now->count * g.time;
    for (int i = THREAD; i < vectors; i += LOSS_THREADS)
        copy16(kept + i, z + i * 8, true);
    copies_end_group();
    copies_wait<0>();
    SYNC();
    for (int c = g.units + THREAD; c < g.pitch; c += LOSS_THREADS)
        numbers[c] = NOTHING;
    SYNC();
    u32 top = NOTHING << 16 | NOTHING;
    for (int i = THREAD; i < vectors; i += LOSS_THREADS) {
        u4 v = kept[i];
        top = most_of_pairs(top, most_of_pairs(most_of_pairs(v.x, v.y), most_of_pairs(v.z, v.w)));
    }
    float most = block_most<LOSS_WARPS>(max_of(low_of(top), high_of(top)), shared);
    float shift = most * LOG2_E, total = 0;
    for (int i = THREAD; i < vectors; i += LOSS_THREADS) {
        float x[8];
        unpack(x, kept[i]);
        UNROLL
        for (int k = 0; k < 8; k++)
            total += exp2_of(x[k] * LOG2_E - shift);
    }
    total = block_sum<LOSS_WARPS>(total, shared);
    float here = low_of(numbers[label]);
    bool right = here == most && !one_before(kept, label, most, shared);
    if (THREAD == 0) {
        float loss = (log2_of(total) + shift) * LN_2 - here;
        cuda_score score = {counts ? loss : 0, counts && right};
        g.scores[row] = score;
    }
    if (!g.gradient)
        return;
    float share = counts ? 1 / ((float)g.now->total * (float)g.time) : 0;
    shift -= log2_of(share / total); // of a row that does not count: infinite, and all become 0
    for (int i = THREAD; i < vectors; i += LOSS_THREADS) {
        float x[8];
        unpack(x, kept[i]);
        UNROLL
        for (int k = 0; k < 8; k++)
            x[k] = exp2_of(x[k] * LOG2_E - shift);
        *(u4 *)(z + i * 8) = pack(x);
    }
    if (label / 8 % LOSS_THREADS == (int)THREAD) // this thread has stored it
        z[label] = bf16_of(exp2_of(here * LOG2_E - shift) - share);
}

// A warp per sample; the batch's first one advances the row of the step table.
KERNEL(128, 1) text_scores(const cuda_text_scores g)
{
    int sample = BLOCK * 4 + (THREAD >> 5), lane = THREAD & 31;
    if (sample >= g.batch)
        return;
    float loss = 0;
    int right = 0;
    for (int t = lane; t < g.time; t += 32) {
        const cuda_score *score = g.tokens + (i64)sample * g.time + t;
        loss += score->loss;
        right += score->right;
    }
    loss = warp_sum(loss);
    for (int k = 16; k > 0; k >>= 1)
        right += shuffle_xor(right, k);
    if (lane != 0)
        return;
    cuda_score score = {loss, right};
    g.scores[(i64)(g.now->step % g.ring) * g.batch + sample] = score;
    if (sample == 0)
        *g.next_step = g.now->step + 1;
}

// ---- predicting: a block per sample ----

KERNEL(256, 1) text_pick(const cuda_text_pick g)
{
    i64 from = ((i64)BLOCK * g.time + g.now->position) * g.columns, to = (i64)BLOCK * g.columns;
    for (int c = THREAD; c < g.columns; c += 256)
        g.y[to + c] = g.x[from + c];
}

KERNEL(256, 1) text_predict(const cuda_text_predict g)
{
    SHARED float shared[8];
    const u16 *z = g.logits + (i64)BLOCK * g.pitch;
    float most = -__builtin_inff(), total = 0;
    for (int c = THREAD; c < g.units; c += 256)
        most = max_of(most, low_of(z[c]));
    most = block_most<8>(most, shared);
    for (int c = THREAD; c < g.units; c += 256)
        total += exp_of(low_of(z[c]) - most);
    float by = 1 / block_sum<8>(total, shared);
    for (int c = THREAD; c < g.units; c += 256)
        g.out[(i64)BLOCK * g.units + c] = exp_of(low_of(z[c]) - most) * by;
}

// ---- AdamW: a block per chunk of one parameter ----

// The sum of the parts; `summed`: it lies in the first one. AT_ONCE: loads that are under way.
template <int AT_ONCE> DEVICE f4 chunk_gradient(const cuda_param *param, i64 at, bool summed)
{
    const float *from = param->grad + (at - param->at);
    i64 part = param->part;
    int left = summed ? 0 : param->parts - 1;
    f4 sum = *(const f4 *)from;
    for (; AT_ONCE > 1 && left >= AT_ONCE; left -= AT_ONCE) {
        f4 more[AT_ONCE];
        UNROLL
        for (int i = 0; i < AT_ONCE; i++)
            more[i] = *(const f4 *)(from += part);
        UNROLL
        for (int i = 0; i < AT_ONCE; i++)
            ADD_FOUR(sum, more[i]);
    }
#pragma unroll 1
    for (; left > 0; left--) {
        f4 more = *(const f4 *)(from += part);
        ADD_FOUR(sum, more);
    }
    return sum;
}

// A block goes through every BLOCKS-th chunk, and knows the next one before it reads this one's
// numbers. The number of blocks is the planner's, the same for every GPU: so is the order of sums.
KERNEL(256, 6) adamw_squares(const cuda_adamw g)
{
    SHARED float shared[8];
    int chunk = BLOCK, next = g.all.chunk_param[chunk];
    i64 next_at = g.all.chunk_at[chunk];
    float sum = 0;
    while (chunk < g.chunks) {
        const cuda_param *param = g.all.params + next;
        i64 at = next_at + THREAD * 4;
        chunk += BLOCKS;
        if (chunk < g.chunks) {
            next = g.all.chunk_param[chunk];
            next_at = g.all.chunk_at[chunk];
        }
        if (at < param->end) {
            f4 d = chunk_gradient<4>(param, at, false);
            if (param->parts > 1)
                *(f4 *)(u64)(param->grad + (at - param->at)) = d;
            sum += (d.x * d.x + d.y * d.y) + (d.z * d.z + d.w * d.w);
        }
    }
    sum = block_sum<8>(sum, shared);
    if (THREAD == 0)
        g.squares[BLOCK] = sum;
}

KERNEL(1024, 1) adamw_factor(const cuda_adamw g)
{
    SHARED float shared[32];
    float sum = 0;
    for (int i = THREAD; i < g.sums; i += 1024)
        sum += g.squares[i];
    sum = block_sum<32>(sum, shared);
    float factor = g.clip / (sqrt_of(sum) + 1e-6f);
    if (THREAD == 0)
        *g.factor = factor < 1 ? factor : 1;
}

KERNEL(256, 1) adamw(const cuda_adamw g)
{
    const cuda_param *param = g.all.params + g.all.chunk_param[BLOCK];
    i64 at = g.all.chunk_at[BLOCK] + THREAD * 4;
    if (at >= param->end)
        return;
    const cuda_now *now = g.all.optimizer.now;
    f4 d4 = chunk_gradient<1>(param, at, g.clip > 0);
    float *p_at = g.all.optimizer.p + at, *m_at = g.all.optimizer.state0 + at,
          *v_at = g.all.optimizer.state1 + at;
    f4 p4 = *(const f4 *)p_at, m4 = *(const f4 *)m_at, v4 = *(const f4 *)v_at;
    float d[4] = {d4.x, d4.y, d4.z, d4.w}, p[4] = {p4.x, p4.y, p4.z, p4.w},
          m[4] = {m4.x, m4.y, m4.z, m4.w}, v[4] = {v4.x, v4.y, v4.z, v4.w};
    float factor = g.clip > 0 ? *g.factor : 1, rate = now->rate, one = now->rises[0],
          two = now->rises[1];
    float rho = g.all.optimizer.rho, beta2 = g.all.optimizer.beta2,
          epsilon = g.all.optimizer.epsilon;
    float keep = 1 - rate * (param->decayed ? g.all.optimizer.weight_decay : 0);
    UNROLL
    for (int i = 0; i < 4; i++) {
        float x = d[i] * factor;
        m[i] = rho * m[i] + (1 - rho) * x;
        v[i] = beta2 * v[i] + (1 - beta2) * x * x;
        p[i] = p[i] * keep - rate * one * m[i] / (sqrt_of(v[i]) * two + epsilon);
    }
    *(f4 *)p_at = f4{p[0], p[1], p[2], p[3]};
    *(f4 *)m_at = f4{m[0], m[1], m[2], m[3]};
    *(f4 *)v_at = f4{v[0], v[1], v[2], v[3]};
    *(u2 *)(g.all.optimizer.rounded + at) = u2{bf16_pair(p[0], p[1]), bf16_pair(p[2], p[3])};
}
