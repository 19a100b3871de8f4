// SPDX-License-Identifier: Apache-2.0
// lstm: the steps of an LSTM that depend on each other; what does not is a product (gemm.cu).
//
// A block takes four sequences of one direction through all steps. In the fast form (64 or 128
// units, tensor cores) the recurrent weights stay in registers for the whole way, as the A operand
// of products with 8 columns, each sequence twice: so a thread gets the four gates of one unit of
// one sequence, and nothing has to change hands but the new state, through shared memory. Operands
// are halves with ten bits, as tf32 has them; gradients are scaled so that halves can hold them.
// The general form does any number of units in single precision.
//
// A thread reads what it alone needs, some steps ahead, through asynchronous copies of its own.
#include "dev.cuh"

#ifndef PRECISION
#define PRECISION 1
#endif

#define GROUP 4 // sequences of a block

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

DEVICE void copy_own(u32 to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Without a branch.
DEVICE void store_if(bool really, void *to, u4 v)
{
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.v4.b32 [%1], {%2, %3, %4, %5};}" ::"r"(
            (u32)really),
        "l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
        : "memory");
}

DEVICE void store_if(bool really, void *to, float v)
{
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.f32 [%1], %2;}" ::"r"((u32)really),
        "l"(to), "f"(v)
        : "memory");
}

#define AHEAD 8 // steps that are read ahead: a power of two

// Shared memory: the ring of what is read ahead, then what goes from thread to thread. The host
// knows its size (plan.c). What the way back needs of a unit's step is four words: the gates as
// halves, i and f, g and o, the cell, and nothing.
template <int H> DEVICE void forward_fast(const cuda_lstm &g)
{
    constexpr int threads = 4 * H, row = H + 32; // row: of the state, in halves
    f4(*ring)[threads] = (f4(*)[threads])lstm_memory;
    u16(*state)[GROUP][row] = (u16(*)[GROUP][row])(ring + AHEAD);
    int lane = THREAD & 31, warp = THREAD >> 5, lg = lane >> 2, lt = lane & 3, unit = 8 * warp + lg;
    int way = BLOCK_Y, sample = BLOCK * GROUP + lt, here = sample < g.samples ? sample : 0,
        time = g.time;
    bool real = sample < g.samples, keep = g.keep && real;
    const float *w = g.weight + (i64)way * 4 * H * H;
    u32 a[2][H / 16][4]; // gates i, f in the first, g, o in the second
    UNROLL
    for (int m = 0; m < 2; m++)
        UNROLL
    for (int s = 0; s < H / 16; s++) {
        int k = ((s >> 1) * 4 + lt) * 8 + (s & 1) * 4;
        const float *r0 = w + (4 * unit + 2 * m) * H + k, *r1 = r0 + H;
        a[m][s][0] = half_pair(r0[0], r0[1]);
        a[m][s][1] = half_pair(r1[0], r1[1]);
        a[m][s][2] = half_pair(r0[2], r0[3]);
        a[m][s][3] = half_pair(r1[2], r1[3]);
    }
    for (int i = THREAD; i < GROUP * row; i += threads)
        (&state[0][0][0])[i] = 0;
    int t = way ? time - 1 : 0, step = way ? -1 : 1;
    const f4 *x = (const f4 *)g.xz + (((i64)here * time + t) * g.ways + way) * H + unit;
    int x_step = step * g.ways * H;
    u32 ring_at = shared_address(&ring[0][THREAD]);
    UNROLL
    for (int s = 0; s < AHEAD - 1; s++) {
        if (s < time)
            copy_own(ring_at + s * threads * 16, x + s * x_step);
        copies_end_group();
    }
    x += (AHEAD - 1) * x_step;
    i64 at = ((i64)way * g.samples + here) * time + t;
    u4 *kept = (u4 *)g.gates + at * H + unit;
    float *states = g.state + at * H + unit;
    const u16 *from = &state[0][lg >> 1][8 * lt];
    u16 *to = &state[0][lt][unit];
    int next_step = step * H;
    float c = 0, h = 0, before = 0;
    u4 last = {0, 0, 0, 0};
    copies_wait<AHEAD - 2>();
    f4 in = ring[0][THREAD];
    SYNC();
    auto one = [&](int s, int parity) __attribute__((always_inline))
    {
        int now = parity * GROUP * row, next = GROUP * row - now;
        u4 v[H / 32];
        UNROLL
        for (int k = 0; k < H / 32; k++)
            v[k] = *(const u4 *)(from + now + 32 * k);
        float z[2][2][4];
        mma_half_from(z[0][0], a[0][0], v[0].x, v[0].y, in.x, in.y);
        mma_half_from(z[1][0], a[1][0], v[0].x, v[0].y, in.z, in.w);
        mma_half_from(z[0][1], a[0][1], v[0].z, v[0].w, 0, 0);
        mma_half_from(z[1][1], a[1][1], v[0].z, v[0].w, 0, 0);
        UNROLL
        for (int k = 1; k < H / 32; k++)
            UNROLL
        for (int m = 0; m < 2; m++) {
            mma_half(z[m][0], a[m][2 * k], v[k].x, v[k].y);
            mma_half(z[m][1], a[m][2 * k + 1], v[k].z, v[k].w);
        }
        // While the products are on their way: what the next step needs, and what the last one
        // left.
        copies_wait<AHEAD - 3>();
        in = ring[(s + 1) & (AHEAD - 1)][THREAD];
        bool store = keep && s > 0;
        store_if(store, kept, last);
        store_if(store, states, before);
        kept += s > 0 ? next_step : 0;
        states += s > 0 ? next_step : 0;
        if (s + AHEAD - 1 < time)
            copy_own(ring_at + ((s + AHEAD - 1) & (AHEAD - 1)) * threads * 16, x + parity * x_step);
        copies_end_group();
        before = h;
        float gi = sigmoid_fast(z[0][0][0] + z[0][1][0]),
              gf = sigmoid_fast(z[0][0][2] + z[0][1][2]);
        float gg = tanh_fast(z[1][0][0] + z[1][1][0]), go = sigmoid_fast(z[1][0][2] + z[1][1][2]);
        c = gf * c + gi * gg;
        h = go * tanh_fast(c);
        to[next] = half_of(h);
        SYNC();
        last.x = half_pair(gi, gf);
        last.y = half_pair(gg, go);
        last.z = bits(c);
    };
    int s = 0;
    for (; s + 1 < time; s += 2) {
        one(s, 0);
        one(s + 1, 1);
        x += 2 * x_step;
    }
    if (s < time)
        one(s, 0);
    store_if(keep, kept, last);
    store_if(keep, states, before);
    if (real)
        g.y[(i64)sample * g.pitch + way * H + unit] = h;
}

