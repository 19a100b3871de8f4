// SPDX-License-Identifier: Apache-2.0
// lstm: the steps of an LSTM that depend on each other; what does not is a product (gemm.cu).
//
// A block takes four sequences of one direction through all steps. In the fast form (64 or 128
// units, tensor cores) the recurrent weights stay in registers for the whole way, as the A operand
// of products with 8 columns, of which every other one is a sequence: so a thread gets the four
// gates of one unit of one sequence, and nothing has to change hands but the new state, through
// shared memory. Operands are halves with ten bits, as tf32 has them; gradients are scaled so that
// halves can hold them. The general form does any number of units in single precision.
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

extern SHARED float lstm_memory[];

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

template <int BYTES> DEVICE void copy_own(void *to, const void *from)
{
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)),
                     "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)),
                     "l"(from), "n"(BYTES)
                     : "memory");
}

template <int H> struct ahead { // steps that are read ahead: a power of two
    static constexpr int steps = H > 64 ? 4 : 8;
};

template <int H> DEVICE void forward_fast(const cuda_lstm &g)
{
    constexpr int AHEAD = ahead<H>::steps, threads = 4 * H,
                  row = H + 32; // row: of the state, in halves
    SHARED __attribute__((aligned(16))) u16 state[2][GROUP][row];
    SHARED f4 ring[AHEAD][threads];
    int lane = THREAD & 31, warp = THREAD >> 5, lg = lane >> 2, lt = lane & 3, unit = 8 * warp + lg;
    int way = BLOCK_Y, sample = BLOCK * GROUP + lt, here = sample < g.samples ? sample : 0,
        time = g.time;
    bool real = sample < g.samples, even = !(lg & 1);
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
    UNROLL
    for (int s = 0; s < AHEAD - 1; s++) {
        if (s < time)
            copy_own<16>(&ring[s][THREAD], x + s * x_step);
        copies_end_group();
    }
    x += (AHEAD - 1) * x_step;
    i64 at = ((i64)way * g.samples + here) * time + t;
    u2 *gates = (u2 *)g.gates + at * H + unit;
    float *cells = g.cell + at * H + unit, *states = g.state + at * H + unit;
    const u16 *from = &state[0][lg >> 1][8 * lt];
    u16 *to = &state[0][lt][unit];
    bool keep = g.keep && real;
    int next_step = step * H;
    float c = 0, h = 0, before = 0;
    u2 kept = {0, 0};
    copies_wait<AHEAD - 2>();
    f4 in = ring[0][THREAD];
    SYNC();
    for (int s = 0; s < time; s++) {
        int now = (s & 1) * GROUP * row, next = GROUP * row - now;
        u4 v[H / 32] = {};
        UNROLL
        for (int k = 0; k < H / 32; k++)
            if (even)
                v[k] = *(const u4 *)(from + now + 32 * k);
        float z[2][2][4] = {{{in.x, 0, in.y, 0}, {0, 0, 0, 0}}, {{in.z, 0, in.w, 0}, {0, 0, 0, 0}}};
        UNROLL
        for (int k = 0; k < H / 32; k++)
            UNROLL
        for (int m = 0; m < 2; m++) {
            mma_half(z[m][0], a[m][2 * k], v[k].x, v[k].y);
            mma_half(z[m][1], a[m][2 * k + 1], v[k].z, v[k].w);
        }
        // While the products are on their way: what the step before left, and what the next needs.
        if (keep && s > 0) {
            *gates = kept;
            *cells = c;
            *states = before;
            gates += next_step;
            cells += next_step;
            states += next_step;
        }
        if (s + AHEAD - 1 < time)
            copy_own<16>(&ring[(s + AHEAD - 1) & (AHEAD - 1)][THREAD], x);
        copies_end_group();
        x += x_step;
        copies_wait<AHEAD - 2>();
        in = ring[(s + 1) & (AHEAD - 1)][THREAD];
        before = h;
        float gi = sigmoid_fast(z[0][0][0] + z[0][1][0]),
              gf = sigmoid_fast(z[0][0][2] + z[0][1][2]);
        float gg = tanh_fast(z[1][0][0] + z[1][1][0]), go = sigmoid_fast(z[1][0][2] + z[1][1][2]);
        c = gf * c + gi * gg;
        h = go * tanh_fast(c);
        to[next] = half_of(h);
        SYNC();
        kept.x = half_pair(gi, gf);
        kept.y = half_pair(gg, go);
    }
    if (keep) {
        *gates = kept;
        *cells = c;
        *states = before;
    }
    if (real)
        g.y[(i64)sample * g.pitch + way * H + unit] = h;
}

