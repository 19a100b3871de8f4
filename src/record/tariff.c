// SPDX-License-Identifier: Apache-2.0
#include "record/tariff.h"

#define TEXT(m, doc) FIELD(FIELD_TEXT, T, m, doc)
#define INT(m, doc)  FIELD(FIELD_INT, T, m, doc)
#define BOOL(m, doc) FIELD(FIELD_BOOL, T, m, doc)

#define T struct tariff_tier
static const struct field tier_fields[] = {
    INT(upto_permille, "up to this many thousandths of the month"),
    INT(percent, "time costs this share of the rate"),
    FIELD_END,
};
#undef T

#define T struct tariff_step
static const struct field step_fields[] = {
    INT(gb, "a size that can be had"),
    FIELD_END,
};
#undef T

#define T struct tariff
const struct field tariff_fields[] = {
    TEXT(id, "its name"),
    TEXT(provider, "who charges so"),
    TEXT(kind, "on-demand, spot or monthly"),
    TEXT(words, "the rule, for people"),
    TEXT(valid_from, "the first date on which it holds"),
    TEXT(valid_to, "the first date on which it does not hold any more"),
    TEXT(currency, "of every amount"),
    TEXT(rate, "price; absent where each offer has its own"),
    INT(per_s, "the rate is for so many seconds"),
    INT(unit_ms, "time is charged in units of so many milliseconds; 0: exactly"),
    INT(minimum_s, "a start is charged for at least so long"),
    TEXT(rounding, "to whole units: up, nearest or down"),
    TEXT(monthly_cap, "the time of a calendar month costs at most this"),
    TEXT(monthly_fee, "for every calendar month in which the machine was used"),
    TEXT(setup_fee, "once per use"),
    TEXT(storage_rate, "for one GB over storage_month_s"),
    INT(storage_month_s, "see storage_rate"),
    INT(storage_unit_ms, "storage time is charged in units of so many milliseconds"),
    INT(storage_minimum_s, "storage is charged for at least so long"),
    INT(storage_free_gb, "that many GB cost nothing"),
    FIELD_SUB(FIELD_LIST, T, storage_steps, step_fields, "sizes that can be had, ascending"),
    TEXT(egress_rate, "for one GB that leaves"),
    INT(egress_free_gb, "that many GB leave free of charge"),
    TEXT(ingress_rate, "for one GB that comes in"),
    INT(gb_bytes, "how many bytes of traffic are a GB"),
    FIELD_SUB(FIELD_LIST, T, tiers, tier_fields, "sustained use"),
    BOOL(spot_first_hour_free, "interrupted by the provider within the first hour: free"),
    BOOL(spot_partial_free, "interrupted by the provider: the unit that was begun is free"),
    INT(decimals, "the total is rounded to so many decimals"),
    TEXT(source, "where the rule was read"),
    TEXT(date, "when it was read there"),
    FIELD_END,
};
#undef T

#define T struct tariffs
const struct field tariffs_fields[] = {
    TEXT(schema, "`" TARIFF_SCHEMA "`"),
    FIELD_SUB(FIELD_LIST, T, tariffs, tariff_fields, "one after the other"),
    FIELD_END,
};
#undef T
