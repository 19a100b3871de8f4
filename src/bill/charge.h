// SPDX-License-Identifier: Apache-2.0
// charge: the bill for one use of a machine under a rule, line by line, in integers.
//
// docs/billing.md is the definition; a second implementation in tests/bill follows the same page.
// To see what a coarser unit would cost, charge the same use with another rule.unit_ns.
#ifndef FARE_BILL_CHARGE_H
#define FARE_BILL_CHARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/money.h"
#include "record/tariff.h"

// rule: a checked tariff in integers, ready for charge_use().
//
// All amounts are nano-units of the tariff's currency, all times nanoseconds.

enum rule_rounding { RULE_UP, RULE_NEAREST, RULE_DOWN };

struct rule_tier {
    int64_t upto_permille;
    int64_t percent;
};

struct rule_egress {
    int64_t upto_gb;
    int64_t rate;
};

struct rule {
    int64_t rate, per_ns;
    int64_t unit_ns;  // 0: exactly
    bool clock_units; // units begin on the clock
    int64_t minimum_ns, minimum_amount;
    enum rule_rounding rounding;
    bool billed_while_stopped;
    int64_t monthly_cap; // -1: none; with capped_by_month the caller sets it
    int64_t monthly_fee, setup_fee;
    bool disk_included; // storage costs nothing while the machine runs
    int64_t storage_rate, storage_stopped_rate;
    int64_t storage_month_ns;
    bool storage_calendar_month; // instead: the length of the calendar month
    int64_t storage_unit_ns, storage_minimum_ns, storage_free_gb;
    int64_t storage_steps[TARIFF_STEPS_MAX];
    int step_count;
    struct rule_egress egress_steps[TARIFF_EGRESS_MAX];
    int egress_count;
    int64_t egress_rate, egress_free_gb, ingress_rate, gb_bytes;
    struct rule_tier tiers[TARIFF_TIERS_MAX];
    int tier_count;
    bool spot_first_hour_free, spot_partial_free;
    int decimals;
};

// `rate`, if known, is the offer's and replaces the tariff's own; one of the two must be there.
// ERR_FORMAT names the tariff and the member that is wrong: a rate below zero, tiers that do not
// ascend, a unit of a year.
int rule_read(struct rule *rule, const struct tariff *tariff, struct maybe_money rate,
              struct err *err) MUST_USE;

// Scales the rate by the tariff's factor for the offer's region, if it has one. Not for a rate
// negotiated by the user.
int rule_in_region(struct rule *rule, const struct tariff *tariff, const char *region,
                   struct err *err) MUST_USE;

// Points `fees` at every amount but the rate, and returns how many: they are in the tariff's
// currency while the rate is in the offer's, so they are what has to be converted.
#define RULE_FEES_MAX (8 + TARIFF_EGRESS_MAX)
size_t rule_fees(struct rule *rule, int64_t *fees[RULE_FEES_MAX]);

// ---- charge ----

// Where units begin on the clock, the time of day of the start counts. A quote does not know it.
enum charge_clock { CLOCK_KNOWN, CLOCK_MEAN, CLOCK_BEST, CLOCK_WORST };

struct charge_use { // one start of one machine, or of several that are alike
    int64_t start_s;
    enum charge_clock clock; // known: that of start_s; else over all times of day
    int64_t length_ns;
    bool interrupted;   // by the provider; otherwise its user ended it
    bool prorated;      // without units, minimums and fees
    int64_t used_ns;    // charged earlier for the same machine in the month of its start
    int64_t stopped_ns; // kept afterwards, stopped: its storage stays, on some clouds its price too
    int64_t storage_gb, storage_ns; // storage_ns: while the machine runs
    int64_t egress_bytes, ingress_bytes;
    int64_t egress_used_bytes; // that left earlier in the month
    int64_t discount_permille;
    int64_t machines; // 0: one. Each is charged by the rule for itself; traffic is that of all
};

struct charge { // nano-units
    int64_t charged_ns;
    int64_t time, stopped; // of the machine: running, stopped
    int64_t monthly_fee, setup_fee;
    int64_t storage, storage_stopped;
    int64_t egress, ingress;
    int64_t subtotal, discount, rounding; // rounding: total less the exact sum
    int64_t total;
};

// ERR_OVERFLOW where an amount leaves its range, ERR_FORMAT for an impossible use (a size below
// zero, a date outside the years 1 to 9999).
int charge_use(const struct rule *rule, const struct charge_use *use, struct charge *charge,
               struct err *err) MUST_USE;

// Divides the price of the time over its parts. `length_ns` has the parts' times in order; they add
// up to the use's length. `out` gets their prices and then that of the idle time: count + 1 in all.
// `*unused` is the price of the GPUs that were not used. Together they are charge->time.
int charge_parts(const struct charge *charge, int64_t gpus, int64_t gpus_used,
                 const int64_t *length_ns, size_t count, int64_t *out, int64_t *unused,
                 struct err *err) MUST_USE;

#endif
