// SPDX-License-Identifier: Apache-2.0
// peak: the share of the GPUs' specified speed that a run reached (price/device.h).
#ifndef FARE_RUN_PEAK_H
#define FARE_RUN_PEAK_H

#include "price/device.h"
#include "record/run.h"

// The specified speed of one GPU at that precision in GFLOP/s; 0: unknown.
int peak_gflops(const struct device *device, const char *precision);

// Fills use.share_of_peak if the run's operations are known and its GPUs are of one kind and in the
// table. Otherwise the value stays absent.
void peak_derive(struct run *run);

#endif
