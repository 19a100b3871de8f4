// SPDX-License-Identifier: Apache-2.0
// H is units, padded; E is in, padded; ways is 1 or 2; Z = ways × 4 H is a row of all gates: i f g
// o of the forward direction, then of the backward one. Padding is zero in the weights, and so
// stays zero in everything else. Steps are numbered in the order in which a direction goes: step s
// of the backward one is at time T - 1 - s.
#include "train/engine/cpu/lstm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine/cpu/kernels.h"
#include "train/engine/cpu/team.h"

#define CACHE_LINE 64

struct lstm_way {   // what one direction has
    float *w_hh;    // (4 H / 64, H, 64) panels of W_hh transposed: h → gates
    float *w_back;  // (H / 64, 4 H, 64) panels of W_hh: gradient of the gates → that of h
    float *gates;   // (steps, count, 4 H) the gates' values; backward puts their gradients there
    float *c;       // (steps, count, H)
    float *tanh_c;  // (steps, count, H)
    float *h;       // (steps, count, H)
    float *dh, *dc; // (count, H)
};

struct lstm {
    struct lstm_spec spec;
    int ways;
    int64_t h, e, z; // H, E, Z
    int64_t rows;    // most different inputs: positions, or the vocabulary
    int64_t step;    // 1 if all steps are kept, 0 if each overwrites the one before
    int64_t count;   // samples of the last forward pass

    float *w_ih;      // (Z / 64, E, 64) panels of W_ih transposed: input → gates
    float *w_input;   // (E / 64, Z, 64) panels of W_ih: gradient of the gates → that of the input
    float *bias;      // (Z)
    float *input;     // (rows, E) the different inputs of the batch
    float *product;   // (rows, Z) W_ih x + b of each. One-hot: of each token, kept by lstm_pack()
    float *sums;      // (rows, Z) gradients of the gates, summed per input; may be `product`
    float *dinput;    // (rows, E) only if E is not `in`
    float *dw_ih;     // (Z, E)
    float *dw_hh;     // (Z, H)
    float *dbias;     // (Z)
    int parts;        // threads that share a direction, each with a part of the gradients; or 0
    float *dw_parts;  // (parts, Z, H)
    float *sum_parts; // (parts, sum_rows, Z) one-hot only
    int64_t sum_rows;
    int32_t *self;        // (positions) features: each position is a separate input
    struct groups groups; // one-hot: the batch's tokens
    struct lstm_way way[2];
    void *memory; // holds all the floats
};

// ---- memory and weights ----

static int64_t panels(int64_t cols)
{
    return (cols + KERNELS_PANEL - 1) / KERNELS_PANEL;
}

// Takes `count` floats off one block of memory; without a base it only counts.
struct carver {
    char *base;
    size_t used;
};

