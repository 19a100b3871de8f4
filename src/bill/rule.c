// SPDX-License-Identifier: Apache-2.0
#include "bill/rule.h"

#include <string.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

// Of a tariff that was checked, so that it is an amount or absent.
static int64_t amount(const char *text, int64_t absent)
{
    int64_t nano;
    return text && money_parse(text, &nano, NULL) == 0 ? nano : absent;
}

static int64_t number(struct maybe_int v, int64_t absent)
{
    return v.known ? v.v : absent;
}

static enum rule_rounding rounding(const char *text)
{
    return !text || strcmp(text, "up") == 0 ? RULE_UP
           : strcmp(text, "nearest") == 0   ? RULE_NEAREST
                                            : RULE_DOWN;
}

static void read_lists(struct rule *rule, const struct tariff *t)
{
    for (size_t i = 0; i < t->tiers.count; i++) {
        const struct tariff_tier *tier = &t->tiers.items[i];
        rule->tiers[rule->tier_count++] =
            (struct rule_tier){tier->upto_permille.v, tier->percent.v};
    }
    for (size_t i = 0; i < t->storage_steps.count; i++)
        rule->storage_steps[rule->step_count++] = t->storage_steps.items[i].gb.v;
}

static int read_rate(struct rule *rule, const struct tariff *t, const char *rate, struct err *err)
{
    struct tariff with = *t;
    if (rate)
        with.rate = (char *)(uintptr_t)rate; // only looked at
    int rc = tariff_check(&with, err);
    if (rc == 0 && !with.rate)
        rc = err_set(err, ERR_FORMAT, "tariff '%s', rate: expected one, since the offer has none",
                     t->id ? t->id : "without a name");
    rule->rate = rc == 0 ? amount(with.rate, 0) : 0;
    return rc;
}

int rule_read(struct rule *rule, const struct tariff *t, const char *rate, struct err *err)
{
    memset(rule, 0, sizeof *rule);
    int rc = read_rate(rule, t, rate, err);
    if (rc != 0)
        return rc;
    rule->per_ns = number(t->per_s, 3600) * NS_PER_S;
    rule->unit_ns = number(t->unit_ms, 1000) * NS_PER_MS;
    rule->minimum_ns = number(t->minimum_s, 0) * NS_PER_S;
    rule->rounding = rounding(t->rounding);
    rule->monthly_cap = amount(t->monthly_cap, -1);
    rule->monthly_fee = amount(t->monthly_fee, 0);
    rule->setup_fee = amount(t->setup_fee, 0);
    rule->storage_rate = amount(t->storage_rate, 0);
    rule->storage_month_ns = number(t->storage_month_s, 30 * 86400) * NS_PER_S;
    rule->storage_unit_ns = number(t->storage_unit_ms, 1000) * NS_PER_MS;
    rule->storage_minimum_ns = number(t->storage_minimum_s, 0) * NS_PER_S;
    rule->storage_free_gb = number(t->storage_free_gb, 0);
    rule->egress_rate = amount(t->egress_rate, 0);
    rule->egress_free_gb = number(t->egress_free_gb, 0);
    rule->ingress_rate = amount(t->ingress_rate, 0);
    rule->gb_bytes = number(t->gb_bytes, 1000000000);
    rule->decimals = (int)number(t->decimals, 9);
    rule->spot_first_hour_free = t->spot_first_hour_free.known && t->spot_first_hour_free.v;
    rule->spot_partial_free = t->spot_partial_free.known && t->spot_partial_free.v;
    read_lists(rule, t);
    return 0;
}
