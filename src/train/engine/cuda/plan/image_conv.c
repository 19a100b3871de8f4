// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/plan/builder.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct image_form { // tiles of a block, as in image_conv.cu and hopper_images.cu
    const char *forward, *back;
    int m, n, stages;
    double cost;    // portable: relative time of a multiplication
    int concurrent; // Hopper: blocks of a processor; 0 in portable forms
};

static const struct image_form forms[] = {
    {"image_forward_128", "image_back_128", 128, 128, 3, 1.0, 0},
    {"image_forward_96", "image_back_96", 128, 96, 3, 1.05, 0},
    {"image_forward_64", "image_back_64", 128, 64, 4, 1.15, 0},
    {"image_forward_32", "image_back_32", 128, 32, 4, 1.6, 0},
    {"image_forward_few", "image_back_few", 64, 64, 4, 1.5, 0},
};

static const struct image_form weight_forms[] = {
    {"image_weights_128", NULL, 128, 128, 3, 1.0, 0},
    {"image_weights_96", NULL, 96, 128, 3, 1.05, 0},
    {"image_weights_64", NULL, 64, 128, 4, 1.15, 0},
};

static const struct image_form hopper_forms[] = {
    {"hopper_forward_256", "hopper_back_256", 128, 256, 4, 0, 1},
    {"hopper_forward_192", "hopper_back_192", 128, 192, 4, 0, 1},
    {"hopper_forward_128", "hopper_back_128", 128, 128, 3, 0, 2},
    {"hopper_forward_96", "hopper_back_96", 128, 96, 3, 0, 2},
    {"hopper_forward_64", "hopper_back_64", 128, 64, 4, 0, 2},
    {"hopper_forward_few", "hopper_back_few", 64, 64, 4, 0, 3},
};

static const struct image_form hopper_weight_forms[] = {
    {"hopper_weights_256", NULL, 128, 256, 4, 0, 1},
    {"hopper_weights_128", NULL, 128, 128, 3, 0, 2},
    {"hopper_weights_64", NULL, 64, 128, 4, 0, 2},
};

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

// ---- portable ----

static unsigned shared_of(const struct image_form *form)
{
    return (unsigned)(form->stages * (form->m + form->n) * 128 + TAPS_MAX * 4);
}

// Relative time: a processor runs `at_once` blocks concurrently, and a wave of blocks takes as long
// as one of them.
static double portable_time(const struct gpu_plan *plan, const struct image_form *f, int64_t blocks,
                            int at_once)
{
    int64_t waves = tiles(blocks, at_once * plan->device.processors);
    return (double)(waves * f->m * f->n) * f->cost;
}

// ---- Hopper ----

static int boxes(int channels)
{
    return (int)tiles(channels, 64);
}

// Boxes of 64 channels that are mostly padding cost more than they gain, and so do tiles of
// columns.
static bool fits_boxes(const struct gpu_plan *plan, int channels, int columns)
{
    return plan->device.major == 9 && plan->device.maps && columns >= 48 &&
           10L * channels * columns >= 6L * (64L * boxes(channels)) * (32 * tiles(columns, 32));
}

// Cycles of a processor for a tile's box of 64 in k: its products, at 2,048 a cycle, or its bytes,
// at what L2 gives to each.
static double cycles_of_box(const struct image_form *f)
{
    return fmax(f->m * f->n / 32.0, (f->m + f->n) * 128 / 44.0);
}

// Time until a product is done, or the work in it, which counts where other launches run
// concurrently: a blend with so much `work` of 1.
static double cycles_of(const struct gpu_plan *plan, const struct image_form *f, int64_t blocks,
                        double steps, double work)
{
    double each = steps * cycles_of_box(f) + (f->concurrent > 1 ? 1000 : 3500);
    double waves = (double)blocks / plan->device.processors;
    return each * (waves * work + ceil(waves) * (1 - work));
}

// ---- which form ----

