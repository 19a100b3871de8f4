// SPDX-License-Identifier: Apache-2.0
// charge: what one use of a machine costs under a rule, line by line, in integers.
//
// docs/billing.md is the definition; a second implementation in tests/bill follows the same page.
#ifndef FARE_BILL_CHARGE_H
#define FARE_BILL_CHARGE_H

#include "bill/rule.h"

struct charge_use { // one start of one machine
    int64_t start_s;
    int64_t length_ns;
    bool interrupted; // by the provider; else its user ended it
    bool prorated;    // the rule that hides units, minimums and fees
    int64_t used_ns;  // of the same machine, charged before in the month of its start
    int64_t storage_gb, storage_ns;
    int64_t egress_bytes, ingress_bytes;
    int64_t discount_permille;
};

struct charge { // nano-units
    int64_t charged_ns;
    int64_t time, monthly_fee, setup_fee, storage, egress, ingress;
    int64_t subtotal, discount, rounding; // rounding: what bringing the total to `decimals` added
    int64_t total;
};

// ERR_OVERFLOW where an amount leaves its range, ERR_FORMAT for a use that cannot be (below zero,
// a date outside the years 1 to 9999).
int charge_use(const struct rule *rule, const struct charge_use *use, struct charge *charge,
               struct err *err) MUST_USE;

// Divides the price of the time over its parts. `length_ns` has the parts' times in order, which
// together are the use's length; `out` gets their prices, and one more for idle time, so it has
// room for count + 1. `*unused` is the price of the GPUs that were not used. All together they are
// charge->time.
int charge_parts(const struct charge *charge, int64_t gpus, int64_t gpus_used,
                 const int64_t *length_ns, size_t count, int64_t *out, int64_t *unused,
                 struct err *err) MUST_USE;

#endif
