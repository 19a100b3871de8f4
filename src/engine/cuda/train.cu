// SPDX-License-Identifier: Apache-2.0
// train: the loss with its gradient, and the optimizers (net/recipe.h has the rules).
#include "rules.cuh"

// One block; a warp takes a row, rows in a fixed order.
KERNEL(1024, 1) loss(const cuda_loss g)
{
    SHARED double losses[32];
    SHARED int right[32];
    int lane = THREAD & 31, warp = THREAD >> 5, count = g.now->count;
    float share = g.weight / (float)count;
    double sum = 0;
    int correct = 0;
    for (int row = warp; row < g.batch; row += 32) {
        const float *z = g.z + (i64)row * g.pitch;
        float *dz = g.dz ? g.dz + (i64)row * g.pitch : nullptr;
        bool counts = row < count;
        int label = g.labels[row];
        if (g.sigmoid) {
            float x = z[0], e = exp_of(x < 0 ? x : -x), p = x < 0 ? e / (1 + e) : 1 / (1 + e);
            if (counts) {
                sum += (double)((x > 0 ? x : 0) - (label ? x : 0) + log_of(1 + e));
                correct += (x > 0) == (label != 0);
            }
            if (dz && lane < g.pitch)
                dz[lane] = lane == 0 && counts ? (p - (float)label) * share : 0;
            if (g.out && lane == 0)
                g.out[row] = p;
            continue;
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
        if (counts) {
            sum += (double)(log_of(total) + most - z[label]);
            correct += best == label;
        }
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
    }
    if (!g.scored)
        return;
    if (lane == 0) {
        losses[warp] = sum;
        right[warp] = correct;
    }
    SYNC();
    if (THREAD != 0)
        return;
    for (int k = 1; k < 32; k++) {
        sum += losses[k];
        correct += right[k];
    }
    cuda_score *score = &g.scores[g.now->tick % g.rows];
    score->loss = sum;
    score->correct = correct;
    score->count = count;
    *g.tick = g.now->tick + 1;
}

DEVICE int add_one(int *at)
{
    int old;
    asm volatile("atom.global.add.s32 %0, [%1], 1;" : "=r"(old) : "l"(at) : "memory");
    return old;
}

// The head of a net: dense layer, loss, and the gradient of what comes before, for a row by a warp
// that keeps the row in registers. In single precision: it is little work. The last block to end
// adds the rows' losses up, in their order.
extern SHARED float head_memory[];

KERNEL(128, 1) head(const cuda_head g)
{
    SHARED int last;
    int lane = THREAD & 31, row = BLOCK * 4 + (THREAD >> 5), count = g.now->count, units = g.units;
    int inputs = g.inputs, columns = g.columns;
    bool here = row < g.batch, counts = row < count;
    const u32 *stream = DROP_STREAM(g.drop);
    // The weights, and zeros behind them: a row's last vectors may reach into the next row.
    for (int i = 4 * THREAD; i < units * inputs; i += 512)
        copy16(head_memory + i, g.weight + i, true);
    if (THREAD < 128)
        head_memory[units * inputs + THREAD] = 0;
    copies_end_group();
    constexpr int vectors = CUDA_HEAD_INPUTS / 128;
    f4 x[vectors], dx[vectors], kept[vectors], zero = {0, 0, 0, 0};
    UNROLL
    for (int i = 0; i < vectors; i++) {
        int k = 4 * lane + 128 * i;
        x[i] = here && k < inputs ? *(const f4 *)(g.x + (i64)row * inputs + k) : zero;
    }
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
            u64 index = (u64)row * columns + k;
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
    if (here) {
        float z[2] = {-__builtin_inff(), -__builtin_inff()};
        for (int u = 0; u < units; u++) {
            const float *w = head_memory + u * inputs + 4 * lane;
            float sum = 0;
            UNROLL
            for (int i = 0; i < vectors; i++)
                if (128 * i < inputs) {
                    f4 v = *(const f4 *)(w + 128 * i);
                    sum += x[i].x * v.x + x[i].y * v.y + x[i].z * v.z + x[i].w * v.w;
                }
            sum = warp_sum(sum) + g.bias[u];
            if ((u & 31) == lane)
                z[u >> 5] = sum;
        }
        int label = counts ? g.labels[row] : 0, right = 0;
        float share = 1 / (float)count, d[2] = {0, 0};
        double lost = 0;
        if (g.sigmoid) {
            float v = z[0], e = exp_of(v < 0 ? v : -v), p = v < 0 ? e / (1 + e) : 1 / (1 + e);
            lost = (double)((v > 0 ? v : 0) - (label ? v : 0) + log_of(1 + e));
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
            lost = (double)(log_of(total) + most - own);
            right = best == label;
            float inverse = 1 / total;
            d[0] = (e0 * inverse - (label == lane ? 1.0f : 0.0f)) * share;
            d[1] = (e1 * inverse - (label == lane + 32 ? 1.0f : 0.0f)) * share;
            if (g.out && lane < units)
                g.out[(i64)row * units + lane] = e0 * inverse;
            if (g.out && lane + 32 < units)
                g.out[(i64)row * units + lane + 32] = e1 * inverse;
        }
        if (!counts)
            d[0] = d[1] = 0;
        if (g.dz)
            UNROLL
        for (int k = 0; k < 2; k++)
            if (lane + 32 * k < g.pitch)
                g.dz[(i64)row * g.pitch + lane + 32 * k] = lane + 32 * k < units ? d[k] : 0;
        if (g.dx) {
            for (int u = 0; u < units; u++) {
                const float *w = head_memory + u * inputs + 4 * lane;
                float own = u < 32 ? d[0] : d[1], from;
                asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                             : "=f"(from)
                             : "f"(own), "r"(u & 31));
                UNROLL
                for (int i = 0; i < vectors; i++)
                    if (128 * i < inputs) {
                        f4 v = *(const f4 *)(w + 128 * i);
                        dx[i].x += from * v.x;
                        dx[i].y += from * v.y;
                        dx[i].z += from * v.z;
                        dx[i].w += from * v.w;
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
        if (lane == 0 && g.scored) {
            g.row_loss[row] = counts ? lost : 0;
            g.row_right[row] = counts ? right : 0;
        }
    }
    if (!g.scored)
        return;
    asm volatile("membar.gl;" ::: "memory");
    SYNC();
    if (THREAD == 0)
        last = add_one(g.arrived) == (int)BLOCKS - 1;
    SYNC();
    if (!last || THREAD >= 32)
        return;
    asm volatile("membar.gl;" ::: "memory");
    double sum = 0;
    int right = 0;
    for (int r = lane; r < g.batch; r += 32) {
        sum += ((volatile double *)g.row_loss)[r];
        right += ((volatile int *)g.row_right)[r];
    }
    for (int k = 16; k > 0; k >>= 1) {
        int low = shuffle_xor((int)(u32) __builtin_bit_cast(u64, sum), k);
        int high = shuffle_xor((int)(u32)(__builtin_bit_cast(u64, sum) >> 32), k);
        sum += __builtin_bit_cast(double, (u64)(u32)low | (u64)(u32)high << 32);
        right += shuffle_xor(right, k);
    }
    if (lane != 0)
        return;
    *g.arrived = 0;
    cuda_score *score = &g.scores[g.now->tick % g.rows];
    score->loss = sum;
    score->correct = right;
    score->count = count;
    *g.tick = g.now->tick + 1;
}

// A block takes a chunk of one parameter; its gradient's parts are summed in their order.
KERNEL(256, 1) optimize(const cuda_optimize g)
{
    const cuda_param *param = g.params + g.chunk_param[BLOCK];
    i64 at = g.chunk_at[BLOCK] + THREAD * 4;
    if (at >= param->end || param->parts == 0)
        return;
    const float *from = param->grad + (at - param->at);
    f4 d4 = *(const f4 *)from;
    for (int k = 1; k < param->parts; k++) {
        f4 more = *(const f4 *)(from + k * param->part);
        d4.x += more.x;
        d4.y += more.y;
        d4.z += more.z;
        d4.w += more.w;
    }
    step_four(g.optimizer, at, param->decayed ? g.optimizer.weight_decay : 0, d4);
}

// ---- embedding ----
//
// Adam moves every row in every step, but a batch touches few. With `lazy` a row that is not used
// waits, and the steps that it missed are made when it is used next. Its mean shrinks by rho in
// each, so that after some hundred of them nothing moves any more, and the rest is a power.

DEVICE float power(float base, int n)
{
    float y = 1;
    for (; n > 0; n >>= 1, base *= base)
        if (n & 1)
            y *= base;
    return y;
}

// A warp makes the missed steps of a row.
DEVICE void catch_up(const cuda_embed &g, int token, int to)
{
    int from = g.age[token], lane = THREAD & 31;
    if (from >= to)
        return;
    for (int c = lane; c < g.pitch; c += 32) {
        i64 at = (i64)token * g.pitch + c;
        float p = g.table[at], m = g.state0[at], v = g.state1[at];
        int t = from;
        for (; t < to && m != 0; t++) {
            m = g.rho * m + 0.0f;
            v = g.beta2 * v + 0.0f;
            float k = t < g.known ? g.rates[t] : g.rate, move = k * m / (sqrt_of(v) + g.epsilon);
            float moved = p - move;
            if (moved == p && t > from + 64) { // it shrinks from here on
                t++;
                break;
            }
            p = moved;
        }
        if (t < to) {
            m *= power(g.rho, to - t);
            v *= power(g.beta2, to - t);
        }
        g.table[at] = p;
        g.state0[at] = m;
        g.state1[at] = v;
    }
    if (lane == 0)
        g.age[token] = to;
}

DEVICE int exchange(int *at, int value)
{
    int old;
    asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
    return old;
}

// A warp per position: whoever comes first to a row brings it up to date.
KERNEL(256, 1) embed_catch_up(const cuda_embed g)
{
    int position = BLOCK * 8 + (THREAD >> 5), lane = THREAD & 31;
    if (position >= g.positions)
        return;
    int token = g.tokens[position], mine = g.now->tick + 1, old = mine;
    if (lane == 0)
        old = exchange(&g.claim[token], mine);
    if (ballot(lane == 0 && old != mine))
        catch_up(g, token, g.now->age);
}

// All rows: before somebody looks at the table.
KERNEL(256, 1) embed_catch_up_all(const cuda_embed g)
{
    int token = BLOCK * 8 + (THREAD >> 5);
    if (token < g.vocabulary)
        catch_up(g, token, g.now->age);
}

KERNEL(256, 1) embed_gather(const cuda_embed g)
{
    int line = g.pitch / 4;
    i64 i = (i64)BLOCK * 256 + THREAD;
    if (i >= (i64)g.positions * line)
        return;
    i64 position = i / line;
    int c = (int)(i - position * line) * 4;
    *(f4 *)(g.y + position * g.pitch + c) =
        *(const f4 *)(g.table + (i64)g.tokens[position] * g.pitch + c);
}

// A block per position; the first one of a token sums the gradients of all and makes the row's step
// (or hands the sum to the optimizer). Each warp finds its share of the positions, four by four;
// then warp w takes every eighth that was found, beginning with the w-th, so that the order of the
// sum is always the same.
KERNEL(256, 6) embed_back(const cuda_embed g)
{
    enum { PIECE = 4096 }; // positions that are looked through at once
    SHARED u16 found[8][PIECE / 8];
    SHARED int counts[8], earlier;
    SHARED f4 sums[8][32];
    int position = BLOCK, token = g.tokens[position], warp = THREAD >> 5, lane = THREAD & 31;
    int positions = g.positions, pitch = g.pitch;
    const int *tokens = g.tokens;
    const float *dy = g.dy;
    if (THREAD == 0)
        earlier = 0;
    SYNC();
    int c = BLOCK_Y * 128 + 4 * lane, before = 0; // before: found in the pieces so far
    f4 sum = {0, 0, 0, 0};
    for (int piece = 0; piece < positions; piece += PIECE) {
        int n = 0;
        UNROLL
        for (int i = 0; i < PIECE / 1024; i++) {
            int at = (warp + 8 * i) * 128 + 4 * lane, place = piece + at;
            u4 four = {~0u, ~0u, ~0u, ~0u};
            if (place + 3 < positions) {
                four = *(const u4 *)(tokens + place);
            } else {
                four.x = place < positions ? (u32)tokens[place] : ~0u;
                four.y = place + 1 < positions ? (u32)tokens[place + 1] : ~0u;
                four.z = place + 2 < positions ? (u32)tokens[place + 2] : ~0u;
            }
            bool same[4] = {four.x == (u32)token, four.y == (u32)token, four.z == (u32)token,
                            four.w == (u32)token};
            UNROLL
            for (int k = 0; k < 4; k++) {
                u32 all = ballot(same[k]);
                if (same[k]) {
                    found[warp][n + __builtin_popcount(all & ((1u << lane) - 1))] = (u16)(at + k);
                    if (place + k < position)
                        earlier = 1;
                }
                n += __builtin_popcount(all);
            }
        }
        if (lane == 0)
            counts[warp] = n;
        SYNC();
        if (earlier)
            return;
        for (int w = 0; w < 8; w++) {
            int count = counts[w];
#pragma unroll 4
            for (int i = (warp - before) & 7; i < count; i += 8)
                if (c < pitch) {
                    f4 d = *(const f4 *)(dy + (i64)(piece + found[w][i]) * pitch + c);
                    sum.x += d.x;
                    sum.y += d.y;
                    sum.z += d.z;
                    sum.w += d.w;
                }
            before += count;
        }
        SYNC();
    }
    {
        sums[warp][lane] = sum;
        SYNC();
        if (warp == 0 && c < pitch) {
            for (int k = 1; k < 8; k++) {
                f4 d = sums[k][lane];
                sum.x += d.x;
                sum.y += d.y;
                sum.z += d.z;
                sum.w += d.w;
            }
            i64 at = (i64)token * pitch + c;
            if (g.lazy) {
                f4 p4 = *(const f4 *)(g.table + at), a4 = *(const f4 *)(g.state0 + at),
                   b4 = *(const f4 *)(g.state1 + at);
                float d[4] = {sum.x, sum.y, sum.z, sum.w}, p[4] = {p4.x, p4.y, p4.z, p4.w};
                float a[4] = {a4.x, a4.y, a4.z, a4.w}, b[4] = {b4.x, b4.y, b4.z, b4.w},
                      rate = g.now->rate;
                UNROLL
                for (int k = 0; k < 4; k++) {
                    moved now = step_of(ADAM, g.rho, g.beta2, g.epsilon, g.momentum, rate, d[k],
                                        p[k], a[k], b[k]);
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
    }
    if (g.lazy && THREAD == 0 && BLOCK_Y == 0)
        g.age[token] = g.now->age + 1;
}
