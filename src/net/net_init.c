// SPDX-License-Identifier: Apache-2.0
// Initial values of parameters (net.h). Only the four operations, square roots and base/rng are
// used, which give the same bits on every CPU; the C library's functions do not.
#include "net/net.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "machine/parallel.h"

#define PARALLEL_LEAST 100000 // numbers worth starting threads for

static void fill(float *values, int64_t count, float value)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = value;
}

static void fill_uniform(struct rng *rng, float *values, int64_t count, double bound)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)((2 * (double)rng_float(rng) - 1) * bound);
}

struct normal {
    const struct net_param *param;
    const struct rng *rng;
    float *values;
};

static void fill_rows(void *normal_, int64_t from, int64_t to)
{
    const struct normal *n = normal_;
    int64_t columns = n->param->count / n->param->dim[0];
    for (int64_t row = from; row < to; row++) {
        struct rng own;
        rng_split(n->rng, "row", (uint64_t)row, &own);
        for (int64_t i = 0; i < columns; i++)
            n->values[row * columns + i] = (float)(rng_normal(&own) * (double)n->param->deviation);
    }
}

// Each row has its own stream, so that several threads fill them: there may be a billion numbers.
static void fill_normal(const struct net_param *param, const struct rng *rng, float *values)
{
    struct normal normal = {param, rng, values};
    parallel_for(param->count < PARALLEL_LEAST ? 1 : 0, param->dim[0], fill_rows, &normal);
}

// Dense and LSTM weights are out × in, convolutions out × in × height × width, where each output
// reaches as many inputs as the window has cells, and the other way around.
static double glorot_bound(const struct net_param *param)
{
    assert(param->rank == 2 || param->rank == 4);
    double window = 1;
    for (int i = 2; i < param->rank; i++)
        window *= (double)param->dim[i];
    double fans = (double)(param->dim[0] + param->dim[1]) * window;
    return sqrt(6 / fans);
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

// A uniformly random orthogonal matrix: rows of normal numbers, made orthonormal by Gram-Schmidt,
// twice, because once leaves rounding errors.
static void fill_orthogonal(struct rng *rng, double *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = rows + i * n, length = 0;
        while (length <
               1e-8) { // linearly dependent on those before, which practically never happens
            for (int64_t k = 0; k < n; k++)
                row[k] = rng_normal(rng);
            for (int pass = 0; pass < 2; pass++)
                for (int64_t j = 0; j < i; j++) {
                    double along = dot(row, rows + j * n, n);
                    for (int64_t k = 0; k < n; k++)
                        row[k] -= along * rows[j * n + k];
                }
            length = sqrt(dot(row, row, n));
        }
        for (int64_t k = 0; k < n; k++)
            row[k] /= length;
    }
}

static int fill_orthogonal_blocks(const struct net_param *param, struct rng *rng, float *values,
                                  struct err *err)
{
    int64_t n = param->dim[1];
    assert(param->rank == 2 && param->dim[0] % n == 0);
    double *block = calloc((size_t)n * (size_t)n, sizeof *block);
    if (!block)
        return err_memory(err);
    for (int64_t at = 0; at < param->count; at += n * n) {
        fill_orthogonal(rng, block, n);
        for (int64_t i = 0; i < n * n; i++)
            values[at + i] = (float)block[i];
    }
    free(block);
    return 0;
}

int net_init_param(const struct net_param *param, uint64_t seed, float *values, struct err *err)
{
    struct rng rng;
    rng_init(&rng, seed);
    rng_split(&rng, "start", 0, &rng);
    rng_split(&rng, param->name, 0, &rng);
    int64_t count = param->count;
    switch (param->init) {
    case NET_ZERO:
        fill(values, count, 0);
        break;
    case NET_ONE:
        fill(values, count, 1);
        break;
    case NET_GLOROT:
        fill_uniform(&rng, values, count, glorot_bound(param));
        break;
    case NET_UNIFORM_005:
        fill_uniform(&rng, values, count, 0.05);
        break;
    case NET_LSTM_BIAS: // gates i f g o
        fill(values, count, 0);
        fill(values + count / 4, count / 4, 1);
        break;
    case NET_NORMAL:
        fill_normal(param, &rng, values);
        break;
    case NET_ORTHOGONAL:
        return fill_orthogonal_blocks(param, &rng, values, err);
    }
    return 0;
}