#define SCALE 4096.0f // of gradients that are halves; |dz| below 14 is kept

// Two as halves, no larger than halves can be.
DEVICE u32 half_pair_within(float low, float high)
{
    float l = __builtin_fminf(__builtin_fmaxf(low, -60000), 60000),
          h = __builtin_fminf(__builtin_fmaxf(high, -60000), 60000);
    return half_pair(l, h);
}

// The 4 H sums of a step go back to H units: a pair of warps makes 16 of these, each from half of
// the sums, and hands the other the half of the units that is not its own.
template <int H> DEVICE void back_fast(const cuda_lstm &g)
{
    constexpr int threads = 4 * H, row = 4 * H + 32;
    u4(*ring)[threads] = (u4(*)[threads])lstm_memory;
    float(*handed)[threads] = (float(*)[threads])(ring + AHEAD);
    u16(*dz)[GROUP][row] = (u16(*)[GROUP][row])(handed + 2);
    int lane = THREAD & 31, warp = THREAD >> 5, lg = lane >> 2, lt = lane & 3, unit = 8 * warp + lg;
    int way = BLOCK_Y, sample = BLOCK * GROUP + lt, here = sample < g.samples ? sample : 0,
        time = g.time;
    bool real = sample < g.samples;
    const float *w = g.weight + (i64)way * 4 * H * H;
    int tile = warp >> 1, half = warp & 1;
    u32 a[H / 8][4];
    UNROLL
    for (int s = 0; s < H / 8; s++) {
        int k = half * 2 * H + ((s >> 1) * 4 + lt) * 8 + (s & 1) * 4;
        const float *r0 = w + (i64)k * H + 16 * tile + lg, *r1 = r0 + 8;
        a[s][0] = half_pair(r0[0], r0[H]);
        a[s][1] = half_pair(r1[0], r1[H]);
        a[s][2] = half_pair(r0[2 * H], r0[3 * H]);
        a[s][3] = half_pair(r1[2 * H], r1[3 * H]);
    }
    // The last step first.
    int t = way ? 0 : time - 1, step = way ? 1 : -1, next_step = step * H;
    const u4 *kept = (const u4 *)g.gates + (((i64)way * g.samples + here) * time + t) * H + unit;
    u4 *out = (u4 *)g.dz + (((i64)here * time + t) * g.ways + way) * H + unit;
    int out_step = step * g.ways * H;
    u32 ring_at = shared_address(&ring[0][THREAD]);
    UNROLL
    for (int s = 0; s < AHEAD - 1; s++) {
        if (s < time)
            copy_own(ring_at + s * threads * 16, kept + (i64)s * next_step);
        copies_end_group();
    }
    kept += (i64)(AHEAD - 1) * next_step;
    float dc = 0, dh = real ? g.y[(i64)sample * g.pitch + way * H + unit] * SCALE : 0;
    const u16 *from = &dz[0][lg >> 1][half * 2 * H + 8 * lt];
    u16 *to = &dz[0][lt][4 * unit];
    copies_wait<AHEAD - 3>();
    u4 own = ring[0][THREAD],
       other = ring[1][THREAD]; // of this step, and of the one before it in time
    float tc = tanh_fast(__builtin_bit_cast(float, own.z));
    auto one = [&](int s, int parity) __attribute__((always_inline))
    {
        int now = parity * GROUP * row;
        float gi = half_low(own.x), gf = half_high(own.x), gg = half_low(own.y),
              go = half_high(own.y);
        float old = s + 1 < time ? __builtin_bit_cast(float, other.z) : 0;
        float d = dc + dh * (go * (1 - tc * tc));
        float zi = d * (gg * gi * (1 - gi)), zf = d * (old * gf * (1 - gf)),
              zg = d * (gi * (1 - gg * gg));
        float zo = dh * (tc * go * (1 - go));
        u2 packed = {half_pair_within(zi, zf), half_pair_within(zg, zo)};
        *(u2 *)(to + now) = packed;
        dc = d * gf;
        SYNC();
        float e[2][4];
        UNROLL
        for (int k = 0; k < H / 16; k++) {
            u4 v = *(const u4 *)(from + now + 32 * k);
            if (k == 0) {
                mma_half_from(e[0], a[0], v.x, v.y, 0, 0);
                mma_half_from(e[1], a[1], v.z, v.w, 0, 0);
            } else {
                mma_half(e[0], a[2 * k], v.x, v.y);
                mma_half(e[1], a[2 * k + 1], v.z, v.w);
            }
        }
        // Meanwhile: this step's result, and the next ones' gates and cells.
        own = other;
        tc = tanh_fast(__builtin_bit_cast(float, own.z));
        copies_wait<AHEAD - 4>();
        other = ring[(s + 2) & (AHEAD - 1)][THREAD];
        u4 store = {bits(zi * (1 / SCALE)), bits(zf * (1 / SCALE)), bits(zg * (1 / SCALE)),
                    bits(zo * (1 / SCALE))};
        store_if(real, out + parity * out_step, store);
        if (s + AHEAD - 1 < time)
            copy_own(ring_at + ((s + AHEAD - 1) & (AHEAD - 1)) * threads * 16,
                     kept + parity * next_step);
        copies_end_group();
        float first = e[0][0] + e[1][0], second = e[0][2] + e[1][2];
        handed[parity][THREAD ^ 32] = half ? first : second;
        asm volatile("bar.sync %0, 64;" ::"r"(1 + tile) : "memory");
        dh = (half ? second : first) + handed[parity][THREAD];
    };
    int s = 0;
    for (; s + 1 < time; s += 2) {
        one(s, 0);
        one(s + 1, 1);
        kept += 2 * next_step;
        out += 2 * out_step;
    }
    if (s < time)
        one(s, 0);
}

#define LSTM(name, form, h)                                                                        \
    KERNEL(4 * h, 1) name(const cuda_lstm g)                                                       \
    {                                                                                              \
        form<h>(g);                                                                                \
    }

LSTM(lstm_forward_64, forward_fast, 64)
LSTM(lstm_forward_128, forward_fast, 128)
LSTM(lstm_back_64, back_fast, 64)
LSTM(lstm_back_128, back_fast, 128)

#endif
