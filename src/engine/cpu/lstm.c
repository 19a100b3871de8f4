// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/lstm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cpu/kernels.h"
#include "engine/cpu/lstm_parts.h"
#include "engine/cpu/team.h"

#define CACHE_LINE 64

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
