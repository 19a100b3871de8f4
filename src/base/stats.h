// SPDX-License-Identifier: Apache-2.0
// stats: robust statistics of a handful or a million measurements; none assumes normality.
//
// Functions that need memory take `err`, and refuse an empty list and values that are not finite
// (ERR_FORMAT). Those without `err` need no memory; there the caller checks both. Functions that
// reorder the values say so.
#ifndef FARE_BASE_STATS_H
#define FARE_BASE_STATS_H

#include <stddef.h>

#include "base/err.h"
#include "base/rng.h"

// Sums are compensated, so that leading digits common to all values cost no precision.
double stats_mean(const double *x, size_t n);   // n > 0
double stats_stddev(const double *x, size_t n); // of a sample (divided by n-1); n > 1

// The p-quantile, 0 <= p <= 1, by linear interpolation between the order statistics around
// (n-1)p: type 7 of Hyndman and Fan (1996), what R and NumPy do unless told otherwise. The
// median is the 0.5-quantile. Both reorder x, in time proportional to n.
double stats_quantile_of(double *x, size_t n, double p);
double stats_median_of(double *x, size_t n);

// The median without touching x.
int stats_median(const double *x, size_t n, double *median, struct err *err) MUST_USE;

// The median of the distances from the median, not scaled; times STATS_MAD_SCALE it estimates the
// standard deviation of normal values. Either result may be null.
#define STATS_MAD_SCALE 1.482602218505602 // 1 / the normal distribution's 0.75-quantile
int stats_mad(const double *x, size_t n, double *median, double *mad, struct err *err) MUST_USE;

// How many values are further than 14.826 MADs from the median (ten standard deviations, were
// they normal): hyperfine's rule. Where the MAD is 0, each one that differs from the median.
#define STATS_OUTLIER_MADS 14.826
int stats_outliers(const double *x, size_t n, size_t *count, struct err *err) MUST_USE;

struct stats_interval {
    double low, high;
};

// Percentile bootstrap of the median: the medians of `resamples` samples drawn with replacement,
// and of those the quantiles that enclose the share `level` (0.95, say). 1000 resamples give the
// ends to a few per cent of the interval's width. Below about ten values it is too narrow.
int stats_bootstrap_median(const double *x, size_t n, size_t resamples, double level,
                           struct rng *rng, struct stats_interval *out, struct err *err) MUST_USE;

// Student's t with `df` > 0 degrees of freedom; an infinite `df` is the normal distribution. The
// probability of a value up to t, and the value below which lies the share p, 0 < p < 1. Good to
// about 12 digits.
double stats_t_cdf(double t, double df);
double stats_t_quantile(double p, double df);

#endif
