// SPDX-License-Identifier: Apache-2.0
// L1 distances on the GPU: copies and calculation, timed apart.
#include "engine/cuda/l1.h"

#include <stdlib.h>
#include <string.h>

#include "engine/cuda/driver.h"
#include "engine/cuda/kernels.h"

// As in l1.cu.
#define TILE_N      96
#define TILE_M      128
#define THREADS     128
#define PEAK_PAIRS  128 // of a thread's round
#define PEAK_ADDED  8   // additions of a round that are not a pair's
#define PEAK_ROUNDS 20000
#define OUT_MOST    ((int64_t)1 << 31) // bytes of the result that are on the GPU at once

static unsigned shared_bytes(const struct cuda *cuda)
{
    unsigned k = cuda_about(cuda)->major < 8 ? 8 : 32;
    return (TILE_N + TILE_M) * (k + 4) * 2 * 4;
}

// Of what host_alloc() gave: the GPU is opened once for all passes over it.
static struct cuda *holder;

static void *host_alloc(const struct engine_options *options, int64_t bytes)
{
    void *memory = NULL;
    if (!holder && cuda_open(options->precision, &holder, NULL) != 0)
        return NULL;
    return cuda_alloc_host(holder, bytes, &memory, NULL) == 0 ? memory : NULL;
}

static void host_free(void)
{
    cuda_close(holder);
    holder = NULL;
}

static int acquire(const struct engine_options *options, struct cuda **cuda, struct err *err)
{
    *cuda = holder;
    return holder ? 0 : cuda_open(options->precision, cuda, err);
}

static void release(struct cuda *cuda)
{
    if (cuda && cuda == holder)
        cuda_free(cuda);
    else
        cuda_close(cuda);
}

// Rows with zeros behind them, so that vectors of four fit; the caller's own where they do.
static const float *padded(const float *from, int64_t rows, int64_t dim, int64_t pitch, float **own)
{
    *own = NULL;
    if (dim == pitch)
        return from;
    *own = calloc((size_t)(rows * pitch), sizeof **own);
    for (int64_t i = 0; *own && i < rows; i++)
        memcpy(*own + i * pitch, from + i * dim, (size_t)dim * sizeof **own);
    return *own;
}

struct job {
    struct cuda *cuda;
    device_ptr a, b, out;
    int64_t n, m, pitch;
    float *result;
};

static int upload(const struct job *j, const float *a, const float *b, double *seconds,
                  struct err *err)
{
    TRY(cuda_sync(j->cuda, err));
    TRY(cuda_mark(j->cuda, 0, err));
    TRY(cuda_upload(j->cuda, j->a, a, j->n * j->pitch * 4, err));
    TRY(cuda_upload(j->cuda, j->b, b, j->m * j->pitch * 4, err));
    TRY(cuda_mark(j->cuda, 1, err));
    return cuda_between(j->cuda, seconds, err);
}

static int copy_in(const struct job *j, const float *a, const float *b, double *seconds,
                   struct err *err)
{
    bool pinned_a = cuda_pin(j->cuda, a, j->n * j->pitch * 4);
    bool pinned_b = cuda_pin(j->cuda, b, j->m * j->pitch * 4);
    int rc = upload(j, a, b, seconds, err);
    if (pinned_a)
        cuda_unpin(j->cuda, a);
    if (pinned_b)
        cuda_unpin(j->cuda, b);
    return rc;
}

static struct cuda_l1 args_of(const struct job *j, int64_t from, int64_t rows)
{
    return (struct cuda_l1){
        .a = (const float *)(uintptr_t)(j->a + (device_ptr)(from * j->pitch) * 4),
        .b = (float *)(uintptr_t)j->b,
        .out = (float *)(uintptr_t)j->out,
        .n = (int)rows,
        .m = (int)j->m,
        .dim = (int)j->pitch};
}

static int timed(struct cuda *cuda, const struct launch *launch, double *seconds, struct err *err)
{
    double took;
    TRY(cuda_mark(cuda, 0, err));
    TRY(cuda_launch(cuda, launch, err));
    TRY(cuda_mark(cuda, 1, err));
    TRY(cuda_between(cuda, &took, err));
    *seconds += took;
    return 0;
}

