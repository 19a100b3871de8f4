// SPDX-License-Identifier: Apache-2.0
#include "advise/difference.h"

#include <math.h>
#include <string.h>

static const double two_sided = 0.975;

// The standard error that an interval of 95 % stands for; negative where it is none.
static double error_of(const struct measured *run)
{
    if (!(run->low > 0 && run->high >= run->low && isfinite(run->high)))
        return -1;
    return (log(run->high) - log(run->low)) / (2 * rng_normal_quantile(two_sided));
}

static double mean_of(const struct measured *runs, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += runs[i].value / (double)n;
    return sum;
}

void figure_of(const struct measured *runs, size_t n, struct figure *out)
{
    memset(out, 0, sizeof *out);
    out->value = n == 1 ? runs[0].value : mean_of(runs, n);
    out->positive = out->value > 0 && isfinite(out->value);
    if (!out->positive)
        return;
    double squares = 0, projected = 0;
    size_t intervals = 0;
    for (size_t i = 0; i < n; i++) {
        double off = runs[i].value / out->value - 1, error = error_of(&runs[i]);
        squares += off * off;
        if (error >= 0) {
            projected += error * error;
            intervals++;
        }
    }
    projected = intervals ? sqrt(projected / (double)intervals) : 0;
    out->judged = n > 1 || intervals > 0;
    out->error = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : 0;
    out->df = n > 1 ? (double)(n - 1) : (double)INFINITY;
    if (projected > out->error) {
        out->error = projected;
        out->df = (double)INFINITY;
    }
}

struct stats_interval figure_interval(const struct figure *e)
{
    double width = e->error > 0 ? exp(stats_t_quantile(two_sided, e->df) * e->error) : 1;
    return (struct stats_interval){e->value / width, e->value * width};
}

// Welch and Satterthwaite.
static double joint_df(const struct figure *a, const struct figure *b)
{
    double va = a->error * a->error, vb = b->error * b->error;
    double below = va * va / a->df + vb * vb / b->df; // an infinite df adds nothing
    return below > 0 ? (va + vb) * (va + vb) / below : (double)INFINITY;
}

void difference_of(const struct figure *a, const struct figure *b, struct difference *out)
{
    memset(out, 0, sizeof *out);
    out->known = a->positive && b->positive;
    if (!out->known)
        return;
    out->ratio = a->value / b->value;
    out->judged = a->judged && b->judged;
    if (!out->judged)
        return;
    double error = hypot(a->error, b->error), off = fabs(log(out->ratio));
    if (error > 0) {
        double df = joint_df(a, b), width = exp(stats_t_quantile(two_sided, df) * error);
        out->confidence = 1 - 2 * stats_t_cdf(-off / error, df);
        out->low = out->ratio / width;
        out->high = out->ratio * width;
    } else { // every run the same, to the last digit
        out->confidence = off > 0 ? 1 : 0;
        out->low = out->high = out->ratio;
    }
}
