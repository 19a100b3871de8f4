// SPDX-License-Identifier: Apache-2.0
#include "record/tariff.h"

#include <string.h>

#include "base/clock.h"
#include "base/money.h"

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

#define T struct tariff_commitment
static const struct field commitment_fields[] = {
    INT(months, "whoever promises to pay for so many months"),
    INT(percent, "pays this share of the rate, used or not"),
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
    FIELD(FIELD_TEXTS, T, offers, "names of offers it is for, such as n1-*; absent: all of them"),
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
    BOOL(capped_by_month, "that cap is the offer's own price by the month"),
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
    FIELD_SUB(FIELD_LIST, T, commitments, commitment_fields, "committed use, instead of tiers"),
    BOOL(boot_free, "the time until the machine is ready is not charged"),
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

// ---- whether it makes sense

#define YEAR_S     (INT64_C(366) * 86400)
#define YEAR_MS    (YEAR_S * 1000)
#define MOST_GB    INT64_C(1000000000)
#define AT(member) offsetof(struct tariff, member)

static const struct {
    const char *name;
    size_t at;
} amounts[] = {
    {"rate", AT(rate)},
    {"monthly_cap", AT(monthly_cap)},
    {"monthly_fee", AT(monthly_fee)},
    {"setup_fee", AT(setup_fee)},
    {"storage_rate", AT(storage_rate)},
    {"egress_rate", AT(egress_rate)},
    {"ingress_rate", AT(ingress_rate)},
};

static const struct {
    const char *name;
    size_t at;
    int64_t low, high;
} numbers[] = {
    {"per_s", AT(per_s), 1, YEAR_S},
    {"unit_ms", AT(unit_ms), 0, YEAR_MS},
    {"minimum_s", AT(minimum_s), 0, YEAR_S},
    {"storage_month_s", AT(storage_month_s), 1, YEAR_S},
    {"storage_unit_ms", AT(storage_unit_ms), 0, YEAR_MS},
    {"storage_minimum_s", AT(storage_minimum_s), 0, YEAR_S},
    {"storage_free_gb", AT(storage_free_gb), 0, MOST_GB},
    {"egress_free_gb", AT(egress_free_gb), 0, MOST_GB},
    {"gb_bytes", AT(gb_bytes), 1000000000, 1 << 30},
    {"decimals", AT(decimals), 0, 9},
};

static int wrong(const struct tariff *t, const char *member, const char *expected, struct err *err)
{
    return err_set(err, ERR_FORMAT, "tariff '%s', %s: expected %s",
                   t->id ? t->id : "without a name", member, expected);
}

static bool one_of(const char *text, const char *const *words)
{
    for (; text && *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return !text;
}

static int check_dates(const struct tariff *t, struct err *err)
{
    static const char expected[] = "a date such as 2017-10-02";
    int64_t from = INT64_MIN, to = INT64_MAX, read;
    if (t->valid_from && (strlen(t->valid_from) != 10 || !clock_parse(t->valid_from, &from)))
        return wrong(t, "valid_from", expected, err);
    if (t->valid_to && (strlen(t->valid_to) != 10 || !clock_parse(t->valid_to, &to)))
        return wrong(t, "valid_to", expected, err);
    if (t->date && !clock_parse(t->date, &read))
        return wrong(t, "date", expected, err);
    if (from >= to)
        return wrong(t, "valid_to", "a date after valid_from", err);
    return 0;
}

static int check_lists(const struct tariff *t, struct err *err)
{
    int64_t before = 0;
    if (t->tiers.count > TARIFF_TIERS_MAX)
        return wrong(t, "tiers", "fewer of them", err);
    for (size_t i = 0; i < t->tiers.count; i++) {
        struct maybe_int upto = t->tiers.items[i].upto_permille,
                         percent = t->tiers.items[i].percent;
        if (!upto.known || upto.v <= before || upto.v > 1000 || !percent.known || percent.v < 0 ||
            percent.v > 1000)
            return wrong(t, "tiers", "ascending upto_permille up to 1000, and a percent each", err);
        before = upto.v;
    }
    for (size_t i = 0; i < t->commitments.count; i++) {
        struct maybe_int months = t->commitments.items[i].months,
                         percent = t->commitments.items[i].percent;
        if (!months.known || months.v < 1 || months.v > 120 || !percent.known || percent.v < 1 ||
            percent.v > 100)
            return wrong(t, "commitments", "months up to 120, and a percent up to 100 each", err);
    }
    if (t->storage_steps.count > TARIFF_STEPS_MAX)
        return wrong(t, "storage_steps", "fewer of them", err);
    before = 0;
    for (size_t i = 0; i < t->storage_steps.count; i++) {
        struct maybe_int gb = t->storage_steps.items[i].gb;
        if (!gb.known || gb.v <= before)
            return wrong(t, "storage_steps", "ascending sizes", err);
        before = gb.v;
    }
    return 0;
}

int tariff_check(const struct tariff *t, struct err *err)
{
    static const char *const kinds[] = {"on-demand", "spot", "monthly", NULL};
    static const char *const roundings[] = {"up", "nearest", "down", NULL};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        const char *text = *(char *const *)((const char *)t + amounts[i].at);
        int64_t nano;
        if (text && (money_parse(text, &nano, NULL) != 0 || nano < 0))
            return wrong(t, amounts[i].name, "an amount such as 0.526, not below zero", err);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct maybe_int *v = (const void *)((const char *)t + numbers[i].at);
        if (v->known && (v->v < numbers[i].low || v->v > numbers[i].high))
            return wrong(t, numbers[i].name, "a number that makes sense there", err);
    }
    if (!one_of(t->rounding, roundings))
        return wrong(t, "rounding", "up, nearest or down", err);
    if (!one_of(t->kind, kinds))
        return wrong(t, "kind", "on-demand, spot or monthly", err);
    int rc = check_dates(t, err);
    return rc == 0 ? check_lists(t, err) : rc;
}
