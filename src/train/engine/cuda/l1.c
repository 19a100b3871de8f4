// SPDX-License-Identifier: Apache-2.0
// L1 distances on the GPU.
//
// A pass copies both inputs to the GPU, then calculates the result in pieces of rows. While one is
// calculated, those before it are copied to the host, which takes twice as long as the calculation.
// Copies are fast only from and to page-locked memory, which host_alloc() gives. Other memory for
// the result is filled through two page-locked buffers, or, without those, by libcuda.
#include "train/engine/cuda/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/tree.h"

// As in l1.cu.
#define TILE_N      96
#define TILE_M      128
#define THREADS     128
#define PEAK_PAIRS  128 // of a thread's round
#define PEAK_ADDED  8   // additions of a round that are not a pair's
#define PEAK_ROUNDS 20000

#define PIECE       ((int64_t)1 << 24) // bytes of a piece, about
#define PIECES_MOST 128                // of the result that are on the GPU at once
#define LOCKED_MOST ((int64_t)1 << 32) // more would be missing elsewhere in the machine

// Tests set a smaller one.
static int64_t piece_bytes(void)
{
    const char *other = getenv("FARE_CUDA_PIECE");
    int64_t bytes;
    return other && text_int(other, &bytes) && bytes >= 64 ? bytes : PIECE;
}

// Bytes of one of the two buffers for memory that is not page-locked.
static int64_t buffer_bytes(void)
{
    return piece_bytes() / 2;
}

static unsigned shared_bytes(const struct gpu_context *gpu)
{
    unsigned k = gpu->about.major < 8 ? 8 : 32;
    return (TILE_N + TILE_M) * (k + 4) * 2 * 4;
}

// ---- where passes are calculated ----

struct l1_place {
    struct gpu_context *gpu;
    int64_t n, m, pitch; // what the memory is for; 0: there is none yet
    int64_t rows;        // of the result, on the GPU at once
    device_ptr a, b, out;
    float *buffers; // two; null until they are needed, or if there are none
    bool looked_for_buffers;
};

// Kept from host_alloc() to host_free(): for all passes.
static struct l1_place held;

static void *host_alloc(const struct engine_options *options, int64_t bytes)
{
    void *memory = NULL;
    if (bytes > LOCKED_MOST ||
        (!held.gpu && gpu_open(&cuda_driver, options->precision, &held.gpu, NULL) != 0))
        return NULL;
    return gpu_alloc_host(held.gpu, bytes, &memory, NULL) == 0 ? memory : NULL;
}

static void host_free(void)
{
    gpu_close(held.gpu);
    held = (struct l1_place){0};
}

static int l1_acquire(const struct engine_options *options, struct l1_place *own,
                      struct l1_place **out, struct err *err)
{
    *own = (struct l1_place){0};
    *out = held.gpu ? &held : own;
    return held.gpu ? 0 : gpu_open(&cuda_driver, options->precision, &own->gpu, err);
}

static int make_room(struct l1_place *p, int64_t n, int64_t m, int64_t pitch, struct err *err)
{
    if (p->n == n && p->m == m && p->pitch == pitch)
        return 0;
    gpu_free(p->gpu);
    p->n = 0;
    int64_t rows = PIECES_MOST * piece_bytes() / (m * 4) / TILE_N * TILE_N;
    p->rows = rows < TILE_N ? TILE_N : rows > n ? n : rows;
    p->m = m;
    p->pitch = pitch;
    TRY(gpu_alloc(p->gpu, n * pitch * 4, &p->a, err));
    TRY(gpu_alloc(p->gpu, m * pitch * 4, &p->b, err));
    TRY(gpu_alloc(p->gpu, p->rows * m * 4, &p->out, err));
    p->n = n;
    return 0;
}

// ---- inputs ----

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

static int copy_in(const struct l1_place *p, const float *a, const float *b, struct err *err)
{
    TRY(gpu_upload(p->gpu, p->a, a, p->n * p->pitch * 4, err));
    return gpu_upload(p->gpu, p->b, b, p->m * p->pitch * 4, err);
}

// ---- calculation ----

static int l1_launch(const struct l1_place *p, const char *kernel, unsigned x, unsigned y,
                     unsigned threads, unsigned shared, const struct cuda_l1 *g, struct err *err)
{
    struct launch made;
    launch_make(&made, kernel, x, y, threads, shared, g, sizeof *g);
    return gpu_launch_now(p->gpu, &made, err);
}

// Puts b in the order that the kernel takes it in: neighbours change places.
static int l1_swap(const struct l1_place *p, struct err *err)
{
    struct cuda_l1 g = {.b = (float *)(uintptr_t)p->b, .m = (int)p->m, .dim = (int)p->pitch};
    return l1_launch(p, "l1_swap", (unsigned)((p->m * p->pitch / 4 + 255) / 256), 1, 256, 0, &g,
                     err);
}

