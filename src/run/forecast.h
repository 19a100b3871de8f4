// SPDX-License-Identifier: Apache-2.0
// forecast: how long all steps of a stage take, from those seen: run/steady.h's step time for the
// steps to come, a trend continued, and how far all that may be off (docs/projection.md).
#ifndef FARE_RUN_FORECAST_H
#define FARE_RUN_FORECAST_H

#include "run/calibrate.h"
#include "run/series.h"

#define FORECAST_STEPS 5 // the least

struct forecast_ask {
    const struct series *series;
    const struct calibrate *calibrate;
    int64_t total;  // steps of the whole; 0: unknown
    bool follows;   // a command, whose first report covers its warm-up
    bool lengthens; // steps generate answers, which may lengthen
};

struct forecast {          // in seconds
    double s, variance;    // all steps; the variance is that of those to come
    double less_s, more_s; // with a trend: it may be that much shorter or longer
    double levels_s;       // half of that, if levels differ: more of them would tell
    double least_s;        // of the steps to come, each as fast as the fastest seen
};

// False: too few steps, or no total.
bool forecast_steps(const struct forecast_ask *ask, struct forecast *out);

#endif
