// SPDX-License-Identifier: Apache-2.0
#include "sample/history.h"

#include <assert.h>
#include <string.h>

static struct mean *figures_of(const struct history *h, int point)
{
    return h->figures + (ptrdiff_t)point * h->width;
}

static struct maybe_real value_of(struct mean mean)
{
    return mean.seconds > 0 ? some_real(mean.sum / mean.seconds) : (struct maybe_real){0};
}

void history_halve(struct history *h)
{
    int half = (h->count + 1) / 2;
    for (int p = 0; p < half; p++) {
        struct mean *to = figures_of(h, p);
        h->when[p] = h->when[2 * p];
        memmove(to, figures_of(h, 2 * p), (size_t)h->width * sizeof *to);
        if (2 * p + 1 >= h->count)
            break;
        const struct mean *other = figures_of(h, 2 * p + 1);
        h->when[p].to_ns = h->when[2 * p + 1].to_ns;
        for (int f = 0; f < h->width; f++) {
            to[f].sum += other[f].sum;
            to[f].seconds += other[f].seconds;
        }
    }
    memset(figures_of(h, half), 0,
           (size_t)(h->count - half) * (size_t)h->width * sizeof *h->figures);
    h->count = half;
}

void history_add(struct history *h, int64_t from_ns, int64_t to_ns, const struct maybe_real *values)
{
    if (to_ns <= from_ns)
        return;
    h->stride = h->stride > 0 ? h->stride : 1;
    if (h->count == 0 || h->taken >= h->stride) {
        if (h->count == HISTORY_POINTS) {
            history_halve(h);
            h->stride *= 2;
        }
        h->when[h->count] = (struct stretch){from_ns, to_ns};
        h->count++;
        h->taken = 0;
    }
    struct mean *figures = figures_of(h, h->count - 1);
    double seconds = (double)(to_ns - from_ns) * 1e-9;
    h->when[h->count - 1].to_ns = to_ns;
    h->taken++;
    for (int f = 0; f < h->width; f++) {
        if (!values[f].known)
            continue;
        figures[f].sum += values[f].v * seconds;
        figures[f].seconds += seconds;
    }
}

struct maybe_real history_at(const struct history *h, int point, int figure)
{
    assert(point < h->count && figure < h->width);
    return value_of(figures_of(h, point)[figure]);
}

struct maybe_real history_mean(const struct history *h, int figure)
{
    struct mean all = {0};
    for (int p = 0; p < h->count; p++) {
        all.sum += figures_of(h, p)[figure].sum;
        all.seconds += figures_of(h, p)[figure].seconds;
    }
    return value_of(all);
}

double history_sum(const struct history *h, int figure)
{
    double sum = 0;
    for (int p = 0; p < h->count; p++)
        sum += figures_of(h, p)[figure].sum;
    return sum;
}

struct maybe_real history_between(const struct history *h, int figure, int64_t from_ns,
                                  int64_t to_ns)
{
    struct mean all = {0};
    for (int p = 0; p < h->count; p++) {
        const struct stretch *when = &h->when[p];
        int64_t from = when->from_ns > from_ns ? when->from_ns : from_ns;
        int64_t to = when->to_ns < to_ns ? when->to_ns : to_ns;
        if (to <= from)
            continue;
        double part = (double)(to - from) / (double)(when->to_ns - when->from_ns);
        all.sum += part * figures_of(h, p)[figure].sum;
        all.seconds += part * figures_of(h, p)[figure].seconds;
    }
    return value_of(all);
}
