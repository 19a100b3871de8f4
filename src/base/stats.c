// SPDX-License-Identifier: Apache-2.0
#include "base/stats.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A sum with the rounding errors kept beside it (Neumaier 1974).
struct sum {
    double total, lost;
};

static void sum_add(struct sum *s, double x)
{
    double total = s->total + x;
    if (fabs(s->total) >= fabs(x))
        s->lost += (s->total - total) + x;
    else
        s->lost += (x - total) + s->total;
    s->total = total;
}

double stats_mean(const double *x, size_t n)
{
    assert(n > 0);
    struct sum sum = {0, 0};
    for (size_t i = 0; i < n; i++)
        sum_add(&sum, x[i]);
    return (sum.total + sum.lost) / (double)n;
}

double stats_stddev(const double *x, size_t n)
{
    assert(n > 1);
    double mean = stats_mean(x, n);
    struct sum squares = {0, 0}, rest = {0, 0};
    for (size_t i = 0; i < n; i++) {
        sum_add(&squares, (x[i] - mean) * (x[i] - mean));
        sum_add(&rest, x[i] - mean);
    }
    // With an exact mean this would be 0; it corrects for the mean's rounding.
    double off = rest.total + rest.lost;
    double variance = (squares.total + squares.lost - off * off / (double)n) / (double)(n - 1);
    return variance > 0 ? sqrt(variance) : 0;
}

// Puts the k-th smallest (from 0) at x[k], none larger before it and none smaller after it.
static void select_kth(double *x, size_t n, size_t k)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)n - 1, want = (ptrdiff_t)k;
    uint32_t chance = 1;
    while (low < high) {
        // A random pivot: with a fixed place, some patterns in a series take quadratic time.
        chance = chance * 1664525 + 1013904223;
        double pivot = x[low + (ptrdiff_t)(((uint64_t)chance * (uint64_t)(high - low + 1)) >> 32)];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (x[i] < pivot)
                i++;
            while (x[j] > pivot)
                j--;
            if (i <= j) {
                double temp = x[i];
                x[i++] = x[j];
                x[j--] = temp;
            }
        }
        if (want <= j)
            high = j;
        else if (want >= i)
            low = i;
        else
            return;
    }
}

double stats_quantile_of(double *x, size_t n, double p)
{
    assert(n > 0 && p >= 0 && p <= 1);
    double place = (double)(n - 1) * p;
    size_t k = (size_t)place;
    double part = place - (double)k;
    select_kth(x, n, k);
    if (part == 0 || k + 1 == n)
        return x[k];
    double next = x[k + 1];
    for (size_t i = k + 2; i < n; i++)
        next = x[i] < next ? x[i] : next;
    return x[k] + part * (next - x[k]);
}

double stats_median_of(double *x, size_t n)
{
    return stats_quantile_of(x, n, 0.5);
}

static int check_values(const double *x, size_t n, struct err *err)
{
    if (n == 0)
        return err_set(err, ERR_FORMAT, "no values to describe");
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return err_set(err, ERR_FORMAT, "value %zu of %zu is not a finite number", i + 1, n);
    return 0;
}

// A copy to reorder, of checked values.
static int copy_values(const double *x, size_t n, double **copy, struct err *err)
{
    TRY(check_values(x, n, err));
    *copy = malloc(n * sizeof **copy);
    if (!*copy)
        return err_memory(err);
    memcpy(*copy, x, n * sizeof **copy);
    return 0;
}

int stats_median(const double *x, size_t n, double *median, struct err *err)
{
    double *copy;
    TRY(copy_values(x, n, &copy, err));
    *median = stats_median_of(copy, n);
    free(copy);
    return 0;
}

int stats_mad(const double *x, size_t n, double *median, double *mad, struct err *err)
{
    double *copy;
    TRY(copy_values(x, n, &copy, err));
    double middle = stats_median_of(copy, n);
    for (size_t i = 0; i < n; i++)
        copy[i] = fabs(copy[i] - middle);
    if (median)
        *median = middle;
    if (mad)
        *mad = stats_median_of(copy, n);
    free(copy);
    return 0;
}

int stats_outliers(const double *x, size_t n, size_t *count, struct err *err)
{
    double median, mad;
    TRY(stats_mad(x, n, &median, &mad, err));
    *count = 0;
    for (size_t i = 0; i < n; i++)
        *count += fabs(x[i] - median) > STATS_OUTLIER_MADS * mad;
    return 0;
}

int stats_bootstrap_median(const double *x, size_t n, size_t resamples, double level,
                           struct rng *rng, struct stats_interval *out, struct err *err)
{
    assert(resamples > 0 && level > 0 && level < 1);
    TRY(check_values(x, n, err));
    SCOPED(free_pointer) double *sample = malloc(n * sizeof *sample);
    SCOPED(free_pointer) double *medians = malloc(resamples * sizeof *medians);
    if (!sample || !medians)
        return err_memory(err);
    for (size_t r = 0; r < resamples; r++) {
        for (size_t i = 0; i < n; i++)
            sample[i] = x[rng_below(rng, n)];
        medians[r] = stats_median_of(sample, n);
    }
    out->low = stats_quantile_of(medians, resamples, (1 - level) / 2);
    out->high = stats_quantile_of(medians, resamples, (1 + level) / 2);
    return 0;
}

// ==== stats_student ====
// Student's t distribution, by the continued fraction of the incomplete beta function.

enum { TERMS_MAX = 20000 };
#define NORMAL_FROM 1e7 // degrees of freedom from which t is the normal distribution to 7 digits

// The fraction of DLMF 8.17.22, evaluated by Lentz's method; for x below (a+1)/(a+b+2).
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < TERMS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double terms[] = {even, odd};
        double change = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            c = 1 + terms[i] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            change = c * d;
            value *= change;
        }
        if (fabs(change - 1) < 1e-15)
            break;
    }
    return value;
}

// The regularised incomplete beta function; `rest` is 1 - x, which may be tiny.
static double beta_share(double a, double b, double x, double rest)
{
    if (x <= 0)
        return 0;
    if (rest <= 0)
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, rest) / b;
}

double stats_t_cdf(double t, double df)
{
    assert(df > 0);
    if (isnan(t))
        return t;
    if (df > NORMAL_FROM)
        return 0.5 * erfc(-t / sqrt(2));
    double square = t * t, sum = df + square;
    double tail =
        isfinite(sum) ? 0.5 * beta_share(df / 2, 0.5, df / sum, square / sum) : 0; // beyond |t|
    return t > 0 ? 1 - tail : tail;
}

double stats_t_quantile(double p, double df)
{
    assert(p > 0 && p < 1 && df > 0);
    double z = rng_normal_quantile(p);
    if (df > NORMAL_FROM || z == 0)
        return z;
    if (p < 0.5)
        return -stats_t_quantile(1 - p, df);
    // Two terms of Cornish and Fisher's expansion, then Newton's steps: the curve is concave here,
    // so they come from below after the first, and none passes the mark.
    double z3 = z * z * z, z5 = z3 * z * z;
    double t = z + (z3 + z) / (4 * df) + (5 * z5 + 16 * z3 + 3 * z) / (96 * df * df);
    double scale = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * M_PI);
    for (int i = 0; i < 1000; i++) {
        double density = scale * exp(-(df + 1) / 2 * log1p(t * t / df));
        double next = t - (stats_t_cdf(t, df) - p) / density;
        if (!(next > 0)) // from far out on a flat tail
            next = t / 2;
        bool there = fabs(next - t) <= 1e-13 * t;
        t = next;
        if (there)
            break;
    }
    return t;
}
