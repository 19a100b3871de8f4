// SPDX-License-Identifier: Apache-2.0
// The record of a tariff: how a provider charges. docs/billing.md defines every member. Amounts are
// texts, so that they stay as published. Plain data, read from share/ and from the user's files.
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

struct tariff_step { // sizes of disks
    struct maybe_int gb;
};

struct tariff_egress { // traffic of a month up to a bound
    struct maybe_int upto_gb;
    char *rate;
};

struct tariff_region {
    char *region; // a pattern: "eu-*"
    struct maybe_int percent;
};

struct tariff {
    char *id; // "aws-on-demand"
    char *provider;
    LIST_OF(char *) aliases;   // other catalogues' names for the provider
    char *kind;                // "on-demand", "spot", "monthly"
    LIST_OF(char *) offers;    // "n1-*": only offers with such names; absent: all of the provider's
    char *words;               // what the numbers do not say, doubts included
    struct maybe_bool assumed; // no source gives the unit of time
    char *valid_from;          // a date; absent: always
    char *valid_to;            // the first date on which it no longer holds; absent: it still does
    char *currency;
    char *rate; // absent where each offer has its own
    LIST_OF(struct tariff_region) regions;
    struct maybe_int per_s;
    struct maybe_int unit_ms;
    struct maybe_bool clock_units;
    struct maybe_int minimum_s;
    char *minimum_amount;
    char *rounding;
    struct maybe_bool billed_while_stopped;
    char *monthly_cap;
    // The cap is the price of the monthly offer of the same name, for a monthly offer its own. The
    // holder of the book puts it into the rule.
    struct maybe_bool capped_by_month;
    char *monthly_fee;
    char *setup_fee;
    struct maybe_bool disk_included;
    char *storage_rate;
    char *storage_stopped_rate;
    struct maybe_int storage_month_s;
    struct maybe_bool storage_calendar_month;
    struct maybe_int storage_unit_ms;
    struct maybe_int storage_minimum_s;
    struct maybe_int storage_free_gb;
    LIST_OF(struct tariff_step) storage_steps;
    char *egress_rate;
    LIST_OF(struct tariff_egress) egress_steps;
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
    char *date; // when the source was read
};

struct tariffs { // a file of them
    char *schema;
    LIST_OF(struct tariff) tariffs;
};

extern const struct field tariff_fields[], tariffs_fields[];

#define TARIFF_TIERS_MAX  8
#define TARIFF_STEPS_MAX  32
#define TARIFF_EGRESS_MAX 8

// Checks every member that is present. ERR_FORMAT names the tariff and the member.
int tariff_check(const struct tariff *tariff, struct err *err) MUST_USE;

#endif