// Puts b in the order that the kernel takes it in: neighbours change places.
static int swap(const struct job *j, double *seconds, struct err *err)
{
    struct cuda_l1 g = args_of(j, 0, 0);
    struct launch launch;
    unsigned blocks = (unsigned)((j->m * j->pitch / 4 + 255) / 256);
    TRY(cuda_launch_make(j->cuda, "l1_swap", blocks, 1, 256, 0, &g, sizeof g, &launch, err));
    return timed(j->cuda, &launch, seconds, err);
}

// Rows [from, from + rows) of the result.
static int calculate(const struct job *j, int64_t from, int64_t rows, double *seconds,
                     struct err *err)
{
    struct cuda_l1 g = args_of(j, from, rows);
    struct launch launch;
    TRY(cuda_launch_make(j->cuda, "l1", (unsigned)((rows + TILE_N - 1) / TILE_N),
                         (unsigned)((j->m + TILE_M - 1) / TILE_M), THREADS, shared_bytes(j->cuda),
                         &g, sizeof g, &launch, err));
    TRY(timed(j->cuda, &launch, seconds, err));
    return cuda_download(j->cuda, j->result + from * j->m, j->out, rows * j->m * 4, err);
}

static int distances(const struct engine_options *options, const float *a, const float *b,
                     int64_t n, int64_t m, int64_t dim, float *out, struct engine_l1_times *times,
                     struct err *err)
{
    struct job j = {.n = n, .m = m, .pitch = (dim + 3) / 4 * 4, .result = out};
    struct engine_l1_times mine = {0};
    float *own_a, *own_b;
    int rc = acquire(options, &j.cuda, err);
    if (rc != 0)
        return rc;
    const float *from_a = padded(a, n, dim, j.pitch, &own_a),
                *from_b = padded(b, m, dim, j.pitch, &own_b);
    int64_t rows = OUT_MOST / (m * 4) / TILE_N * TILE_N;
    rows = rows < TILE_N ? TILE_N : rows > n ? n : rows;
    if (!from_a || !from_b)
        rc = err_memory(err);
    if (rc == 0)
        rc = cuda_alloc(j.cuda, n * j.pitch * 4, &j.a, err);
    if (rc == 0)
        rc = cuda_alloc(j.cuda, m * j.pitch * 4, &j.b, err);
    if (rc == 0)
        rc = cuda_alloc(j.cuda, rows * m * 4, &j.out, err);
    if (rc == 0)
        rc = copy_in(&j, from_a, from_b, &mine.to_device, err);
    if (rc == 0)
        rc = swap(&j, &mine.calculation, err);
    for (int64_t at = 0; rc == 0 && at < n; at += rows)
        rc = calculate(&j, at, n - at < rows ? n - at : rows, &mine.calculation, err);
    if (rc == 0 && times)
        *times = mine;
    free(own_a);
    free(own_b);
    release(j.cuda);
    return rc;
}

static double peak(const struct engine_options *options)
{
    struct cuda *cuda = NULL;
    struct launch launch;
    double best = 0;
    struct cuda_l1 g = {.dim = PEAK_ROUNDS};
    if (acquire(options, &cuda, NULL) != 0)
        return 0;
    unsigned blocks = 2 * (unsigned)cuda_about(cuda)->processors;
    int rc = cuda_launch_make(cuda, "l1_peak", blocks, 1, 256, 0, &g, sizeof g, &launch, NULL);
    for (int i = 0; rc == 0 && i < 3; i++) {
        double seconds = 0;
        rc = timed(cuda, &launch, &seconds, NULL);
        // Two additions make a pair.
        double pairs = (double)blocks * 256 * PEAK_ROUNDS * (PEAK_PAIRS + PEAK_ADDED / 2.0);
        if (rc == 0 && seconds > 0 && pairs / seconds > best)
            best = pairs / seconds;
    }
    release(cuda);
    return best;
}

// They stay loaded until the process ends.
static int load_kernels(const struct engine_options *options, struct err *err)
{
    struct cuda *cuda;
    int rc = cuda_open(options->precision, &cuda, err);
    cuda_close(cuda);
    return rc;
}

const struct engine_l1 cuda_engine_l1 = {
    .load_kernels = load_kernels,
    .distances = distances,
    .peak = peak,
    .host_alloc = host_alloc,
    .host_free = host_free,
};
