// SPDX-License-Identifier: Apache-2.0
#include "bill/rule.h"

#include <string.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define YEAR_S    (INT64_C(366) * 86400)

// What is read, and whether all of it was right so far.
struct reader {
    const struct tariff *tariff;
    struct err *err;
    int rc;
};

static void wrong(struct reader *r, const char *member, const char *expected)
{
    if (r->rc != 0)
        return;
    const char *id = r->tariff->id ? r->tariff->id : "without a name";
    r->rc = err_set(r->err, ERR_FORMAT, "tariff '%s', %s: expected %s", id, member, expected);
}

static int64_t amount(struct reader *r, const char *member, const char *text, int64_t absent)
{
    int64_t nano = absent;
    if (!text || r->rc != 0)
        return absent;
    if (money_parse(text, &nano, NULL) != 0 || nano < 0)
        wrong(r, member, "an amount such as 0.526, not below zero");
    return nano;
}

static int64_t number(struct reader *r, const char *member, struct maybe_int v, int64_t low,
                      int64_t high, int64_t absent)
{
    if (!v.known)
        return absent;
    if (v.v < low || v.v > high)
        wrong(r, member, "a number that makes sense there");
    return v.v;
}

static enum rule_rounding rounding(struct reader *r)
{
    const char *text = r->tariff->rounding;
    if (!text || strcmp(text, "up") == 0)
        return RULE_UP;
    if (strcmp(text, "nearest") == 0)
        return RULE_NEAREST;
    if (strcmp(text, "down") != 0)
        wrong(r, "rounding", "up, nearest or down");
    return RULE_DOWN;
}

static void read_tiers(struct reader *r, struct rule *rule)
{
    const struct tariff *t = r->tariff;
    if (t->tiers.count > RULE_TIERS_MAX)
        return wrong(r, "tiers", "fewer of them");
    int64_t before = 0;
    for (size_t i = 0; i < t->tiers.count; i++) {
        const struct tariff_tier *tier = &t->tiers.items[i];
        int64_t upto = tier->upto_permille.known ? tier->upto_permille.v : 0;
        int64_t percent = tier->percent.known ? tier->percent.v : -1;
        if (upto <= before || upto > 1000 || percent < 0 || percent > 1000)
            wrong(r, "tiers", "ascending upto_permille up to 1000, and a percent each");
        rule->tiers[rule->tier_count++] = (struct rule_tier){upto, percent};
        before = upto;
    }
}

static void read_steps(struct reader *r, struct rule *rule)
{
    const struct tariff *t = r->tariff;
    if (t->storage_steps.count > RULE_STEPS_MAX)
        return wrong(r, "storage_steps", "fewer of them");
    int64_t before = 0;
    for (size_t i = 0; i < t->storage_steps.count; i++) {
        struct maybe_int gb = t->storage_steps.items[i].gb;
        if (!gb.known || gb.v <= before)
            wrong(r, "storage_steps", "ascending sizes");
        before = rule->storage_steps[rule->step_count++] = gb.v;
    }
}

int rule_read(struct rule *rule, const struct tariff *t, const char *rate, struct err *err)
{
    struct reader r = {.tariff = t, .err = err};
    memset(rule, 0, sizeof *rule);
    const char *price = rate ? rate : t->rate;
    if (!price)
        wrong(&r, "rate", "one, since the offer has none");
    rule->rate = amount(&r, "rate", price, 0);
    rule->per_ns = number(&r, "per_s", t->per_s, 1, YEAR_S, 3600) * NS_PER_S;
    rule->unit_ns = number(&r, "unit_ms", t->unit_ms, 0, YEAR_S * 1000, 1000) * NS_PER_MS;
    rule->minimum_ns = number(&r, "minimum_s", t->minimum_s, 0, YEAR_S, 0) * NS_PER_S;
    rule->rounding = rounding(&r);
    rule->monthly_cap = amount(&r, "monthly_cap", t->monthly_cap, -1);
    rule->monthly_fee = amount(&r, "monthly_fee", t->monthly_fee, 0);
    rule->setup_fee = amount(&r, "setup_fee", t->setup_fee, 0);
    rule->storage_rate = amount(&r, "storage_rate", t->storage_rate, 0);
    rule->storage_month_ns =
        number(&r, "storage_month_s", t->storage_month_s, 1, YEAR_S, 30 * 86400) * NS_PER_S;
    rule->storage_unit_ns =
        number(&r, "storage_unit_ms", t->storage_unit_ms, 0, YEAR_S * 1000, 1000) * NS_PER_MS;
    rule->storage_minimum_ns =
        number(&r, "storage_minimum_s", t->storage_minimum_s, 0, YEAR_S, 0) * NS_PER_S;
    rule->storage_free_gb =
        number(&r, "storage_free_gb", t->storage_free_gb, 0, INT64_C(1000000000), 0);
    rule->egress_rate = amount(&r, "egress_rate", t->egress_rate, 0);
    rule->egress_free_gb =
        number(&r, "egress_free_gb", t->egress_free_gb, 0, INT64_C(1000000000), 0);
    rule->ingress_rate = amount(&r, "ingress_rate", t->ingress_rate, 0);
    rule->gb_bytes = number(&r, "gb_bytes", t->gb_bytes, 1000000000, 1 << 30, 1000000000);
    rule->decimals = (int)number(&r, "decimals", t->decimals, 0, 9, 9);
    rule->spot_first_hour_free = t->spot_first_hour_free.known && t->spot_first_hour_free.v;
    rule->spot_partial_free = t->spot_partial_free.known && t->spot_partial_free.v;
    read_tiers(&r, rule);
    read_steps(&r, rule);
    return r.rc;
}
