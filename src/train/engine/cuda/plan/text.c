// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "train/engine/cuda/plan/builder.h"

#define PRODUCT_SHARED (3 * 32768) // bytes of shared memory that the kernels need at least

struct matrix { // of bf16, rows together
    device_ptr at;
    int64_t rows;
    int columns;
};

// Which operand lies transposed (kernels.h), and what is done with the sums.
enum product_form { PRODUCT_NN, PRODUCT_NN_GELU, PRODUCT_NT, PRODUCT_NT_GELU, PRODUCT_TN };

// ---- products of matrices of bf16, by the kernels for the GPU at hand ----

struct product_kind { // of kernels: its tile and its needs
    const char *names[5];
    int m, n;
    int pair; // tiles of m that blocks of a cluster make together
    unsigned threads, shared;
};

// Shared memory: stages, room to align them, barriers, sums of rows (hopper.cu).
static const struct product_kind hopper = {
    {[PRODUCT_NN] = "hopper_nn", [PRODUCT_NT] = "hopper_nt", [PRODUCT_TN] = "hopper_tn"},
    128,
    256,
    2,
    384,
    4 * 49152 + 1024 + 64};
static const struct product_kind hopper_turns = {
    {"hopper_nn_turns", "hopper_nn_gelu", "hopper_nt_turns", "hopper_nt_gelu"},
    128,
    128,
    2,
    384,
    6 * 32768 + 1024 + 112 + 2 * 4 * 128 * 4};
static const struct product_kind portable = {
    {"product_nn", "product_nn_gelu", "product_nt", "product_nt_gelu", "product_tn"},
    128,
    128,
    1,
    256,
    PRODUCT_SHARED};

// Whether the kernels for Hopper are used.
static bool product_on_hopper(const struct gpu_device *device)
{
    return device->major == 9 && device->maps;
}

// Up to this k, storing a tile of 128 × 256 takes a fifth of its time or more.
enum { TURNS_K = 1600 };

static const struct product_kind *kind_for(const struct gpu_device *device, enum product_form form,
                                           int64_t k)
{
    if (!product_on_hopper(device))
        return &portable;
    bool turns =
        form == PRODUCT_NN_GELU || form == PRODUCT_NT_GELU || (form != PRODUCT_TN && k <= TURNS_K);
    return turns ? &hopper_turns : &hopper;
}

// A tensor map for boxes of `rows` × 64 of a matrix, on the GPU.
static void *product_map(struct builder *b, struct matrix x, int rows)
{
    return gpu_plan_map(b, &(struct mapped_tensor){.at = x.at,
                                                   .rank = 2,
                                                   .size = {x.columns, x.rows},
                                                   .pitch = {(int64_t)x.columns * 2},
                                                   .box = {64, rows}});
}

static int64_t block_count(const struct product_kind *kind, int64_t m, int64_t n, int parts)
{
    return tiles(m, kind->m * kind->pair) * kind->pair * tiles(n, kind->n) * parts;
}

// Blocks that run beside each other. Of an odd number of processors one stays idle.
static int64_t block_room(const struct gpu_device *device, const struct product_kind *kind)
{
    int64_t whole = device->processors / kind->pair;
    return (whole > 0 ? whole : 1) * kind->pair;
}

// Measured on an H200: each part costs about a twentieth of the product in memory traffic.
// In how many parts of k a TN product (m × n) is best made.
static int product_parts(const struct gpu_device *device, int64_t m, int64_t n, int64_t k)
{
    const struct product_kind *kind = kind_for(device, PRODUCT_TN, k);
    int64_t room = block_room(device, kind);
    int best = 1;
    double least = 0;
    for (int parts = 1; parts <= 8 && parts * 256 <= k; parts++) {
        int64_t waves = (block_count(kind, m, n, parts) + room - 1) / room;
        double cost = (double)waves / parts * (1 + 0.05 * parts);
        if (parts == 1 || cost < least) {
            best = parts;
            least = cost;
        }
    }
    int64_t per_part = tiles(tiles(k, best), 64) * 64;
    return (int)tiles(k, (int)per_part);
}

