// SPDX-License-Identifier: Apache-2.0
#include "advise/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/estimate/estimate.h"

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

#define BUSY 0.9 // share of the time: below it the host has a part in the step time

static double busy_of(const struct run *run) // negative: unknown
{
    if (run->account.busy_share.known)
        return run->account.busy_share.v;
    return run->use.steady.gpu_percent.known ? run->use.steady.gpu_percent.v / 100 : -1;
}

static void add_reason(double busy, double faster, double low, double high, struct buf *out)
{
    if (faster > high)
        buf_adds(out, "more than expected");
    else if (faster >= low)
        buf_adds(out, "as expected");
    else if (busy < BUSY)
        buf_printf(out, "the host limits it (its GPU was busy %.0f %% of the time)", 100 * busy);
    else
        buf_adds(out, "less than expected; 'fare check --bandwidth' there shows what its GPU "
                      "reaches");
}

void expected_words(const struct estimate_tables *tables, const struct devices *devices,
                    const struct run *base, const struct run *run, double faster, struct buf *out)
{
    struct estimate_place from = estimate_place_of(base, devices);
    struct estimate_place to = estimate_place_of(run, devices);
    const struct estimate_time second = {.s = 1};
    struct estimate estimate;
    double busy = busy_of(run);
    if (!(busy >= 0) || !(faster > 0) || !from.device || from.device == to.device ||
        from.gpus < 1 || from.gpus != to.gpus)
        return;
    // What the GPUs allow: the question is whether they were the limit.
    struct run bound = *base;
    bound.account.busy_share.known = false;
    bound.use.steady.gpu_percent = some_real(100);
    from.rates = to.rates = NULL;
    to.clock_mhz = 0;
    estimate_make(tables, &bound, &from, &to, &second, &estimate);
    if (estimate.kind != ESTIMATE_ESTIMATED)
        return;
    double low = 1 / estimate.high_s, high = 1 / estimate.low_s;
    buf_printf(out, "expected %.2g × (%.2g to %.2g ×) by the data sheets, measured %.2g ×: ",
               1 / estimate.time_s, low, high, faster);
    add_reason(busy, faster, low, high, out);
}
