// SPDX-License-Identifier: Apache-2.0
// The LSTM's forward and backward pass. Forward: (1) the gates' sums from each distinct input, one
// large product; (2) through time. Backward: (1) back through time, giving the gradients of all
// gates; (2) their sums per input, and from them the gradient of the input; (3) the weights'
// gradients, products over all steps.
//
// A thread mostly reads what it wrote itself: cores may have different L3 caches, where each line
// written by another costs a tenth of a microsecond, twice. So inputs are divided by direction
// first; threads that share a direction each compute their rows' part of the weights' gradients,
// and the parts are added up.
#include "engine/cpu/lstm.h"

#include <assert.h>
#include <string.h>

#include "engine/cpu/kernels.h"
#include "engine/cpu/lstm_parts.h"
#include "engine/cpu/team.h"

struct pass {
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

static int time_of(const struct lstm *l, int way, int64_t step)
{
    return (int)(way ? l->spec.time - 1 - step : step);
}

static void load_inputs(void *pass, int thread, int threads)
{
    const struct pass *p = pass;
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
    const struct pass *p = pass;
    struct lstm *l = p->l;
    for (int w = 0; w < l->ways; w++) {
        int begin, end;
        share_of(l, w, thread, threads, &begin, &end);
        int64_t from = p->inputs * begin / threads, to = p->inputs * end / threads;
        if (from < to)
            p->k->gemm(&(struct gemm){.rows = to - from,
                                      .cols = 4 * l->h,
                                      .k = l->e,
                                      .a = l->input + from * l->e,
                                      .a_row = l->e,
                                      .a_k = 1,
                                      .b = l->w_ih + w * 4 * l->h * l->e,
                                      .b_k = KERNELS_PANEL,
                                      .b_panel = l->e * KERNELS_PANEL,
                                      .start = l->bias + w * 4 * l->h,
                                      .c = l->product + from * l->z + w * 4 * l->h,
                                      .c_row = l->z});
    }
}

// The cell of some rows at a step; at the first, the results of the step before are null.
static struct lstm_cell cell_at(const struct lstm *l, struct lstm_way *way, int64_t step,
                                int64_t row, int64_t rows)
{
    int64_t now = step * l->step * l->count + row, before = now - l->step * l->count;
    return (struct lstm_cell){.rows = rows,
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
    const struct pass *p = pass;
    struct lstm *l = p->l;
    void (*const cell_forward)(const struct lstm_cell *) =
        l->spec.hard_gates ? p->k->lstm_hard_forward : p->k->lstm_forward;
    for (int w = 0; w < l->ways; w++) {
        struct lstm_way *way = &l->way[w];
        int64_t from, to;
        rows_of(l, w, thread, threads, &from, &to);
        for (int64_t step = 0; from < to && step < l->spec.time; step++) {
            struct lstm_cell cell = cell_at(l, way, step, from, to - from);
            p->k->gemm(&(struct gemm){.rows = to - from,
                                      .cols = 4 * l->h,
                                      .k = step ? l->h : 0,
                                      .a = cell.h - (step ? l->step * l->count * l->h : 0),
                                      .a_row = l->h,
                                      .a_k = 1,
                                      .b = way->w_hh,
                                      .b_k = KERNELS_PANEL,
                                      .b_panel = l->h * KERNELS_PANEL,
                                      .start = l->product + w * 4 * l->h,
                                      .start_row = l->z,
                                      .index = p->of + from * l->spec.time + time_of(l, w, step),
                                      .index_row = l->spec.time,
                                      .c = cell.gates,
                                      .c_row = 4 * l->h});
            cell_forward(&cell);
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
    struct pass p = {.l = l, .k = kernels(), .out = out};
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
static void part_hh(const struct pass *p, int w, int thread, int64_t from, int64_t to)
{
    struct lstm *l = p->l;
    const struct lstm_way *way = &l->way[w];
    float *c = l->dw_parts + (thread * l->z + w * 4 * l->h) * l->h;
    if (from == to || l->spec.time == 1)
        memset(c, 0, (size_t)(4 * l->h * l->h) * sizeof *c);
    for (int64_t step = 1; from < to && step < l->spec.time; step++)
        p->k->gemm(&(struct gemm){.rows = 4 * l->h,
                                  .cols = l->h,
                                  .k = to - from,
                                  .a = way->gates + (step * l->count + from) * 4 * l->h,
                                  .a_row = 1,
                                  .a_k = 4 * l->h,
                                  .b = way->h + ((step - 1) * l->count + from) * l->h,
                                  .b_k = l->h,
                                  .b_panel = KERNELS_PANEL,
                                  .start = step > 1 ? c : NULL,
                                  .start_row = l->h,
                                  .c = c,
                                  .c_row = l->h});
}

// Their part of the sums per token.
static void part_sums(const struct pass *p, int w, int thread, int64_t from, int64_t to)
{
    struct lstm *l = p->l;
    const int64_t width = 4 * l->h;
    float *sums = l->sum_parts + thread * l->sum_rows * l->z + w * width;
    for (int64_t i = 0; i < p->inputs; i++)
        memset(sums + i * l->z, 0, (size_t)width * sizeof *sums);
    for (int64_t step = 0; step < l->spec.time; step++)
        for (int64_t row = from; row < to; row++)
            p->k->add(sums + p->groups->of[row * l->spec.time + time_of(l, w, step)] * l->z,
                      l->way[w].gates + (step * l->count + row) * width, width);
}

static void recur_back(void *pass, int thread, int threads)
{
    const struct pass *p = pass;
    struct lstm *l = p->l;
    void (*const cell_backward)(const struct lstm_cell *) =
        l->spec.hard_gates ? p->k->lstm_hard_backward : p->k->lstm_backward;
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
            cell_backward(&cell);
            if (step == 0)
                break;
            p->k->gemm(&(struct gemm){.rows = to - from,
                                      .cols = l->h,
                                      .k = 4 * l->h,
                                      .a = cell.gates,
                                      .a_row = 4 * l->h,
                                      .a_k = 1,
                                      .b = way->w_back,
                                      .b_k = KERNELS_PANEL,
                                      .b_panel = 4 * l->h * KERNELS_PANEL,
                                      .c = way->dh + from * l->h,
                                      .c_row = l->h});
        }
        if (p->split)
            part_hh(p, w, thread, from, to);
        if (p->split && l->sum_parts)
            part_sums(p, w, thread, from, to);
    }
    kernels_flush_end(before);
}

// Sums the gates' gradients of a direction over the positions of an input.
static void sum_input(const struct pass *p, int w, int64_t input)
{
    const struct lstm *l = p->l;
    const struct groups *g = p->groups;
    const int64_t width = 4 * l->h, time = l->spec.time;
    const int64_t first = g ? g->first[input] : input, last = g ? g->first[input + 1] : input + 1;
    float *to = l->sums + input * l->z + w * width;
    for (int64_t i = first; i < last; i++) {
        int64_t position = g ? g->where[i] : i;
        int64_t row = time_of(l, w, position % time) * l->count + position / time;
        const float *from = l->way[w].gates + row * width;
        if (i == first)
            memcpy(to, from, (size_t)width * sizeof *to);
        else
            p->k->add(to, from, width);
    }
}

// Where part `thread` of the inputs begins: an input costs one product, and some time for each of
// its positions.
static int64_t input_at(const struct pass *p, int thread, int threads)
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

static void sum(void *pass, int thread, int threads)
{
    const struct pass *p = pass;
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
    const struct pass *p = pass;
    struct lstm *l = p->l;
    int64_t from, to;
    team_part(p->inputs, 1, thread, threads, &from, &to);
    unsigned int before = kernels_flush_begin();
    float *c = l->dinput ? l->dinput : p->dinput; // padded, or straight to its place
    p->k->gemm(&(struct gemm){.rows = to - from,
                              .cols = l->e,
                              .k = l->z,
                              .a = l->sums + from * l->z,
                              .a_row = l->z,
                              .a_k = 1,
                              .b = l->w_input,
                              .b_k = KERNELS_PANEL,
                              .b_panel = l->z * KERNELS_PANEL,
                              .c = c + from * l->e,
                              .c_row = l->e});
    for (int64_t i = from; l->dinput && i < to; i++)
        memcpy(p->dinput + i * l->spec.in, c + i * l->e, (size_t)l->spec.in * sizeof *c);
    kernels_flush_end(before);
}

// Rows [from, to) of the gradient of W_hh of one direction: all steps but the first, each with the
// state of the step before.
static void weights_hh(const struct pass *p, int w, int64_t from, int64_t to)
{
    struct lstm *l = p->l;
    const struct lstm_way *way = &l->way[w];
    p->k->gemm(&(struct gemm){.rows = to - from,
                              .cols = l->h,
                              .k = (l->spec.time - 1) * l->count,
                              .a = way->gates + l->count * 4 * l->h + from,
                              .a_row = 1,
                              .a_k = 4 * l->h,
                              .b = way->h,
                              .b_k = l->h,
                              .b_panel = KERNELS_PANEL,
                              .c = l->dw_hh + (w * 4 * l->h + from) * l->h,
                              .c_row = l->h});
}

static void weights_ih(const struct pass *p, int64_t from, int64_t to)
{
    struct lstm *l = p->l;
    p->k->gemm(&(struct gemm){.rows = to - from,
                              .cols = l->e,
                              .k = p->inputs,
                              .a = l->sums + from,
                              .a_row = 1,
                              .a_k = l->z,
                              .b = l->input,
                              .b_k = l->e,
                              .b_panel = KERNELS_PANEL,
                              .c = l->dw_ih + from * l->e,
                              .c_row = l->e});
}

// One row of all gates, without padding, to its place in the gradients.
static void hand_out(const struct pass *p, int64_t z)
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
static void add_parts(const struct pass *p, int64_t from, int64_t to, int threads)
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

static void weights(void *pass, int thread, int threads)
{
    const struct pass *p = pass;
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
    struct pass p = {.l = l, .k = kernels(), .dout = dout, .grads = grads};
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
        team_run(sum, &p);
    if (p.dinput)
        team_run(input_back, &p);
    team_run(weights, &p);
}
