// SPDX-License-Identifier: Apache-2.0
// lstm: the time steps of an LSTM, which depend on each other; the rest is a product (gemm.cu).
//
// A block takes some sequences of one direction through all steps. In the fast form (64 or 128
// units, tensor cores) there are two, and the recurrent weights stay in registers for all steps, as
// the A operand of products with 8 columns, each sequence four times. So a thread gets the four
// gates of one unit of one sequence, and threads exchange only the new state, through shared
// memory. Operands are halves with ten bits, like tf32; gradients are scaled to fit halves. The
// general form does any number of units in single precision.
//
// A thread reads its own input some steps ahead, with asynchronous copies.
#include "dev.cuh"

#ifndef PRECISION
#define PRECISION 1
#endif

#define GROUP 4 // sequences of a block of the general form

DEVICE float hard_of(float z)
{
    float y = 0.2f * z + 0.5f;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

// ---- the general form ----

extern SHARED __attribute__((aligned(16))) float lstm_memory[];

KERNEL(256, 1) lstm_forward(const cuda_lstm g)
{
    float *state = lstm_memory, *cell = state + 2 * GROUP * g.units; // state: two of them, in turn
    int way = BLOCK_Y, first = BLOCK * GROUP, n = g.units;
    const float *w = g.weight + (i64)way * 4 * n * g.pitch_units;
    i64 side = (i64)way * g.samples * g.time;
    for (int i = THREAD; i < GROUP * n; i += 256)
        state[i] = cell[i] = 0;
    SYNC();
    for (int s = 0; s < g.time; s++) {
        int t = way ? g.time - 1 - s : s;
        const float *now = state + (s & 1) * GROUP * n;
        float *next = state + (~s & 1) * GROUP * n;
        for (int i = THREAD; i < GROUP * n; i += 256) {
            int q = i / n, unit = i - q * n, sample = first + q;
            if (sample >= g.samples)
                continue;
            i64 at = (i64)sample * g.time + t;
            f4 z = *(const f4 *)(g.xz + (at * g.ways + way) * 4 * n + 4 * unit);
            const float *row = w + (i64)4 * unit * g.pitch_units;
            for (int k = 0; k < n; k++) {
                float h = now[q * n + k];
                z.x += h * row[k];
                z.y += h * row[k + g.pitch_units];
                z.z += h * row[k + 2 * g.pitch_units];
                z.w += h * row[k + 3 * g.pitch_units];
            }
            float in = g.hard ? hard_of(z.x) : sigmoid_of(z.x),
                  keep = g.hard ? hard_of(z.y) : sigmoid_of(z.y);
            float out = g.hard ? hard_of(z.w) : sigmoid_of(z.w), add = tanh_of(z.z);
            float c = keep * cell[i] + in * add, h = out * tanh_of(c);
            if (g.keep) {
                f4 gates = {in, keep, add, out};
                ((f4 *)g.gates)[(side + at) * n + unit] = gates;
                g.cell[(side + at) * n + unit] = c;
                g.state[(side + at) * g.pitch_units + unit] = now[i];
            }
            cell[i] = c;
            next[i] = h;
            if (s + 1 == g.time)
                g.y[(i64)sample * g.pitch + way * n + unit] = h;
        }
        SYNC();
    }
}

KERNEL(256, 1) lstm_back(const cuda_lstm g)
{
    int n = g.units, way = BLOCK_Y, first = BLOCK * GROUP;
    float *dz = lstm_memory, *dc = dz + GROUP * 4 * n, *dh = dc + GROUP * n;
    const float *w = g.weight + (i64)way * 4 * n * g.pitch_units;
    i64 side = (i64)way * g.samples * g.time;
    for (int i = THREAD; i < GROUP * n; i += 256) {
        int q = i / n, sample = first + q;
        dc[i] = 0;
        dh[i] = sample < g.samples ? g.y[(i64)sample * g.pitch + way * n + (i - q * n)] : 0;
    }
    SYNC();
    for (int s = g.time - 1; s >= 0; s--) {
        int t = way ? g.time - 1 - s : s, before = way ? t + 1 : t - 1;
        for (int i = THREAD; i < GROUP * n; i += 256) {
            int q = i / n, unit = i - q * n, sample = first + q;
            f4 d = {0, 0, 0, 0};
            if (sample < g.samples) {
                i64 at = (i64)sample * g.time + t;
                f4 v = ((const f4 *)g.gates)[(side + at) * n + unit];
                float c = tanh_of(g.cell[(side + at) * n + unit]);
                float old = s > 0 ? g.cell[(side + (i64)sample * g.time + before) * n + unit] : 0;
                float whole = dc[i] + dh[i] * v.w * (1 - c * c);
                d.x = whole * v.z;
                d.y = whole * old;
                d.z = whole * v.x * (1 - v.z * v.z);
                d.w = dh[i] * c;
                if (g.hard) {
                    d.x *= v.x > 0 && v.x < 1 ? 0.2f : 0;
                    d.y *= v.y > 0 && v.y < 1 ? 0.2f : 0;
                    d.w *= v.w > 0 && v.w < 1 ? 0.2f : 0;
                } else {
                    d.x *= v.x * (1 - v.x);
                    d.y *= v.y * (1 - v.y);
                    d.w *= v.w * (1 - v.w);
                }
                dc[i] = whole * v.y;
                *(f4 *)(g.dz + (at * g.ways + way) * 4 * n + 4 * unit) = d;
            }
            *(f4 *)(dz + 4 * i) = d;
        }
        SYNC();
        for (int i = THREAD; i < GROUP * n; i += 256) {
            int q = i / n, unit = i - q * n;
            float sum = 0;
            for (int k = 0; k < 4 * n; k++)
                sum += dz[q * 4 * n + k] * w[(i64)k * g.pitch_units + unit];
            dh[i] = sum;
        }
        SYNC();
    }
}

// ---- the fast form ----

#if HAS_ASYNC && PRECISION > 0

#define PAIR  2 // sequences of a block
#define AHEAD 8 // steps that are read ahead
// Of a step that is read ahead: both sequences as they lie in memory, apart so far that threads
// that read at once meet in no bank.
#define SLOT(h) (PAIR * ((h)*16 + 64))

DEVICE void copy_own_if(bool really, u32 to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(really ? 16 : 0)
                 : "memory");
}

