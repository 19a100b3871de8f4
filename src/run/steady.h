// SPDX-License-Identifier: Apache-2.0
// steady: whether a series of step times has settled, from where on, and what a step takes then.
//
// Levels come from run/changes.h, over medians of stretches, with the machine's own drift divided
// out where the steps follow it. Two levels within STEADY_TOLERANCE of each other are one. After
// Barrett et al. (OOPSLA 2017): flat, warm-up (settled at a faster level), slow-down (at a slower
// one), unsteady (no level holds for the last quarter, or it comes and goes): then there is no
// single figure. A disturbance in the middle that passes is part of a flat series, and of its mean.
//
// The forecast is the mean from the steady part on where that follows a short warm-up. A level that
// came later may go again (on rented machines the host moves virtual CPUs about, and a step takes
// one time or another for seconds on end), so there all steps but the first ones count, and the
// difference between the levels is doubt.
#ifndef FARE_RUN_STEADY_H
#define FARE_RUN_STEADY_H

#include "record/run.h"
#include "run/calibrate.h"
#include "run/series.h"

#define STEADY_TOLERANCE 0.05

enum steady_kind { STEADY_SHORT, STEADY_FLAT, STEADY_WARM_UP, STEADY_SLOW_DOWN, STEADY_UNSTEADY };

struct steady {
    enum steady_kind kind;
    int64_t first;         // entry of the series
    double before_ns;      // time of the steps before it
    double mean_ns;        // of a step, as a forecast
    double relative_error; // of that forecast: one standard deviation
    bool follows;          // the steps follow the drift of the machine's processor
    double scatter;        // of most stretches around the middle one, as a share
};

// At least one entry. Takes about a millisecond.
void steady_judge(const struct series *series, const struct calibrate *calibrate,
                  struct steady *out);

int steady_fill(const struct steady *steady, const struct series *series, struct run_steady *out,
                struct err *err) MUST_USE;

#endif