struct image_job { // a product of m × n
    int64_t m, n;
    double steps;     // boxes of 64 in k
    bool weights;     // their gradient, which may be made in parts
    int64_t k, parts; // then: of how many numbers, and the most parts
};

struct image_choice {
    const struct image_form *form;
    int parts;
};

#define WEIGHTS_WORK 1.0 // they run beside the way back (docs/gpu-notes.md has other shares)

static double job_time(const struct gpu_plan *plan, const struct image_form *f,
                       const struct image_job *job, int parts)
{
    int64_t blocks = tiles(job->m, f->m) * tiles(job->n, f->n) * parts;
    if (f->concurrent > 0 && !job->weights)
        return cycles_of(plan, f, blocks, job->steps, 0);
    if (f->concurrent > 0) // a part is written and read again, at 2,000 bytes a cycle
        return cycles_of(plan, f, blocks, job->steps / parts, WEIGHTS_WORK) +
               (double)parts * (double)job->m * (double)job->n * 8 / 2000;
    if (!job->weights)
        return portable_time(plan, f, blocks, 2);
    // Each part is written and read again. Other launches run concurrently.
    return portable_time(plan, f, blocks, 1) / parts * (1 + 0.06 * parts);
}

// The fastest of `count` forms, and the number of parts.
static struct image_choice fastest(const struct gpu_plan *plan, const struct image_form *list,
                                   int count, const struct image_job *job)
{
    struct image_choice best = {0};
    double least = 0;
    for (int i = 0; i < count; i++)
        for (int p = 1; p <= 64 && (p == 1 || (p <= job->parts && job->k / p >= 512)); p++) {
            double time = job_time(plan, &list[i], job, p);
            if (best.form && time >= least)
                continue;
            best = (struct image_choice){&list[i], p};
            least = time;
        }
    return best;
}

// Of a product of images; `on_hopper`: by the kernels for it, in so many steps of k.
static const struct image_form *image_form_of(const struct gpu_plan *plan, bool on_hopper,
                                              int64_t m, int n, int steps)
{
    const struct image_job job = {.m = m, .n = n, .steps = steps};
    return on_hopper ? fastest(plan, hopper_forms, COUNT(hopper_forms), &job).form
                     : fastest(plan, forms, COUNT(forms), &job).form;
}

// ---- launches ----

static unsigned hopper_shared(const struct image_form *f, bool columns)
{
    int b = columns ? boxes(f->n) * 8192 : f->n * 128;
    return (unsigned)(f->stages * (f->m * 128 + b) + 1024 + 16 * f->stages);
}

static unsigned hopper_threads(const struct image_form *f)
{
    return (unsigned)(f->m * 2 + 32);
}

// The cells of an image's windows, in copies of 64 channels of `pixels` pixels.
static void *map_windows(struct builder *b, device_ptr image, const struct cuda_image_conv *g,
                         int channels, const struct cuda_image_class *c, int stride, int pixels)
{
    int64_t pitch = (int64_t)g->pitch * 2;
    return gpu_plan_map(b, &(struct mapped_tensor){
                               .at = image,
                               .rank = 4,
                               .size = {channels, g->width, g->height, b->plan->batch},
                               .pitch = {pitch, g->width * pitch, g->height * g->width * pitch},
                               .box = {64},
                               .pixels = pixels,
                               .first = {c->start_x, c->start_y},
                               .last = {c->start_x + (c->width - 1) * stride - (g->width - 1),
                                        c->start_y + (c->height - 1) * stride - (g->height - 1)},
                               .stride = stride});
}

// The weights: channels of a tap, taps, units.
static void *map_weights(struct builder *b, const struct cuda_image_conv *g, int channels, int rows)
{
    int64_t pitch = (int64_t)channels * 2;
    return gpu_plan_map(b, &(struct mapped_tensor){.at = (device_ptr)(uintptr_t)g->b,
                                                   .rank = 3,
                                                   .size = {channels, g->taps, g->units},
                                                   .pitch = {pitch, g->taps * pitch},
                                                   .box = {64, 1, rows}});
}

