// SPDX-License-Identifier: Apache-2.0
// peak: the share of the GPUs' specified speed that a run reached (price/device.h).
#ifndef FARE_RUN_PEAK_H
#define FARE_RUN_PEAK_H

#include "price/device.h"
#include "record/run.h"

// Fills use.mfu of a run with one label per token, and use.share_of_peak if the run's operations
// are known and its GPUs are of one kind and in the table, and l1_share_of_peak of l1 on a GPU.
// Otherwise the values stay absent.
void peak_derive(struct run *run);

#endif
