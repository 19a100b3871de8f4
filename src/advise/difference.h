// SPDX-License-Identifier: Apache-2.0
// difference: the confidence that two figures, each from one or a few runs, differ.
//
// Times and costs are compared as ratios, so errors are those of logarithms. A figure's error comes
// from the spread between its runs, or from the interval of a projection; of several projections
// the larger of the two, since repeating a sample does not show what it cannot see. Welch's test
// compares two figures (unequal spreads, few runs): docs/comparing.md.
#ifndef FARE_ADVISE_DIFFERENCE_H
#define FARE_ADVISE_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/stats.h"
#include "record/run.h"
#include "tables/device.h"

struct measured { // by one run
    double value;
    double low, high; // 95 %; both 0: no interval
};

struct figure {    // from one or a few runs
    double value;  // the mean
    double error;  // standard error of its logarithm
    double df;     // degrees of freedom of that; infinite for a projection's
    bool judged;   // the error is known: several runs, or an interval
    bool positive; // it can be divided and has a logarithm
};

struct difference { // a divided by b
    double ratio;
    double low, high;  // 95 %, where judged
    double confidence; // 0 to 1, that they differ (1 - the two-sided p), where judged
    bool known, judged;
};

void figure_of(const struct measured *runs, size_t n, struct figure *out); // n > 0
struct stats_interval figure_interval(const struct figure *figure);        // where judged
void difference_of(const struct figure *a, const struct figure *b, struct difference *out);

// Below this confidence no difference is shown: the interval of the ratio includes 1.
#define DIFFERENCE_SHOWN 0.95

// expected: by how much one GPU should be faster than another, by their data sheets, beside the
// measured times of a training on both.
//
// Appends "expected 1.9 × (1.3 to 2.8 ×) by the data sheets, measured 1.4 ×: as expected". `faster`
// is the measured quotient, base over run. Nothing if the GPUs are the same or not known, their
// numbers differ, or nobody recorded how busy the run's GPU was.
struct estimate_tables;
void expected_words(const struct estimate_tables *tables, const struct devices *devices,
                    const struct run *base, const struct run *run, double faster, struct buf *out);

#endif