static void hopper_launch(struct builder *b, const char *kernel, const struct image_form *f,
                          struct cuda_image_conv *g, int64_t blocks, bool columns)
{
    gpu_plan_add(b, kernel, blocks, 1, hopper_threads(f), hopper_shared(f, columns), g, sizeof *g);
}

// ---- a layer ----

static struct cuda_image_conv conv_of(const struct gpu_plan *plan, int layer)
{
    const struct net_layer *l = &plan->layers[layer];
    const struct net_shape *in = &plan->layers[l->inputs[0]].out;
    return (struct cuda_image_conv){.now = on_gpu(plan->now),
                                    .pixels = plan->values[layer].rows,
                                    .height = in->dim[1],
                                    .width = in->dim[2],
                                    .pitch = plan->values[l->inputs[0]].pitch,
                                    .depth = pad8(in->dim[0]),
                                    .out_height = l->out.dim[1],
                                    .out_width = l->out.dim[2],
                                    .taps = l->kernel_h * l->kernel_w,
                                    .kernel_w = l->kernel_w,
                                    .stride = l->stride,
                                    .top = l->pad_top,
                                    .left = l->pad_left,
                                    .units = l->units,
                                    .every = 1,
                                    .classes = 1};
}

static void image_launch(struct builder *b, const char *kernel, const struct image_form *form,
                         struct cuda_image_conv *g, int parts)
{
    g->tiles_m = (int)tiles(g->m, form->m);
    g->tiles_n = (int)tiles(g->n, form->n);
    gpu_plan_add(b, kernel, (int64_t)g->tiles_m * g->tiles_n * parts, 1, 256, shared_of(form), g,
                 sizeof *g);
}

static const unsigned short *weights_at(const struct gpu_plan *plan, int layer)
{
    const struct gpu_block *block = gpu_params_block(plan->params, layer, 0);
    return on_gpu(plan->params->rounded + (device_ptr)block->at * 2);
}

bool image_conv_portable(const struct launch *from, struct launch *out)
{
    bool forward = strncmp(from->name, "hopper_forward", 14) == 0,
         back = strncmp(from->name, "hopper_back", 11) == 0,
         weights = strncmp(from->name, "hopper_weights", 14) == 0;
    struct cuda_image_conv g;
    if (!forward && !back && !weights)
        return false;
    memcpy(&g, from->args, sizeof g);
    const struct image_form *f = weights ? &weight_forms[0] : &forms[0];
    int64_t parts = weights ? tiles(g.k, g.per_part) : 1;
    g.tiles_m = (int)tiles(g.m, f->m);
    g.tiles_n = (int)tiles(g.n, f->n);
    launch_make(out, back ? f->back : f->forward, (unsigned)(g.tiles_m * g.tiles_n * parts), 1, 256,
                shared_of(f), &g, sizeof g);
    return true;
}

// ---- forward ----

static const struct image_form *forward_form(const struct gpu_plan *plan, int layer)
{
    const struct cuda_image_conv g = conv_of(plan, layer);
    int64_t m = plan->batch * plan->values[layer].rows;
    int n = pad8(g.units);
    return image_form_of(plan, fits_boxes(plan, g.depth, n), m, n, g.taps * boxes(g.depth));
}

int image_conv_rows(const struct gpu_plan *plan, int layer)
{
    return forward_form(plan, layer)->m;
}

static void hopper_forward(struct builder *b, const struct image_form *f, struct cuda_image_conv *g)
{
    struct cuda_image_class *c = &g->of[0];
    *c = (struct cuda_image_class){.m = g->m,
                                   .height = g->out_height,
                                   .width = g->out_width,
                                   .start_y = -g->top,
                                   .start_x = -g->left,
                                   .cells_h = g->taps / g->kernel_w,
                                   .cells_w = g->kernel_w};
    c->map = map_windows(b, (device_ptr)(uintptr_t)g->a, g, g->depth, c, g->stride, f->m);
    g->map_b = map_weights(b, g, g->depth, f->n);
    g->chunks = boxes(g->depth);
    g->tap_down = g->kernel_w;
    g->tap_right = 1;
    g->tiles_m = (int)tiles(g->m, f->m);
    g->tiles_n = (int)tiles(g->n, f->n);
    hopper_launch(b, f->forward, f, g, (int64_t)g->tiles_m * g->tiles_n, false);
}

