// SPDX-License-Identifier: Apache-2.0
// interval: how often to save a job, from what a checkpoint costs and how often machines go.
#ifndef FARE_GUARD_INTERVAL_H
#define FARE_GUARD_INTERVAL_H

#include <stdint.h>

// Daly (2006), higher-order estimate: the work between two checkpoints that cost `cost_ns` each,
// with interruptions `between_ns` apart on average. For cost < 2 × between; otherwise `between_ns`.
int64_t interval_best(int64_t cost_ns, int64_t between_ns);

#endif
