// SPDX-License-Identifier: Apache-2.0
// The records of bills and quotes: what a run costs on an offer, line by line, and the offers side
// by side. Plain data; amounts are texts with all their decimals, so that they stay exact.
#ifndef FARE_RECORD_BILL_H
#define FARE_RECORD_BILL_H

#include "record/field.h"

#define QUOTE_SCHEMA "fare.quote/1"

struct bill_item {
    char *what;   // "boot", "train", "idle", "unused GPUs", "storage", "discount"
    char *amount; // USD; a discount is below zero
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

    // The price, pinned.
    char *rate;
    char *currency;
    struct maybe_int per_s;
    char *price_date; // last seen at this price; of the user's own: since when, if that is known
    struct maybe_int price_age_days;
    struct maybe_bool price_old;
    char *price_source;
    struct maybe_bool price_own; // negotiated: it has no age
    struct maybe_bool price_estimated;
    char *exchange; // other currencies: the rate used, and whose

    // The rule.
    char *rule; // "paid", "prorated"
    char *tariff;
    char *words;
    struct maybe_bool tariff_assumed;

    // The time.
    char *variant;          // which training: "pytorch, 2018, tweets, 1,578,627 samples"
    char *framework;        // of that run
    struct maybe_int year;  // in which it ran or was published
    char *run;              // whose time it is
    char *machine;          // on what that was measured
    struct maybe_int batch; // of that run
    char *data;             // that it trained on
    char *basis;            // "measured", "projected", "published", "assumed"
    struct maybe_real time_s;
    struct maybe_real startup_s; // of it: before the training's own time
    struct maybe_real low_s;
    struct maybe_real high_s;
    struct maybe_real charged_s;

    LIST_OF(struct bill_item) items;
    char *before_credit; // USD, where a credit of the user's pays a part
    char *total;         // USD, without tax
    char *by_hours;      // an assumed rule: the total if started hours were charged
    char *low;           // of the 95 % interval
    char *high;
    struct maybe_bool incomplete; // something that was asked for has no price in the tariff
    char *waiting;                // the person's time, where it is asked for; not in the total
    LIST_OF(char *) notes;
};

struct quote_misfit {
    char *offer;
    char *why;
};

struct quote {
    char *schema;
    char *workload;
    char *run;  // the one asked for
    char *date; // prices as of; absent: the newest
    char *rule;
    LIST_OF(struct bill) bills;  // of the training asked for, cheapest first
    LIST_OF(struct bill) others; // of other data, sizes, recipes, frameworks or years
    LIST_OF(struct quote_misfit) misfits;
    char *outdated; // where there are no bills: an offer that fits, at a price too old to count
    struct maybe_int outdated_days;
    struct maybe_int not_measured; // offers of the book on which nothing like it was measured
    LIST_OF(char *) advice;
};

extern const struct field bill_fields[], quote_fields[];

#endif