void image_conv_forward(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct gpu_value *value = &plan->values[layer];
    struct cuda_image_conv g = conv_of(plan, layer);
    g.m = (int)plan->batch * value->rows;
    g.n = pad8(g.units);
    g.k = g.taps * g.depth;
    g.a = on_gpu(plan->values[plan->layers[layer].inputs[0]].out);
    g.b = weights_at(plan, layer);
    g.y = on_gpu(value->out);
    g.ldb = g.taps * g.depth;
    g.ldy = value->pitch;
    assert(plan->layers[layer + 1].op == NET_BATCH_NORM);
    g.sums = b->training ? on_gpu(plan->extra[4 * (layer + 1)]) : NULL;
    const struct image_form *form = forward_form(plan, layer);
    if (form->concurrent > 0)
        hopper_forward(b, form, &g);
    else
        image_launch(b, form->forward, form, &g, 1);
}

// ---- back ----

// Along one direction, the cells of the kernel that reach every `stride`-th pixel from `from` on,
// of `side`: how many, the last one, and where the first pixel's window of them begins in dy.
static void cells_of(int from, int stride, int before, int kernel, int side, int *pixels,
                     int *cells, int *last, int *start)
{
    int first = (from + before) % stride;
    *pixels = (side - from + stride - 1) / stride;
    *cells = (kernel - first + stride - 1) / stride;
    *last = first + (*cells - 1) * stride;
    *start = (from + before - first) / stride - (*cells - 1);
}

// `g` is of dy's windows: its height and width are dy's, those of `out` dx's.
static void hopper_back(struct builder *b, const struct image_form *f, struct cuda_image_conv *g)
{
    int kernel_h = g->taps / g->kernel_w, blocks = 0;
    g->every = g->stride;
    g->classes = 0;
    g->tap_down = -g->stride * g->kernel_w;
    g->tap_right = -g->stride;
    g->chunks = boxes(g->depth);
    g->tiles_n = (int)tiles(g->n, f->n);
    g->map_b = map_weights(b, g, g->tap_pitch, 64);
    for (int y = 0; y < g->stride && y < g->out_height; y++)
        for (int x = 0; x < g->stride && x < g->out_width; x++) {
            struct cuda_image_class *c = &g->of[g->classes++];
            int last_y, last_x;
            *c = (struct cuda_image_class){.first = blocks, .y = y, .x = x};
            cells_of(y, g->stride, g->top, kernel_h, g->out_height, &c->height, &c->cells_h,
                     &last_y, &c->start_y);
            cells_of(x, g->stride, g->left, g->kernel_w, g->out_width, &c->width, &c->cells_w,
                     &last_x, &c->start_x);
            c->tap = last_y * g->kernel_w + last_x;
            c->m = (int)b->plan->batch * c->height * c->width;
            c->map = map_windows(b, (device_ptr)(uintptr_t)g->a, g, g->depth, c, 1, f->m);
            blocks += (int)tiles(c->m, f->m) * g->tiles_n;
        }
    hopper_launch(b, f->back, f, g, blocks, true);
}