// Adds the launch; the caller sets y, ldy, kind and what that needs. `parts` of 0 is 1.
static void product_add(struct builder *b, enum product_form form, struct matrix x, struct matrix y,
                        struct cuda_product *g)
{
    const struct gpu_device *device = &b->plan->device;
    bool x_columns = form == PRODUCT_TN, y_columns = form != PRODUCT_NT && form != PRODUCT_NT_GELU;
    g->a = on_gpu(x.at);
    g->b = on_gpu(y.at);
    g->m = x_columns ? x.columns : (int)x.rows;
    g->k = x_columns ? (int)x.rows : x.columns;
    g->n = y_columns ? y.columns : (int)y.rows;
    const struct product_kind *kind = kind_for(device, form, g->k);
    g->lda = x.columns;
    g->ldb = y.columns;
    if (g->parts == 0)
        g->parts = 1;
    g->per_part = (int)tiles(tiles(g->k, g->parts), 64) * 64;
    g->tiles_m = (int)tiles(g->m, kind->m);
    g->tiles_n = (int)tiles(g->n, kind->n);
    int64_t blocks = block_count(kind, g->m, g->n, g->parts), room = block_room(device, kind);
    if (kind != &portable) {
        g->map_a = product_map(b, x, x_columns ? 64 : 128);
        // or half of a tile, for both blocks
        g->map_b = product_map(b, y, y_columns ? 64 : kind->n / kind->pair);
        if (blocks > room) // a block makes several tiles
            blocks = room;
    }
    gpu_plan_add(b, kind->names[form], blocks, 1, kind->threads, kind->shared, g, sizeof *g);
}

#define NORM_PARTS   264 // blocks of a layer norm's way back, at most
#define COLUMN_PARTS 32
#define LOGITS_BYTES (7LL << 28)

// ---- which nets ----

bool text_net(const struct net_layer *layers, int count)
{
    return layers[count - 1].op == NET_TIED_HEAD;
}

int64_t text_table_rows(int vocabulary)
{
    return ((int64_t)vocabulary + 63) / 64 * 64;
}

static bool fits_transformer(const struct net_layer *layers, int i)
{
    const struct net_layer *l = &layers[i], *in = l->input_count > 0 ? &layers[l->inputs[0]] : NULL;
    switch (l->op) {
    case NET_TOKENS:
    case NET_EMBEDDING:
        return true;
    case NET_POSITION:
        return in->op == NET_EMBEDDING;
    case NET_LAYER_NORM:
        return (in->op == NET_ADD && l->inputs[0] == i - 1) || in->op == NET_POSITION;
    case NET_LINEAR:
        return in->op == NET_LAYER_NORM || in->op == NET_ATTENTION || in->op == NET_GELU;
    case NET_ATTENTION:
        return in->op == NET_LINEAR && l->inputs[0] == i - 1 &&
               l->units == l->heads * CUDA_HEAD_WIDTH;
    case NET_GELU:
        return in->op == NET_LINEAR && l->inputs[0] == i - 1;
    case NET_ADD:
        return layers[l->inputs[1]].op == NET_LINEAR && l->inputs[1] == i - 1 &&
               (in->op == NET_ADD || in->op == NET_POSITION);
    case NET_TIED_HEAD:
        return in->op == NET_LAYER_NORM;
    default:
        return false;
    }
}

int text_check(const struct net_layer *layers, int count, const struct gpu_device *device,
               struct err *err)
{
    if (device->precision != ENGINE_BF16) {
        err_set(err, ERR_USAGE, "the cuda engine trains transformers in bf16 only");
        return err_hint(err, "--precision bf16, on a GPU of compute capability 8.0 or newer");
    }
    if (device->shared < PRODUCT_SHARED)
        return err_set(err, ERR_USAGE,
                       "this GPU has %d bytes of shared memory for a block; transformers need %d",
                       device->shared, PRODUCT_SHARED);
    for (int i = 0; i < count; i++) {
        const struct net_layer *l = &layers[i];
        int width = l->out.rank == 2 && l->op != NET_TOKENS ? l->out.dim[1] : 0;
        if (!fits_transformer(layers, i))
            return err_set(
                err, ERR_USAGE,
                "layer '%s': the cuda engine has no transformer of this form: blocks of "
                "layer norm, linear layers, GELU or attention with heads of %d, and sums",
                l->name, CUDA_HEAD_WIDTH);
        if (l->op == NET_TIED_HEAD && text_table_rows(l->out.dim[1]) > CUDA_LOGITS_MAX)
            return err_set(err, ERR_USAGE, "the cuda engine knows vocabularies up to %d, not %d",
                           CUDA_LOGITS_MAX, l->out.dim[1]);
        if (l->op != NET_TIED_HEAD &&
            (width % 8 != 0 || (l->op == NET_LAYER_NORM && width > CUDA_ROW_MAX)))
            return err_set(err, ERR_USAGE,
                           "layer '%s' is %d wide; the cuda engine needs a multiple of 8, and at "
                           "most %d for a layer norm",
                           l->name, width, CUDA_ROW_MAX);
    }
    return 0;
}

