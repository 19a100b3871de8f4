// SPDX-License-Identifier: Apache-2.0
// bill: a run on an offer under its tariff, as line items in USD (record/bill.h).
#ifndef FARE_MARKET_BILL_H
#define FARE_MARKET_BILL_H

#include "base/money.h"
#include "market/price.h"
#include "record/bill.h"
#include "record/run.h"

#define BILL_PARTS_MAX 14

// How long a machine is needed for a run, in parts that follow each other.
struct bill_time {
    struct bill_part {
        const char *what; // "boot", "train"
        int64_t ns;
        const char *source; // of a default; null: measured, projected or given
    } parts[BILL_PARTS_MAX];
    size_t count;
    int64_t total_ns;
    int64_t low_ns, high_ns; // 95 % interval, with the range of a start-up by default; -1: none
    int64_t startup_ns;      // of the total: before the training's own time
    const char *basis;       // "measured", "projected", "published"
};

// What the full training takes by itself: its phases where it was made to the end, the projection
// where it was sampled. False where neither is known: then there is nothing to bill.
bool bill_time_of(const struct run *run, struct bill_time *out);

// What the user says of the start; absent members are measured, or defaults with their source.
struct startup_given {
    struct maybe_int boot_ns;  // from the order until the machine is ready; 0: no start-up at all
    struct maybe_int image_ns; // pulling an image, copying a bundle
    struct maybe_int download_ns; // the data
    struct maybe_int setup_ns;    // installing packages
};

// The same on that offer, start-up in front. `itself`: the run was measured on this very type of
// machine, so that its own boot counts.
int bill_time_on(struct market *market, const struct run *run, bool itself,
                 const struct offer *offer, const struct startup_given *given,
                 struct bill_time *out, bool *known, struct err *err) MUST_USE;

// `gpus_used` of the offer's, 0 where the run used none. Fails where an amount leaves its range or
// a currency is not known.
int bill_make(struct market *market, const struct wishes *wishes, const struct offer *offer,
              const char *name, const struct bill_time *time, int64_t gpus_used, struct bill *bill,
              struct err *err) MUST_USE;

// The total as a number again, for sorting and sums: nano-USD. And before credits.
int64_t bill_total(const struct bill *bill);
int64_t bill_before_credit(const struct bill *bill);

// The total and its interval for people, as money_interval().
void bill_amount(const struct bill *bill, char amount[MONEY_BYTES],
                 char interval[MONEY_INTERVAL_BYTES]);

#endif
