// SPDX-License-Identifier: Apache-2.0
#include "record/schedule.h"

#include "record/table.h"

#define T struct schedule_item
static const struct field item_fields[] = {
    TEXT(name, "machine, fees, disk, rules, functions or discount"),
    TEXT(what, "calculation"),
    TEXT(amount, "per month, in USD; absent: unknown"),
    TEXT(with_allowances, "the same after free allowances"),
    FIELD_END,
};
#undef T

#define T struct schedule_alternative
static const struct field alternative_fields[] = {
    TEXT(name, "a machine that runs all the time"),
    TEXT(amount, "per month, in USD, for all tasks together"),
    TEXT(with_allowances, "the same after free allowances"),
    INT(cheaper_from_tasks, "number of tasks from which it is cheaper; absent: never"),
    INT(cheaper_from_tasks_with_allowances, "the same after free allowances"),
    FIELD_END,
};
#undef T

#define T struct schedule_record
const struct field schedule_fields[] = {
    TEXT(schema, "`" SCHEDULE_SCHEMA "`"),
    TEXT(schedule, "the cron expression"),
    TEXT(month, "30 days, or the calendar month"),
    TEXT(time_zone, "time zone of the schedule: UTC"),
    REAL(starts, "starts per task in that month; for 30 days, on average"),
    REAL(up_s, "time the machine runs per start"),
    REAL(charged_s, "time charged per start"),
    INT(tasks, "number of tasks"),
    INT(machine_tasks, "tasks that one machine can run before they start again"),
    TEXT(offer, "the offer that is started and stopped"),
    TEXT(rate_per_hour, "price per hour, in USD"),
    TEXT(rate_source, "source of the price"),
    TEXT(date, "date of the prices and rules"),
    TEXT(tariff, "name of the billing rule"),
    TEXT(rule, "the billing rule as a sentence"),
    FIELD(FIELD_BOOL, T, rule_assumed, "the provider's billing rule is unknown"),
    FIELD_SUB(FIELD_LIST, T, items, item_fields, "lines that add up to the total"),
    TEXT(total, "per month, in USD, without tax"),
    TEXT(total_with_allowances, "the same after free allowances"),
    FIELD_SUB(FIELD_LIST, T, always_up, alternative_fields, "machines that run all the time"),
    FIELD(FIELD_TEXTS, T, notes, "notes"),
    FIELD_END,
};
#undef T
