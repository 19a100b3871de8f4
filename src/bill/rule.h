// SPDX-License-Identifier: Apache-2.0
// rule: a checked tariff in integers, ready for charge_use().
//
// All amounts are nano-units of the tariff's currency, all times nanoseconds.
#ifndef FARE_BILL_RULE_H
#define FARE_BILL_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/money.h"
#include "record/tariff.h"

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

#endif
