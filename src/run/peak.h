// SPDX-License-Identifier: Apache-2.0
// peak: the share of the GPUs' specification that a run reached (price/device.h).
#ifndef FARE_RUN_PEAK_H
#define FARE_RUN_PEAK_H

#include "price/device.h"
#include "record/run.h"

// Of one GPU at that precision in GFLOP/s; 0: unknown.
int peak_gflops(const struct device *device, const char *precision);

// Fills use.share_of_peak where the run used GPUs that the table knows, of one kind, and its
// operations are known. Never fails: what is not known stays unknown.
void peak_derive(struct run *run);

#endif
