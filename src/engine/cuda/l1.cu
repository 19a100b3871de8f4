// SPDX-License-Identifier: Apache-2.0
// l1: sums of absolute differences between all pairs of rows.
//
// Two additions per pair of numbers, so the floor is the adders' own. A thread keeps 16 × 8 sums in
// registers and reads 24 vectors of four from shared memory for 1024 additions; slices
// come three stages ahead.
#include "dev.cuh"

#if HAS_ASYNC
enum { LK = 16, LSTAGES = 3 };
#else
enum { LK = 8, LSTAGES = 2 };
#endif
enum { LM = 256, LN = 128, LPITCH = LK + 4, LSTAGE = (LM + LN) * LPITCH, LLINES = 256 / (LK / 4) };

extern SHARED float l1_memory[];

DEVICE float magnitude(float x)
{
    return __builtin_fabsf(x);
}

DEVICE void l1_load(const cuda_l1 &g, float *stage, int i0, int j0, int k0)
{
    int at = THREAD % (LK / 4) * 4, line = THREAD / (LK / 4);
    UNROLL
    for (int k = 0; k < LM / LLINES; k++) {
        int row = line + LLINES * k;
        bool there = i0 + row < g.n && k0 + at < g.dim;
        copy16(stage + row * LPITCH + at, there ? g.a + (i64)(i0 + row) * g.dim + k0 + at : g.a,
               there);
    }
    UNROLL
    for (int k = 0; k < (LN + LLINES - 1) / LLINES; k++) {
        int row = line + LLINES * k;
        if (LLINES > LN && row >= LN)
            break;
        bool there = j0 + row < g.m && k0 + at < g.dim;
        copy16(stage + (LM + row) * LPITCH + at,
               there ? g.b + (i64)(j0 + row) * g.dim + k0 + at : g.b, there);
    }
}

KERNEL(256, 1) l1(const cuda_l1 g)
{
    int i0 = BLOCK * LM, j0 = BLOCK_Y * LN, tx = THREAD & 15, ty = THREAD >> 4;
    int slices = (g.dim + LK - 1) / LK;
    float sum[16][8];
    UNROLL
    for (int i = 0; i < 16; i++)
        UNROLL
    for (int j = 0; j < 8; j++)
        sum[i][j] = 0;
    UNROLL
    for (int s = 0; s < LSTAGES - 1; s++) {
        if (s < slices)
            l1_load(g, l1_memory + s * LSTAGE, i0, j0, s * LK);
        copies_end_group();
    }
    for (int s = 0; s < slices; s++) {
        copies_wait<LSTAGES - 2>();
        SYNC();
        int ahead = s + LSTAGES - 1;
        if (ahead < slices)
            l1_load(g, l1_memory + ahead % LSTAGES * LSTAGE, i0, j0, ahead * LK);
        copies_end_group();
        const float *a = l1_memory + s % LSTAGES * LSTAGE + ty * LPITCH;
        const float *b = l1_memory + s % LSTAGES * LSTAGE + (LM + tx) * LPITCH;
#pragma unroll 1
        for (int k = 0; k < LK; k += 4) {
            f4 y[8];
            UNROLL
            for (int j = 0; j < 8; j++)
                y[j] = *(const f4 *)(b + j * 16 * LPITCH + k);
            UNROLL
            for (int i = 0; i < 16; i++) {
                f4 x = *(const f4 *)(a + i * 16 * LPITCH + k);
                // Eight sums between two additions to the same one, so that none waits for another.
                UNROLL
                for (int j = 0; j < 8; j++)
                    sum[i][j] += magnitude(x.x - y[j].x);
                UNROLL
                for (int j = 0; j < 8; j++)
                    sum[i][j] += magnitude(x.y - y[j].y);
                UNROLL
                for (int j = 0; j < 8; j++)
                    sum[i][j] += magnitude(x.z - y[j].z);
                UNROLL
                for (int j = 0; j < 8; j++)
                    sum[i][j] += magnitude(x.w - y[j].w);
            }
        }
    }
    UNROLL
    for (int i = 0; i < 16; i++)
        UNROLL
    for (int j = 0; j < 8; j++) {
        int row = i0 + ty + 16 * i, col = j0 + tx + 16 * j;
        if (row < g.n && col < g.m)
            g.out[(i64)row * g.m + col] = sum[i][j];
    }
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