// In assembly, so that it stays where it is, and addresses are made of it anew in every step: a
// pointer that moves would wait for the last store to have read it.
DEVICE void move(int &at, int step)
{
    asm volatile("add.s32 %0, %0, %1;" : "+r"(at) : "r"(step));
}

DEVICE void store_global(void *to, u4 v)
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}

DEVICE void store_global(void *to, float v)
{
    asm volatile("st.global.f32 [%0], %1;" ::"l"(to), "f"(v) : "memory");
}

DEVICE u4 load_shared(u32 from)
{
    u4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(from)
                 : "memory");
    return v;
}

// A thread's unit and sequence. In products of 16 rows with 8 columns, which are the two sequences
// four times over, a thread gets rows lg and lg + 8, which are units 2 lg and 2 lg + 1 of the
// warp's 16; it keeps that of unit 2 lg + (lt >> 1) and sequence lt & 1.
struct place {
    int lane, lg, lt, warp, unit, way, sample, here; // here: a sample that is there
    bool real, second;
    METHOD place(int samples)
    {
        lane = THREAD & 31;
        warp = THREAD >> 5;
        lg = lane >> 2;
        lt = lane & 3;
        second = lt >> 1;
        unit = 16 * warp + 2 * lg + (lt >> 1);
        way = BLOCK_Y;
        sample = BLOCK * PAIR + (lt & 1);
        real = sample < samples;
        here = real ? sample : 0;
    }
};

// A value that nobody reads.
DEVICE float any(void)
{
    float x;
    asm("" : "=f"(x));
    return x;
}

DEVICE float mine(bool second, float first, float last)
{
    return second ? last : first;
}

