// SPDX-License-Identifier: Apache-2.0
// train: the loss with its gradient, and the optimizers (train/net/net.h has the rules).
#include "rules.cuh"

// Stores a sample's score; the first sample's also advances the row of the step table.
DEVICE void store_score(struct cuda_score *scores, int ring, int batch, const cuda_now *now,
                        int *next_step, int row, float lost, bool right)
{
    cuda_score score = {lost, right};
    scores[(i64)(now->step % ring) * batch + row] = score;
    if (row == 0)
        *next_step = now->step + 1;
}

// A warp per row.
KERNEL(128, 1) loss(const cuda_loss g)
{
    int lane = THREAD & 31, row = BLOCK * 4 + (THREAD >> 5), count = g.now->count;
    if (row >= g.batch)
        return;
    float share = g.weight / (float)g.now->total;
    const float *z = g.z + (i64)row * g.pitch;
    float *dz = g.dz ? g.dz + (i64)row * g.pitch : nullptr;
    bool counts = row < count;
    int label = g.labels[row];
    if (g.sigmoid) {
        float x = z[0], e = exp_of(x < 0 ? x : -x), p = x < 0 ? e / (1 + e) : 1 / (1 + e);
        if (dz && lane < g.pitch)
            dz[lane] = lane == 0 && counts ? (p - (float)label) * share : 0;
        if (g.out && lane == 0)
            g.out[row] = p;
        if (g.scored && lane == 0)
            store_score(g.scores, g.rows, g.batch, g.now, g.next_step, row,
                        (x > 0 ? x : 0) - (label ? x : 0) + log_of(1 + e), (x > 0) == (label != 0));
        return;
    }
    float most = -__builtin_inff();
    int best = 0x7fffffff;
    for (int k = lane; k < g.units; k += 32)
        if (z[k] > most) {
            most = z[k];
            best = k;
        }
    for (int k = 16; k > 0; k >>= 1) {
        float other = shuffle_xor(most, k);
        int at = shuffle_xor(best, k);
        if (other > most || (other == most && at < best)) {
            most = other;
            best = at;
        }
    }
    float total = 0;
    for (int k = lane; k < g.units; k += 32)
        total += exp_of(z[k] - most);
    total = warp_sum(total);
    float inverse = 1 / total;
    if (dz)
        for (int k = lane; k < g.pitch; k += 32) {
            float d = counts && k < g.units
                          ? (exp_of(z[k] - most) * inverse - (k == label ? 1.0f : 0.0f)) * share
                          : 0;
            dz[k] = g.add ? dz[k] + d : d;
        }
    if (g.out)
        for (int k = lane; k < g.units; k += 32)
            g.out[(i64)row * g.units + k] = exp_of(z[k] - most) * inverse;
    if (g.scored && lane == 0)
        store_score(g.scores, g.rows, g.batch, g.now, g.next_step, row,
                    log_of(total) + most - z[label], best == label);
}

// The head of a net: dense layer, loss, and the gradient of its input. A warp does a row and keeps
// it in registers, in single precision: it is little work.
extern SHARED float head_memory[];

