// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cpu/kernels.h"

#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include "base/clock.h"
#include "train/engine/cpu/team.h"

#define DIM_BLOCK   512       // elements that are summed in single precision; beyond, in double
#define PACK_FLOATS (1 << 20) // about the size of a thread's packed part of a

// What one thread packs and sums into.
struct l1_work {
    float *a;     // (rows / l1_rows panels, dim, l1_rows)
    float *b;     // (DIM_BLOCK, l1_cols): one panel
    float *tile;  // (l1_rows, l1_cols)
    double *sums; // (rows, l1_cols); only where the dimension is longer than a block
};

struct l1_job {
    const struct kernels *k;
    const float *a, *b;
    int64_t n, m, dim, rows; // rows: of a, packed at a time
    float *out;
    struct l1_work *work; // (threads)
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Vectors [from, to) in panels of `width`: the same element of each of them in turn. What fills the
// last panel is zero.
static void l1_pack(const float *vectors, int64_t stride, int64_t from, int64_t to, int64_t dim,
                    int64_t width, float *packed)
{
    for (int64_t panel = from; panel < to; panel += width, packed += width * dim) {
        int64_t have = least(width, to - panel);
        if (have < width)
            memset(packed, 0, (size_t)(width * dim) * sizeof *packed);
        for (int64_t i = 0; i < have; i++) {
            const float *vector = vectors + (panel + i) * stride;
            for (int64_t k = 0; k < dim; k++)
                packed[k * width + i] = vector[k];
        }
    }
}

// The result is many times larger than a cache and nobody reads it soon, so it need not be fetched
// before it is written. The processor wants such addresses to be multiples of 16.
static void write_past_cache(float *to, const float *from, int64_t count)
{
    int64_t i = 0;
    if ((uintptr_t)to % sizeof(__m128) == 0)
        for (; i + 4 <= count; i += 4)
            _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
    for (; i < count; i++)
        to[i] = from[i];
}

// Hands a tile on: to its place in out, or to the sums where more elements follow.
static void l1_put(const struct l1_job *job, struct l1_work *work, int64_t row, int64_t base,
                   int64_t col, int64_t rows, int64_t cols, int64_t k0)
{
    const int width = job->k->l1_cols;
    const int last = k0 + DIM_BLOCK >= job->dim;
    for (int64_t i = 0; i < rows; i++) {
        const float *from = work->tile + i * width;
        float *to = job->out + (row + i) * job->m + col;
        if (job->dim <= DIM_BLOCK) {
            write_past_cache(to, from, cols);
            continue;
        }
        double *sum = work->sums + (row - base + i) * width;
        for (int64_t j = 0; j < cols; j++) {
            sum[j] = (k0 ? sum[j] : 0) + (double)from[j];
            if (last)
                to[j] = (float)sum[j];
        }
    }
}

// All pairs of rows [from, to) of a, which are packed, and the panel of b from `col` on.
static void one_panel(const struct l1_job *job, struct l1_work *work, int64_t from, int64_t to,
                      int64_t col, int64_t col_end)
{
    const struct kernels *k = job->k;
    int64_t cols = least(k->l1_cols, col_end - col);
    for (int64_t k0 = 0; k0 < job->dim; k0 += DIM_BLOCK) {
        int64_t dim = least(DIM_BLOCK, job->dim - k0);
        l1_pack(job->b + k0, job->dim, col, col + cols, dim, k->l1_cols, work->b);
        for (int64_t row = from; row < to; row += k->l1_rows) {
            k->l1(work->a + (row - from) * job->dim + k0 * k->l1_rows, work->b, dim, work->tile);
            l1_put(job, work, row, from, col, least(k->l1_rows, to - row), cols, k0);
        }
    }
}

// Each thread has a part of the longer side, and packs for itself: no thread waits for another.
static void distances(void *job_, int thread, int threads)
{
    const struct l1_job *job = job_;
    const struct kernels *k = job->k;
    struct l1_work *work = &job->work[thread];
    int64_t row = 0, row_end = job->n, col = 0, col_end = job->m;
    if (job->n >= job->m)
        team_part(job->n, k->l1_rows, thread, threads, &row, &row_end);
    else
        team_part(job->m, k->l1_cols, thread, threads, &col, &col_end);
    for (int64_t from = row; from < row_end; from += job->rows) {
        int64_t to = least(from + job->rows, row_end);
        l1_pack(job->a, job->dim, from, to, job->dim, k->l1_rows, work->a);
        for (int64_t at = col; at < col_end; at += k->l1_cols)
            one_panel(job, work, from, to, at, col_end);
    }
    _mm_sfence(); // what was written past the cache is there for the others
}

static void *alloc_lines(size_t count, size_t size)
{
    // Whole cache lines, so that threads do not share one.
    return count > SIZE_MAX / size - 64 ? NULL : malloc(count * size + 64);
}

int l1_distances(const float *a, const float *b, int64_t n, int64_t m, int64_t dim, float *out,
                 struct err *err)
{
    struct l1_job job = {.k = kernels(), .a = a, .b = b, .n = n, .m = m, .dim = dim, .out = out};
    const int threads = team_size();
    const int64_t height = job.k->l1_rows, width = job.k->l1_cols;
    int64_t rows = PACK_FLOATS / dim < 4 * height ? 4 * height : PACK_FLOATS / dim;
    job.rows = (least(rows, n) + height - 1) / height * height;
    job.work = calloc((size_t)threads, sizeof *job.work);
    int rc = job.work ? 0 : err_memory(err);
    for (int i = 0; rc == 0 && i < threads; i++) {
        struct l1_work *w = &job.work[i];
        w->a = alloc_lines((size_t)job.rows * (size_t)dim, sizeof *w->a);
        w->b = alloc_lines((size_t)(least(dim, DIM_BLOCK) * width), sizeof *w->b);
        w->tile = alloc_lines((size_t)(height * width), sizeof *w->tile);
        if (dim > DIM_BLOCK)
            w->sums = alloc_lines((size_t)(job.rows * width), sizeof *w->sums);
        if (!w->a || !w->b || !w->tile || (dim > DIM_BLOCK && !w->sums))
            rc = err_memory(err);
    }
    if (rc == 0)
        team_run(distances, &job);
    for (int i = 0; job.work && i < threads; i++) {
        free(job.work[i].a);
        free(job.work[i].b);
        free(job.work[i].tile);
        free(job.work[i].sums);
    }
    free(job.work);
    return rc;
}

static void registers(void *rounds, int thread, int threads)
{
    (void)thread, (void)threads;
    float out[KERNELS_L1_TILE] = {0};
    kernels()->l1_peak(*(const int64_t *)rounds, out);
}

double l1_peak(double seconds)
{
    const struct kernels *k = kernels();
    int64_t rounds = 100000;
    double best = 0;
    int64_t start = clock_now_ns();
    while (best == 0 || (double)(clock_now_ns() - start) < seconds * 1e9) {
        int64_t from = clock_now_ns();
        team_run(registers, &rounds);
        double pairs = (double)rounds * k->l1_rows * k->l1_cols * team_size();
        double rate = pairs / ((double)(clock_now_ns() - from) * 1e-9);
        best = rate > best ? rate : best;
    }
    return best;
}
