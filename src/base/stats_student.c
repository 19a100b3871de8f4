// SPDX-License-Identifier: Apache-2.0
// Student's t distribution, by the continued fraction of the incomplete beta function.
#include "base/stats.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

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