void image_conv_back(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    int input = l->inputs[0];
    const struct gpu_value *in = &plan->values[input], *value = &plan->values[layer];
    struct cuda_image_conv g = conv_of(plan, layer);
    g.m = (int)plan->batch * in->rows;
    g.n = g.depth;
    g.tap_pitch = g.depth;
    g.ldb = g.taps * g.depth;
    g.depth = pad8(g.units);
    g.k = g.taps * g.depth;
    g.a = on_gpu(value->out); // where its gradient lies by now
    g.b = weights_at(plan, layer);
    g.y = on_gpu(in->grad);
    g.ldy = in->pitch;
    g.add = b->written[input];
    int height = g.height, width = g.width;
    g.height = g.out_height; // windows walk through dy
    g.width = g.out_width;
    g.pitch = value->pitch;
    g.out_height = height;
    g.out_width = width;
    bool reached = g.stride <= 2 && l->kernel_h >= g.stride && l->kernel_w >= g.stride;
    int steps = (int)tiles(g.taps * boxes(g.depth), g.stride * g.stride);
    const struct image_form *form =
        image_form_of(plan, reached && fits_boxes(plan, g.depth, g.n), g.m, g.n, steps);
    if (form->concurrent > 0)
        hopper_back(b, form, &g);
    else
        image_launch(b, form->back, form, &g, 1);
}

// ---- weights ----

// Limit for the parts of a weights' gradient. Without it inception takes 600 MiB more and gains 1.4
// %.
#define PARTS_BYTES (1 << 20)

static struct image_choice weight_form(const struct gpu_plan *plan, int layer)
{
    const struct net_layer *l = &plan->layers[layer];
    int depth = pad8(plan->layers[l->inputs[0]].out.dim[0]), taps = l->kernel_h * l->kernel_w;
    int64_t n = (int64_t)taps * depth, k = plan->batch * plan->values[layer].rows;
    struct image_job job = {.m = l->units,
                            .n = n,
                            .steps = (double)k / 64,
                            .weights = true,
                            .k = k,
                            .parts = PARTS_BYTES / (n * l->units * 4)};
    if (!fits_boxes(plan, depth, l->units))
        return fastest(plan, weight_forms, COUNT(weight_forms), &job);
    job.n = (int64_t)taps * boxes(depth) * 64;
    return fastest(plan, hopper_weight_forms, COUNT(hopper_weight_forms), &job);
}

int image_conv_parts(const struct gpu_plan *plan, int layer)
{
    int parts = weight_form(plan, layer).parts;
    int64_t k = plan->batch * plan->values[layer].rows, per = tiles(tiles(k, parts), 64) * 64;
    return (int)tiles(k, (int)per);
}

void image_conv_weights(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct gpu_value *value = &plan->values[layer];
    const struct gpu_block *block = gpu_params_block(plan->params, layer, 0);
    struct cuda_image_conv g = conv_of(plan, layer);
    const struct image_choice choice = weight_form(plan, layer);
    const struct image_form *form = choice.form;
    g.m = pad8(g.units);
    g.n = g.taps * g.depth;
    g.k = (int)plan->batch * value->rows;
    g.a = on_gpu(value->out);
    g.b = on_gpu(plan->values[plan->layers[layer].inputs[0]].out);
    g.y = on_gpu(block->grad);
    g.ldy = g.taps * g.depth;
    g.units_pitch = value->pitch;
    g.part = block->size;
    g.per_part = (int)tiles(tiles(g.k, choice.parts), 64) * 64;
    assert(tiles(g.k, g.per_part) == block->parts);
    if (form->concurrent == 0) {
        image_launch(b, form->forward, form, &g, block->parts);
        return;
    }
    const struct cuda_image_class all = {
        .height = g.out_height, .width = g.out_width, .start_y = -g.top, .start_x = -g.left};
    g.map_a = gpu_plan_map(b, &(struct mapped_tensor){.at = value->out,
                                                      .rank = 2,
                                                      .size = {g.m, g.k},
                                                      .pitch = {(int64_t)value->pitch * 2},
                                                      .box = {64, 64}});
    g.map_b = map_windows(b, (device_ptr)(uintptr_t)g.b, &g, g.depth, &all, g.stride, 64);
    g.chunks = boxes(g.depth);
    g.tiles_m = (int)tiles(g.units, form->m);
    g.tiles_n = (int)tiles(g.taps * g.chunks * 64, form->n);
    hopper_launch(b, form->forward, form, &g, (int64_t)g.tiles_m * g.tiles_n * block->parts, true);
}
