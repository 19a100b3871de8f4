// SPDX-License-Identifier: Apache-2.0
#include "record/tariff.h"

#include <string.h>

#include "base/clock.h"
#include "base/money.h"

#define RECORD_TABLES
#include "record/tariff.def"

// ---- checks

#define YEAR_S     (INT64_C(366) * 86400)
#define YEAR_MS    (YEAR_S * 1000)
#define DAY_MS     INT64_C(86400000)
#define MOST_GB    INT64_C(1000000000)
#define AT(member) offsetof(struct tariff, member)

static const struct {
    const char *name;
    size_t at;
} amounts[] = {
    {"rate", AT(rate)},
    {"minimum_amount", AT(minimum_amount)},
    {"monthly_cap", AT(monthly_cap)},
    {"monthly_fee", AT(monthly_fee)},
    {"setup_fee", AT(setup_fee)},
    {"storage_rate", AT(storage_rate)},
    {"storage_stopped_rate", AT(storage_stopped_rate)},
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
    {"ends_after_s", AT(ends_after_s), 1, YEAR_S},
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

static bool is_amount(const char *text)
{
    int64_t nano;
    return money_parse(text, &nano, NULL) == 0 && nano >= 0;
}

static int check_egress(const struct tariff *t, struct err *err)
{
    int64_t before = 0;
    if (t->egress_steps.count > TARIFF_EGRESS_MAX)
        return wrong(t, "egress_steps", "fewer of them", err);
    if (t->egress_steps.count > 0 && !t->egress_rate)
        return wrong(t, "egress_rate", "the price past the last of egress_steps", err);
    for (size_t i = 0; i < t->egress_steps.count; i++) {
        const struct tariff_egress *step = &t->egress_steps.items[i];
        if (!step->upto_gb.known || step->upto_gb.v <= before || step->upto_gb.v > MOST_GB ||
            !step->rate || !is_amount(step->rate))
            return wrong(t, "egress_steps", "ascending upto_gb, and a rate each", err);
        before = step->upto_gb.v;
    }
    return 0;
}

static int check_regions(const struct tariff *t, struct err *err)
{
    for (size_t i = 0; i < t->regions.count; i++) {
        struct maybe_int percent = t->regions.items[i].percent;
        if (!t->regions.items[i].region || !percent.known || percent.v < 1 || percent.v > 1000)
            return wrong(t, "regions", "a region and a percent from 1 to 1000 each", err);
    }
    return 0;
}

// Units that begin on the clock end where the day does, so no unit lies in two months.
static bool clock_unit(struct maybe_int unit_ms)
{
    return !unit_ms.known || (unit_ms.v > 0 && unit_ms.v % 1000 == 0 && DAY_MS % unit_ms.v == 0);
}

static int check_units(const struct tariff *t, struct err *err)
{
    static const char expected[] = "with clock_units, whole seconds that divide a day";
    static const char *const roundings[] = {"up", "nearest", "down", NULL};
    if (!one_of(t->rounding, roundings))
        return wrong(t, "rounding", "up, nearest or down", err);
    if (t->storage_calendar_month.v && t->storage_month_s.known)
        return wrong(t, "storage_month_s", "none beside storage_calendar_month", err);
    if (!t->clock_units.v)
        return 0;
    if (!clock_unit(t->unit_ms))
        return wrong(t, "unit_ms", expected, err);
    if (!clock_unit(t->storage_unit_ms))
        return wrong(t, "storage_unit_ms", expected, err);
    return t->rounding && strcmp(t->rounding, "up") != 0
               ? wrong(t, "rounding", "up, with clock_units", err)
               : 0;
}

int64_t tariff_commitment_permille(const struct tariff_commitment *c)
{
    return c->permille.known ? c->permille.v : 10 * c->percent.v;
}

static int check_commitments(const struct tariff *t, struct err *err)
{
    for (size_t i = 0; i < t->commitments.count; i++) {
        const struct tariff_commitment *c = &t->commitments.items[i];
        bool once = c->percent.known != c->permille.known;
        int64_t to;
        if (!c->months.known || c->months.v < 1 || c->months.v > 120 || !once ||
            c->percent.v > 100 || tariff_commitment_permille(c) < 1 ||
            tariff_commitment_permille(c) > 1000)
            return wrong(t, "commitments",
                         "months up to 120, and a percent up to 100 or a permille up to 1000 each",
                         err);
        if (c->valid_to && (strlen(c->valid_to) != 10 || !clock_parse(c->valid_to, &to)))
            return wrong(t, "commitments", "a valid_to such as 2017-10-02", err);
    }
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
    TRY(check_commitments(t, err));
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
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        const char *text = *(char *const *)((const char *)t + amounts[i].at);
        if (text && !is_amount(text))
            return wrong(t, amounts[i].name, TARIFF_AMOUNT, err);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct maybe_int *v = (const void *)((const char *)t + numbers[i].at);
        if (v->known && (v->v < numbers[i].low || v->v > numbers[i].high))
            return wrong(t, numbers[i].name, "a number that makes sense there", err);
    }
    if (!one_of(t->kind, kinds))
        return wrong(t, "kind", "on-demand, spot or monthly", err);
    TRY(check_units(t, err));
    TRY(check_dates(t, err));
    TRY(check_lists(t, err));
    TRY(check_egress(t, err));
    return check_regions(t, err);
}
