// SPDX-License-Identifier: Apache-2.0
// quote_spot: turns the bill of a spot offer into the expected one: with interruptions, work done
// again, restarts and checkpoints (docs/spot.md, "What spot will cost").
#ifndef FARE_ADVISE_QUOTE_SPOT_H
#define FARE_ADVISE_QUOTE_SPOT_H

#include "bill/bill.h"
#include "record/run.h"
#include "advise/spot/hazard.h"

struct spot_ask { // all zero: nothing is given
    struct hazard_given hazard;
    struct maybe_int checkpoint_ns; // to write one
    struct maybe_int every_ns;      // of work between checkpoints
    struct maybe_int deadline_ns;   // for the rows with fall-back
    bool rows;                      // ways to do it, side by side
};

// What the bill of `bill_make()`, made without_credit, becomes for a spot offer; others stay as
// they are. `run` and `time` are those that the bill was made from.
int quote_spot(struct market *market, const struct wishes *wishes, const struct spot_ask *ask,
               const struct offer *offer, const struct run *run, const struct bill_time *time,
               struct bill *bill, struct err *err) MUST_USE;

#endif
