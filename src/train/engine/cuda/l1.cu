// SPDX-License-Identifier: Apache-2.0
// l1: sums of absolute differences between all pairs of rows.
//
// Two additions per pair of numbers, so the floor is the adders' own. A thread keeps 12 × 8 sums in
// registers and reads 20 vectors of four from shared memory for 768 additions; slices come a stage
// ahead, and three blocks on a processor hide each other's waits. Registers lie in two banks, odd
// and even, and an instruction reads one number of each at once: two that are subtracted must not
// come from the same. A vector's first register is even, so the numbers of b have changed places
// with their neighbours (l1_swap).
#include "dev.cuh"

#if HAS_ASYNC
enum { LK = 32 };
#else
enum { LK = 8 };
#endif
enum { LTHREADS = 128, LI = 12, LJ = 8, LM = 8 * LI, LN = 16 * LJ };
enum { LSTAGES = 2, LPITCH = LK + 4, LSTAGE = (LM + LN) * LPITCH };

extern SHARED float l1_memory[];

KERNEL(256, 1) l1_swap(const cuda_l1 g)
{
    i64 i = (i64)BLOCK * 256 + THREAD;
    if (i >= (i64)g.m * g.dim / 4)
        return;
    f4 *p = (f4 *)g.b + i, v = *p, swapped = {v.y, v.x, v.w, v.z};
    *p = swapped;
}

DEVICE float magnitude(float x)
{
    return __builtin_fabsf(x);
}

// In assembly, so that it stays where it is: the compiler would read everything first, and run out
// of registers.
DEVICE f4 load_here(u32 from)
{
    f4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(from));
    return v;
}

// ROWS rows of a slice. WHOLE: all of it is there.
template <int ROWS, bool WHOLE>
DEVICE void l1_load(const float *p, int rows, int left, int dim, u32 to)
{
    constexpr int line = LK / 4, step = LTHREADS / line;
    asm volatile("" : "+r"(dim)); // what follows from it is cheap and takes no registers meanwhile
    int at = THREAD % line * 4, row = THREAD / line;
    const float *from = p + row * dim + at;
    to += (row * LPITCH + at) * 4;
    UNROLL
    for (int k = 0; k < ROWS / step; k++, from += step * dim) {
        bool there = WHOLE || (at < left && row + k * step < rows);
        copy16(to + k * step * LPITCH * 4, there ? from : p, there);
    }
}

KERNEL(LTHREADS, 3) l1(const cuda_l1 g)
{
    int i0 = BLOCK * LM, j0 = BLOCK_Y * LN, tx = THREAD & 15, ty = THREAD >> 4, dim = g.dim;
    int n = g.n - i0, m = g.m - j0, slices = (dim + LK - 1) / LK;
    const float *a_next = g.a + (i64)i0 * dim, *b_next = g.b + (i64)j0 * dim;
    u32 base = shared_address(l1_memory), to = base, stage = base;
    bool whole = n >= LM && m >= LN;
    float sum[LI][LJ];
    UNROLL
    for (int i = 0; i < LI; i++)
        UNROLL
    for (int j = 0; j < LJ; j++)
        sum[i][j] = 0;
    auto load = [&](int s) __attribute__((always_inline))
    {
        int left = dim - s * LK;
        if (whole && left >= LK) {
            l1_load<LM, true>(a_next, n, left, dim, to);
            l1_load<LN, true>(b_next, m, left, dim, to + LM * LPITCH * 4);
        } else if (left > 0) {
            l1_load<LM, false>(a_next, n, left, dim, to);
            l1_load<LN, false>(b_next, m, left, dim, to + LM * LPITCH * 4);
        }
        copies_end_group();
        a_next += LK;
        b_next += LK;
        to = to == base + (LSTAGES - 1) * LSTAGE * 4 ? base : to + LSTAGE * 4;
    };
#pragma unroll 1
    for (int s = 0; s < LSTAGES - 1; s++)
        load(s);
#pragma unroll 1
    for (int s = 0; s < slices; s++) {
        copies_wait<LSTAGES - 2>();
        SYNC();
        load(s + LSTAGES - 1);
        u32 a = stage + ty * LPITCH * 4, b = stage + (LM + tx) * LPITCH * 4;
        stage = stage == base + (LSTAGES - 1) * LSTAGE * 4 ? base : stage + LSTAGE * 4;
        f4 x = load_here(a), y[LJ];
        UNROLL
        for (int j = 0; j < LJ; j++)
            y[j] = load_here(b + j * 16 * LPITCH * 4);
            // The next row's x comes while this row is added, the next four k's y with the last
            // row; behind a slice that is what pads its rows, and not used.
#pragma unroll 1
        for (int k = 0; k < LK; k += 4) {
            UNROLL
            for (int i = 0; i < LI; i++) {
                f4 next = load_here(a + (i + 1 < LI ? (i + 1) * 8 * LPITCH * 4 : 16));
                UNROLL
                for (int j = 0; j < LJ; j++)
                    sum[i][j] += magnitude(x.x - y[j].y);
                UNROLL
                for (int j = 0; j < LJ; j++)
                    sum[i][j] += magnitude(x.y - y[j].x);
                UNROLL
                for (int j = 0; j < LJ; j++)
                    sum[i][j] += magnitude(x.z - y[j].w);
                UNROLL
                for (int j = 0; j < LJ; j++) {
                    sum[i][j] += magnitude(x.w - y[j].z);
                    if (i + 1 == LI)
                        y[j] = load_here(b + j * 16 * LPITCH * 4 + 16);
                }
                x = next;
            }
            a += 16;
            b += 16;
        }
    }
    float *out = g.out + (i64)(i0 + ty) * g.m + j0 + tx;
    i64 rows = (i64)8 * g.m;
    UNROLL
    for (int i = 0; i < LI; i++, out += rows)
        UNROLL
    for (int j = 0; j < LJ; j++)
        if (whole || (ty + 8 * i < n && tx + 16 * j < m))
            out[16 * j] = sum[i][j];
}

// The same additions on registers alone: `dim` rounds of 128 pairs per thread, and 8 additions
// more.
KERNEL(256, 1) l1_peak(const cuda_l1 g)
{
    float sum[128], x[16], y[8];
    UNROLL
    for (int i = 0; i < 16; i++)
        x[i] = (float)(THREAD + i);
    UNROLL
    for (int j = 0; j < 8; j++)
        y[j] = (float)j;
    UNROLL
    for (int i = 0; i < 128; i++)
        sum[i] = (float)i;
#pragma unroll 1
    for (int k = 0; k < g.dim; k++) {
        UNROLL
        for (int j = 0; j < 8; j++)
            y[j] += 1;
        UNROLL
        for (int i = 0; i < 128; i++)
            sum[i] += magnitude(x[i / 8] - y[i % 8]);
    }
    float all = 0;
    UNROLL
    for (int i = 0; i < 128; i++)
        all += sum[i];
    if (all == -1) // never, but the compiler does not know
        g.out[0] = all;
}
