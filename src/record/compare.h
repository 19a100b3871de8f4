// SPDX-License-Identifier: Apache-2.0
// The record of a comparison, which `fare compare --json` prints: runs side by side, relative to a
// base. Everything is derived from runs and prices; src/advise/compare.h makes it.
#ifndef FARE_RECORD_COMPARE_H
#define FARE_RECORD_COMPARE_H

#include "record/field.h"

#define COMPARE_SCHEMA   "fare.compare/1"
#define COMPARE_UNPRICED "what it costs is not known" // a note on a row

struct compare_figure { // a mean, and its 95 % interval if known
    struct maybe_real value, low, high;
};

struct compare_against { // the base
    struct maybe_real ratio, low, high;
    struct maybe_real confidence; // that they differ: 0 to 1
    char *verdict;                // "cheaper with 97 % confidence", "one run each: could be chance"
};

struct compare_price {
    char *usd_per_hour; // absent: not known, or several
    char *from;         // "--price k80", "label of the run", "book: aws/p3.2xlarge, 2018-02-01"
    char *rule;         // in words: "whole seconds, at least 60 s"
    struct maybe_bool assumed;
};

struct compare_cost { // of one whole training
    char *usd, *low_usd, *high_usd;
    struct maybe_int nano_usd;
};

struct compare_row {
    char *machine;
    char *framework;
    char *detail; // tells it from other rows of that machine and framework
    struct maybe_bool base;
    struct maybe_int runs;
    struct maybe_bool noisy;   // something disturbed the measurement: no verdict
    struct maybe_bool stopped; // by the user, before it was done
    char *kind;                // "measured", "projected", "relative"
    LIST_OF(char *) ids;       // the newest ones
    struct compare_figure time_s;
    struct compare_against time;
    struct compare_price price;
    struct compare_cost cost;
    struct compare_against money; // the cost, against the base's
    struct compare_figure trainings_per_usd;
    struct compare_figure accuracy; // 0 to 1
    struct compare_figure gpu_percent;
    struct compare_figure share_of_peak; // 0 to 1
    LIST_OF(char *) notes;               // caveats
    LIST_OF(char *) reasons;             // why it stands apart
};

struct compare_workload {
    char *workload;
    char *base;                // as sentences call it; absent: none here
    LIST_OF(char *) sentences; // who is cheapest, who is fastest
    LIST_OF(struct compare_row) rows;
    LIST_OF(struct compare_row) apart; // not comparable with the base
};

struct compare {
    char *schema;
    char *rule; // "paid", "prorated"
    char *date; // --date
    char *base; // the selector given, or the row chosen
    struct maybe_int runs;
    LIST_OF(char *) sentences; // over all workloads, where there are several
    LIST_OF(struct compare_workload) workloads;
};

extern const struct field compare_fields[];

#endif
