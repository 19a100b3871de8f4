// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/plan/windows.h"

#include "engine/cuda/plan/products.h"

// As in hopper_windows.cu.
enum { THREADS = 384, STAGES = 3, WARPS = 12, FIRST_WIDTH = 40, FIRST_WARPS = 16 };

bool windows_wanted(const struct gpu_device *device)
{
    return device->major == 9 && device->map && !device->several &&
           device->precision == ENGINE_TF32;
}

static bool is_for(const struct builder *b, const struct cuda_gemm *g)
{
    return windows_wanted(&b->plan->device) && g->taps > 1 && g->stride == 1;
}

static bool fits(const struct builder *b, const struct cuda_gemm *g, int channels, int columns)
{
    return is_for(b, g) && g->taps == 9 && g->kernel_w == 3 && g->out_width + 2 <= 256 &&
           (channels == 32 || channels == 64) && (columns == 32 || columns == 64);
}

// ---- the first layer ----

static bool is_first(const struct builder *b, const struct cuda_gemm *g)
{
    return is_for(b, g) && g->pitch == 4 && g->taps == 9 && g->kernel_w == 3 &&
           g->units % 32 == 0 && g->left + g->width <= FIRST_WIDTH &&
           g->out_width + 2 <= FIRST_WIDTH;
}

static const char *first_kernel(bool weights, int channels)
{
    static const char *const names[2][3] = {
        {"hopper_first_forward_1", "hopper_first_forward_3", "hopper_first_forward_4"},
        {"hopper_first_weights_1", "hopper_first_weights_3", "hopper_first_weights_4"}};
    return names[weights][channels == 1 ? 0 : channels == 3 ? 1 : 2];
}

static void first_forward(struct builder *b, const struct cuda_windows *w, int channels)
{
    int64_t warps = w->job.m / w->job.out_width * (w->job.units / 32), blocks = tiles(warps, 8);
    int at_once = 8 * b->plan->device.processors;
    gpu_plan_add(b, first_kernel(false, channels), blocks < at_once ? blocks : at_once, 1, 256, 0,
                 w, sizeof *w);
}

static void first_weights(struct builder *b, const struct cuda_windows *w, int channels)
{
    int count = 9 * (channels == 1 || channels == 3 ? channels : 4) + 1;
    int sums = FIRST_WARPS * count * 32 * 4, rows = FIRST_WARPS * 3 * FIRST_WIDTH * 16;
    gpu_plan_add(b, first_kernel(true, channels), (int64_t)w->job.parts * (w->job.units / 32), 1,
                 FIRST_WARPS * 32, (unsigned)(sums > rows ? sums : rows), w, sizeof *w);
}

// ---- 32 or 64 channels: bands of rows ----

static const void *map_bands(struct builder *b, const float *at, int pitch, int width, int height,
                             int wide, int rows)
{
    int64_t bytes = (int64_t)pitch * 4;
    return gpu_plan_map(
        b, &(struct mapped_tensor){.at = (device_ptr)(uintptr_t)at,
                                   .f32 = true,
                                   .rank = 4,
                                   .size = {pitch, width, height, b->plan->batch},
                                   .pitch = {bytes, width * bytes, height * width * bytes},
                                   .box = {32, wide, rows, 1}});
}

// The number of rows with which all bands are done soonest: each takes the time of its tiles, and
// if the next one does not arrive meanwhile, that of its copy.
static bool choose_rows(const struct builder *b, struct cuda_windows *w, int n, unsigned *shared)
{
    const struct cuda_gemm *g = &w->job;
    enum { GROUPS = THREADS / 128, BAND = 1200, COPY = 1500, ALONE = 45 }; // cycles
    int wide = g->out_width + 2;
    int64_t best = 0, product = n == 32 ? 24 : 32; // cycles for 8 of k: reading a, multiplying
    for (int stages = 1; stages <= 2; stages++)
        for (int rows = 1; rows <= g->out_height && rows + 2 <= 256; rows++) {
            int64_t count = tiles(rows * wide, 64), bands = tiles(g->out_height, rows);
            int64_t all = b->plan->batch * bands;
            // What the last tile's windows reach, and the box.
            int64_t lines = tiles(count * 64 + 3 * wide, 8) * 8;
            int64_t bytes = 1024 + (int64_t)g->k * n * 4 + stages * (g->pitch * 4 * lines + 8);
            // Of all warp groups together, or of the one with the most tiles.
            int64_t together = count * product, one = tiles(count, GROUPS) * ALONE;
            int64_t cycles = BAND + g->k / 8 * (together > one ? together : one);
            int64_t rounds = tiles(all, b->plan->device.processors);
            cycles = cycles * rounds + (stages == 1 ? COPY * (rounds - 1) : 0);
            if (bytes > b->plan->device.shared || (best > 0 && cycles >= best))
                continue;
            best = cycles;
            w->rows = rows;
            w->bands = (int)bands;
            w->all = (int)all;
            w->lines = (int)lines;
            w->stages = stages;
            *shared = (unsigned)bytes;
        }
    return best > 0;
}

