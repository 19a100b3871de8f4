// SPDX-License-Identifier: Apache-2.0
#include "record/schedule.h"

#define TEXT(m, doc) FIELD(FIELD_TEXT, T, m, doc)
#define INT(m, doc)  FIELD(FIELD_INT, T, m, doc)
#define REAL(m, doc) FIELD(FIELD_REAL, T, m, doc)

#define T struct schedule_item
static const struct field item_fields[] = {
    TEXT(name, "machine, fees, disk, rules, functions or discount"),
    TEXT(what, "how it comes about"),
    TEXT(amount, "a month, in USD; absent: not known"),
    TEXT(with_allowances, "the same after what is free"),
    FIELD_END,
};
#undef T

#define T struct schedule_alternative
static const struct field alternative_fields[] = {
    TEXT(name, "a machine that is always up"),
    TEXT(amount, "a month, in USD, for all tasks together"),
    TEXT(with_allowances, "the same after what is free"),
    INT(cheaper_from_tasks, "from so many tasks on it is cheaper; absent: never"),
    INT(cheaper_from_tasks_with_allowances, "the same after what is free"),
    FIELD_END,
};
#undef T

#define T struct schedule_record
const struct field schedule_fields[] = {
    TEXT(schema, "`" SCHEDULE_SCHEMA "`"),
    TEXT(schedule, "the cron expression"),
    TEXT(month, "30 days, or the calendar month"),
    TEXT(time_zone, "of the schedule: UTC"),
    REAL(starts, "of one task in that month; in 30 days on average"),
    REAL(up_s, "how long the machine is up for each"),
    REAL(charged_s, "how long is charged for each"),
    INT(tasks, "so many such tasks"),
    TEXT(offer, "the machine that is started and stopped"),
    TEXT(rate_per_hour, "its price, in USD"),
    TEXT(rate_source, "where that price comes from"),
    TEXT(date, "of the prices and rules"),
    TEXT(tariff, "the rule's name"),
    TEXT(rule, "the rule, for people"),
    FIELD(FIELD_BOOL, T, rule_assumed, "no rule of the provider is known"),
    FIELD_SUB(FIELD_LIST, T, items, item_fields, "what makes the sum"),
    TEXT(total, "a month, in USD, without tax"),
    TEXT(total_with_allowances, "the same after what is free"),
    FIELD_SUB(FIELD_LIST, T, always_up, alternative_fields, "machines that are always up"),
    FIELD(FIELD_TEXTS, T, notes, "what to know about the figures"),
    FIELD_END,
};
#undef T