// ---- helpers ----

static int text_time(const struct gpu_plan *plan)
{
    return plan->layers[0].out.dim[0];
}

// Rows of a part of the batch.
static int64_t rows_of(const struct gpu_plan *plan)
{
    return plan->text.micro * text_time(plan);
}

static struct matrix text_value(const struct gpu_plan *plan, int layer)
{
    const struct gpu_value *value = &plan->values[layer];
    return (struct matrix){value->out, rows_of(plan), value->columns};
}

static struct matrix scratch(const struct gpu_plan *plan, device_ptr at, int columns)
{
    return (struct matrix){at, rows_of(plan), columns};
}

static const struct gpu_block *block_of(const struct gpu_plan *plan, int layer)
{
    return gpu_params_block(plan->params, layer, 0);
}

static struct matrix weight_of(const struct gpu_plan *plan, int layer)
{
    const struct net_layer *l = &plan->layers[layer];
    device_ptr at = plan->params->rounded + (device_ptr)block_of(plan, layer)->at * 2;
    if (l->op == NET_EMBEDDING)
        return (struct matrix){at, text_table_rows(l->vocabulary), l->units};
    return (struct matrix){at, plan->layers[l->inputs[0]].out.dim[1], l->units};
}

static void *grad_at(const struct gpu_plan *plan, int layer, int64_t offset)
{
    return on_gpu(block_of(plan, layer)->grad + (device_ptr)offset * 4);
}

static int reader_of(const struct gpu_plan *plan, int layer)
{
    for (int i = layer + 1; i < plan->layer_count; i++)
        for (int k = 0; k < plan->layers[i].input_count; k++)
            if (plan->layers[i].inputs[k] == layer)
                return i;
    return -1;
}

static bool feeds(const struct gpu_plan *plan, int layer, enum net_op op)
{
    int reader = reader_of(plan, layer);
    return reader >= 0 && plan->layers[reader].op == op;
}

// The parts of the sums for the layer's bias that the kernels for its gradient have left behind.
static int parts_there(const struct gpu_plan *plan, int layer)
{
    if (!product_on_hopper(&plan->device))
        return 0;
    if (feeds(plan, layer, NET_GELU))
        return (int)tiles(rows_of(plan), 128);
    return feeds(plan, layer, NET_ATTENTION) && text_time(plan) % 64 == 0
               ? (int)(rows_of(plan) / 64)
               : 0;
}

static int tied_table(const struct gpu_plan *plan)
{
    return plan->layers[plan->layer_count - 1].tied;
}

// ---- memory ----

// Bytes that a sequence needs for its values.
static int64_t sequence_bytes(const struct gpu_plan *plan)
{
    int64_t numbers = 0, widest = 0;
    for (int i = 0; i + 1 < plan->layer_count; i++) {
        const struct net_layer *l = &plan->layers[i];
        if (l->op != NET_TOKENS && l->op != NET_EMBEDDING)
            numbers += l->out.dim[1];
        if (l->op == NET_LINEAR && l->units > widest)
            widest = l->units;
    }
    return text_time(plan) * 2 * (numbers + 2 * widest);
}