static float *carve(struct carver *carver, int64_t count)
{
    float *at = carver->base ? (float *)(void *)(carver->base + carver->used) : NULL;
    size_t bytes = (size_t)count * sizeof(float);
    carver->used += (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    return at;
}

static void carve_way(struct carver *carver, const struct lstm *l, struct lstm_way *way)
{
    const int64_t batch = l->spec.batch, steps = l->step ? l->spec.time : 1;
    way->w_hh = carve(carver, panels(4 * l->h) * KERNELS_PANEL * l->h);
    way->gates = carve(carver, steps * batch * 4 * l->h);
    way->c = carve(carver, steps * batch * l->h);
    way->tanh_c = carve(carver, steps * batch * l->h);
    way->h = carve(carver, steps * batch * l->h);
    if (l->spec.training) {
        way->w_back = carve(carver, panels(l->h) * KERNELS_PANEL * 4 * l->h);
        way->dh = carve(carver, batch * l->h);
        way->dc = carve(carver, batch * l->h);
    }
}

static void carve_all(struct carver *carver, struct lstm *l)
{
    const int one_hot = l->spec.input == LSTM_ONE_HOT;
    const int64_t positions = l->spec.batch * l->spec.time;
    l->bias = carve(carver, l->z);
    l->product = carve(carver, l->rows * l->z);
    if (!one_hot) {
        l->w_ih = carve(carver, panels(l->z) * KERNELS_PANEL * l->e);
        l->input = carve(carver, l->rows * l->e);
    }
    if (l->spec.training) {
        l->sums = l->product; // nobody needs the product any more then
        l->sum_rows = positions < l->rows ? positions : l->rows;
        if (one_hot) // but here, and the batch's tokens are at most so many
            l->sums = carve(carver, l->sum_rows * l->z);
        else
            l->w_input = carve(carver, panels(l->e) * KERNELS_PANEL * l->z);
        if (!one_hot && l->e != l->spec.in)
            l->dinput = carve(carver, l->rows * l->e);
        if (!one_hot)
            l->dw_ih = carve(carver, l->z * l->e);
        l->dw_hh = carve(carver, l->z * l->h);
        l->dbias = carve(carver, l->z);
        if (l->parts > 0)
            l->dw_parts = carve(carver, l->parts * l->z * l->h);
        if (l->parts > 0 && one_hot)
            l->sum_parts = carve(carver, l->parts * l->sum_rows * l->z);
    }
    for (int w = 0; w < l->ways; w++)
        carve_way(carver, l, &l->way[w]);
}

int lstm_new(const struct lstm_spec *spec, struct lstm **out, struct err *err)
{
    assert(spec->batch > 0 && spec->time > 0 && spec->in > 0 && spec->units > 0);
    assert((spec->input == LSTM_EMBEDDING) == (spec->embedding != NULL));
    *out = NULL;
    struct lstm *l = calloc(1, sizeof *l);
    if (!l)
        return err_memory(err);
    const int64_t positions = spec->batch * spec->time;
    l->spec = *spec;
    l->ways = spec->both_ways ? 2 : 1;
    l->h = kernels_pad(spec->units);
    l->e = kernels_pad(spec->in);
    l->z = l->ways * 4 * l->h;
    l->rows = spec->input == LSTM_ONE_HOT ? spec->in : positions;
    l->step = spec->training;
    l->parts = team_size() > l->ways ? team_size() : 0;
    int rc = 0;
    struct carver carver = {0};
    carve_all(&carver, l);
    l->memory = calloc(1, carver.used + CACHE_LINE);
    if (!l->memory) {
        rc = err_memory(err);
        goto out;
    }
    carver = (struct carver){.base = l->memory};
    carver.base += CACHE_LINE - (uintptr_t)carver.base % CACHE_LINE;
    carve_all(&carver, l);
    if (spec->input == LSTM_ONE_HOT && spec->training)
        rc = groups_init(&l->groups, spec->in, positions, err);
    if (spec->input == LSTM_FEATURES) {
        l->self = malloc((size_t)positions * sizeof *l->self);
        if (!l->self)
            rc = err_memory(err);
        for (int64_t i = 0; rc == 0 && i < positions; i++)
            l->self[i] = (int32_t)i;
    }
out:
    if (rc == 0)
        *out = l;
    else
        lstm_free(l);
    return rc;
}

void lstm_free(struct lstm *l)
{
    if (!l)
        return;
    groups_release(&l->groups);
    free(l->self);
    free(l->memory);
    free(l);
}

// Row r of a matrix with 4 × units rows stands in row padded(r) of one with 4 × H.
static int64_t padded(const struct lstm *l, int64_t row)
{
    return row / l->spec.units * l->h + row % l->spec.units;
}

struct packing {
    struct lstm *l;
    const struct lstm_weights *weights;
};

// to[k][c] = from[c][k] for 16 rows of gates that lie together, at most, and `width` columns. The
// rows of `to` are `stride` apart.
static void transpose(const float *from, int64_t rows, int64_t width, float *to, int64_t stride)
{
    for (int64_t k = 0; k < width; k++)
        for (int64_t c = 0; c < rows; c++)
            to[k * stride + c] = from[c * width + k];
}

// 16 rows of the gates (fewer where a gate ends) of one direction, into all of its copies.
static void pack_rows(const struct packing *p, int way, int64_t row, int64_t rows)
{
    struct lstm *l = p->l;
    const struct lstm_weights *w = &p->weights[way];
    const int64_t in = l->spec.in, units = l->spec.units;
    const int64_t at = padded(l, row), col = way * 4 * l->h + at; // among one's own, among all
    memcpy(l->bias + col, w->bias + row, (size_t)rows * sizeof(float));
    float *w_hh = l->way[way].w_hh + at / KERNELS_PANEL * KERNELS_PANEL * l->h;
    transpose(w->hh + row * units, rows, units, w_hh + at % KERNELS_PANEL, KERNELS_PANEL);
    if (l->spec.input == LSTM_ONE_HOT) {
        transpose(w->ih + row * in, rows, in, l->product + col, l->z);
        for (int64_t token = 0; token < in; token++)
            for (int64_t c = 0; c < rows; c++)
                l->product[token * l->z + col + c] += w->bias[row + c];
    } else {
        float *w_ih = l->w_ih + col / KERNELS_PANEL * KERNELS_PANEL * l->e;
        transpose(w->ih + row * in, rows, in, w_ih + col % KERNELS_PANEL, KERNELS_PANEL);
    }
    for (int64_t c = 0; l->spec.training && c < rows; c++) {
        for (int64_t k = 0; k < units; k += KERNELS_PANEL) {
            float *to = l->way[way].w_back + k * 4 * l->h + (at + c) * KERNELS_PANEL;
            int64_t width = units - k < KERNELS_PANEL ? units - k : KERNELS_PANEL;
            memcpy(to, w->hh + (row + c) * units + k, (size_t)width * sizeof *to);
        }
        for (int64_t k = 0; l->w_input && k < in; k += KERNELS_PANEL) {
            float *to = l->w_input + k * l->z + (col + c) * KERNELS_PANEL;
            int64_t width = in - k < KERNELS_PANEL ? in - k : KERNELS_PANEL;
            memcpy(to, w->ih + (row + c) * in + k, (size_t)width * sizeof *to);
        }
    }
}

static void pack_part(void *packing_, int thread, int threads)
{
    const struct packing *p = packing_;
    const int64_t units = p->l->spec.units, pieces = (units + KERNELS_PAD - 1) / KERNELS_PAD;
    int64_t from, to;
    team_part(p->l->ways * 4 * pieces, 1, thread, threads, &from, &to);
    for (int64_t i = from; i < to; i++) {
        int64_t gate = i / pieces, unit = i % pieces * KERNELS_PAD;
        int64_t rows = units - unit < KERNELS_PAD ? units - unit : KERNELS_PAD;
        pack_rows(p, (int)(gate / 4), gate % 4 * units + unit, rows);
    }
}

void lstm_pack(struct lstm *l, const struct lstm_weights weights[2])
{
    struct packing packing = {l, weights};
    team_run(pack_part, &packing);
}

// ---- forward and backward ----
//
// Forward: (1) the gates' sums from each distinct input, one
// large product; (2) through time. Backward: (1) back through time, giving the gradients of all
// gates; (2) their sums per input, and from them the gradient of the input; (3) the weights'
// gradients, products over all steps.
//
// A thread mostly reads what it wrote itself: cores may have different L3 caches, where each line
// written by another costs a tenth of a microsecond, twice. So inputs are divided by direction
// first; threads that share a direction each compute their rows' part of the weights' gradients,
// and the parts are added up.

struct lstm_pass {
    struct lstm *l;
    const struct kernels *k;
    const float *features;
    const int32_t *of;  // (count, time) → number of the input
    int64_t inputs;     // how many different ones
    const float *table; // embedding
    const struct groups *groups;
    float *out;
    const float *dout;
    const struct lstm_grads *grads;
    float *dinput; // (inputs, in), or null
    bool split;    // gradients of the weights come in parts, one per thread
};

// Parts of the batch, in both directions: rows [*from, *to) of direction `way` are this thread's.
static void rows_of(const struct lstm *l, int way, int thread, int threads, int64_t *from,
                    int64_t *to)
{
    int64_t first, last;
    team_part(l->ways * l->count, 1, thread, threads, &first, &last);
    first -= way * l->count;
    last -= way * l->count;
    *from = first < 0 ? 0 : first < l->count ? first : l->count;
    *to = last < 0 ? 0 : last < l->count ? last : l->count;
}

// The part of direction `way` that is this thread's, in `threads`ths of it: [*begin, *end).
static void share_of(const struct lstm *l, int way, int thread, int threads, int *begin, int *end)
{
    int first = l->ways * thread - way * threads, last = first + l->ways;
    *begin = first < 0 ? 0 : first < threads ? first : threads;
    *end = last < 0 ? 0 : last < threads ? last : threads;
}

static int lstm_time(const struct lstm *l, int way, int64_t step)
{
    return (int)(way ? l->spec.time - 1 - step : step);
}

static void load_inputs(void *pass, int thread, int threads)
{
    const struct lstm_pass *p = pass;
    struct lstm *l = p->l;
    const int64_t in = l->spec.in;
    int64_t from, to;
    team_part(p->inputs, 1, thread, threads, &from, &to);
    for (int64_t i = from; i < to; i++) {
        const float *row = p->features ? p->features + i * in : p->table + p->groups->token[i] * in;
        memcpy(l->input + i * l->e, row, (size_t)in * sizeof *row);
    }
}

static void project(void *pass, int thread, int threads)
{
    const struct lstm_pass *p = pass;
    struct lstm *l = p->l;
    for (int w = 0; w < l->ways; w++) {
        int begin, end;
        share_of(l, w, thread, threads, &begin, &end);
        int64_t from = p->inputs * begin / threads, to = p->inputs * end / threads;
        if (from < to)
            p->k->gemm(&(struct gemm){
                .size = {to - from, 4 * l->h, l->e},
                .a = {l->input + from * l->e, l->e, 1},
                .b = {l->w_ih + w * 4 * l->h * l->e, KERNELS_PANEL, l->e * KERNELS_PANEL},
                .start = {l->bias + w * 4 * l->h},
                .c = {l->product + from * l->z + w * 4 * l->h, l->z}});
    }
}

// The cell of some rows at a step; at the first, the results of the step before are null.
static struct lstm_cell cell_at(const struct lstm *l, struct lstm_way *way, int64_t step,
                                int64_t row, int64_t rows)
{
    int64_t now = step * l->step * l->count + row, before = now - l->step * l->count;
    return (struct lstm_cell){.hard = l->spec.hard_gates,
                              .rows = rows,
                              .units = l->h,
                              .gates = way->gates + now * 4 * l->h,
                              .c_before = step ? way->c + before * l->h : NULL,
                              .c = way->c + now * l->h,
                              .tanh_c = way->tanh_c + now * l->h,
                              .h = way->h + now * l->h,
                              .dh = way->dh ? way->dh + row * l->h : NULL,
                              .dc = way->dc ? way->dc + row * l->h : NULL};
}

static void recur(void *pass, int thread, int threads)
{
    const struct lstm_pass *p = pass;
    struct lstm *l = p->l;
    for (int w = 0; w < l->ways; w++) {
        struct lstm_way *way = &l->way[w];
        int64_t from, to;
        rows_of(l, w, thread, threads, &from, &to);
        for (int64_t step = 0; from < to && step < l->spec.time; step++) {
            struct lstm_cell cell = cell_at(l, way, step, from, to - from);
            p->k->gemm(&(struct gemm){
                .size = {to - from, 4 * l->h, step ? l->h : 0},
                .a = {cell.h - (step ? l->step * l->count * l->h : 0), l->h, 1},
                .b = {way->w_hh, KERNELS_PANEL, l->h * KERNELS_PANEL},
                .start = {l->product + w * 4 * l->h, l->z,
                          p->of + from * l->spec.time + lstm_time(l, w, step), l->spec.time},
                .c = {cell.gates, 4 * l->h}});
            p->k->lstm_forward(&cell);
        }
        const float *h = way->h + (l->spec.time - 1) * l->step * l->count * l->h;
        for (int64_t row = from; row < to; row++)
            memcpy(p->out + (row * l->ways + w) * l->spec.units, h + row * l->h,
                   (size_t)l->spec.units * sizeof *h);
    }
}

void lstm_forward(struct lstm *l, const float *features, const int32_t *tokens, int64_t count,
                  float *out)
{
    assert(count > 0 && count <= l->spec.batch);
    struct lstm_pass p = {.l = l, .k = kernels(), .out = out};
    l->count = count;
    switch (l->spec.input) {
    case LSTM_FEATURES:
        p.features = features;
        p.of = l->self;
        p.inputs = count * l->spec.time;
        break;
    case LSTM_ONE_HOT:
        if (l->spec.training)
            groups_look(&l->groups, tokens, count * l->spec.time);
        p.of = tokens;
        break;
    case LSTM_EMBEDDING:
        p.groups = embedding_groups(l->spec.embedding);
        assert(p.groups->positions == count * l->spec.time);
        p.table = embedding_rows(l->spec.embedding);
        p.of = p.groups->of;
        p.inputs = p.groups->distinct;
        break;
    }
    if (p.inputs > 0) {
        team_run(load_inputs, &p);
        team_run(project, &p);
    }
    team_run(recur, &p);
}

// The part of W_hh's gradient from rows [from, to) of a direction: all steps but the first, each
// with the state of the step before.
static void part_hh(const struct lstm_pass *p, int w, int thread, int64_t from, int64_t to)
{
    struct lstm *l = p->l;
    const struct lstm_way *way = &l->way[w];
    float *c = l->dw_parts + (thread * l->z + w * 4 * l->h) * l->h;
    if (from == to || l->spec.time == 1)
        memset(c, 0, (size_t)(4 * l->h * l->h) * sizeof *c);
    for (int64_t step = 1; from < to && step < l->spec.time; step++)
        p->k->gemm(&(struct gemm){
            .size = {4 * l->h, l->h, to - from},
            .a = {way->gates + (step * l->count + from) * 4 * l->h, 1, 4 * l->h},
            .b = {way->h + ((step - 1) * l->count + from) * l->h, l->h, KERNELS_PANEL},
            .start = {step > 1 ? c : NULL, l->h},
            .c = {c, l->h}});
}

// Their part of the sums per token.
static void part_sums(const struct lstm_pass *p, int w, int thread, int64_t from, int64_t to)
{
    struct lstm *l = p->l;
    const int64_t width = 4 * l->h;
    float *sums = l->sum_parts + thread * l->sum_rows * l->z + w * width;
    for (int64_t i = 0; i < p->inputs; i++)
        memset(sums + i * l->z, 0, (size_t)width * sizeof *sums);
    for (int64_t step = 0; step < l->spec.time; step++)
        for (int64_t row = from; row < to; row++)
            p->k->add(sums + p->groups->of[row * l->spec.time + lstm_time(l, w, step)] * l->z,
                      l->way[w].gates + (step * l->count + row) * width, width);
}

static void recur_back(void *pass, int thread, int threads)
{
    const struct lstm_pass *p = pass;
    struct lstm *l = p->l;
    unsigned int before = kernels_flush_begin();
    for (int w = 0; w < l->ways; w++) {
        struct lstm_way *way = &l->way[w];
        int64_t from, to;
        rows_of(l, w, thread, threads, &from, &to);
        for (int64_t row = from; row < to; row++)
            memcpy(way->dh + row * l->h, p->dout + (row * l->ways + w) * l->spec.units,
                   (size_t)l->spec.units * sizeof *way->dh);
        memset(way->dc + from * l->h, 0, (size_t)((to - from) * l->h) * sizeof *way->dc);
        for (int64_t step = l->spec.time - 1; from < to && step >= 0; step--) {
            struct lstm_cell cell = cell_at(l, way, step, from, to - from);
            p->k->lstm_backward(&cell);
            if (step == 0)
                break;
            p->k->gemm(&(struct gemm){.size = {to - from, l->h, 4 * l->h},
                                      .a = {cell.gates, 4 * l->h, 1},
                                      .b = {way->w_back, KERNELS_PANEL, 4 * l->h * KERNELS_PANEL},
                                      .c = {way->dh + from * l->h, l->h}});
        }
        if (p->split)
            part_hh(p, w, thread, from, to);
        if (p->split && l->sum_parts)
            part_sums(p, w, thread, from, to);
    }
    kernels_flush_end(before);
}

// Sums the gates' gradients of a direction over the positions of an input.
static void sum_input(const struct lstm_pass *p, int w, int64_t input)
{
    const struct lstm *l = p->l;
    const struct groups *g = p->groups;
    const int64_t width = 4 * l->h, time = l->spec.time;
    const int64_t first = g ? g->first[input] : input, last = g ? g->first[input + 1] : input + 1;
    float *to = l->sums + input * l->z + w * width;
    for (int64_t i = first; i < last; i++) {
        int64_t position = g ? g->where[i] : i;
        int64_t row = lstm_time(l, w, position % time) * l->count + position / time;
        const float *from = l->way[w].gates + row * width;
        if (i == first)
            memcpy(to, from, (size_t)width * sizeof *to);
        else
            p->k->add(to, from, width);
    }
}

// Where part `thread` of the inputs begins: an input costs one product, and some time for each of
// its positions.
static int64_t input_at(const struct lstm_pass *p, int thread, int threads)
{
    enum { PRODUCT = 16 }; // positions
    if (!p->groups)
        return p->inputs * thread / threads;
    int64_t all = p->groups->first[p->inputs] + PRODUCT * p->inputs, low = 0, high = p->inputs;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (p->groups->first[middle] + PRODUCT * middle < all * thread / threads)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sum_inputs(void *pass, int thread, int threads)
{
    const struct lstm_pass *p = pass;
    unsigned int before = kernels_flush_begin();
    for (int w = 0; w < p->l->ways; w++) {
        int begin, end;
        share_of(p->l, w, thread, threads, &begin, &end);
        int64_t to = input_at(p, end, threads);
        for (int64_t i = input_at(p, begin, threads); i < to; i++)
            sum_input(p, w, i);
    }
    kernels_flush_end(before);
}

static void input_back(void *pass, int thread, int threads)
{
    const struct lstm_pass *p = pass;
    struct lstm *l = p->l;
    int64_t from, to;
    team_part(p->inputs, 1, thread, threads, &from, &to);
    unsigned int before = kernels_flush_begin();
    float *c = l->dinput ? l->dinput : p->dinput; // padded, or straight to its place
    p->k->gemm(&(struct gemm){.size = {to - from, l->e, l->z},
                              .a = {l->sums + from * l->z, l->z, 1},
                              .b = {l->w_input, KERNELS_PANEL, l->z * KERNELS_PANEL},
                              .c = {c + from * l->e, l->e}});
    for (int64_t i = from; l->dinput && i < to; i++)
        memcpy(p->dinput + i * l->spec.in, c + i * l->e, (size_t)l->spec.in * sizeof *c);
    kernels_flush_end(before);
}

// Rows [from, to) of the gradient of W_hh of one direction: all steps but the first, each with the
// state of the step before.
static void weights_hh(const struct lstm_pass *p, int w, int64_t from, int64_t to)
{
    struct lstm *l = p->l;
    const struct lstm_way *way = &l->way[w];
    p->k->gemm(&(struct gemm){.size = {to - from, l->h, (l->spec.time - 1) * l->count},
                              .a = {way->gates + l->count * 4 * l->h + from, 1, 4 * l->h},
                              .b = {way->h, l->h, KERNELS_PANEL},
                              .c = {l->dw_hh + (w * 4 * l->h + from) * l->h, l->h}});
}

static void weights_ih(const struct lstm_pass *p, int64_t from, int64_t to)
{
    struct lstm *l = p->l;
    p->k->gemm(&(struct gemm){.size = {to - from, l->e, p->inputs},
                              .a = {l->sums + from, 1, l->z},
                              .b = {l->input, l->e, KERNELS_PANEL},
                              .c = {l->dw_ih + from * l->e, l->e}});
}

// One row of all gates, without padding, to its place in the gradients.
static void hand_out(const struct lstm_pass *p, int64_t z)
{
    const struct lstm *l = p->l;
    const int64_t in = l->spec.in, units = l->spec.units;
    const int64_t gate = z / l->h % 4, unit = z % l->h, row = gate * units + unit;
    const struct lstm_grads *to = &p->grads[z / (4 * l->h)];
    if (unit >= units)
        return;
    to->bias[row] = l->dbias[z];
    memcpy(to->hh + row * units, l->dw_hh + z * l->h, (size_t)units * sizeof(float));
    if (l->spec.input != LSTM_ONE_HOT) {
        memcpy(to->ih + row * in, l->dw_ih + z * l->e, (size_t)in * sizeof(float));
        return;
    }
    for (int64_t token = 0; token < in; token++) { // the sums are the columns already
        int32_t slot = l->groups.slot[token];
        to->ih[row * in + token] = slot < 0 ? 0 : l->sums[slot * l->z + z];
    }
}

// Columns [from, to) of all gates: the threads' parts, added up.
static void add_parts(const struct lstm_pass *p, int64_t from, int64_t to, int threads)
{
    struct lstm *l = p->l;
    for (int t = 0; t < threads; t++) {
        const float *part = l->dw_parts + (t * l->z + from) * l->h;
        if (t == 0)
            memcpy(l->dw_hh + from * l->h, part, (size_t)((to - from) * l->h) * sizeof *part);
        else
            p->k->add(l->dw_hh + from * l->h, part, (to - from) * l->h);
        for (int64_t i = 0; l->sum_parts && i < p->inputs; i++) {
            const float *sums = l->sum_parts + (t * l->sum_rows + i) * l->z + from;
            if (t == 0)
                memcpy(l->sums + i * l->z + from, sums, (size_t)(to - from) * sizeof *sums);
            else
                p->k->add(l->sums + i * l->z + from, sums, to - from);
        }
    }
}

static void learn_weights_of(void *pass, int thread, int threads)
{
    const struct lstm_pass *p = pass;
    struct lstm *l = p->l;
    int64_t from, to;
    team_part(l->z, KERNELS_PAD, thread, threads, &from, &to);
    if (from == to)
        return;
    unsigned int before = kernels_flush_begin();
    if (p->split)
        add_parts(p, from, to, threads);
    memset(l->dbias + from, 0, (size_t)(to - from) * sizeof *l->dbias);
    for (int64_t i = 0; i < p->inputs; i++)
        p->k->add(l->dbias + from, l->sums + i * l->z + from, to - from);
    if (l->spec.input != LSTM_ONE_HOT)
        weights_ih(p, from, to);
    for (int w = 0; !p->split && w < l->ways; w++) {
        int64_t first = w * 4 * l->h, last = first + 4 * l->h;
        first = from > first ? from : first;
        last = to < last ? to : last;
        if (first < last)
            weights_hh(p, w, first - w * 4 * l->h, last - w * 4 * l->h);
    }
    for (int64_t z = from; z < to; z++)
        hand_out(p, z);
    kernels_flush_end(before);
}

void lstm_backward(struct lstm *l, const float *dout, const struct lstm_grads grads[2],
                   float *dfeatures)
{
    assert(l->spec.training);
    struct lstm_pass p = {.l = l, .k = kernels(), .dout = dout, .grads = grads};
    switch (l->spec.input) {
    case LSTM_FEATURES:
        p.inputs = l->count * l->spec.time;
        p.dinput = dfeatures;
        break;
    case LSTM_ONE_HOT:
        p.groups = &l->groups;
        p.inputs = p.groups->distinct;
        break;
    case LSTM_EMBEDDING:
        p.groups = embedding_groups(l->spec.embedding);
        p.inputs = p.groups->distinct;
        p.dinput = embedding_grad(l->spec.embedding);
        break;
    }
    p.split = l->parts > 0 && l->parts == team_size();
    team_run(recur_back, &p);
    if (!p.split || !l->sum_parts)
        team_run(sum_inputs, &p);
    if (p.dinput)
        team_run(input_back, &p);
    team_run(learn_weights_of, &p);
}
