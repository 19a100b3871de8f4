// SPDX-License-Identifier: Apache-2.0
// plan: from what the user asked for to the tasks and places of a dispatch.
#ifndef FARE_FLEET_PLAN_H
#define FARE_FLEET_PLAN_H

#include "fleet/sweep.h"
#include "fleet/target.h"

// What to measure: workloads, or a command with a sweep. A sweep's tasks go to any place, each
// once; without a sweep every place gets every task.
struct plan_what {
    const char *const *workloads; // names
    size_t workload_count;
    char *const *command; // null-terminated; or null
    const struct sweep *sweep;
};

// Appends the tasks and the places to a dispatch.
int plan_make(struct dispatch *dispatch, const struct plan_what *what, const struct places *places,
              struct err *err) MUST_USE;

// Removes places that are given more than once, keeping the first.
void plan_unique(struct places *places);

// The price an hour of each place with an offer. ERR_MISSING for an offer that is not in the book.
int plan_prices(struct places *places, struct err *err) MUST_USE;

// Makes the places of a plan again.
int plan_places(const struct dispatch *dispatch, struct places *places, struct err *err) MUST_USE;

#endif