static void choose_micro(struct gpu_plan *plan)
{
    const struct gpu_device *device = &plan->device;
    int64_t wanted = plan->text.micro, batch = plan->batch;
    if (wanted <= 0 && device->memory_left) {
        int64_t left = device->memory_left(device->driver) - 2 * LOGITS_BYTES;
        for (int i = 0; i < plan->params->block_count; i++) // gradients, in parts
            left -= plan->params->blocks[i].size * 4 * 3;
        wanted = left / sequence_bytes(plan);
    }
    plan->text.micro =
        wanted <= 0 || wanted > batch ? (wanted <= 0 && device->memory_left ? 1 : batch) : wanted;
    while (batch % plan->text.micro != 0)
        plan->text.micro--;
}

static void give_gradient(struct builder *b, struct gpu_block *block)
{
    struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[block->layer];
    if (l->op == NET_LINEAR)
        block->parts = product_parts(&plan->device, plan->layers[l->inputs[0]].out.dim[1], l->units,
                                     rows_of(plan));
    ranks_gradient(b, block);
}

static device_ptr give_rows(struct builder *b, int64_t rows, int64_t columns)
{
    return gpu_plan_alloc(b, rows * columns * 2 + 1024); // products read past the last column
}

static void give_layer(struct builder *b, int i)
{
    struct gpu_plan *plan = b->plan;
    struct text_memory *m = &plan->text;
    const struct net_layer *l = &plan->layers[i];
    struct gpu_value *value = &plan->values[i];
    int64_t rows = rows_of(plan);
    device_ptr *extra = &plan->extra[4 * i];
    value->columns = value->pitch = l->op == NET_TOKENS ? 1 : l->out.dim[1];
    if (l->op == NET_TOKENS || l->op == NET_EMBEDDING || l->op == NET_TIED_HEAD)
        return;
    value->out = l->op == NET_LINEAR && feeds(plan, i, NET_ADD)
                     ? m->added
                     : give_rows(b, rows, value->columns);
    if (l->op == NET_LAYER_NORM) {
        extra[0] = gpu_plan_alloc(b, rows * 4);
        extra[1] = gpu_plan_alloc(b, rows * 4);
    }
    if (l->op == NET_ATTENTION)
        extra[0] = gpu_plan_alloc(b, rows * l->heads * 4);
}

// Numbers of all parts of a sum over rows, at most.
static int64_t sums_size(const struct gpu_plan *plan, int width)
{
    int64_t most = (int64_t)NORM_PARTS * 3 * width;
    for (int i = 0; i < plan->layer_count; i++) {
        const struct net_layer *l = &plan->layers[i];
        int64_t there = l->op == NET_LINEAR ? parts_there(plan, i) : 0,
                size = l->op == NET_LINEAR ? (there > 0 ? there : COLUMN_PARTS) * l->units : 0;
        if (size > most)
            most = size;
    }
    return most;
}

void text_memory(struct builder *b)
{
    struct gpu_plan *plan = b->plan;
    struct text_memory *m = &plan->text;
    int width = plan->layers[tied_table(plan)].units, widest = width, heads = 1;
    choose_micro(plan);
    int64_t rows = rows_of(plan), table = text_table_rows(plan->layers[0].vocabulary),
            all = plan->batch * text_time(plan);
    for (int i = 0; i < plan->layer_count; i++) {
        const struct net_layer *l = &plan->layers[i];
        if (l->op == NET_LINEAR && l->units > widest)
            widest = l->units;
        if (l->op == NET_ATTENTION && l->heads > heads)
            heads = l->heads;
    }
    m->added = give_rows(b, rows, width);
    for (int i = 0; i < plan->layer_count; i++)
        give_layer(b, i);
    for (int i = 0; i < plan->params->block_count; i++)
        give_gradient(b, &plan->params->blocks[i]);
    m->d_sum = give_rows(b, rows, width);
    m->d_narrow = give_rows(b, rows, width);
    m->d_wide = give_rows(b, rows, widest);
    m->delta = gpu_plan_alloc(b, rows * heads * 4);
    m->sums = gpu_plan_alloc(b, sums_size(plan, width) * 4);
    m->zeros = gpu_plan_alloc_zeros(b, ((table > widest ? table : widest) + 1024) * 4);
    int64_t most = LOGITS_BYTES / (table * 2);
    m->chunk = tiles(tiles(rows, (int)tiles(rows, (int)(most > 128 ? most : 128))), 128) *
               128; // equal ones
    if (m->chunk > rows)
        m->chunk = rows;
    m->logits = give_rows(b, m->chunk, table);
    m->picked = give_rows(b, plan->batch, width);
    m->token_scores = gpu_plan_alloc(b, all * (int64_t)sizeof(struct cuda_score));
    m->order = gpu_plan_alloc(b, 3 * rows * 4);
}

