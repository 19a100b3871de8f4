// SPDX-License-Identifier: Apache-2.0
// Evidence beside the formula: reference runs, several sources, the errors that a user saw.
#include <math.h>
#include <string.h>

#include "estimate/estimate.h"

#define LEAST_HALF 1e-3 // half-width as a logarithm: nothing is surer

// Own errors count one each, the table's as many as this; the interval is never narrower than this
// share of the table's.
#define TABLE_COUNTS 20.0
#define NARROWEST    0.7
#define WIDEST       10.0
#define LEVEL        0.9
#define BISECTIONS   50

static bool is_estimate(const struct estimate *e)
{
    return e->kind == ESTIMATE_ESTIMATED || e->kind == ESTIMATE_ROUGH;
}

static double up_of(const struct estimate *e)
{
    return log(e->high_s / e->time_s);
}

static double down_of(const struct estimate *e)
{
    return log(e->time_s / e->low_s);
}

static double half_of(const struct estimate *e)
{
    return fmax(log(e->high_s / e->low_s) / 2, LEAST_HALF);
}

static void set_interval(struct estimate *e, double down, double up)
{
    e->low_s = e->time_s * exp(-down);
    e->high_s = e->time_s * exp(up);
    estimate_set_kind(e);
}

// ---- reference runs

// A half-width in which the class's part becomes another's.
static double replaced(double half, double old, double new)
{
    return sqrt(fmax(half * half - old * old, 0) + new *new);
}

bool estimate_calibrate(const struct estimate_tables *tables,
                        const struct estimate_calibration *calibration, struct estimate *e)
{
    const struct estimate_constant *prior = estimate_constant(tables, "reference_prior");
    const struct estimate_errors *old = e->class;
    double count = (double)calibration->trainings;
    bool plain = is_estimate(e) && old && strcmp(old->trace, "no") == 0 && e->part_count == 0 &&
                 !e->guessed_precision;
    if (!plain || !prior || count == 0 || !isfinite(calibration->error))
        return false;
    const struct estimate_class class = {old->relation, old->bound, old->scale, "reference",
                                         old->kind};
    const struct estimate_errors *new = estimate_errors(tables, &class);
    if (!new)
        return false;
    double shift = exp(calibration->error * count / (count + prior->value));
    double from = log(old->factor[ESTIMATE_90]), to = log(new->factor[ESTIMATE_90]);
    double down = replaced(down_of(e), from, to), up = replaced(up_of(e), from, to);
    struct estimate calibrated = *e;
    calibrated.class = new;
    calibrated.device *= shift;
    calibrated.time_s *= shift;
    set_interval(&calibrated, down, up);
    if (!(calibrated.low_s > 0 && isfinite(calibrated.high_s)))
        return false;
    *e = calibrated;
    return true;
}

// ---- several sources

void estimate_combine(const struct estimate_tables *tables, const struct estimate *sources,
                      size_t count, double weights[ESTIMATE_SOURCES], struct estimate *out)
{
    const struct estimate_constant *c = estimate_constant(tables, "source_correlation");
    double sum = 0, middle = 0, least = half_of(&sources[0]);
    memset(weights, 0, ESTIMATE_SOURCES * sizeof *weights);
    *out = sources[0];
    if (!c || c->value > 1 || !is_estimate(out))
        count = 1;
    for (size_t i = 0; i < count; i++) {
        weights[i] = 1 / (half_of(&sources[i]) * half_of(&sources[i]));
        least = fmin(least, half_of(&sources[i]));
        sum += weights[i];
        middle += weights[i] * log(sources[i].time_s);
    }
    for (size_t i = 0; i < count; i++)
        weights[i] /= sum;
    if (count < 2)
        return;
    double half = sqrt(c->value * least * least + (1 - c->value) / sum);
    double down = down_of(out), up = up_of(out), share = half / half_of(out);
    out->time_s = exp(middle / sum);
    set_interval(out, down * share, up * share);
}

// ---- the errors that a user saw

// Share of the table's errors up to s half-widths, by its quantiles; nothing is known beyond the
// last of them.
static double table_share(const struct estimate_errors *class, double s)
{
    static const double levels[ESTIMATE_LEVELS] = {0.5, 0.8, 0.9, 0.95};
    double unit = log(class->factor[ESTIMATE_90]), at = 0, level = 0;
    for (size_t i = 0; i < ESTIMATE_LEVELS; i++) {
        double next = log(class->factor[i]) / unit;
        if (s < next)
            return level + (levels[i] - level) * (s - at) / (next - at);
        at = next;
        level = levels[i];
    }
    return level;
}

static bool covers(const struct estimate_errors *class, const double *errors, size_t count,
                   double s)
{
    double inside = TABLE_COUNTS * table_share(class, s);
    for (size_t i = 0; i < count; i++)
        inside += errors[i] <= s;
    return inside >= LEVEL * (TABLE_COUNTS + (double)count) - 1e-9;
}

double estimate_learn(const struct estimate_errors *class, const double *errors, size_t count)
{
    if (count == 0 || !(class->factor[ESTIMATE_90] > 1))
        return 1;
    double low = NARROWEST, unit = log(class->factor[ESTIMATE_90]);
    double high = fmax(log(class->factor[ESTIMATE_95]) / unit, 1);
    for (size_t i = 0; i < count; i++) {
        if (!(errors[i] >= 0 && isfinite(errors[i])))
            return 1;
        high = fmax(high, errors[i]);
    }
    if (covers(class, errors, count, low))
        return low;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        *(covers(class, errors, count, middle) ? &high : &low) = middle;
    }
    return fmin(high, WIDEST);
}

void estimate_stretch(struct estimate *e, double factor)
{
    if (is_estimate(e) && factor > 0 && isfinite(factor))
        set_interval(e, down_of(e) * factor, up_of(e) * factor);
}
