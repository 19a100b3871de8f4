// SPDX-License-Identifier: Apache-2.0
// The record of a tariff: how a provider charges. docs/billing.md says what each member means;
// amounts are texts, so that they stay as they were published. Plain data, read from share/ and
// from files of the user's.
#ifndef FARE_RECORD_TARIFF_H
#define FARE_RECORD_TARIFF_H

#include "record/field.h"

#define TARIFF_SCHEMA "fare.tariffs/1"

struct tariff_tier { // sustained use
    struct maybe_int upto_permille;
    struct maybe_int percent;
};

struct tariff_commitment { // committed use
    struct maybe_int months;
    struct maybe_int percent;
};

struct tariff_step {
    struct maybe_int gb;
};

struct tariff {
    char *id; // "aws-on-demand"
    char *provider;
    char *kind;             // "on-demand", "spot", "monthly"
    LIST_OF(char *) offers; // "n1-*": only offers with such names; absent: all of the provider's
    char *words;            // the rule, for people, beyond what follows from the numbers
    char *valid_from;       // a date; absent: always
    char *valid_to;         // the first date on which it does not hold any more; absent: still does
    char *currency;
    char *rate; // absent where each offer has its own
    struct maybe_int per_s;
    struct maybe_int unit_ms;
    struct maybe_int minimum_s;
    char *rounding;
    char *monthly_cap;
    // The cap is the offer's own price by the month, which whoever has the book puts into the rule.
    struct maybe_bool capped_by_month;
    char *monthly_fee;
    char *setup_fee;
    char *storage_rate;
    struct maybe_int storage_month_s;
    struct maybe_int storage_unit_ms;
    struct maybe_int storage_minimum_s;
    struct maybe_int storage_free_gb;
    LIST_OF(struct tariff_step) storage_steps;
    char *egress_rate;
    struct maybe_int egress_free_gb;
    char *ingress_rate;
    struct maybe_int gb_bytes;
    LIST_OF(struct tariff_tier) tiers;
    LIST_OF(struct tariff_commitment) commitments;
    struct maybe_bool boot_free;
    struct maybe_bool spot_first_hour_free;
    struct maybe_bool spot_partial_free;
    struct maybe_int decimals;
    char *source;
    char *date; // when that was read there
};

struct tariffs { // a file of them
    char *schema;
    LIST_OF(struct tariff) tariffs;
};

extern const struct field tariff_fields[], tariffs_fields[];

#define TARIFF_TIERS_MAX 8
#define TARIFF_STEPS_MAX 32

// Whether every member that is there makes sense: ERR_FORMAT names the tariff and the member.
int tariff_check(const struct tariff *tariff, struct err *err) MUST_USE;

#endif
