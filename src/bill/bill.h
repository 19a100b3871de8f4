// SPDX-License-Identifier: Apache-2.0
// bill: the cost of a run on an offer under its tariff, as line items in USD (record/bill.h).
#ifndef FARE_BILL_BILL_H
#define FARE_BILL_BILL_H

#include "base/money.h"
#include "bill/market.h"
#include "record/bill.h"
#include "record/run.h"

#define BILL_PARTS_MAX  14
#define BILL_LONGEST_NS INT64_C(1577880000000000000) // 50 years: no training is longer

// The time for which a run needs a machine, in consecutive parts.
struct bill_time {
    struct bill_part {
        const char *what; // "boot", "train"
        int64_t ns;
        const char *source; // of a default from startup.csv; null: measured, projected or given
    } parts[BILL_PARTS_MAX];
    size_t count;
    int64_t total_ns;
    int64_t low_ns, high_ns; // interval: 95 % of a projection, the range of a default; -1: none
    int64_t boot_low_ns, boot_high_ns; // of that, the part of a boot, which is parts[0]
    int64_t startup_ns;                // of the total: before the training's own time
    const char *basis;                 // "measured", "projected", "published", "given"
};

// The time of the full training without start-up: its phases if it was trained to the end, the
// projection if it was sampled. False if neither is known: there is nothing to bill.
bool bill_time_of(const struct run *run, struct bill_time *out);

// Start-up times that the user gives; absent ones are measured, or defaults with their source.
struct startup_given {
    struct maybe_int boot_ns;     // from the order until the machine is ready; 0: count no start-up
    struct maybe_int image_ns;    // pulling an image, copying a bundle
    struct maybe_int download_ns; // the data
    struct maybe_int setup_ns;    // installing packages
};

// The same on an offer, with start-up first. `itself`: the run was measured on this instance type,
// so its own boot counts if it is within the range of startup.csv.
int bill_time_on(struct market *market, const struct run *run, bool itself,
                 const struct offer *offer, const struct startup_given *given,
                 struct bill_time *out, bool *known, struct err *err) MUST_USE;

// The run uses `gpus_used` of the offer's GPUs; 0: it runs on CPUs. Fails if an amount overflows or
// a currency is unknown.
int bill_make(struct market *market, const struct wishes *wishes, const struct offer *offer,
              const char *name, const struct bill_time *time, int64_t gpus_used, struct bill *bill,
              struct err *err) MUST_USE;

// Takes the user's credit, which becomes `*credit` (nano-USD), off a bill that was made
// without_credit.
int bill_take_credit(struct market *market, const struct wishes *wishes, const struct offer *offer,
                     struct bill *bill, int64_t *credit, struct err *err) MUST_USE;

// Not to be recommended: something has no price, or its price cannot be.
bool bill_doubtful(const struct bill *bill);
bool bill_price_doubtful(const struct bill *bill); // its price is not to be believed

// The training's own time in seconds: the bill's without start-up.
double bill_training_s(const struct bill *bill);

// The total, after and before credits, as a number for sorting and sums: nano-USD.
int64_t bill_total(const struct bill *bill);
int64_t bill_before_credit(const struct bill *bill);

// The part of the total, in USD, that is start-up, or idle until the end of the billing unit.
enum bill_wait { BILL_STARTUP, BILL_IDLE };
double bill_share(const struct bill *bill, enum bill_wait which);

// The bill may be any amount higher: nobody knows how long the training takes there, how often the
// spot machine is taken away, what something that was asked for costs, or how far above its floor
// the price is. Such a bill is shown with ≥ and promises nothing.
bool bill_is_bound(const struct bill *bill);
const char *bill_mark(const struct bill *bill); // before its amounts: "≥" for such a bill, else ""

// Of these, those whose time is a lower bound, since only runs on a CPU tell it: `class` says why.
bool bill_time_is_bound(const struct bill *bill);

// "12 min 04 s"; "≥ 12 min 04 s" if the time is a lower bound.
void bill_time_words(const struct bill *bill, char *out, size_t size);

// The total and its interval for people, as money_interval(); "≥0.52" if it is a lower bound.
void bill_amount(const struct bill *bill, char amount[MONEY_BYTES],
                 char interval[MONEY_INTERVAL_BYTES]);

#endif
