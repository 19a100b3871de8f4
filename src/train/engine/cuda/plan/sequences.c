// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/plan/builder.h"

#include <stdlib.h>
#include <string.h>

#include "train/engine/engine.h"

#define RATES_KNOWN 32768 // beyond it Adam's correction is 1 in single precision

// ---- embedding ----

// The weights of the first, fourth and last of eight numbers in the sum of rho^j times the j-th, if
// the numbers lie on a parabola.
static void set_shares(struct cuda_embed *g, double rho)
{
    double shares[3] = {0}, power = 1;
    for (int j = 1; j <= 8; j++) {
        power *= rho;
        shares[0] += power * (j - 4) * (j - 8) / 21;
        shares[1] += power * (j - 1) * (8 - j) / 12;
        shares[2] += power * (j - 1) * (j - 4) / 28;
    }
    for (int i = 0; i < 3; i++)
        g->shares[i] = (float)shares[i];
}

static struct cuda_embed embed_of(const struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct recipe *recipe = &plan->params->recipe;
    const struct gpu_value *value = &plan->values[layer];
    const struct gpu_block *block = gpu_params_block(plan->params, layer, 0);
    int positions = (int)plan->batch * value->rows;
    struct cuda_embed g = {.now = on_gpu(plan->now),
                           .tokens = on_gpu(plan->tokens),
                           .positions = positions,
                           .units = value->columns,
                           .pitch = value->pitch,
                           .vocabulary = plan->layers[layer].vocabulary,
                           .table = on_gpu(gpu_params_at(plan->params, block->at)),
                           .state0 = on_gpu(plan->params->state[0] + (device_ptr)block->at * 4),
                           .state1 = on_gpu(plan->params->state[1] + (device_ptr)block->at * 4),
                           .age = on_gpu(plan->ages),
                           .rates = on_gpu(plan->rates),
                           .known = RATES_KNOWN,
                           .dy = on_gpu(value->grad),
                           .y = on_gpu(value->out),
                           .kind = (int)recipe->optimizer,
                           .lazy = block->lazy,
                           .rho = recipe->rho,
                           .beta2 = recipe->beta2,
                           .epsilon = recipe->epsilon,
                           .momentum = recipe->momentum,
                           .rate = recipe->stages[0].rate,
                           .grad = on_gpu(block->grad),
                           .order = on_gpu(plan->order),
                           .first = on_gpu(plan->order + 4 * (uint64_t)positions),
                           .count = on_gpu(plan->order + 8 * (uint64_t)positions)};
    set_shares(&g, (double)recipe->rho);
    return g;
}

void gpu_embedding_forward(struct builder *b, int layer)
{
    struct cuda_embed g = embed_of(b, layer);
    gpu_plan_add(b, "embed_gather", g.positions, tiles(g.pitch, 128), 128, 0, &g, sizeof g);
}

void gpu_embedding_order(struct builder *b, int layer)
{
    struct cuda_embed g = embed_of(b, layer);
    gpu_plan_add(b, "embed_order", tiles(g.positions, 32), 1, 256, 0, &g, sizeof g);
    gpu_plan_fork(b);
}

void gpu_embedding_back(struct builder *b, int layer)
{
    struct cuda_embed g = embed_of(b, layer);
    if (!g.lazy) {
        struct cuda_fill fill = {.to = g.grad, .count = (int64_t)g.vocabulary * g.pitch};
        int64_t blocks = (fill.count + 255) / 256;
        gpu_plan_add(b, "fill", blocks < 1024 ? blocks : 1024, 1, 256, 0, &fill, sizeof fill);
    }
    gpu_plan_add(b, "embed_back", g.positions, tiles(g.pitch, 128), 128, 0, &g, sizeof g);
    if (g.lazy)
        gpu_plan_fork(b);
    else // the optimizer needs it
        gpu_plan_join(b);
    if (g.lazy && g.pitch > 128) {
        gpu_plan_each(b, "embed_age", g.positions, &g, sizeof g);
        gpu_plan_fork(b);
    }
}