DEVICE float dot(f4 a, f4 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

KERNEL(128, 1) head(const cuda_head g)
{
    constexpr int vectors = CUDA_HEAD_INPUTS / 128;
    int lane = THREAD & 31, row = BLOCK * 4 + (THREAD >> 5), units = g.units, inputs = g.inputs,
        columns = g.columns;
    // The weights, and zeros behind them: four units are taken at once, and a row's last vectors
    // may reach into the next row.
    for (int i = 4 * THREAD; i < units * inputs; i += 512)
        copy16(head_memory + i, g.weight + i, true);
    for (int i = THREAD; i < 3 * inputs + 128; i += 128)
        head_memory[units * inputs + i] = 0;
    copies_end_group();
    int count = g.now->count, label = row < g.batch ? g.labels[row] : 0;
    bool here = row < g.batch, counts = row < count;
    const u32 *stream = DROP_STREAM(g.drop);
    f4 x[vectors], dx[vectors], kept[vectors], zero = {0, 0, 0, 0};
    UNROLL
    for (int i = 0; i < vectors; i++) {
        int k = 4 * lane + 128 * i;
        x[i] = here && k < inputs ? *(const f4 *)(g.x + (i64)row * inputs + k) : zero;
    }
    float bias[2] = {lane < units ? g.bias[lane] : 0, lane + 32 < units ? g.bias[lane + 32] : 0};
    float scale = g.mask_scale;
    UNROLL
    for (int i = 0; i < vectors; i++) {
        int k = 4 * lane + 128 * i;
        f4 one = {1, 1, 1, 1};
        kept[i] = one;
        if (g.masked) {
            kept[i].x = x[i].x > 0 ? scale : 0;
            kept[i].y = x[i].y > 0 ? scale : 0;
            kept[i].z = x[i].z > 0 ? scale : 0;
            kept[i].w = x[i].w > 0 ? scale : 0;
        }
        if (stream && k < columns) {
            u64 index = (u64)(row + g.drop.now->first) * columns + k;
            float f = g.drop.scale;
            u32 t = g.drop.threshold;
            kept[i].x = drop_one(stream, t, f, index, 1);
            kept[i].y = drop_one(stream, t, f, index + 1, 1);
            kept[i].z = drop_one(stream, t, f, index + 2, 1);
            kept[i].w = drop_one(stream, t, f, index + 3, 1);
            x[i].x *= kept[i].x;
            x[i].y *= kept[i].y;
            x[i].z *= kept[i].z;
            x[i].w *= kept[i].w;
        }
        if (g.x_out && here && k < inputs)
            *(f4 *)(g.x_out + (i64)row * inputs + k) = x[i];
        dx[i] = zero;
    }
    copies_wait<0>();
    SYNC();
    if (!here)
        return;
    float z[2] = {-__builtin_inff(), -__builtin_inff()};
    for (int u = 0; u < units; u += 4) {
        const float *w = head_memory + u * inputs + 4 * lane;
        float sum[4] = {0, 0, 0, 0};
        UNROLL
        for (int i = 0; i < vectors; i++)
            if (128 * i < inputs)
                UNROLL
        for (int k = 0; k < 4; k++)
            sum[k] += dot(x[i], *(const f4 *)(w + k * inputs + 128 * i));
        UNROLL
        for (int k = 16; k > 0; k >>= 1) {
            float other[4];
            UNROLL
            for (int j = 0; j < 4; j++)
                other[j] = shuffle_xor(sum[j], k);
            UNROLL
            for (int j = 0; j < 4; j++)
                sum[j] += other[j];
        }
        UNROLL
        for (int j = 0; j < 4; j++)
            if (u + j < units && ((u + j) & 31) == lane)
                z[(u + j) >> 5 & 1] = sum[j] + bias[(u + j) >> 5 & 1];
    }
    float share = 1 / (float)g.now->total, d[2] = {0, 0}, lost;
    bool right;
    if (g.sigmoid) {
        float v = z[0], e = exp_of(v < 0 ? v : -v), p = v < 0 ? e / (1 + e) : 1 / (1 + e);
        lost = (v > 0 ? v : 0) - (label ? v : 0) + log_of(1 + e);
        right = (v > 0) == (label != 0);
        d[0] = lane == 0 ? (p - (float)label) * share : 0;
        if (g.out && lane == 0)
            g.out[row] = p;
    } else {
        float most = max_of(z[0], z[1]);
        int best = z[1] > z[0] ? lane + 32 : lane;
        for (int k = 16; k > 0; k >>= 1) {
            float other = shuffle_xor(most, k);
            int at = shuffle_xor(best, k);
            if (other > most || (other == most && at < best)) {
                most = other;
                best = at;
            }
        }
        float e0 = exp_of(z[0] - most), e1 = exp_of(z[1] - most), total = warp_sum(e0 + e1);
        float own = warp_sum((label == lane ? z[0] : 0) + (label == lane + 32 ? z[1] : 0));
        lost = log_of(total) + most - own;
        right = best == label;
        float inverse = 1 / total;
        d[0] = (e0 * inverse - (label == lane ? 1.0f : 0.0f)) * share;
        d[1] = (e1 * inverse - (label == lane + 32 ? 1.0f : 0.0f)) * share;
        if (g.out && lane < units)
            g.out[(i64)row * units + lane] = e0 * inverse;
        if (g.out && lane + 32 < units)
            g.out[(i64)row * units + lane + 32] = e1 * inverse;
    }
    if (g.scored && lane == 0)
        store_score(g.scores, g.rows, g.batch, g.now, g.next_step, row, lost, right);
    if (!counts)
        d[0] = d[1] = 0;
    if (lane >= units)
        d[0] = 0;
    if (lane + 32 >= units)
        d[1] = 0;
    if (g.dz)
        UNROLL
    for (int k = 0; k < 2; k++)
        if (lane + 32 * k < g.pitch)
            g.dz[(i64)row * g.pitch + lane + 32 * k] = d[k];
    if (!g.dx)
        return;
    for (int u = 0; u < units; u += 4) {
        const float *w = head_memory + u * inputs + 4 * lane;
        float own = u < 32 ? d[0] : d[1], from[4];
        UNROLL
        for (int j = 0; j < 4; j++)
            asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                         : "=f"(from[j])
                         : "f"(own), "r"((u + j) & 31));
        UNROLL
        for (int i = 0; i < vectors; i++)
            if (128 * i < inputs)
                UNROLL
        for (int j = 0; j < 4; j++) {
            f4 v = *(const f4 *)(w + j * inputs + 128 * i);
            dx[i].x += from[j] * v.x;
            dx[i].y += from[j] * v.y;
            dx[i].z += from[j] * v.z;
            dx[i].w += from[j] * v.w;
        }
    }
    UNROLL
    for (int i = 0; i < vectors; i++)
        if (4 * lane + 128 * i < inputs) {
            f4 v = {dx[i].x * kept[i].x, dx[i].y * kept[i].y, dx[i].z * kept[i].z,
                    dx[i].w * kept[i].w};
            *(f4 *)(g.dx + (i64)row * inputs + 4 * lane + 128 * i) = v;
        }
}