// Rows [from, from + rows) of the result, `at` rows behind the beginning of its memory.
static int l1_calculate(const struct l1_place *p, int64_t from, int64_t rows, int64_t at,
                        struct err *err)
{
    struct cuda_l1 g = {.a = (const float *)(uintptr_t)(p->a + (device_ptr)(from * p->pitch) * 4),
                        .b = (float *)(uintptr_t)p->b,
                        .out = (float *)(uintptr_t)(p->out + (device_ptr)(at * p->m) * 4),
                        .n = (int)rows,
                        .m = (int)p->m,
                        .dim = (int)p->pitch};
    return l1_launch(p, "l1", (unsigned)((rows + TILE_N - 1) / TILE_N),
                     (unsigned)((p->m + TILE_M - 1) / TILE_M), THREADS, shared_bytes(p->gpu), &g,
                     err);
}

// ---- the result ----

// Rows of a piece: whole tiles, and no more pieces than there are events.
static int64_t piece_rows(const struct l1_place *p)
{
    int64_t all = (p->rows + TILE_N - 1) / TILE_N, bytes = TILE_N * p->m * 4;
    int64_t tiles = (piece_bytes() + bytes - 1) / bytes,
            least = (all + GPU_EVENTS - 1) / GPU_EVENTS;
    return (tiles > least ? tiles : least) * TILE_N;
}

// The next copies from the GPU: each into the other buffer, from which the host takes it while the
// next one runs.
struct l1_copying {
    struct l1_place *place;
    char *to;      // where the last one belongs; null: there was none
    int64_t bytes; // of it
    int slot;      // of it
    bool direct;   // no buffers
};

static int take_last(struct l1_copying *c, struct err *err)
{
    if (!c->to)
        return 0;
    TRY(gpu_fetch_end(c->place->gpu, c->slot, err));
    if (!c->direct)
        memcpy(c->to, (char *)c->place->buffers + c->slot * buffer_bytes(), (size_t)c->bytes);
    c->to = NULL;
    return 0;
}

static int copy_out(struct l1_copying *c, int event, char *to, device_ptr from, int64_t bytes,
                    struct err *err)
{
    for (int64_t at = 0, most; at < bytes; at += most) {
        most = c->direct || bytes - at < buffer_bytes() ? bytes - at : buffer_bytes();
        int slot = !c->slot;
        char *through = c->direct ? to + at : (char *)c->place->buffers + slot * buffer_bytes();
        TRY(gpu_fetch_begin(c->place->gpu, slot, event, through, from + (device_ptr)at, most, err));
        if (!c->direct)
            TRY(take_last(c, err));
        c->to = to + at;
        c->bytes = most;
        c->slot = slot;
    }
    return 0;
}

// The rows from `from` on that are on the GPU at once.
static int calculate_some(struct l1_place *p, int64_t from, int64_t rows, float *out, bool direct,
                          struct err *err)
{
    int64_t step = piece_rows(p);
    struct l1_copying c = {.place = p, .direct = direct};
    int pieces = (int)((rows + step - 1) / step);
    for (int i = 0; i < pieces; i++) {
        int64_t at = i * step, count = rows - at < step ? rows - at : step;
        TRY(l1_calculate(p, from + at, count, at, err));
        TRY(gpu_event_record(p->gpu, i, err));
    }
    for (int i = 0; i < pieces; i++) {
        int64_t at = i * step, count = rows - at < step ? rows - at : step;
        TRY(copy_out(&c, i, (char *)(out + (from + at) * p->m),
                     p->out + (device_ptr)(at * p->m) * 4, count * p->m * 4, err));
    }
    return take_last(&c, err);
}

// Whether results are copied to the caller's memory at once.
static bool is_direct(struct l1_place *p, const float *out)
{
    void *memory = NULL;
    if (gpu_owns_host(p->gpu, out))
        return true;
    if (!p->looked_for_buffers && gpu_alloc_host(p->gpu, 2 * buffer_bytes(), &memory, NULL) == 0)
        p->buffers = memory;
    p->looked_for_buffers = true;
    return !p->buffers;
}

// ---- the engine's functions ----

static int l1_pass(struct l1_place *p, const float *a, const float *b, float *out, struct err *err)
{
    bool direct = is_direct(p, out);
    TRY(copy_in(p, a, b, err));
    TRY(l1_swap(p, err));
    for (int64_t at = 0; at < p->n; at += p->rows)
        TRY(calculate_some(p, at, p->n - at < p->rows ? p->n - at : p->rows, out, direct, err));
    return 0;
}