// ---- forward ----

static const char *norm_kernel(int columns, bool back)
{
    static const char *const names[][2] = {{"row_norm_1", "row_norm_back_1"},
                                           {"row_norm_3", "row_norm_back_3"},
                                           {"row_norm_4", "row_norm_back_4"},
                                           {"row_norm_5", "row_norm_back_5"},
                                           {"row_norm_8", "row_norm_back_8"}};
    static const int most[] = {256, 768, 1024, 1280, CUDA_ROW_MAX};
    int i = 0;
    while (columns > most[i])
        i++;
    return names[i][back];
}

static struct cuda_row_norm norm_of(const struct gpu_plan *plan, int i)
{
    const struct net_layer *l = &plan->layers[i], *in = &plan->layers[l->inputs[0]];
    const struct gpu_block *block = block_of(plan, i);
    int columns = l->out.dim[1];
    bool sum = in->op == NET_ADD;
    return (struct cuda_row_norm){.x = on_gpu(plan->values[sum ? in->inputs[0] : l->inputs[0]].out),
                                  .more = sum ? on_gpu(plan->values[in->inputs[1]].out) : NULL,
                                  .sum = on_gpu(plan->values[l->inputs[0]].out),
                                  .y = on_gpu(plan->values[i].out),
                                  .mean = on_gpu(plan->extra[4 * i]),
                                  .inverse = on_gpu(plan->extra[4 * i + 1]),
                                  .weight = on_gpu(gpu_params_at(plan->params, block->at)),
                                  .bias = on_gpu(gpu_params_at(plan->params, block->at + columns)),
                                  .rows = (int)rows_of(plan),
                                  .columns = columns,
                                  .epsilon = l->epsilon};
}

static void linear_forward(struct builder *b, int i)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[i];
    bool gelu = feeds(plan, i, NET_GELU);
    const struct gpu_value *out = &plan->values[gelu ? reader_of(plan, i) : i];
    struct cuda_product g = {.kind = gelu ? CUDA_PRODUCT_GELU : CUDA_PRODUCT_PLAIN,
                             .y = on_gpu(out->out),
                             .before = on_gpu(plan->values[i].out),
                             .bias =
                                 on_gpu(gpu_params_at(plan->params, block_of(plan, i)->bias_at)),
                             .ldy = l->units};
    product_add(b, gelu ? PRODUCT_NN_GELU : PRODUCT_NN, text_value(plan, l->inputs[0]),
                weight_of(plan, i), &g);
}

static struct cuda_attention attention_of(struct builder *b, int i)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[i];
    struct cuda_attention g = {.qkv = on_gpu(plan->values[l->inputs[0]].out),
                               .out = on_gpu(plan->values[i].out),
                               .y = on_gpu(plan->values[i].out),
                               .log_sum = on_gpu(plan->extra[4 * i]),
                               .delta = on_gpu(plan->text.delta),
                               .samples = (int)plan->text.micro,
                               .heads = l->heads,
                               .time = text_time(plan)};
    if (product_on_hopper(&plan->device) && g.time % 64 == 0)
        g.map_qkv = product_map(b, text_value(plan, l->inputs[0]), 64);
    return g;
}

static void attention_forward(struct builder *b, int i)
{
    struct cuda_attention g = attention_of(b, i);
    gpu_plan_add(b, g.map_qkv ? "hopper_attention_forward" : "attention_forward",
                 tiles(g.time, 128), (int64_t)g.samples * g.heads, 256,
                 g.map_qkv ? 8 * 8192 + 1024 + 64 : 6 * 8192, &g, sizeof g);
}

static void embed_forward(struct builder *b, int i)
{
    const struct gpu_plan *plan = b->plan;
    int columns = plan->layers[i].out.dim[1];
    struct cuda_token_embed g = {
        .tokens = on_gpu(plan->tokens + (device_ptr)(b->part * rows_of(plan)) * 4),
        .table = on_gpu(gpu_params_at(plan->params, block_of(plan, tied_table(plan))->at)),
        .positions = on_gpu(gpu_params_at(plan->params, block_of(plan, i)->at)),
        .y = on_gpu(plan->values[i].out),
        .samples = (int)plan->text.micro,
        .time = text_time(plan),
        .columns = columns};
    gpu_plan_each(b, "token_embed", rows_of(plan) * columns / 8, &g, sizeof g);
}

