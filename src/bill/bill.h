// SPDX-License-Identifier: Apache-2.0
// bill: a run on an offer under its tariff, as line items in USD (record/bill.h).
#ifndef FARE_BILL_BILL_H
#define FARE_BILL_BILL_H

#include "price/book.h"
#include "price/currency.h"
#include "price/offer.h"
#include "price/rates.h"
#include "price/tariffs.h"
#include "record/bill.h"
#include "record/run.h"

#define BILL_PARTS_MAX 10

// How long a machine is needed for a run, in parts that follow each other.
struct bill_time {
    struct bill_part {
        const char *what; // "boot", "train"
        int64_t ns;
    } parts[BILL_PARTS_MAX];
    size_t count;
    int64_t total_ns;
    int64_t low_ns, high_ns; // 95 % interval; -1: there is none
    const char *basis;       // "measured", "projected", "published"
};

// What the full training takes: its phases where it was made to the end, the projection where it
// was sampled. `boot_ns`: from the order until our start; -1: what the run itself saw, or nothing.
// False where neither is known: then there is nothing to bill.
bool bill_time_of(const struct run *run, int64_t boot_ns, struct bill_time *out);

struct bill_context { // what all bills of a quote share
    const struct tariff_book *tariffs;
    const struct currencies *currencies;
    const struct rates *rates; // (optional)
    const struct book *book;   // (optional) for hourly prices that a month's price caps
    int day;                   // of the prices and rules; 0: today
    bool prorated;
    bool interrupted;            // by the provider, at the end of the time
    int64_t used_ns;             // of the same machine, charged before in this month
    int64_t commit_months;       // committed use; 0: none
    int64_t storage_gb;          // beside what the offer has
    struct maybe_int storage_ns; // how long it is kept; absent: as long as the machine runs
    int64_t egress_bytes, ingress_bytes;
    bool without_credit;           // the bill alone: a credit pays it once, not many times
    struct maybe_int hour_of_mine; // nano-USD for an hour of waiting; absent: not counted
};

// `gpus_used` of the offer's, 0 where the run used none. Fails where an amount leaves its range or
// a currency is not known.
int bill_make(const struct bill_context *context, const struct offer *offer, const char *name,
              const struct bill_time *time, int64_t gpus_used, struct bill *bill,
              struct err *err) MUST_USE;

// The longest use of the offer, up to `most_ns`, whose bill is no higher than `budget` (nano-USD);
// 0 where already its start costs more.
int bill_longest(const struct bill_context *context, const struct offer *offer, int64_t budget,
                 int64_t most_ns, int64_t *longest_ns, struct err *err) MUST_USE;

// The total as a number again, for sorting and sums: nano-USD. And before credits.
int64_t bill_total(const struct bill *bill);
int64_t bill_before_credit(const struct bill *bill);

#endif