#define SCALE 4096.0f // of gradients that are halves; |dz| below 16 is kept

DEVICE float within(float x)
{
    return x > 60000 ? 60000 : x < -60000 ? -60000 : x;
}

// The 4 H sums of a step go back to H units: a pair of warps makes 16 of these, each from half of
// the sums, and hands the other the half of the units that is not its own.
template <int H> DEVICE void back_fast(const cuda_lstm &g)
{
    constexpr int AHEAD = ahead<H>::steps, threads = 4 * H, row = 4 * H + 32;
    SHARED __attribute__((aligned(16))) u16 dz[2][GROUP][row];
    SHARED float handed[threads];
    SHARED u2 gate_ring[AHEAD][threads];
    SHARED float cell_ring[AHEAD][threads];
    int lane = THREAD & 31, warp = THREAD >> 5, lg = lane >> 2, lt = lane & 3, unit = 8 * warp + lg;
    int way = BLOCK_Y, sample = BLOCK * GROUP + lt, here = sample < g.samples ? sample : 0,
        time = g.time;
    bool real = sample < g.samples, even = !(lg & 1);
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
    i64 at = ((i64)way * g.samples + here) * time + t;
    const u2 *gates = (const u2 *)g.gates + at * H + unit;
    const float *cells = g.cell + at * H + unit;
    f4 *out = (f4 *)g.dz + (((i64)here * time + t) * g.ways + way) * H + unit;
    int out_step = step * g.ways * H;
    UNROLL
    for (int s = 0; s < AHEAD - 1; s++) {
        if (s < time)
            copy_own<8>(&gate_ring[s][THREAD], gates + (i64)s * next_step);
        if (s < time)
            copy_own<4>(&cell_ring[s][THREAD], cells + (i64)s * next_step);
        copies_end_group();
    }
    gates += (i64)(AHEAD - 1) * next_step;
    cells += (i64)(AHEAD - 1) * next_step;
    float dc = 0, dh = real ? g.y[(i64)sample * g.pitch + way * H + unit] * SCALE : 0;
    const u16 *from = &dz[0][lg >> 1][half * 2 * H + 8 * lt];
    u16 *to = &dz[0][lt][4 * unit];
    copies_wait<AHEAD - 3>();
    float tc = tanh_fast(cell_ring[0][THREAD]), old = time > 1 ? cell_ring[1][THREAD] : 0;
    u2 kept = gate_ring[0][THREAD];
    for (int s = 0; s < time; s++) {
        int now = (s & 1) * GROUP * row;
        float gi = half_low(kept.x), gf = half_high(kept.x), gg = half_low(kept.y),
              go = half_high(kept.y);
        float d = dc + dh * go * (1 - tc * tc);
        f4 z = {d * gg * gi * (1 - gi), d * old * gf * (1 - gf), d * gi * (1 - gg * gg),
                dh * tc * go * (1 - go)};
        u2 packed = {half_pair(within(z.x), within(z.y)), half_pair(within(z.z), within(z.w))};
        *(u2 *)(to + now) = packed;
        dc = d * gf;
        SYNC();
        float e[2][4] = {};
        UNROLL
        for (int k = 0; k < H / 16; k++) {
            u4 v = {};
            if (even)
                v = *(const u4 *)(from + now + 32 * k);
            mma_half(e[0], a[2 * k], v.x, v.y);
            mma_half(e[1], a[2 * k + 1], v.z, v.w);
        }
        // Meanwhile: this step's result, and the next one's gates, its cell and the one before
        // that.
        if (real) {
            f4 store = {z.x * (1 / SCALE), z.y * (1 / SCALE), z.z * (1 / SCALE), z.w * (1 / SCALE)};
            *out = store;
        }
        out += out_step;
        if (s + AHEAD - 1 < time) {
            copy_own<8>(&gate_ring[(s + AHEAD - 1) & (AHEAD - 1)][THREAD], gates);
            copy_own<4>(&cell_ring[(s + AHEAD - 1) & (AHEAD - 1)][THREAD], cells);
        }
        copies_end_group();
        gates += next_step;
        cells += next_step;
        copies_wait<AHEAD - 3>();
        kept = gate_ring[(s + 1) & (AHEAD - 1)][THREAD];
        tc = tanh_fast(old);
        old = s + 2 < time ? cell_ring[(s + 2) & (AHEAD - 1)][THREAD] : 0;
        float first = e[0][0] + e[1][0], second = e[0][2] + e[1][2];
        handed[THREAD ^ 32] = half ? first : second;
        asm volatile("bar.sync %0, 64;" ::"r"(1 + tile) : "memory");
        dh = (half ? second : first) + handed[THREAD];
    }
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