// Also Adam's rate in each of the first steps, for rows that catch up.
void gpu_embedding_memory(struct builder *b, int layer)
{
    struct gpu_plan *plan = b->plan;
    const struct recipe *recipe = &plan->params->recipe;
    int vocabulary = plan->layers[layer].vocabulary;
    plan->embedding = layer;
    plan->ages = gpu_plan_alloc(b, (int64_t)vocabulary * 4);
    plan->order = gpu_plan_alloc(b, 3 * plan->batch * plan->values[layer].rows * 4);
    plan->rates = gpu_plan_alloc(b, RATES_KNOWN * 4);
    float *rates = malloc(RATES_KNOWN * sizeof *rates);
    if (!rates)
        b->rc = err_memory(b->err);
    double p1 = 1, p2 = 1;
    for (int t = 0; b->rc == 0 && t < RATES_KNOWN; t++) {
        p1 *= (double)recipe->rho;
        p2 *= (double)recipe->beta2;
        rates[t] = (float)adam_rate(recipe->stages[0].rate, p1, p2);
    }
    gpu_plan_upload(b, plan->rates, rates, RATES_KNOWN * 4);
    free(rates);
    struct cuda_embed g = embed_of(b, layer);
    b->to = &plan->catch_up;
    if (g.lazy)
        gpu_plan_add(b, "embed_catch_up", vocabulary, tiles(g.pitch, 128), 128, 0, &g, sizeof g);
}

void gpu_set_ages(const struct gpu_plan *plan, int64_t age, struct launch *out)
{
    int32_t number = (int32_t)age;
    struct cuda_fill fill = {.to = on_gpu(plan->ages),
                             .count = plan->layers[plan->embedding].vocabulary};
    memcpy(&fill.value, &number, sizeof number); // its bits: "fill" copies words
    int64_t blocks = tiles(fill.count, 256);
    launch_make(out, "fill", (unsigned)(blocks < 1024 ? blocks : 1024), 1, 256, 0, &fill,
                sizeof fill);
}

// ---- LSTM ----

// Whether there are tensor core kernels for it (lstm.cu).
static bool lstm_is_fast(const struct gpu_plan *plan, const struct net_layer *l)
{
    return l->op == NET_LSTM && plan->device.precision != ENGINE_F32 && !l->hard_gates &&
           (l->units == 64 || l->units == 128);
}

// Whether its tokens' contribution to the gates is looked up, its input being one-hot.
static bool lstm_has_table(const struct gpu_plan *plan, const struct net_layer *l)
{
    return lstm_is_fast(plan, l) && plan->layers[l->inputs[0]].op == NET_ONE_HOT;
}

// An LSTM with a table needs it on the way back only.
void gpu_one_hot(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct gpu_value *value = &plan->values[layer];
    bool late = false;
    for (int i = layer + 1; i < plan->layer_count && value->readers == 1; i++)
        late |= lstm_has_table(plan, &plan->layers[i]) && plan->layers[i].inputs[0] == layer;
    if (late && !b->training)
        return;
    struct cuda_one_hot g = {.tokens = on_gpu(plan->tokens),
                             .y = on_gpu(value->out),
                             .rows = (int)plan->batch * value->rows,
                             .pitch = value->pitch};
    gpu_plan_each(b, "one_hot", (int64_t)g.rows * g.pitch, &g, sizeof g);
    if (late)
        gpu_plan_fork(b);
}

// Bytes of an LSTM's other memory: in the fast form packed weights, unused output and the table;
// else cells.
static int64_t lstm_bytes(const struct gpu_plan *plan, const struct net_layer *l, int64_t at[3])
{
    const struct gpu_value *in = &plan->values[l->inputs[0]];
    int64_t ways = l->both_ways ? 2 : 1, units = l->units;
    if (!lstm_is_fast(plan, l))
        return plan->batch * in->rows * ways * units * 4;
    at[0] = 0;
    at[1] = ways * units * units * 16;
    at[2] = at[1] + units * 32;
    return at[2] + (lstm_has_table(plan, l) ? in->columns * ways * units * 16 : 0);
}

