// SPDX-License-Identifier: Apache-2.0
// live: progress, remaining time and cost of a run in progress.
//
// The line on the terminal and the journal's record (measure/session.h) use it. Without a price of
// the machine there is no cost. live_look() allocates nothing.
#ifndef FARE_MEASURE_LIVE_H
#define FARE_MEASURE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/run.h"
#include "run/meter.h"
#include "run/plan.h"

struct live_price {    // of the machine; unknown without `cost`
    const char *offer; // the offer and the source of its price, for people
    int64_t hour;      // nano-USD
    // The cost of a run of that length, in nano-USD; must not allocate.
    int (*cost)(const void *price, int64_t ns, int64_t *nano_usd, struct err *err);
    const void *price;
};

struct live {
    double elapsed_s;
    int64_t step, steps;            // of this run; steps 0: unknown
    const char *noun;               // one of them: "epoch", "sample"; null: "step"
    double left_s;                  // below 0: unknown
    bool at_most;                   // the run may end earlier
    bool timed;                     // progress is measured by time, not by steps
    double rate;                    // of them a second of training; 0: unknown
    struct maybe_real loss;         // the latest, averaged
    double whole_s, half_s;         // the whole training and its interval to each side; 0: unknown
    int64_t bill, projected, whole; // nano-USD; below 0: unknown
};

// `price` is optional.
void live_look(const struct run_plan *plan, const struct live_price *price,
               const struct meter *meter, int64_t step, int64_t steps, struct live *out);

// The share done, 0 to 1; below 0: unknown.
double live_share(const struct live *live);

int live_fill(const struct live *live, const struct live_price *price, struct run_live *out,
              struct err *err) MUST_USE;

#endif
