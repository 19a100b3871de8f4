// SPDX-License-Identifier: Apache-2.0
#include "run/losses.h"

void losses_add(struct losses *l, double loss)
{
    if (l->each == 0)
        l->each = 1;
    if (l->count == LOSSES_MAX && l->in_sum == 0) {
        for (size_t i = 0; i < LOSSES_MAX / 2; i++)
            l->mean[i] = (l->mean[2 * i] + l->mean[2 * i + 1]) / 2;
        l->count = LOSSES_MAX / 2;
        l->each *= 2;
    }
    l->latest = some_real(loss);
    l->sum += loss;
    if (++l->in_sum < l->each)
        return;
    l->mean[l->count++] = l->sum / (double)l->in_sum;
    l->sum = 0;
    l->in_sum = 0;
}

static size_t tenth(const struct losses *l)
{
    return (l->count + 9) / 10;
}

static struct maybe_real mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count > 0 ? some_real(sum / (double)count) : (struct maybe_real){0};
}

struct maybe_real losses_first(const struct losses *l)
{
    return mean(l->mean, tenth(l));
}

struct maybe_real losses_last(const struct losses *l)
{
    return mean(l->mean + l->count - tenth(l), tenth(l));
}