static void norm_forward(struct builder *b, int i)
{
    struct cuda_row_norm g = norm_of(b->plan, i);
    gpu_plan_add(b, norm_kernel(g.columns, false), tiles(g.rows, 8), 1, 256, 0, &g, sizeof g);
}

// ---- the head ----

static void logits(struct builder *b, struct matrix x)
{
    const struct gpu_plan *plan = b->plan;
    struct matrix table = weight_of(plan, tied_table(plan));
    struct cuda_product g = {
        .y = on_gpu(plan->text.logits), .bias = on_gpu(plan->text.zeros), .ldy = (int)table.rows};
    product_add(b, PRODUCT_NT, x, table, &g);
}

// The gradients of the head's input and of the table, from that of the logits.
static void logits_back(struct builder *b, struct matrix x, int64_t from, bool first)
{
    const struct gpu_plan *plan = b->plan;
    struct matrix table = weight_of(plan, tied_table(plan)),
                  d = {plan->text.logits, x.rows, (int)table.rows};
    struct cuda_product g = {.y = on_gpu(plan->text.d_narrow + (device_ptr)(from * x.columns) * 2),
                             .bias = on_gpu(plan->text.zeros),
                             .ldy = x.columns};
    product_add(b, PRODUCT_NN, d, table, &g);
    struct cuda_product w = {.kind = first ? CUDA_PRODUCT_WIDE : CUDA_PRODUCT_SUM,
                             .y = grad_at(plan, tied_table(plan), 0),
                             .ldy = x.columns};
    product_add(b, PRODUCT_TN, d, x, &w);
}

static void loss_of(struct builder *b)
{
    const struct gpu_plan *plan = b->plan;
    const struct text_memory *m = &plan->text;
    struct matrix x = text_value(plan, plan->layers[plan->layer_count - 1].inputs[0]);
    for (int64_t from = 0; from < rows_of(plan); from += m->chunk) {
        int64_t here = rows_of(plan) - from < m->chunk ? rows_of(plan) - from : m->chunk,
                at = b->part * rows_of(plan) + from;
        struct matrix some = {x.at + (device_ptr)(from * x.columns) * 2, here, x.columns};
        logits(b, some);
        struct cuda_token_loss g = {
            .now = on_gpu(plan->now),
            .logits = on_gpu(m->logits),
            .labels = on_gpu(plan->labels + (device_ptr)at * 4),
            .scores = on_gpu(m->token_scores + (device_ptr)at * sizeof(struct cuda_score)),
            .rows = (int)here,
            .first = (int)at,
            .units = plan->layers[0].vocabulary,
            .pitch = (int)text_table_rows(plan->layers[0].vocabulary),
            .time = text_time(plan),
            .gradient = b->training};
        gpu_plan_add(b, "token_loss", here, 1, 512, (unsigned)g.pitch * 2, &g, sizeof g);
        if (b->training)
            logits_back(b, some, from, b->part == 0 && from == 0);
    }
}

static void predict(struct builder *b)
{
    const struct gpu_plan *plan = b->plan;
    const struct text_memory *m = &plan->text;
    struct matrix x = text_value(plan, plan->layers[plan->layer_count - 1].inputs[0]);
    struct cuda_text_pick pick = {.now = on_gpu(plan->now),
                                  .x = on_gpu(x.at),
                                  .y = on_gpu(m->picked),
                                  .time = text_time(plan),
                                  .columns = x.columns};
    gpu_plan_add(b, "text_pick", m->micro, 1, 256, 0, &pick, sizeof pick);
    logits(b, (struct matrix){m->picked, m->micro, x.columns});
    int units = plan->layers[0].vocabulary;
    struct cuda_text_predict g = {
        .now = on_gpu(plan->now),
        .logits = on_gpu(m->logits),
        .out = on_gpu(plan->probabilities + (device_ptr)(b->part * m->micro * units) * 4),
        .units = units,
        .pitch = (int)text_table_rows(units)};
    gpu_plan_add(b, "text_predict", m->micro, 1, 256, 0, &g, sizeof g);
}

