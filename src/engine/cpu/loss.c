// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/loss.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "engine/cpu/number.h"
#include "engine/cpu/team.h"

static float z_at(const struct loss *loss, int64_t row, int64_t unit)
{
    return number_get(loss->z, row * loss->units + unit, loss->z_bf16);
}

static int64_t largest(const struct loss *loss, int64_t row)
{
    int64_t best = 0;
    float top = z_at(loss, row, 0);
    for (int64_t u = 1; u < loss->units; u++)
        if (z_at(loss, row, u) > top) {
            best = u;
            top = z_at(loss, row, u);
        }
    return best;
}

// Sum of exp(z - top), at least 1.
static double exponentials(const struct loss *loss, int64_t row, float top)
{
    double sum = 0;
    for (int64_t u = 0; u < loss->units; u++)
        sum += (double)expf(z_at(loss, row, u) - top);
    return sum;
}

static void put_grad(const struct loss *loss, int64_t row, int64_t unit, float value)
{
    number_put(loss->grad, row * loss->units + unit, value, loss->grad_bf16);
}

static double softmax_row(const struct loss *loss, int64_t row)
{
    int32_t label = loss->labels[row];
    float top = z_at(loss, row, largest(loss, row));
    double sum = exponentials(loss, row, top);
    float share = (float)((double)loss->weight / (sum * (double)loss->all));
    for (int64_t u = 0; loss->grad && u < loss->units; u++)
        put_grad(loss, row, u,
                 expf(z_at(loss, row, u) - top) * share -
                     (u == label ? loss->weight / (float)loss->all : 0));
    return log(sum) + (double)top - (double)z_at(loss, row, label);
}

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

static double sigmoid_row(const struct loss *loss, int64_t row)
{
    double z = (double)z_at(loss, row, 0), label = loss->labels[row];
    if (loss->grad)
        put_grad(loss, row, 0,
                 (float)((double)loss->weight * (sigmoid(z) - label) / (double)loss->all));
    return (z > 0 ? z : 0) - z * label + log1p(exp(-fabs(z))); // no exponential overflows
}

static void work(void *loss_, int thread, int threads)
{
    const struct loss *loss = loss_;
    int64_t from, to;
    team_part(loss->count, 1, thread, threads, &from, &to);
    for (int64_t row = from; row < to; row++)
        loss->rows[row] =
            loss->kind == NET_SOFTMAX ? softmax_row(loss, row) : sigmoid_row(loss, row);
}

static bool is_right(const struct loss *loss, int64_t row)
{
    if (loss->kind == NET_SIGMOID)
        return (z_at(loss, row, 0) > 0) == loss->labels[row];
    return largest(loss, row) == loss->labels[row];
}

void loss_run(const struct loss *loss, struct engine_score *score)
{
    assert(loss->kind == NET_SOFTMAX || loss->units == 1);
    struct loss copy = *loss;
    team_run(work, &copy);
    for (int64_t row = 0; row < loss->count; row++) {
        score->loss += loss->rows[row];
        score->correct += is_right(loss, row);
    }
    score->count += loss->count;
    if (loss->grad) {
        int64_t rest = (loss->batch - loss->count) * loss->units;
        memset(number_at(loss->grad, loss->count * loss->units, loss->grad_bf16), 0,
               (size_t)rest * number_bytes(loss->grad_bf16));
    }
}

void loss_predict(const struct loss *loss, float *out)
{
    for (int64_t row = 0; row < loss->count; row++, out += loss->units) {
        float top = z_at(loss, row, largest(loss, row));
        double sum = exponentials(loss, row, top);
        for (int64_t u = 0; u < loss->units; u++)
            out[u] = loss->kind == NET_SIGMOID
                         ? (float)sigmoid((double)z_at(loss, row, u))
                         : (float)((double)expf(z_at(loss, row, u) - top) / sum);
    }
}