// A block per chunk of one parameter. Few parts of a gradient are summed in order by one thread;
// many by CUDA_SUMMERS threads, each of which has every fourth.
KERNEL(256, 1) optimize(const cuda_optimize g)
{
    SHARED f4 sums[CUDA_SUMMERS - 1][256 / CUDA_SUMMERS];
    const cuda_param *param = g.params + g.chunk_param[BLOCK];
    bool many = param->parts > CUDA_FEW_PARTS;
    int summer = many ? THREAD / (256 / CUDA_SUMMERS) : 0;
    int four = many ? THREAD % (256 / CUDA_SUMMERS) : THREAD;
    i64 at = g.chunk_at[BLOCK] + four * 4;
    bool here = at < param->end && param->parts > 0;
    f4 d4 = {0, 0, 0, 0};
    if (here) {
        const float *from = param->grad + (at - param->at) + summer * param->part;
        int step = many ? CUDA_SUMMERS : 1;
        i64 next = step * param->part;
        d4 = *(const f4 *)from;
#pragma unroll 8
        for (int k = summer + step; k < param->parts; k += step) {
            from += next;
            f4 more = *(const f4 *)from;
            ADD_FOUR(d4, more);
        }
    }
    if (many) {
        if (summer > 0)
            sums[summer - 1][four] = d4;
        SYNC();
        if (summer > 0)
            return;
        UNROLL
        for (int k = 0; k < CUDA_SUMMERS - 1; k++) {
            f4 more = sums[k][four];
            ADD_FOUR(d4, more);
        }
    }
    if (here)
        step_four(g.optimizer, at, param->decayed ? g.optimizer.weight_decay : 0, d4);
}