static int time_upload(const struct l1_place *p, const float *a, const float *b, double *seconds,
                       struct err *err)
{
    TRY(gpu_sync(p->gpu, err));
    TRY(gpu_mark(p->gpu, 0, err));
    TRY(copy_in(p, a, b, err));
    TRY(gpu_mark(p->gpu, 1, err));
    return gpu_between(p->gpu, seconds, err);
}

static int time_calculation(const struct l1_place *p, double *seconds, struct err *err)
{
    TRY(gpu_mark(p->gpu, 0, err));
    TRY(l1_swap(p, err));
    for (int64_t at = 0; at < p->n; at += p->rows)
        TRY(l1_calculate(p, at, p->n - at < p->rows ? p->n - at : p->rows, 0, err));
    TRY(gpu_mark(p->gpu, 1, err));
    return gpu_between(p->gpu, seconds, err);
}

static int time_apart(struct l1_place *p, const float *a, const float *b,
                      struct engine_l1_times *times, struct err *err)
{
    bool pinned_a = gpu_pin(p->gpu, a, p->n * p->pitch * 4);
    bool pinned_b = gpu_pin(p->gpu, b, p->m * p->pitch * 4);
    int rc = time_upload(p, a, b, &times->to_device, err);
    if (rc == 0)
        rc = time_calculation(p, &times->calculation, err);
    if (pinned_a)
        gpu_unpin(p->gpu, a);
    if (pinned_b)
        gpu_unpin(p->gpu, b);
    return rc;
}

// A pass if `out`, else times.
static int l1_work(const struct engine_options *options, const float *a, const float *b, int64_t n,
                   int64_t m, int64_t dim, float *out, struct engine_l1_times *times,
                   struct err *err)
{
    struct l1_place own, *place;
    float *own_a, *own_b;
    int64_t pitch = (dim + 3) / 4 * 4;
    TRY(l1_acquire(options, &own, &place, err));
    const float *from_a = padded(a, n, dim, pitch, &own_a),
                *from_b = padded(b, m, dim, pitch, &own_b);
    int rc = from_a && from_b ? make_room(place, n, m, pitch, err) : err_memory(err);
    if (rc == 0)
        rc = out ? l1_pass(place, from_a, from_b, out, err)
                 : time_apart(place, from_a, from_b, times, err);
    if (rc != 0)
        gpu_settle(place->gpu); // it may still be copying
    free(own_a);
    free(own_b);
    gpu_close(own.gpu);
    return rc;
}

static int l1_distances_of(const struct engine_options *options, const float *a, const float *b,
                           int64_t n, int64_t m, int64_t dim, float *out, struct err *err)
{
    return l1_work(options, a, b, n, m, dim, out, NULL, err);
}

static int times_apart(const struct engine_options *options, const float *a, const float *b,
                       int64_t n, int64_t m, int64_t dim, struct engine_l1_times *times,
                       struct err *err)
{
    return l1_work(options, a, b, n, m, dim, NULL, times, err);
}

static double l1_peak_of(const struct engine_options *options)
{
    struct l1_place own, *place;
    double best = 0;
    struct cuda_l1 g = {.dim = PEAK_ROUNDS};
    if (l1_acquire(options, &own, &place, NULL) != 0)
        return 0;
    unsigned blocks = 2 * (unsigned)place->gpu->about.processors;
    for (int i = 0; i < 3; i++) {
        double seconds = 0;
        if (gpu_mark(place->gpu, 0, NULL) != 0 ||
            l1_launch(place, "l1_peak", blocks, 1, 256, 0, &g, NULL) != 0 ||
            gpu_mark(place->gpu, 1, NULL) != 0 || gpu_between(place->gpu, &seconds, NULL) != 0)
            break;
        // Two additions make a pair.
        double pairs = (double)blocks * 256 * PEAK_ROUNDS * (PEAK_PAIRS + PEAK_ADDED / 2.0);
        if (seconds > 0 && pairs / seconds > best)
            best = pairs / seconds;
    }
    gpu_close(own.gpu);
    return best;
}

// They stay loaded until the process ends.
static int l1_load_kernels(const struct engine_options *options, struct err *err)
{
    static const char *const names[] = {"l1_swap", "l1", "l1_peak"};
    struct gpu_context *gpu;
    int rc = gpu_open(&cuda_driver, options->precision, &gpu, err);
    for (size_t i = 0; rc == 0 && i < sizeof names / sizeof *names; i++)
        rc = gpu_bind(gpu, &(struct launches){&(struct launch){.name = names[i]}, 1, 1}, err);
    gpu_close(gpu);
    return rc;
}

const struct engine_l1 cuda_engine_l1 = {
    .load_kernels = l1_load_kernels,
    .distances = l1_distances_of,
    .times = times_apart,
    .peak = l1_peak_of,
    .host_alloc = host_alloc,
    .host_free = host_free,
};