// Weights as the fast form takes them, halves in the order of its registers: for the way forward
// (warp, gate, 16 of k, lane), behind them for the way back (warp, 16 units that the sums are for,
// 4 units that they come from, lane), four words each.
// The sigmoid of z is tanh(z / 2) / 2 + 1 / 2: the inner half is in the weights.
// Behind the ways: the table, if there is one.
KERNEL(256, 1) lstm_prepare(const cuda_lstm g)
{
    if (BLOCK_Y == g.ways) {
        int columns = 4 * g.units * g.ways, n = BLOCK * 256 + THREAD;
        int v = n / columns, j = n - v * columns;
        if (v < g.vocabulary)
            g.table[n] = g.x_weight[(i64)j * g.x_pitch + v] + g.x_bias[j];
        return;
    }
    int h = g.units, i = BLOCK * 256 + THREAD, lane = i & 31, lg = lane >> 2, lt = lane & 3,
        way = BLOCK_Y;
    int rest = i >> 5, half = h * h / 2;
    const float *w = g.weight + (i64)way * 4 * h * h;
    u4 *to = (u4 *)g.packed + (i64)way * 2 * half;
    u4 v;
    if (i < half) {
        int tile = rest % (h / 16), gate = rest / (h / 16) & 3, warp = rest / (h / 4);
        int k = ((tile >> 1) * 4 + lt) * 8 + (tile & 1) * 4;
        const float *r = w + (4 * (16 * warp + 2 * lg) + gate) * h + k;
        f4 r0 = *(const f4 *)r, r1 = *(const f4 *)(r + 4 * h);
        float f = gate == 2 ? 1 : 0.5f;
        v.x = half_pair(f * r0.x, f * r0.y);
        v.y = half_pair(f * r1.x, f * r1.y);
        v.z = half_pair(f * r0.z, f * r0.w);
        v.w = half_pair(f * r1.z, f * r1.w);
    } else if (i < 2 * half) {
        rest -= half / 32;
        int k = rest & 3, tile = (rest >> 2) % (h / 16), warp = (rest >> 2) / (h / 16);
        int unit = 16 * warp + 8 * (k >> 1) + 2 * lt + (k & 1);
        const float *r = w + 4 * unit * h + 16 * tile + 2 * lg;
        f2 r0 = *(const f2 *)r, r1 = *(const f2 *)(r + h), r2 = *(const f2 *)(r + 2 * h),
           r3 = *(const f2 *)(r + 3 * h);
        v.x = half_pair(r0.x, r1.x);
        v.y = half_pair(r0.y, r1.y);
        v.z = half_pair(r2.x, r3.x);
        v.w = half_pair(r2.y, r3.y);
    } else {
        return;
    }
    to[i] = v;
}

// What a step leaves is stored in the next round, and what a step to come needs is asked for there:
// registers that a store or copy reads must stay as they are until it has, some fifty cycles later,
// and everything that would change them sooner waits.
//
// Shared memory: the ring of what is read ahead, then what goes from thread to thread. The host
// has its size (plan/sequences.c). What the way back needs of a unit's step is four words: the
// gates as halves, i and f, g and o, the cell, and nothing. TABLE: the input is one of few tokens,
// and what they bring to the gates lies in a table.
template <int H, bool TABLE> DEVICE void forward_fast(const cuda_lstm &g)
{
    constexpr int threads = 2 * H, row = (H + 32) * 2, slot = SLOT(H), tiles = H / 16;
    place me(g.samples);
    int time = g.time, way = me.way;
    bool keep = g.keep && me.real, second = me.second;
    u32 base = shared_address(lstm_memory) + AHEAD * slot;
    u32 ring = base - AHEAD * slot + (me.lt & 1) * (slot / 2) + me.unit * 16;
    int t = way ? time - 1 : 0, step = way ? -1 : 1;
    const f4 *x =
        (const f4 *)g.xz +
        (TABLE ? way * H + me.unit : (((i64)me.here * time + t) * g.ways + way) * H + me.unit);
    const int *token = TABLE ? g.tokens + (i64)me.here * time + t : nullptr;
    int x_step = step * g.ways * H;          // in vectors
    int row_of_table = g.ways * H, next = 0; // next: the token that is copied for next
    UNROLL
    for (int s = 0; s < AHEAD - 1; s++) {
        if (TABLE)
            next = s < time ? token[s * step] : 0;
        copy_own_if(s < time, ring + s * slot, x + (TABLE ? next * row_of_table : s * x_step));
        copies_end_group();
    }
    int x_at = (AHEAD - 1) * x_step, token_at = (AHEAD - 1) * step;
    if (TABLE)
        next = AHEAD - 1 < time ? token[token_at] : 0;
    u32 a[4][tiles][4]; // gates, as they lie in memory
    const u4 *packed = (const u4 *)g.packed + (i64)way * H * H + me.warp * 4 * tiles * 32 + me.lane;
    UNROLL
    for (int i = 0; i < 4 * tiles; i++) {
        u4 v = packed[32 * i];
        a[i / tiles][i % tiles][0] = v.x;
        a[i / tiles][i % tiles][1] = v.y;
        a[i / tiles][i % tiles][2] = v.z;
        a[i / tiles][i % tiles][3] = v.w;
    }
    for (int i = THREAD; i < 2 * PAIR * row / 4; i += threads)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(base + 4 * i), "r"(0) : "memory");
    i64 at = ((i64)way * g.samples + me.here) * time + t;
    u4 *kept = keep ? (u4 *)g.gates + at * H + me.unit : (u4 *)g.waste + THREAD;
    float *states = keep ? g.state + at * H + me.unit : (float *)g.waste + THREAD;
    int kept_step = keep ? step * H : 0, kept_at = 0;
    u32 from = base + (me.lg >> 1 & 1) * row + 16 * me.lt,
        to = base + (me.lt & 1) * row + 2 * me.unit;
    u32 now = 0, ahead = 0, behind = (AHEAD - 1) * slot;
    float c = 0, h = 0;
    u4 all = {0, 0, 0, 0};
    copies_wait<AHEAD - 2>();
    SYNC();
    u4 v[H / 32], in = load_shared(ring);
    UNROLL
    for (int k = 0; k < H / 32; k++)
        v[k] = load_shared(from + 64 * k);
