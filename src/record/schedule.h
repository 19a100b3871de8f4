// SPDX-License-Identifier: Apache-2.0
// The record of a scheduled task's bill, printed by `fare cron`. Amounts are texts in USD.
#ifndef FARE_RECORD_SCHEDULE_H
#define FARE_RECORD_SCHEDULE_H

#include "record/field.h"

#define SCHEDULE_SCHEMA "fare.schedule/1"

struct schedule_item {
    char *name; // "machine"
    char *what; // "180 × 2 min at 0.01 USD an hour"
    char *amount;
    char *with_allowances;
};

struct schedule_alternative { // a machine that runs all the time, shared by all tasks
    char *name;
    char *amount;
    char *with_allowances;
    struct maybe_int cheaper_from_tasks; // from this number of tasks on it is cheaper
    struct maybe_int cheaper_from_tasks_with_allowances;
};

struct schedule_record {
    char *schema;
    char *schedule;  // "0 */4 * * *"
    char *month;     // "30 days" or "2026-02"
    char *time_zone; // "UTC"
    struct maybe_real starts;
    struct maybe_real up_s;      // per start
    struct maybe_real charged_s; // per start
    struct maybe_int tasks;
    struct maybe_int machine_tasks; // that one machine can run before they start again
    char *offer;
    char *rate_per_hour;
    char *rate_source;
    char *date; // of the prices and rules
    char *tariff;
    char *rule;
    struct maybe_bool rule_assumed;
    LIST_OF(struct schedule_item) items;
    char *total;
    char *total_with_allowances;
    LIST_OF(struct schedule_alternative) always_up;
    LIST_OF(char *) notes;
};

extern const struct field schedule_fields[];

#endif
