// SPDX-License-Identifier: Apache-2.0
// run_scaling: what more processes gain, of runs with several numbers of them.
#ifndef FARE_CMD_RUN_SCALING_H
#define FARE_CMD_RUN_SCALING_H

#include "cmd/out.h"
#include "record/run.h"

// A table and a sentence for each number that does not pay; nothing if all runs have the same.
// `hour_nano_usd`: the price of this machine; 0: unknown.
void run_scaling(struct out *out, const struct runs *runs, int64_t hour_nano_usd);

#endif