// extra: xz (and dz), gates, what lstm_bytes() says, state.
void gpu_lstm_memory(struct builder *b, int layer)
{
    const struct gpu_plan *plan = b->plan;
    const struct net_layer *l = &plan->layers[layer];
    device_ptr *extra = &plan->extra[4 * layer];
    int64_t positions = plan->batch * plan->values[l->inputs[0]].rows * (l->both_ways ? 2 : 1);
    extra[0] = gpu_plan_alloc(b, positions * 4 * l->units * 4);
    extra[1] = gpu_plan_alloc(b, positions * 4 * l->units * 4);
    extra[2] = gpu_plan_alloc(b, lstm_bytes(plan, l, (int64_t[3]){0}));
    extra[3] =
        gpu_plan_alloc_zeros(b, positions * pad4(l->units) * 4); // nothing writes its padding
}

static struct cuda_lstm lstm_of(const struct gpu_plan *plan, int layer, bool training)
{
    const struct net_layer *l = &plan->layers[layer];
    const struct gpu_value *in = &plan->values[l->inputs[0]];
    const struct gpu_block *block = gpu_params_block(plan->params, layer, 0);
    const device_ptr *extra = &plan->extra[4 * layer];
    int64_t at[3] = {0};
    struct cuda_lstm g = {
        .xz = on_gpu(extra[0]),
        .weight = on_gpu(gpu_params_at(plan->params, gpu_params_block(plan->params, layer, 1)->at)),
        .y = on_gpu(plan->values[layer].out),
        .gates = on_gpu(extra[1]),
        .state = on_gpu(extra[3]),
        .dz = on_gpu(extra[0]), // overwrites the sums
        .samples = (int)plan->batch,
        .time = in->rows,
        .units = l->units,
        .pitch = plan->values[layer].pitch,
        .ways = l->both_ways ? 2 : 1,
        .hard = l->hard_gates,
        .keep = training,
        .pitch_units = pad4(l->units)};
    (void)lstm_bytes(plan, l, at);
    if (!lstm_is_fast(plan, l)) {
        g.cell = on_gpu(extra[2]);
        return g;
    }
    g.packed = on_gpu(extra[2] + (device_ptr)at[0]);
    g.waste = on_gpu(extra[2] + (device_ptr)at[1]);
    if (lstm_has_table(plan, l)) {
        g.table = on_gpu(extra[2] + (device_ptr)at[2]);
        g.xz = g.table;
        g.tokens = on_gpu(plan->tokens);
        g.x_weight = on_gpu(gpu_params_at(plan->params, block->at));
        g.x_bias = on_gpu(gpu_params_at(plan->params, block->bias_at));
        g.x_pitch = in->pitch;
        g.vocabulary = in->columns;
    }
    return g;
}

static struct gpu_linear lstm_input(const struct gpu_plan *plan, int layer)
{
    struct gpu_linear linear = gpu_linear_of(plan, layer);
    linear.units = linear.pitch =
        4 * plan->layers[layer].units * (plan->layers[layer].both_ways ? 2 : 1);
    linear.y = linear.dy = plan->extra[4 * layer];
    return linear;
}

// Bytes of shared memory, as in lstm.cu: in the fast form eight steps ahead, and data exchanged
// between threads.
static unsigned lstm_shared(unsigned units, bool fast, bool back)
{
    unsigned ahead = 8 * 2 * (units * 16 + 64), warps = units / 16;
    return !fast  ? 6 * 4 * units * 4
           : back ? ahead + 2 * warps * warps * 128 + warps * 2 * 192
                  : ahead + 2 * 2 * (units + 32) * 2;
}

