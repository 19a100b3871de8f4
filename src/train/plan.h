// SPDX-License-Identifier: Apache-2.0
// plan: when a run ends. The trainer, the runners and the progress line all read this one.
#ifndef FARE_TRAIN_PLAN_H
#define FARE_TRAIN_PLAN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

// What others want of a training, between two steps.
struct run_wish {
    bool save; // write a checkpoint; the trainer clears it
    bool end;  // end it, with a checkpoint
};

struct run_plan {
    bool full;        // train to the end; otherwise a sample
    int64_t steps;    // sample: train exactly this many; 0: until one of the next two is reached
    double within;    // sample: the total time's 95 % interval, as a share to each side; 0: none
    double max_s;     // sample: time limit from the start; 0: none
    bool max_s_given; // by the user: it holds even where no step is known
    int64_t until_ns; // by clock_now_ns(): the budget is spent then, whatever is known; 0: never
    int64_t start_ns; // by clock_now_ns(), the run's start; 0: when it begins
    const volatile sig_atomic_t *stop; // (optional) the number of a signal that ends it
    struct run_wish *wish;             // (optional)
};

static inline bool run_plan_interrupted(const struct run_plan *plan)
{
    return (plan->stop && *plan->stop) || (plan->wish && plan->wish->end);
}

// Nothing more is begun.
static inline bool run_plan_over(const struct run_plan *plan)
{
    return run_plan_interrupted(plan) || (plan->until_ns > 0 && clock_now_ns() >= plan->until_ns);
}

// run->ended of a run that run_plan_over() cut off.
static inline const char *run_plan_ended(const struct run_plan *plan)
{
    return run_plan_interrupted(plan) ? "interrupted" : "stopped";
}

#endif