void text_loss(struct builder *b, bool labelled)
{
    (labelled ? loss_of : predict)(b);
}

void text_scores(struct builder *b)
{
    const struct gpu_plan *plan = b->plan;
    struct cuda_text_scores g = {.now = on_gpu(plan->now),
                                 .next_step = on_gpu(plan->next_step),
                                 .tokens = on_gpu(plan->text.token_scores),
                                 .scores = on_gpu(plan->scores),
                                 .ring = plan->ring_rows,
                                 .batch = (int)plan->batch,
                                 .time = text_time(plan)};
    gpu_plan_add(b, "text_scores", tiles(plan->batch, 4), 1, 128, 0, &g, sizeof g);
}

// ---- back ----

// Parts of the batch after the first add to its gradients.
static void sum_parts(struct builder *b, int parts, int results, int columns, float *const to[3])
{
    struct cuda_sum_parts g = {.parts = on_gpu(b->plan->text.sums),
                               .to = {to[0], to[1], to[2]},
                               .count = parts,
                               .columns = columns,
                               .results = results,
                               .add = b->part > 0};
    gpu_plan_add(b, "sum_parts", tiles(columns, 32), results, 256, 0, &g, sizeof g);
}

static void norm_back(struct builder *b, int i)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[i], *in = &plan->layers[l->inputs[0]];
    struct cuda_row_norm g = norm_of(plan, i);
    g.dy = on_gpu(plan->text.d_narrow);
    g.d_sum = on_gpu(plan->text.d_sum);
    g.sums = on_gpu(plan->text.sums);
    g.first = i == plan->layers[plan->layer_count - 1].inputs[0];
    int64_t parts = tiles(g.rows, 8) < NORM_PARTS ? tiles(g.rows, 8) : NORM_PARTS;
    gpu_plan_add(b, norm_kernel(g.columns, true), parts, 1, 256, 0, &g, sizeof g);
    int adds = in->op == NET_ADD ? in->inputs[1] : -1; // the linear layer whose bias is left
    const struct gpu_block *block = adds < 0 ? NULL : block_of(plan, adds);
    float *const to[3] = {grad_at(plan, i, 0), grad_at(plan, i, g.columns),
                          block ? grad_at(plan, adds, block->bias_at - block->at) : NULL};
    sum_parts(b, (int)parts, 3, g.columns, to);
}

static void bias_back(struct builder *b, int i, struct matrix d)
{
    const struct gpu_plan *plan = b->plan;
    const struct gpu_block *block = block_of(plan, i);
    float *const to[3] = {grad_at(plan, i, block->bias_at - block->at)};
    int there = parts_there(plan, i);
    if (there > 0) {
        sum_parts(b, there, 1, d.columns, to);
        return;
    }
    struct cuda_column_sums g = {.x = on_gpu(d.at),
                                 .sums = on_gpu(plan->text.sums),
                                 .rows = (int)d.rows,
                                 .columns = d.columns};
    gpu_plan_add(b, "column_sums", tiles(d.columns, 256), COLUMN_PARTS, 256, 0, &g, sizeof g);
    sum_parts(b, COLUMN_PARTS, 1, d.columns, to);
}

static void linear_back(struct builder *b, int i)
{
    const struct gpu_plan *plan = b->plan;
    const struct text_memory *m = &plan->text;
    const struct net_layer *l = &plan->layers[i], *in = &plan->layers[l->inputs[0]];
    bool summed = feeds(plan, i, NET_ADD), gelu = in->op == NET_GELU;
    struct matrix d = scratch(plan, summed ? m->d_sum : m->d_wide, l->units),
                  x = text_value(plan, l->inputs[0]);
    struct cuda_product w = {.kind = b->part > 0 ? CUDA_PRODUCT_SUM : CUDA_PRODUCT_WIDE,
                             .y = grad_at(plan, i, 0),
                             .part = block_of(plan, i)->size,
                             .parts = block_of(plan, i)->parts,
                             .ldy = l->units};
    product_add(b, PRODUCT_TN, x, d, &w);
    if (!summed)
        bias_back(b, i, d);
    struct cuda_product g = {.kind = gelu ? CUDA_PRODUCT_GELU_BACK : CUDA_PRODUCT_PLAIN,
                             .y = on_gpu(gelu ? m->d_wide : m->d_narrow),
                             .before = gelu ? on_gpu(plan->values[in->inputs[0]].out) : NULL,
                             .bias = on_gpu(m->zeros),
                             .sums = gelu ? on_gpu(m->sums) : NULL,
                             .ldy = x.columns};
    product_add(b, gelu ? PRODUCT_NT_GELU : PRODUCT_NT, d, weight_of(plan, i), &g);
}