// ---- several ranks ----

KERNEL(256, 1) gradient_fold(const cuda_folds g)
{
    int which = 0;
    while (which + 1 < g.count && g.job[which + 1].first <= (int)BLOCK)
        which++;
    const cuda_fold &job = g.job[which];
    i64 at = (i64)((int)BLOCK - job.first) * CUDA_CHUNK + THREAD * 4;
    if (at >= job.size)
        return;
    const float *from = job.from + at;
    f4 d4 = *(const f4 *)from;
    for (int k = 1; k < job.parts; k++) {
        f4 more = *(const f4 *)(from + k * job.part);
        ADD_FOUR(d4, more);
    }
    *(f4 *)(job.to + at) = d4;
}

DEVICE u32 now_ns()
{
    u32 ns;
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(ns));
    return ns;
}

// The score of this rank's samples, by one block.
KERNEL(256, 1) score_sum(const cuda_totals g)
{
    SHARED float shared[2][8];
    const cuda_score *from = g.scores + (i64)(g.now->step % g.ring) * g.batch;
    float loss = 0, right = 0;
    for (int i = THREAD; i < g.now->count; i += 256) {
        loss += from[i].loss;
        right += (float)from[i].right;
    }
    for (int i = THREAD; g.training && i < g.ranks; i += 256)
        g.sums[2 + i] = i == g.rank ? *g.waited : 0;
    loss = warp_sum(loss);
    right = warp_sum(right);
    if ((THREAD & 31) == 0) {
        shared[0][THREAD >> 5] = loss;
        shared[1][THREAD >> 5] = right;
    }
    SYNC();
    if (THREAD != 0)
        return;
    for (int k = 1; k < 8; k++) {
        loss += shared[0][k];
        right += shared[1][k];
    }
    g.sums[0] = loss;
    g.sums[1] = right;
}

KERNEL(32, 1) gradients_ready(const cuda_totals g)
{
    if (THREAD == 0)
        *g.ready = now_ns();
}

KERNEL(32, 1) score_keep(const cuda_totals g)
{
    if (THREAD != 0)
        return;
    u32 ns = now_ns();
    cuda_total *to = g.totals + g.now->step % g.ring;
    to->loss = g.sums[0];
    to->right = g.sums[1];
    if (!g.training)
        return;
    float least = g.sums[2];
    for (int i = 1; i < g.ranks; i++)
        least = g.sums[2 + i] < least ? g.sums[2 + i] : least;
    to->own_ns = g.sums[2 + g.rank];
    to->least_ns = least;
    int waited = (int)(ns - *g.ready);
    *g.waited = waited > 0 ? (float)waited : 0;
}

// ---- embedding ----
//
// Adam moves every row in every step, but a batch uses few. With `lazy`, the steps that an unused
// row missed are replayed in registers when it is next used. The result is written only with the
// row's own next step, so that no block reads a row that another changes. The mean shrinks by rho
// in each missed step, so that after some hundred of them nothing moves, and the rest is a power.
// The root of v is carried along: it shrinks by the root of beta2.

DEVICE float power(float base, int n)
{
    float y = 1;
    for (; n > 0; n >>= 1, base *= base)
        if (n & 1)
            y *= base;
    return y;
}

//
// Missed steps are replayed in eights. Rates and roots change so slowly that after the first steps
// the first, fourth and last of eight determine the sum (plan/sequences.c has their shares: a
// parabola through the three, off by 2e-7 of the sum at worst).
enum { SMOOTH = 64 };