static bool launch_bands(struct builder *b, const char *kernel, struct cuda_windows *w, int n)
{
    const struct cuda_gemm *g = &w->job;
    int processors = b->plan->device.processors;
    unsigned shared;
    if (!choose_rows(b, w, n, &shared))
        return false;
    w->chunks = g->pitch / 32;
    w->map_a = map_bands(b, g->a, g->pitch, g->width, g->height, g->out_width + 2, w->rows + 2);
    gpu_plan_add(b, kernel, w->all < processors ? w->all : processors, 1, THREADS, shared, w,
                 sizeof *w);
    return true;
}

bool windows_forward(struct builder *b, const struct cuda_gemm *g, int channels)
{
    struct cuda_windows w = {.job = *g, .start_y = -g->top, .start_x = -g->left};
    if (is_first(b, g) && g->drop.slot < 0 && g->ldy == g->units) {
        first_forward(b, &w, channels);
        return true;
    }
    return fits(b, g, g->pitch, g->ldy) && g->drop.slot < 0 &&
           launch_bands(b, g->ldy == 32 ? "hopper_windows_forward_32" : "hopper_windows_forward_64",
                        &w, g->ldy);
}

bool windows_back(struct builder *b, const struct cuda_gemm *g)
{
    struct cuda_windows w = {.job = *g, .start_y = g->top - 2, .start_x = g->left - 2};
    return fits(b, g, g->pitch, g->n) && !g->add && g->ldy == g->n &&
           launch_bands(b, g->n == 32 ? "hopper_windows_back_32" : "hopper_windows_back_64", &w,
                        g->n);
}

// ---- weights ----

// Rows of a band, and what follows from them; false if the kernel is not for this. dy's lines have
// `pitch` numbers.
static bool plan_weights(const struct gpu_device *device, const struct cuda_gemm *g, int64_t batch,
                         int pitch, struct cuda_windows *w, unsigned *shared)
{
    // Cycles that a band takes beside its pixels, and bytes of all parts that come and go in one.
    enum { BEGIN = 1500, BYTES = 2100 };
    int wide = g->out_width + 2, units = pitch / 32, kinds = 3 * (g->pitch / 32) * units;
    int64_t best = 0;
    if (!windows_wanted(device) || g->taps != 9 || g->kernel_w != 3 || g->stride != 1 ||
        g->pitch % 32 != 0 || (pitch != 32 && pitch != 64) || WARPS % kinds != 0 || wide > 256)
        return false;
    *w = (struct cuda_windows){
        .job = *g, .start_y = -g->top, .start_x = -g->left, .chunks = g->pitch / 32};
    int several = 16 * (WARPS / kinds); // pixels that all warps take at once
    for (int rows = 1; rows <= g->out_height && rows + 2 <= 256; rows++) {
        int64_t pixels = tiles(rows * wide, several) * several;
        int64_t lines = tiles(pixels + 2 * wide + 2, 8) * 8, bands = tiles(g->out_height, rows);
        int64_t bytes = STAGES * ((lines * w->chunks + pixels * units) * 128);
        int64_t handed_over = (int64_t)(WARPS - kinds) * 25 * 32 * 16;
        bytes = 1024 + (bytes > handed_over ? bytes : handed_over) + STAGES * 16;
        if (bytes > device->shared)
            break;
        // Four tensor cores make 16 pixels of a kind in 48 products of 8 cycles; the optimizer
        // reads what is written.
        int64_t rounds = tiles(batch * bands, device->processors), sums = 9 * g->pitch * pitch;
        int64_t cost = rounds * (BEGIN + pixels * kinds * 6) +
                       tiles(batch * bands, (int)rounds) * sums * 8 / BYTES;
        if (best > 0 && cost >= best)
            continue;
        best = cost;
        w->rows = rows;
        w->bands = (int)bands;
        w->all = (int)(batch * bands);
        w->pixels = (int)pixels;
        w->lines = (int)lines;
        *shared = (unsigned)bytes;
    }
    return best > 0;
}

int windows_parts(const struct gpu_device *device, const struct cuda_gemm *g, int64_t batch,
                  int pitch)
{
    struct cuda_windows w;
    unsigned shared;
    if (!plan_weights(device, g, batch, pitch, &w, &shared))
        return 0;
    return (int)tiles(w.all, (int)tiles(w.all, device->processors)); // as many bands for each
}

bool windows_weights(struct builder *b, const struct cuda_gemm *g, int channels)
{
    struct cuda_windows w = {.job = *g, .start_y = -g->top, .start_x = -g->left};
    unsigned shared;
    bool first = is_first(b, g);
    if (g->fused ||
        (!first && !plan_weights(&b->plan->device, g, b->plan->batch, g->ldb, &w, &shared)))
        return false;
    gpu_weights_flush(b, WEIGHTS_WHOLE); // dense layers' are ready, and fill gaps
    if (first) {
        first_weights(b, &w, channels);
    } else {
        int wide = g->out_width + 2;
        w.map_a = map_bands(b, g->a, g->pitch, g->width, g->height, wide, w.rows + 2);
        w.map_b = map_bands(b, g->b, g->ldb, g->out_width, g->out_height, wide, w.rows);
        gpu_plan_add(b, "hopper_windows_weights", g->parts, 1, THREADS, shared, &w, sizeof w);
    }
    gpu_plan_fork(b);
    b->forked_weights = true;
    return true;
}
