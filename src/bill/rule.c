// SPDX-License-Identifier: Apache-2.0
#include "bill/rule.h"

#include <fnmatch.h>
#include <string.h>

#include "base/clock.h"

// The tariff was checked: the text is an amount or absent.
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
    for (size_t i = 0; i < t->egress_steps.count; i++) {
        const struct tariff_egress *step = &t->egress_steps.items[i];
        rule->egress_steps[rule->egress_count++] =
            (struct rule_egress){step->upto_gb.v, amount(step->rate, 0)};
    }
}

static void read_storage(struct rule *rule, const struct tariff *t)
{
    rule->disk_included = t->disk_included.v;
    rule->storage_rate = amount(t->storage_rate, 0);
    rule->storage_stopped_rate = amount(t->storage_stopped_rate, rule->storage_rate);
    rule->storage_month_ns = number(t->storage_month_s, 30 * 86400) * NS_PER_S;
    rule->storage_calendar_month = t->storage_calendar_month.v;
    rule->storage_unit_ns = number(t->storage_unit_ms, 1000) * NS_PER_MS;
    rule->storage_minimum_ns = number(t->storage_minimum_s, 0) * NS_PER_S;
    rule->storage_free_gb = number(t->storage_free_gb, 0);
}

static int read_rate(struct rule *rule, const struct tariff *t, struct maybe_money rate,
                     struct err *err)
{
    TRY(tariff_check(t, err));
    rule->rate = money_or(rate, amount(t->rate, -1));
    if (rule->rate >= 0)
        return 0;
    return err_set(err, ERR_FORMAT, "tariff '%s', rate: expected %s",
                   t->id ? t->id : "without a name",
                   rate.known ? TARIFF_AMOUNT : "one, since the offer has none");
}

int rule_read(struct rule *rule, const struct tariff *t, struct maybe_money rate, struct err *err)
{
    memset(rule, 0, sizeof *rule);
    TRY(read_rate(rule, t, rate, err));
    rule->per_ns = number(t->per_s, 3600) * NS_PER_S;
    rule->unit_ns = number(t->unit_ms, 1000) * NS_PER_MS;
    rule->clock_units = t->clock_units.v;
    rule->minimum_ns = number(t->minimum_s, 0) * NS_PER_S;
    rule->minimum_amount = amount(t->minimum_amount, 0);
    rule->rounding = rounding(t->rounding);
    rule->billed_while_stopped = t->billed_while_stopped.v;
    rule->monthly_cap = amount(t->monthly_cap, -1);
    rule->monthly_fee = amount(t->monthly_fee, 0);
    rule->setup_fee = amount(t->setup_fee, 0);
    read_storage(rule, t);
    rule->egress_rate = amount(t->egress_rate, 0);
    rule->egress_free_gb = number(t->egress_free_gb, 0);
    rule->ingress_rate = amount(t->ingress_rate, 0);
    rule->gb_bytes = number(t->gb_bytes, 1000000000);
    rule->decimals = (int)number(t->decimals, 9);
    rule->spot_first_hour_free = t->spot_first_hour_free.v;
    rule->spot_partial_free = t->spot_partial_free.v;
    read_lists(rule, t);
    return 0;
}

int rule_in_region(struct rule *rule, const struct tariff *t, const char *region, struct err *err)
{
    for (size_t i = 0; region && i < t->regions.count; i++)
        if (fnmatch(t->regions.items[i].region, region, 0) == 0)
            return money_scale(rule->rate, t->regions.items[i].percent.v, 100, MONEY_HALF_EVEN,
                               &rule->rate, err);
    return 0;
}

size_t rule_fees(struct rule *rule, int64_t *fees[RULE_FEES_MAX])
{
    int64_t *const plain[] = {&rule->minimum_amount, &rule->monthly_cap,
                              &rule->monthly_fee,    &rule->setup_fee,
                              &rule->storage_rate,   &rule->storage_stopped_rate,
                              &rule->egress_rate,    &rule->ingress_rate};
    size_t count = sizeof plain / sizeof *plain;
    memcpy(fees, plain, sizeof plain);
    for (int i = 0; i < rule->egress_count; i++)
        fees[count++] = &rule->egress_steps[i].rate;
    return count;
}
