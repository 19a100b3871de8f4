// SPDX-License-Identifier: Apache-2.0
// again: the cost of a run computed again, for records whose cost was false (record/run.h).
#ifndef FARE_BILL_AGAIN_H
#define FARE_BILL_AGAIN_H

#include "record/run.h"

// Nano-USD by the price in the record, or else as run_price() finds it, and the provider's rule on
// the run's date; below 0 if that is unknown. Opens a market of its own at the first call, and
// keeps it. Any thread may call it.
int run_cost_again(const struct run *run, int64_t *nano, struct err *err) MUST_USE;

#endif