#pragma unroll 1
    for (int s = 0; s < time; s++) {
        // What the last step left (before the first one, nothing: it is written again), and what a
        // step to come begins with.
        store_global(states + kept_at, h);
        store_global(kept + kept_at - (s > 0 ? kept_step : 0), all);
        copy_own_if(s + AHEAD - 1 < time, ring + behind, x + (TABLE ? next * row_of_table : x_at));
        copies_end_group();
        if (TABLE) {
            move(token_at, step);
            asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p ld.global.s32 %0, [%2];}"
                         : "+r"(next)
                         : "r"((u32)(s + AHEAD < time)), "l"(token + token_at)
                         : "memory");
        }
        float z[4][4];
        const float x0[4] = {
            0.5f * __builtin_bit_cast(float, in.x), 0.5f * __builtin_bit_cast(float, in.y),
            __builtin_bit_cast(float, in.z), 0.5f * __builtin_bit_cast(float, in.w)};
        UNROLL
        for (int k = 0; k < tiles; k++)
            UNROLL
        for (int i = 0; i < 4; i++) {
            int gate = i == 0 ? 2 : i == 1 ? 0 : i == 2 ? 1 : 3; // the cell's first
            u32 b0 = k & 1 ? v[k / 2].z : v[k / 2].x, b1 = k & 1 ? v[k / 2].w : v[k / 2].y;
            const float begin[4] = {x0[gate], any(), x0[gate], any()};
            if (k == 0)
                mma_half_to(z[gate], a[gate][k], b0, b1, begin);
            else
                mma_half(z[gate], a[gate][k], b0, b1);
        }
        move(x_at, x_step);
        move(kept_at, kept_step);
        float half_c = 0.5f * c;
        float tg = tanh_fast(mine(second, z[2][0], z[2][2])), half_g = 0.5f * tg;
        float ti = tanh_fast(mine(second, z[0][0], z[0][2])), ig = ti * half_g + half_g;
        float tf = tanh_fast(mine(second, z[1][0], z[1][2]));
        float to_ = tanh_fast(mine(second, z[3][0], z[3][2]));
        c = (tf * half_c + half_c) + ig;
        float go = 0.5f * to_ + 0.5f;
        h = go * tanh_fast(c);
        now = PAIR * row - now;
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(to + now), "r"(half_pair(h, 0)) : "memory");
        SYNC();
        UNROLL
        for (int k = 0; k < H / 32; k++)
            v[k] = load_shared(from + now + 64 * k);
        behind = ahead;
        ahead = ahead == (AHEAD - 1) * slot ? 0 : ahead + slot;
        copies_wait<AHEAD - 2>();
        in = load_shared(ring + ahead);
        all.x = half_pair(0.5f * ti + 0.5f, 0.5f * tf + 0.5f);
        all.y = half_pair(tg, go);
        all.z = bits(c);
    }
    store_global(kept + kept_at - kept_step, all);
    if (me.real)
        g.y[(i64)me.sample * g.pitch + way * H + me.unit] = h;
}