static void add_lstm(struct builder *b, int layer, bool back, const struct cuda_lstm *g)
{
    static const char *const names[2][3] = {
        {"lstm_forward_64", "lstm_table_64", "lstm_back_64"},
        {"lstm_forward_128", "lstm_table_128", "lstm_back_128"}};
    bool fast = lstm_is_fast(b->plan, &b->plan->layers[layer]);
    unsigned units = (unsigned)g->units, shared = lstm_shared(units, fast, back);
    int form = back ? 2 : g->table ? 1 : 0;
    if (fast)
        gpu_plan_add(b, names[units == 128][form], tiles(g->samples, 2), g->ways, 2 * units, shared,
                     g, sizeof *g);
    else
        gpu_plan_add(b, back ? "lstm_back" : "lstm_forward", tiles(g->samples, 4), g->ways, 256,
                     shared, g, sizeof *g);
}

// Packs the weights, and makes the table if there is one; else concurrent with the inputs' product.
static void lstm_prepare(struct builder *b, const struct cuda_lstm *g)
{
    int64_t blocks = tiles((int64_t)g->units * g->units, 256);
    if (g->table) {
        int64_t more = tiles((int64_t)g->vocabulary * g->ways * 4 * g->units, 256);
        gpu_plan_add(b, "lstm_prepare", more > blocks ? more : blocks, g->ways + 1, 256, 0, g,
                     sizeof *g);
    } else {
        gpu_plan_add(b, "lstm_prepare", blocks, g->ways, 256, 0, g, sizeof *g);
        gpu_plan_fork(b);
    }
}

void gpu_lstm_forward(struct builder *b, int layer)
{
    struct gpu_linear input = lstm_input(b->plan, layer);
    struct cuda_lstm g = lstm_of(b->plan, layer, b->training);
    if (g.packed)
        lstm_prepare(b, &g);
    if (!g.table)
        gpu_linear_forward(b, &input, false, -1);
    add_lstm(b, layer, false, &g);
    gpu_plan_join(b);
}

void gpu_lstm_back(struct builder *b, int layer, bool trains)
{
    const struct gpu_plan *plan = b->plan;
    struct gpu_linear input = lstm_input(plan, layer);
    struct cuda_lstm g = lstm_of(plan, layer, true);
    int before = plan->layers[layer].inputs[0];
    gpu_weights_flush(b, WEIGHTS_WHOLE); // concurrent with the time steps
    g.y = on_gpu(plan->values[layer].grad);
    add_lstm(b, layer, true, &g);
    gpu_linear_back(b, &input);
    // Only the table's update needs the result; the optimizer overwrites what it reads.
    if (plan->layers[before].op == NET_EMBEDDING && b->reaches[before] &&
        plan->values[before].readers == 1 && gpu_params_block(plan->params, before, 0)->lazy) {
        gpu_plan_fork(b);
        b->lazy_reader = b->to->count - 1;
    }
    if (!trains)
        return;
    gpu_linear_weights(b, &input);
    const struct gpu_block *state = gpu_params_block(plan->params, layer, 1);
    const device_ptr *extra = &plan->extra[4 * layer];
    int h = g.units, hp = g.pitch_units, positions = g.samples * g.time;
    for (int way = 0; way < g.ways; way++) {
        struct cuda_gemm w = {
            .m = hp,
            .n = 4 * h,
            .k = positions,
            .a = on_gpu(extra[3] + (device_ptr)way * (device_ptr)(positions * hp) * 4),
            .b = on_gpu(extra[0] + (device_ptr)(way * 4 * h) * 4),
            .y = on_gpu(state->grad + (device_ptr)(way * 4 * h * hp) * 4),
            .part = state->size,
            .ldb = g.ways * 4 * h,
            .ldy = hp,
            .parts = state->parts,
            .units = 4 * h,
            .fused = gpu_is_fused(state),
            .at = state->at + (int64_t)way * 4 * h * hp};
        w.per_part = (int)tiles(tiles(w.k, w.parts), 32) * 32;
        w.height = w.width = w.out_height = w.out_width = w.taps = w.kernel_w = w.stride = 1;
        w.pitch = hp;
        gpu_weights_add(b, &w);
    }
}
