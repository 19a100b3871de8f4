// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/plan/builder.h"

// ---- windows on Hopper: tf32, 32 or 64 channels, and 3 × 3 over at most four ----

// As in hopper_windows.cu.
enum { THREADS = 384, STAGES = 3, WARPS = 12, FIRST_WIDTH = 40, FIRST_WARPS = 16 };

static bool windows_wanted(const struct gpu_device *device)
{
    return device->major == 9 && device->maps && !device->several &&
           device->precision == ENGINE_TF32;
}

static bool windows_apply(const struct builder *b, const struct cuda_gemm *g)
{
    return windows_wanted(&b->plan->device) && g->taps > 1 && g->stride == 1;
}

static bool windows_fit(const struct builder *b, const struct cuda_gemm *g, int channels,
                        int columns)
{
    return windows_apply(b, g) && g->taps == 9 && g->kernel_w == 3 && g->out_width + 2 <= 256 &&
           (channels == 32 || channels == 64) && (columns == 32 || columns == 64);
}

// ---- the first layer ----

static bool windows_are_first(const struct builder *b, const struct cuda_gemm *g)
{
    return windows_apply(b, g) && g->pitch == 4 && g->taps == 9 && g->kernel_w == 3 &&
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

// Each adds a launch, or returns false if the product is none of these. Weights' launches are
// forked: the optimizer's must join them (builder.forked_weights). `channels`: of the input,
// without padding.
static bool windows_forward(struct builder *b, const struct cuda_gemm *g, int channels)
{
    struct cuda_windows w = {.job = *g, .start_y = -g->top, .start_x = -g->left};
    if (windows_are_first(b, g) && g->drop.slot < 0 && g->ldy == g->units) {
        first_forward(b, &w, channels);
        return true;
    }
    return windows_fit(b, g, g->pitch, g->ldy) && g->drop.slot < 0 &&
           launch_bands(b, g->ldy == 32 ? "hopper_windows_forward_32" : "hopper_windows_forward_64",
                        &w, g->ldy);
}

static bool windows_back(struct builder *b, const struct cuda_gemm *g)
{
    struct cuda_windows w = {.job = *g, .start_y = g->top - 2, .start_x = g->left - 2};
    return windows_fit(b, g, g->pitch, g->n) && !g->add && g->ldy == g->n &&
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

// Parts of the weights' gradient for windows_weights(), or 0 if it makes none. `g` has the image
// and its windows; `pitch`: of dy.
static int windows_parts(const struct gpu_device *device, const struct cuda_gemm *g, int64_t batch,
                         int pitch)
{
    struct cuda_windows w;
    unsigned shared;
    if (!plan_weights(device, g, batch, pitch, &w, &shared))
        return 0;
    return (int)tiles(w.all, (int)tiles(w.all, device->processors)); // as many bands for each
}

static bool windows_weights(struct builder *b, const struct cuda_gemm *g, int channels)
{
    struct cuda_windows w = {.job = *g, .start_y = -g->top, .start_x = -g->left};
    unsigned shared;
    bool first = windows_are_first(b, g);
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

// ---- products by the kernels of gemm.cu ----

// ---- tile sizes and launches ----

struct gemm_form { // of a block of threads: its tile, and bytes of shared memory
    int m, n, k;
    unsigned forward_shared, back_shared, weights_shared;
};

enum gemm_shape { WIDE, NARROW, MEDIUM, DEEP, SMALL };

// As in gemm.cu: older GPUs have less shared memory and no asynchronous copies.
static struct gemm_form form_of(const struct gpu_device *device, enum gemm_shape shape)
{
    static const int shares[] = {1, 2, 2, 8, 4};
    bool old = device->major < 8, tensor = device->precision != ENGINE_F32;
    int m = shape == DEEP ? 32 : shape == MEDIUM || shape == SMALL ? 64 : 128;
    int n = shape == WIDE || shape == MEDIUM ? 64 : 32;
    int k = shape == DEEP            ? (tensor ? 128 : 64)
            : old && shape == WIDE   ? 16
            : !old && shape == SMALL ? 64
                                     : 32;
    int stages = old || shape == SMALL ? 2 : shape == MEDIUM || (shape == DEEP && !tensor) ? 4 : 3;
    int a_rows = m * k, a_columns = k * (m + 8), b_rows = n * k, b_columns = k * (n + 8);
    int parts[3] = {a_rows + b_rows, a_rows + b_columns, a_columns + b_columns};
    int epilogue[3] = {m * (n + 4), m * (n + 4), n * (m + 4)};
    for (int i = 0; i < 3; i++) { // after the stages: the offsets of taps
        int loop = parts[i] * stages + TAPS_MAX, last = epilogue[i] * shares[shape];
        parts[i] = (loop > last ? loop : last) * 4;
    }
    return (struct gemm_form){m, n, k, (unsigned)parts[0], (unsigned)parts[1], (unsigned)parts[2]};
}

// Smaller tiles where large ones would leave processors idle.
static enum gemm_shape shape_of(const struct cuda_gemm *g, int n, bool windowed)
{
    if (windowed && n <= 32 && tiles(g->m, 128) >= 96)
        return NARROW;
    if (tiles(g->m, 128) * tiles(n, 64) >= 96)
        return WIDE;
    return tiles(g->m, 64) * tiles(n, 64) >= 64 ? MEDIUM : DEEP;
}

static bool is_windowed(const struct cuda_gemm *g)
{
    return g->taps > 1 || g->stride > 1;
}

static void launch_gemm(struct builder *b, const char *kernel, struct cuda_gemm *g, int n,
                        const struct gemm_form *form, unsigned shared)
{
    g->tiles_m = (int)tiles(g->m, form->m);
    g->tiles_n = (int)tiles(n, form->n);
    gpu_plan_add(b, kernel, (int64_t)g->tiles_m * g->tiles_n * g->parts, 1, 256, shared, g,
                 sizeof *g);
}

static void make_parts(struct cuda_gemm *g, int64_t blocks, int wanted, int most, int least,
                       int step)
{
    int64_t parts = wanted / blocks;
    if (parts > g->k / least)
        parts = g->k / least;
    if (parts > most)
        parts = most;
    if (parts < 1)
        parts = 1;
    g->per_part = (int)tiles(tiles(g->k, (int)parts), step) * step;
    g->parts = (int)tiles(g->k, g->per_part);
}

static const char *const forward_kernels[2][4] = {
    {"gemm_forward_wide", "gemm_forward_wide", "gemm_forward_medium", "gemm_forward_deep"},
    {"conv_forward_wide", "conv_forward_narrow", "conv_forward_medium", "conv_forward_deep"}};
static const char *const back_kernels[2][4] = {
    {"gemm_back_wide", "gemm_back_wide", "gemm_back_medium", "gemm_back_deep"},
    {"conv_back_wide", "conv_back_narrow", "conv_back_medium", "conv_back_deep"}};

static void forward_gemm(struct builder *b, struct cuda_gemm *g, int channels)
{
    struct gpu_plan *plan = b->plan;
    bool windowed = is_windowed(g);
    if (windows_forward(b, g, channels))
        return;
    enum gemm_shape shape = shape_of(g, g->ldy, windowed);
    struct gemm_form form = form_of(&plan->device, shape);
    g->parts = 1;
    g->per_part = g->k;
    int64_t blocks = tiles(g->m, form.m) * tiles(g->ldy, form.n);
    if (shape == DEEP && g->k >= 1024)
        make_parts(g, blocks, plan->device.processors, 64, 256, form.k);
    if (g->parts == 1) {
        launch_gemm(b, forward_kernels[windowed][shape], g, g->ldy, &form, form.forward_shared);
        return;
    }
    struct cuda_finish finish = {.part = (int64_t)g->m * g->ldy,
                                 .count = g->parts,
                                 .rows = g->m,
                                 .n = g->n,
                                 .pitch = g->ldy,
                                 .columns = g->columns,
                                 .y = g->y,
                                 .bias = g->bias,
                                 .relu = g->relu,
                                 .drop = g->drop};
    int64_t needed = finish.part * g->parts;
    if (needed > plan->workspace_size) { // earlier launches keep the smaller workspace
        plan->workspace = gpu_plan_alloc(b, needed * 4);
        plan->workspace_size = needed;
    }
    finish.parts = g->y = on_gpu(plan->workspace);
    g->part = finish.part;
    launch_gemm(b, forward_kernels[windowed][DEEP], g, g->ldy, &form, form.forward_shared);
    gpu_plan_each(b, "gemm_finish", (int64_t)finish.rows * finish.pitch / 4, &finish,
                  sizeof finish);
}

void gpu_product(const struct gpu_device *device, device_ptr a, device_ptr b, device_ptr y,
                 int size, struct launch *out)
{
    struct gemm_form form = form_of(device, WIDE);
    int tiles_m = (int)tiles(size, form.m), tiles_n = (int)tiles(size, form.n);
    const struct cuda_gemm g = {.m = size,
                                .n = size,
                                .k = size,
                                .a = on_gpu(a),
                                .b = on_gpu(b),
                                .y = on_gpu(y),
                                .ldb = size,
                                .ldy = size,
                                .parts = 1,
                                .per_part = size,
                                .height = 1,
                                .width = 1,
                                .pitch = size,
                                .out_height = 1,
                                .out_width = 1,
                                .taps = 1,
                                .kernel_w = 1,
                                .stride = 1,
                                .units = size,
                                .columns = size,
                                .drop = {.slot = -1},
                                .tiles_m = tiles_m,
                                .tiles_n = tiles_n};
    launch_make(out, forward_kernels[0][WIDE], (unsigned)(tiles_m * tiles_n), 1, 256,
                form.forward_shared, &g, sizeof g);
}

static void back_gemm(struct builder *b, struct cuda_gemm *g)
{
    bool windowed = is_windowed(g);
    if (windows_back(b, g))
        return;
    enum gemm_shape shape = shape_of(g, g->n, windowed);
    struct gemm_form form = form_of(&b->plan->device, shape);
    // Some GPUs since 8.0 (8.6, 8.9, 12.0) have 99 KiB for a block.
    if (form.back_shared > (unsigned)b->plan->device.shared)
        form = form_of(&b->plan->device, shape = MEDIUM);
    g->parts = 1;
    g->per_part = g->k;
    launch_gemm(b, back_kernels[windowed][shape], g, g->n, &form, form.back_shared);
}

void gpu_weights_flush(struct builder *b, enum weights_group group)
{
    static const char *const kernels[] = {"gemm_weights_small", "gemm_weights_wide",
                                          "conv_weights_wide"};
    struct gemm_form form = form_of(&b->plan->device, group == WEIGHTS_WHOLE ? SMALL : WIDE);
    struct cuda_gemms *jobs = &b->weights[group];
    jobs->optimizer = gpu_plan_optimizer(b->plan);
    if (jobs->count > 0) {
        gpu_plan_add(b, kernels[group], b->weight_blocks[group], 1, 256, form.weights_shared, jobs,
                     sizeof *jobs);
        // Nothing reads its results before the next step, unless they are summed over ranks.
        if (group == WEIGHTS_WHOLE && !b->plan->device.several)
            gpu_plan_fork(b);
    }
    jobs->count = 0;
    b->weight_blocks[group] = 0;
}

void gpu_weights_flush_all(struct builder *b)
{
    for (enum weights_group group = WEIGHTS_WHOLE; group <= WEIGHTS_OF_WINDOWS; group++)
        gpu_weights_flush(b, group);
}

void gpu_weights_add(struct builder *b, struct cuda_gemm *g)
{
    enum weights_group group = is_windowed(g) ? WEIGHTS_OF_WINDOWS
                               : g->parts > 1 ? WEIGHTS_IN_PARTS
                                              : WEIGHTS_WHOLE;
    struct gemm_form form = form_of(&b->plan->device, group == WEIGHTS_WHOLE ? SMALL : WIDE);
    struct cuda_gemms *jobs = &b->weights[group];
    if (jobs->count == CUDA_JOBS_MAX)
        gpu_weights_flush(b, group);
    g->first = b->weight_blocks[group];
    g->tiles_m = (int)tiles(g->m, form.m);
    g->tiles_n = (int)tiles(g->units, form.n);
    b->weight_blocks[group] += g->tiles_m * g->tiles_n * g->parts;
    jobs->job[jobs->count++] = *g;
}

// ---- a layer's products ----

// A product whose windows go over a layer's input; a dense layer has one, over all of it. `rows`:
// of the output, for one sample.
static struct cuda_gemm windows_of(const struct gpu_plan *plan, int layer, int *rows)
{
    const struct net_layer *l = &plan->layers[layer];
    const struct gpu_value *in = &plan->values[l->inputs[0]];
    const struct net_shape *shape = &plan->layers[l->inputs[0]].out;
    bool steps = l->op == NET_LSTM; // each a row
    *rows = l->op == NET_CONV ? l->out.dim[1] * l->out.dim[2] : steps ? in->rows : 1;
    if (l->op == NET_CONV)
        return (struct cuda_gemm){.height = shape->dim[1],
                                  .width = shape->dim[2],
                                  .pitch = in->pitch,
                                  .out_height = l->out.dim[1],
                                  .out_width = l->out.dim[2],
                                  .taps = l->kernel_h * l->kernel_w,
                                  .kernel_w = l->kernel_w,
                                  .stride = l->stride,
                                  .top = l->pad_top,
                                  .left = l->pad_left};
    return (struct cuda_gemm){.height = 1,
                              .width = 1,
                              .pitch = steps ? in->pitch : in->rows * in->pitch,
                              .out_height = 1,
                              .out_width = 1,
                              .taps = 1,
                              .kernel_w = 1,
                              .stride = 1};
}

void gpu_linear_forward(struct builder *b, const struct gpu_linear *l, bool relu, int drop)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *layer = &plan->layers[l->layer];
    int rows;
    struct cuda_gemm g = windows_of(plan, l->layer, &rows);
    g.m = (int)plan->batch * rows;
    g.n = g.units = g.columns = l->units;
    g.k = g.ldb = g.taps * g.pitch;
    g.a = on_gpu(plan->values[layer->inputs[0]].out);
    g.b = on_gpu(gpu_params_at(plan->params, l->block->at));
    g.y = on_gpu(l->y);
    g.ldy = l->pitch;
    if (layer->op == NET_LSTM || layer->bias)
        g.bias = on_gpu(gpu_params_at(plan->params, l->block->bias_at));
    g.relu = relu;
    g.drop = gpu_plan_drop(b, drop);
    forward_gemm(b, &g, plan->layers[layer->inputs[0]].out.dim[0]);
}

void gpu_linear_weights(struct builder *b, const struct gpu_linear *l)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *layer = &plan->layers[l->layer];
    int rows;
    struct cuda_gemm g = windows_of(plan, l->layer, &rows);
    g.m = g.ldy = g.taps * g.pitch;
    g.n = g.ldb = l->pitch;
    g.k = (int)plan->batch * rows;
    g.a = on_gpu(plan->values[layer->inputs[0]].out);
    g.b = on_gpu(l->dy);
    g.y = on_gpu(l->block->grad);
    g.part = l->block->size;
    g.units = l->units;
    g.parts = l->block->parts;
    g.per_part = (int)tiles(tiles(g.k, g.parts), 32) * 32;
    if (layer->op == NET_LSTM || layer->bias) {
        g.bias = on_gpu(l->dy); // anything but null
        g.bias_grad = on_gpu(l->block->grad + (device_ptr)(l->block->bias_at - l->block->at) * 4);
    }
    g.fused = gpu_is_fused(l->block);
    g.decayed = l->block->decayed;
    g.at = l->block->at;
    g.bias_at = l->block->bias_at;
    if (!windows_weights(b, &g, plan->layers[layer->inputs[0]].out.dim[0]))
        gpu_weights_add(b, &g);
}

int gpu_weights_parts(const struct gpu_plan *plan, int layer, bool second)
{
    const struct net_layer *l = &plan->layers[layer];
    int rows, units = l->op == NET_LSTM ? 4 * l->units * (l->both_ways ? 2 : 1) : l->units;
    struct cuda_gemm g = windows_of(plan, layer, &rows);
    int64_t m = second ? pad4(l->units) : g.taps * g.pitch;
    g.k = (int)plan->batch * rows;
    int parts = windows_parts(&plan->device, &g, plan->batch, pad4(l->units));
    if (l->op == NET_CONV && parts > 0)
        return parts;
    int most = is_windowed(&g) && windows_wanted(&plan->device) ? 88 : 64;
    make_parts(&g, tiles(m, 128) * tiles(units, 64), 2 * plan->device.processors, most, 256, 32);
    return g.parts;
}

void gpu_linear_back(struct builder *b, const struct gpu_linear *l)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *layer = &plan->layers[l->layer];
    int rows, input = layer->inputs[0];
    const struct gpu_value *in = &plan->values[input];
    struct cuda_gemm w = windows_of(plan, l->layer, &rows), g = w;
    if (!b->reaches[input])
        return;
    g.height = w.out_height; // windows walk through dy
    g.width = w.out_width;
    g.pitch = g.units_pitch = l->pitch;
    g.out_height = w.height;
    g.out_width = w.width;
    g.m = (int)plan->batch * (layer->op == NET_DENSE ? 1 : in->rows);
    g.n = g.ldy = g.tap_pitch = w.pitch;
    g.k = w.taps * l->pitch;
    g.a = on_gpu(l->dy);
    g.b = on_gpu(gpu_params_at(plan->params, l->block->at));
    g.y = on_gpu(in->grad);
    g.ldb = w.taps * w.pitch;
    g.units = l->units;
    g.mask = in->masked ? on_gpu(in->out) : NULL;
    g.mask_scale = in->drop >= 0 ? 1.0f / (1.0f - plan->layers[in->drop].rate) : 1;
    g.add = b->written[input];
    back_gemm(b, &g);
    b->written[input] = true;
}

struct gpu_linear gpu_linear_of(const struct gpu_plan *plan, int layer)
{
    const struct gpu_value *value = &plan->values[layer];
    return (struct gpu_linear){.layer = layer,
                               .units = plan->layers[layer].units,
                               .pitch = value->pitch,
                               .y = value->out,
                               .dy = value->grad,
                               .block = gpu_params_block(plan->params, layer, 0)};
}