#define SCALE 4096.0f // of gradients that are halves; |dz| below 14 is kept

// Two as halves, no larger than halves can be.
DEVICE u32 half_pair_within(float low, float high)
{
    u32 y;
    asm("min.f16x2 %0, %1, %2;" : "=r"(y) : "r"(half_pair(low, high)), "r"(0x7b007b00));
    asm("max.f16x2 %0, %0, %1;" : "+r"(y) : "r"(0xfb00fb00));
    return y;
}

// The 4 H gates of a step go back to H units. A warp has the gates of its own 16 units and makes of
// them a part of every unit's sum; the parts change hands through shared memory.
template <int H> DEVICE void back_fast(const cuda_lstm &g)
{
    constexpr int threads = 2 * H, slot = SLOT(H), tiles = H / 16, row = 192,
                  parts = tiles * tiles * 128;
    place me(g.samples);
    int time = g.time, way = me.way;
    bool real = me.real;
    u32 base = shared_address(lstm_memory) + AHEAD * slot;
    u32 ring = base - AHEAD * slot + (me.lt & 1) * (slot / 2) + me.unit * 16;
    // The last step first.
    int t = way ? 0 : time - 1, step = way ? 1 : -1;
    int kept_step = step * H, out_step = real ? step * g.ways * H : 0;
    const u4 *kept =
        (const u4 *)g.gates + (((i64)way * g.samples + me.here) * time + t) * H + me.unit;
    u4 *out = real ? (u4 *)g.dz + (((i64)me.here * time + t) * g.ways + way) * H + me.unit
                   : (u4 *)g.waste + THREAD;
    UNROLL
    for (int s = 0; s < AHEAD - 1; s++) {
        copy_own_if(s < time, ring + s * slot, kept + s * kept_step);
        copies_end_group();
    }
    int kept_at = (AHEAD - 1) * kept_step, out_at = 0;
    u32 a[tiles][4][4];
    const u4 *packed =
        (const u4 *)g.packed + (i64)way * H * H + H * H / 2 + me.warp * tiles * 4 * 32 + me.lane;
    UNROLL
    for (int i = 0; i < 4 * tiles; i++) {
        u4 v = packed[32 * i];
        a[i / 4][i % 4][0] = v.x;
        a[i / 4][i % 4][1] = v.y;
        a[i / 4][i % 4][2] = v.z;
        a[i / 4][i % 4][3] = v.w;
    }
    // Parts of the sums, two of them in turn: (warp that made it, warp that it is for, lane).
    u32 in = base + THREAD * 4, part = base + me.warp * tiles * 128 + me.lg * 16,
        own_gates = base + 2 * parts + me.warp * 2 * row;
    u32 to = own_gates + (me.lt & 1) * row + (me.unit & 15) * 8,
        from = own_gates + (me.lg & 1) * row + me.lt * 16;
    float first = real ? g.y[(i64)me.sample * g.pitch + way * H + me.unit] * SCALE : 0;
    UNROLL
    for (int i = 0; i < tiles; i++)
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(in + i * tiles * 128), "f"(i == 0 ? first : 0)
                     : "memory");
    u32 now = 0, ahead = slot, behind = (AHEAD - 1) * slot;
    copies_wait<AHEAD - 3>();
    u4 own = load_shared(ring),
       older = load_shared(ring + slot); // of a step, and of the one before
    float dc = 0, by_h, by_i, by_f, by_g, by_o, gf;
    auto ready = [&](bool begins) __attribute__((always_inline))
    {
        float gi = half_low(own.x), gg = half_low(own.y), go = half_high(own.y);
        gf = half_high(own.x);
        float tc = tanh_fast(__builtin_bit_cast(float, own.z));
        float old = begins ? 0 : __builtin_bit_cast(float, older.z);
        by_h = go - go * tc * tc;
        by_i = gg * (gi - gi * gi);
        by_f = old * (gf - gf * gf);
        by_g = gi - gi * gg * gg;
        by_o = tc * (go - go * go);
    };
    ready(time == 1);
    SYNC();
    float sum[tiles];
    auto load_sums = [&]() __attribute__((always_inline))
    {
        UNROLL
        for (int i = 0; i < tiles; i++)
            asm volatile("ld.shared.f32 %0, [%1];"
                         : "=f"(sum[i])
                         : "r"(in + now + i * tiles * 128)
                         : "memory");
    };
    load_sums();
    u4 all = {0, 0, 0, 0};