template <int N>
DEVICE void catch_up(const cuda_embed &g, int from, int to, float *p, float *m, float *v)
{
    if (from >= to)
        return;
    const float *rates = g.rates;
    float rho = g.rho, beta2 = g.beta2, epsilon = g.epsilon, rate = g.rate, mean[N], root[N];
    float shrink = sqrt_of(beta2), shrink4 = beta2 * beta2, shrink8 = shrink4 * shrink4;
    float rho8 = power(rho, 8), one = g.shares[0], four = g.shares[1], eight = g.shares[2];
    int known = g.known, t = from;
    bool moves = true, smooth = shrink8 > 0.99f;
    UNROLL
    for (int i = 0; i < N; i++) {
        mean[i] = m[i];
        root[i] = sqrt_of(v[i]);
    }
    // Stops when all further steps together move nothing: less than a step times rho / (1 - rho).
    while (moves && t < to) {
        moves = false;
        if (smooth && t >= SMOOTH && t + 8 <= to) {
            float rate1 = t < known ? rates[t] : rate, rate4 = t + 3 < known ? rates[t + 3] : rate,
                  rate8 = t + 7 < known ? rates[t + 7] : rate;
            UNROLL
            for (int i = 0; i < N; i++) {
                float last = mean[i] * divide(rate8, root[i] * shrink8 + epsilon);
                p[i] -= mean[i] * (one * divide(rate1, root[i] * shrink + epsilon) +
                                   four * divide(rate4, root[i] * shrink4 + epsilon)) +
                        eight * last;
                mean[i] *= rho8;
                root[i] *= shrink8;
                moves |= 16 * rho8 * __builtin_fabsf(last) > 5e-8f * __builtin_fabsf(p[i]);
            }
            t += 8;
            continue;
        }
        for (int end = min_of(to, t + 8); t < end; t++) {
            float k = t < known ? rates[t] : rate;
            UNROLL
            for (int i = 0; i < N; i++) {
                mean[i] *= rho;
                root[i] *= shrink;
                float move = k * divide(mean[i], root[i] + epsilon);
                p[i] -= move;
                moves |= 16 * __builtin_fabsf(move) > 5e-8f * __builtin_fabsf(p[i]);
            }
        }
    }
    float left = power(rho, to - t), all = power(beta2, to - from);
    UNROLL
    for (int i = 0; i < N; i++) {
        m[i] = mean[i] * left;
        v[i] *= all;
    }
}

// All rows, before the host reads the table. A block per row and 128 columns; the second must see
// the same age as the first.
KERNEL(128, 1) embed_catch_up(const cuda_embed g)
{
    int token = BLOCK, c = BLOCK_Y * 128 + THREAD, from = g.age[token];
    if (c >= g.pitch)
        return;
    i64 at = (i64)token * g.pitch + c;
    float p = g.table[at], m = g.state0[at], v = g.state1[at];
    catch_up<1>(g, from, g.now->age, &p, &m, &v);
    g.table[at] = p;
    g.state0[at] = m;
    g.state1[at] = v;
}

KERNEL(128, 1) embed_gather(const cuda_embed g)
{
    int position = BLOCK, token = g.tokens[position], c = BLOCK_Y * 128 + THREAD;
    if (c >= g.pitch)
        return;
    i64 at = (i64)token * g.pitch + c;
    float p = g.table[at];
    if (g.lazy) {
        int from = g.age[token], to = g.now->age;
        if (from < to) {
            float m = g.state0[at], v = g.state1[at];
            catch_up<1>(g, from, to, &p, &m, &v);
        }
    }
    g.y[(i64)position * g.pitch + c] = p;
}

