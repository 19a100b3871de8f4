// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/plan/windows.h"

enum { STAGES = 4, COLUMNS = 3, FIRST_WIDTH = 40, FIRST_WARPS = 16 }; // as in hopper_windows.cu

bool windows_wanted(const struct device *device)
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
    return is_for(b, g) && channels % 32 == 0 && (columns == 32 || columns == 64);
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

// ---- 32 or 64 channels ----

static bool fits_shared(const struct builder *b, int steps, int n, unsigned *shared)
{
    *shared = (unsigned)(steps * n * 128 + STAGES * (64 * 128 + 16) + 1024);
    return *shared <= (unsigned)b->plan->device.shared;
}

// Windows over the image `g->a`.
static const void *map_image(struct builder *b, const struct cuda_windows *w, int pixels)
{
    const struct cuda_gemm *g = &w->job;
    int64_t pitch = (int64_t)g->pitch * 4;
    return gpu_plan_map(
        b, &(struct tensor){.at = (device_ptr)(uintptr_t)g->a,
                            .f32 = true,
                            .rank = 4,
                            .size = {g->pitch, g->width, g->height, b->plan->batch},
                            .pitch = {pitch, g->width * pitch, g->height * g->width * pitch},
                            .box = {32},
                            .pixels = pixels,
                            .first = {w->start_x, w->start_y},
                            .last = {w->start_x + g->out_width - g->width,
                                     w->start_y + g->out_height - g->height},
                            .stride = 1});
}

static void launch_tiles(struct builder *b, const char *kernel, struct cuda_windows *w,
                         unsigned shared)
{
    int at_once = b->plan->device.processors * (shared <= 113000 ? 2 : 1);
    w->tiles = (int)tiles(w->job.m, 64);
    w->chunks = w->job.pitch / 32;
    w->map_a = map_image(b, w, 64);
    gpu_plan_add(b, kernel, w->tiles < at_once ? w->tiles : at_once, 1, 160, shared, w, sizeof *w);
}

bool windows_forward(struct builder *b, const struct cuda_gemm *g, int channels)
{
    struct cuda_windows w = {.job = *g, .start_y = -g->top, .start_x = -g->left};
    unsigned shared;
    if (is_first(b, g) && g->drop.slot < 0 && g->ldy == g->units) {
        first_forward(b, &w, channels);
        return true;
    }
    if (!fits(b, g, g->pitch, g->ldy) || g->drop.slot >= 0 ||
        !fits_shared(b, g->k / 32, g->ldy, &shared))
        return false;
    launch_tiles(b, g->ldy == 32 ? "hopper_windows_forward_32" : "hopper_windows_forward_64", &w,
                 shared);
    return true;
}

bool windows_back(struct builder *b, const struct cuda_gemm *g)
{
    struct cuda_windows w = {.job = *g,
                             .start_y = g->top - (g->taps / g->kernel_w - 1),
                             .start_x = g->left - (g->kernel_w - 1)};
    unsigned shared;
    if (!fits(b, g, g->pitch, g->n) || g->add || g->ldy != g->n ||
        !fits_shared(b, g->k / 32, g->n, &shared))
        return false;
    launch_tiles(b, g->n == 32 ? "hopper_windows_back_32" : "hopper_windows_back_64", &w, shared);
    return true;
}

bool windows_weights(struct builder *b, const struct cuda_gemm *g, int channels)
{
    struct cuda_windows w = {
        .job = *g, .start_y = -g->top, .start_x = -g->left, .chunks = g->pitch / 32};
    if (is_first(b, g) && !g->fused) {
        first_weights(b, &w, channels);
        gpu_plan_fork(b);
        b->forked_weights = true;
        return true;
    }
    if (!fits(b, g, g->pitch, g->ldb) || g->fused)
        return false;
    w.job.tiles_m = (int)tiles(g->m, COLUMNS * 32);
    w.map_a = map_image(b, &w, 32);
    w.map_b = gpu_plan_map(b, &(struct tensor){.at = (device_ptr)(uintptr_t)g->b,
                                               .f32 = true,
                                               .rank = 2,
                                               .size = {g->ldb, g->k},
                                               .pitch = {(int64_t)g->ldb * 4},
                                               .box = {32, 32}});
    unsigned shared = (unsigned)(STAGES * ((COLUMNS + g->ldb / 32) * 32 * 128 + 16) + 1024);
    gpu_plan_add(b, g->ldb == 32 ? "hopper_windows_weights_32" : "hopper_windows_weights_64",
                 (int64_t)w.job.tiles_m * g->parts, 1, (unsigned)(COLUMNS * g->ldb + 32), shared,
                 &w, sizeof w);
    gpu_plan_fork(b);
    b->forked_weights = true;
    return true;
}