#pragma unroll 1
    for (int s = 0; s < time; s++) {
        // What the last step left (before the first one, nothing: it is written again), and what a
        // step to come begins with.
        store_global(out + out_at - (s > 0 ? out_step : 0), all);
        copy_own_if(s + AHEAD - 1 < time, ring + behind, kept + kept_at);
        copies_end_group();
        UNROLL
        for (int n = tiles / 2; n > 0; n /= 2)
            UNROLL
        for (int i = 0; i < n; i++)
            sum[i] += sum[i + n];
        float dh = sum[0], d = dc + dh * by_h;
        float zi = d * by_i, zf = d * by_f, zg = d * by_g, zo = dh * by_o;
        asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to), "r"(half_pair_within(zi, zf)),
                     "r"(half_pair_within(zg, zo))
                     : "memory");
        dc = d * gf;
        asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
        u4 v[2] = {load_shared(from), load_shared(from + 64)};
        float e[tiles][4];
        const float zero[4] = {0, 0, 0, 0};
        UNROLL
        for (int k = 0; k < 4; k++)
            UNROLL
        for (int i = 0; i < tiles; i++) {
            u32 b0 = k & 1 ? v[k / 2].z : v[k / 2].x, b1 = k & 1 ? v[k / 2].w : v[k / 2].y;
            if (k == 0)
                mma_half_to(e[i], a[i][k], b0, b1, zero);
            else
                mma_half(e[i], a[i][k], b0, b1);
        }
        // Meanwhile: this step's result, and the next ones' gates and cells.
        now = parts - now;
        move(out_at, out_step);
        move(kept_at, kept_step);
        all.x = bits(zi * (1 / SCALE));
        all.y = bits(zf * (1 / SCALE));
        all.z = bits(zg * (1 / SCALE));
        all.w = bits(zo * (1 / SCALE));
        copies_wait<AHEAD - 3>();
        behind = ahead == 0 ? (AHEAD - 1) * slot : ahead - slot;
        ahead = ahead == (AHEAD - 1) * slot ? 0 : ahead + slot;
        own = older;
        older = load_shared(ring + ahead);
        ready(s + 2 >= time);
        UNROLL
        for (int i = 0; i < tiles; i++)
            asm volatile("{.reg .pred p; setp.eq.s32 p, %5, 0; @p st.shared.v4.f32 [%0], {%1, %2, "
                         "%3, %4};}" ::"r"(part + now + i * 128),
                         "f"(e[i][0]), "f"(e[i][1]), "f"(e[i][2]), "f"(e[i][3]), "r"(me.lt)
                         : "memory");
        SYNC();
        load_sums();
    }
    store_global(out + out_at - out_step, all);
}

#define LSTM(name, h, ...)                                                                         \
    KERNEL(2 * h, 1) name(const cuda_lstm g)                                                       \
    {                                                                                              \
        __VA_ARGS__(g);                                                                            \
    }

LSTM(lstm_forward_64, 64, forward_fast<64, false>)
LSTM(lstm_forward_128, 128, forward_fast<128, false>)
LSTM(lstm_table_64, 64, forward_fast<64, true>)
LSTM(lstm_table_128, 128, forward_fast<128, true>)
LSTM(lstm_back_64, 64, back_fast<64>)
LSTM(lstm_back_128, 128, back_fast<128>)

#endif
