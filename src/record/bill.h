// SPDX-License-Identifier: Apache-2.0
// Records of bills and quotes: the cost of a run on an offer, line by line, and offers side by
// side. Plain data. Amounts are decimal texts, so that they stay exact.
#ifndef FARE_RECORD_BILL_H
#define FARE_RECORD_BILL_H

#include "record/field.h"

#define QUOTE_SCHEMA "fare.quote/1"

struct bill_item {
    char *what;   // "boot", "train", "idle", "unused GPUs", "storage", "discount"
    char *amount; // USD; a discount is negative
    char *how;    // "12.4 s", "60 GB for 3 min"
};

struct bill {
    char *offer; // "aws/p3.2xlarge@us-east-1"
    char *provider;
    char *name;
    char *region;
    char *zone;
    char *kind;
    char *gpu;
    struct maybe_real gpus;
    struct maybe_int gpus_used;
    struct maybe_real vcpus;

    // The price used.
    char *rate;
    char *currency;
    struct maybe_int per_s;
    char *price_date; // last seen at this price; own rates: valid since, if known
    struct maybe_int price_age_days;
    struct maybe_bool price_old;
    char *price_source;
    struct maybe_bool price_own; // negotiated; it has no age
    struct maybe_bool price_estimated;
    char *exchange; // other currencies: exchange rate and its source

    // The billing rule.
    char *rule; // "paid", "prorated"
    char *tariff;
    char *words;
    struct maybe_bool tariff_assumed;

    // The time.
    char *variant;          // the training: "pytorch, 2018, tweets, 1,578,627 samples"
    char *framework;        // of that run
    struct maybe_int year;  // in which it ran or was published
    char *run;              // the run that supplies the time
    char *machine;          // the machine it was measured on
    struct maybe_int batch; // of that run
    char *data;             // its data
    char *basis;            // "measured", "projected", "published", "assumed"
    struct maybe_real time_s;
    struct maybe_real startup_s; // of it: before the training's own time
    struct maybe_real low_s;
    struct maybe_real high_s;
    struct maybe_real charged_s;

    LIST_OF(struct bill_item) items;
    char *before_credit; // USD, if the user's credit pays a part
    char *total;         // USD, without tax
    char *by_hours;      // an assumed rule: the total if started hours were charged
    char *low;           // of the interval
    char *high;
    struct maybe_bool incomplete; // the tariff lacks a price for something requested
    char *waiting;                // cost of a person's waiting time, if requested; not in the total
    LIST_OF(char *) notes;
};

struct quote_misfit {
    char *offer;
    char *why;
};

struct quote {
    char *schema;
    char *workload;
    char *run;  // the run requested
    char *date; // date of the prices; absent: newest
    char *rule;
    LIST_OF(struct bill) bills;  // of the training asked for, cheapest first
    LIST_OF(struct bill) others; // of other data, sizes, recipes, frameworks or years
    LIST_OF(struct quote_misfit) misfits;
    char *outdated; // without bills: an offer that fits, but whose price is too old
    struct maybe_int outdated_days;
    struct maybe_int not_measured; // offers without a measurement of this workload
    LIST_OF(char *) advice;
};

extern const struct field bill_fields[], quote_fields[];

#endif