// A position's place in the order of tokens: after all smaller tokens and earlier positions of its
// own token. Eight threads count for one position.
KERNEL(256, 1) embed_order(const cuda_embed g)
{
    enum { PIECE = 4096 }; // tokens scanned at once
    SHARED __attribute__((aligned(16))) int piece[PIECE];
    int position = BLOCK * 32 + (THREAD >> 3), part = THREAD & 7, positions = g.positions;
    int token = position < positions ? g.tokens[position] : -1, less = 0, before = 0, same = 0;
    for (int from = 0; from < positions; from += PIECE) {
        int there = min_of(PIECE, positions - from);
        SYNC();
        for (int i = THREAD; i < (there + 31) / 32 * 32; i += 256)
            piece[i] = i < there ? g.tokens[from + i] : 0x7fffffff;
        SYNC();
        for (int i = 4 * part; i < there; i += 32) {
            u4 four = *(const u4 *)(piece + i);
            int t[4] = {(int)four.x, (int)four.y, (int)four.z, (int)four.w};
            UNROLL
            for (int k = 0; k < 4; k++) {
                less += t[k] < token;
                same += t[k] == token;
                before += t[k] == token && from + i + k < position;
            }
        }
    }
    UNROLL
    for (int k = 4; k > 0; k >>= 1) {
        less += shuffle_xor(less, k);
        same += shuffle_xor(same, k);
        before += shuffle_xor(before, k);
    }
    if (part == 0 && position < positions) {
        g.order[less + before] = position;
        g.first[position] = less;
        g.count[position] = before == 0 ? same : 0;
    }
}

// A block per position; the first position of a token sums the gradients of all and updates the row
// (or stores the sum for the optimizer). Each warp takes every fourth, so that the order of the sum
// is fixed.
KERNEL(128, 8) embed_back(const cuda_embed g)
{
    SHARED f4 sums[4][32];
    int position = BLOCK, count = g.count[position], warp = THREAD >> 5, lane = THREAD & 31;
    if (count == 0)
        return;
    int token = g.tokens[position], pitch = g.pitch, c = BLOCK_Y * 128 + 4 * lane;
    const int *all = g.order + g.first[position];
    const float *dy = g.dy + c;
    f4 sum = {0, 0, 0, 0};
    if (c < pitch) {
#pragma unroll 4
        for (int i = warp; i < count; i += 4) {
            f4 d = *(const f4 *)(dy + (i64)all[i] * pitch);
            ADD_FOUR(sum, d);
        }
    }
    sums[warp][lane] = sum;
    SYNC();
    if (warp == 0 && c < pitch) {
        UNROLL
        for (int k = 1; k < 4; k++) {
            f4 d = sums[k][lane];
            ADD_FOUR(sum, d);
        }
        i64 at = (i64)token * pitch + c;
        if (g.lazy) {
            f4 p4 = *(const f4 *)(g.table + at), a4 = *(const f4 *)(g.state0 + at),
               b4 = *(const f4 *)(g.state1 + at);
            float d[4] = {sum.x, sum.y, sum.z, sum.w}, p[4] = {p4.x, p4.y, p4.z, p4.w};
            float a[4] = {a4.x, a4.y, a4.z, a4.w}, b[4] = {b4.x, b4.y, b4.z, b4.w},
                  rate = g.now->rate;
            catch_up<4>(g, g.age[token], g.now->age, p, a, b);
            UNROLL
            for (int k = 0; k < 4; k++) {
                moved now = step_of(ADAM, g.rho, g.beta2, g.epsilon, g.momentum, rate, d[k], p[k],
                                    a[k], b[k]);
                p[k] = now.p;
                a[k] = now.a;
                b[k] = now.b;
            }
            f4 p_new = {p[0], p[1], p[2], p[3]}, a_new = {a[0], a[1], a[2], a[3]},
               b_new = {b[0], b[1], b[2], b[3]};
            *(f4 *)(g.table + at) = p_new;
            *(f4 *)(g.state0 + at) = a_new;
            *(f4 *)(g.state1 + at) = b_new;
        } else {
            *(f4 *)(g.grad + at) = sum;
        }
    }
    // With more columns than a block has, embed_age does this when all blocks are done.
    SYNC();
    if (g.lazy && THREAD == 0 && pitch <= 128)
        g.age[token] = g.now->age + 1;
}

KERNEL(256, 1) embed_age(const cuda_embed g)
{
    int position = BLOCK * 256 + THREAD;
    if (position < g.positions)
        g.age[g.tokens[position]] = g.now->age + 1;
}