static void attention_back(struct builder *b, int i)
{
    const struct gpu_plan *plan = b->plan;
    struct cuda_attention g = attention_of(b, i);
    int64_t pairs = (int64_t)g.samples * g.heads;
    g.d_out = on_gpu(plan->text.d_narrow);
    g.y = on_gpu(plan->text.d_wide);
    g.sums = on_gpu(plan->text.sums);
    gpu_plan_add(b, "attention_delta", tiles(pairs * g.time, 64), 1, 256, 0, &g, sizeof g);
    if (g.map_qkv) {
        g.map_d = product_map(b, scratch(plan, plan->text.d_narrow, plan->layers[i].units), 64);
        gpu_plan_add(b, "hopper_attention_keys", g.time / 64, pairs, 128, 6 * 8192 + 2048 + 64, &g,
                     sizeof g);
        gpu_plan_add(b, "hopper_attention_queries", g.time / 64, pairs, 128, 6 * 8192 + 1024 + 64,
                     &g, sizeof g);
        return;
    }
    gpu_plan_add(b, "attention_keys", tiles(g.time, 128), pairs, 256, 8 * 8192 + 1024, &g,
                 sizeof g);
    gpu_plan_add(b, "attention_queries", tiles(g.time, 128), pairs, 256, 8 * 8192, &g, sizeof g);
}

static void embed_back(struct builder *b, int i)
{
    const struct gpu_plan *plan = b->plan;
    int64_t rows = rows_of(plan);
    int columns = plan->layers[i].out.dim[1];
    const int *tokens = on_gpu(plan->tokens + (device_ptr)(b->part * rows) * 4);
    struct cuda_embed order = {.tokens = tokens,
                               .positions = (int)rows,
                               .vocabulary = plan->layers[0].vocabulary,
                               .order = on_gpu(plan->text.order),
                               .first = on_gpu(plan->text.order + (device_ptr)rows * 4),
                               .count = on_gpu(plan->text.order + (device_ptr)rows * 8)};
    struct cuda_token_embed g = {.tokens = tokens,
                                 .y = on_gpu(plan->text.d_sum),
                                 .d_table = grad_at(plan, tied_table(plan), 0),
                                 .d_positions = grad_at(plan, i, 0),
                                 .order = order.order,
                                 .first = order.first,
                                 .count = order.count,
                                 .samples = (int)plan->text.micro,
                                 .time = text_time(plan),
                                 .columns = columns,
                                 .add = b->part > 0};
    gpu_plan_each(b, "position_back", (int64_t)g.time * columns / 8, &g, sizeof g);
    // A block has 255 tokens at most; with many blocks none has many positions.
    int64_t blocks = tiles(order.vocabulary, 255);
    gpu_plan_add(b, "token_order", blocks > 128 ? blocks : 128, 1, 256, 0, &order, sizeof order);
    gpu_plan_add(b, "token_back", rows, tiles(columns, 256), 128, 0, &g, sizeof g);
}

// ---- a layer ----

void text_layer(struct builder *b, int i, bool back)
{
    switch (b->plan->layers[i].op) {
    case NET_POSITION: // and the embedding before it
        (back ? embed_back : embed_forward)(b, i);
        break;
    case NET_LAYER_NORM: // and the sum before it
        (back ? norm_back : norm_forward)(b, i);
        break;
    case NET_LINEAR: // and the GELU next to it
        (back ? linear_back : linear_forward)(b, i);
        break;
    case NET_ATTENTION:
        (back ? attention_back : attention_forward)(b, i);
        break;
    default:
        break;
    }
}
