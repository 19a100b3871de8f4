// SPDX-License-Identifier: Apache-2.0
// Shared by the files of quote_spot, and private to them.
#ifndef FARE_ADVISE_QUOTE_SPOT_PARTS_H
#define FARE_ADVISE_QUOTE_SPOT_PARTS_H

#include "advise/quote_spot.h"
#include "advise/spot/replay.h"

struct spotting { // a bill in the making
    struct market *market;
    const struct wishes *wishes;
    const struct spot_ask *ask;
    const struct offer *offer;
    const struct bill_time *time;
    struct bill *bill;
    struct priced price;
    struct hazard hazard;
    struct replay replay; // of the row that the bill becomes
    bool kept;            // one disk goes from machine to machine (docs/billing.md)
    int64_t between_ns;   // mean time between interruptions
    int64_t base_nano;    // nano-USD: without interruptions and checkpoints, at today's price
    int64_t total_nano;   // the bill's, before interruptions
};

// What a replay's amount and time make of the bill's total: everything else in it stays.
int spot_usd(const struct spotting *s, double nano, double wall_ns, int64_t *usd,
             struct err *err) MUST_USE;

// Replays `r`, as often as is of use: sets its count. Nothing finished: it never ends.
int spot_replay(const struct spotting *s, struct replay *r, struct replay_summary *sum,
                struct err *err) MUST_USE;

// Adds bill->spot.rows (quote_spot_rows.c).
int spot_add_rows(struct spotting *s, struct err *err) MUST_USE;

#endif
