// SPDX-License-Identifier: Apache-2.0
// rule: a tariff, checked and in integers, ready to charge with (charge.h).
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

struct rule { // a member that is absent in the tariff is -1 where its absence means something
    int64_t rate, per_ns;
    int64_t unit_ns; // 0: exactly
    int64_t minimum_ns;
    enum rule_rounding rounding;
    int64_t monthly_cap; // -1: none
    int64_t monthly_fee, setup_fee;
    int64_t storage_rate, storage_month_ns, storage_unit_ns, storage_minimum_ns, storage_free_gb;
    int64_t storage_steps[TARIFF_STEPS_MAX];
    int step_count;
    int64_t egress_rate, egress_free_gb, ingress_rate, gb_bytes;
    struct rule_tier tiers[TARIFF_TIERS_MAX];
    int tier_count;
    bool spot_first_hour_free, spot_partial_free;
    int decimals;
};

// `rate` (optional) is the offer's, in the place of the tariff's own; one of the two must be there.
// ERR_FORMAT names the tariff and the member that is wrong: a rate below zero, tiers that do not
// ascend, a unit of a year.
int rule_read(struct rule *rule, const struct tariff *tariff, const char *rate,
              struct err *err) MUST_USE;

#endif
