// SPDX-License-Identifier: Apache-2.0
#include "bill/charge.h"

#include <fnmatch.h>
#include <string.h>

#include "base/clock.h"
#include "book/tariffs.h"

#define HOUR_NS    (3600 * NS_PER_S)
#define LONGEST_NS (NS_PER_S * 100 * 365 * 86400)

static int after_9999(struct err *err)
{
    return err_set(err, ERR_FORMAT, "the use ends after the year 9999");
}

// A unit of 0 leaves it as it is.
static int64_t to_units(int64_t ns, int64_t unit_ns, enum rule_rounding rounding)
{
    if (unit_ns == 0)
        return ns;
    int64_t whole = ns / unit_ns, rest = ns % unit_ns;
    if (rounding == RULE_UP)
        whole += rest > 0;
    else if (rounding == RULE_NEAREST)
        whole += rest >= unit_ns - rest;
    return whole * unit_ns;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Where units begin on the clock: how long the first unit has lasted at the start.
static int64_t begun_ns(const struct rule *rule, const struct charge_use *use, int64_t unit_ns)
{
    int64_t unit_s = unit_ns / NS_PER_S;
    if (!rule->clock_units || use->prorated || use->clock != CLOCK_KNOWN || unit_s == 0)
        return 0;
    return (use->start_s % unit_s + unit_s) % unit_s * NS_PER_S;
}

// A time in units, from the beginning of its first one on. With units on the clock and a start at
// any time of day, `ns` touches `ns / unit + 1` of them on average.
static int64_t in_units(const struct rule *rule, const struct charge_use *use, int64_t ns,
                        int64_t unit_ns, enum rule_rounding rounding)
{
    bool known = !rule->clock_units || use->clock == CLOCK_KNOWN;
    if (!known && use->clock == CLOCK_MEAN)
        return ns + (rounding == RULE_UP ? unit_ns : 0);
    int64_t whole = to_units(begun_ns(rule, use, unit_ns) + ns, unit_ns, rounding);
    return whole + (!known && use->clock == CLOCK_WORST ? unit_ns : 0);
}

// The provider's interruption makes some or all of the time free.
static bool spared(const struct rule *rule, const struct charge_use *use)
{
    return use->interrupted && !use->prorated &&
           (rule->spot_partial_free || (rule->spot_first_hour_free && use->length_ns < HOUR_NS));
}

static int64_t charged_length(const struct rule *rule, const struct charge_use *use)
{
    if (use->prorated)
        return use->length_ns;
    if (!spared(rule, use))
        return in_units(rule, use, larger(use->length_ns, rule->minimum_ns), rule->unit_ns,
                        rule->rounding);
    if (rule->spot_first_hour_free && use->length_ns < HOUR_NS)
        return 0;
    return in_units(rule, use, use->length_ns, rule->unit_ns, RULE_DOWN);
}

// ---- the price of the time, month by month

// The sum over the tiers of nanoseconds × per cent, for the time from `from_ns` to `to_ns` of a
// month's use; without tiers, the nanoseconds.
static int64_t tiered(const struct rule *rule, int64_t month_ns, int64_t from_ns, int64_t to_ns)
{
    int64_t sum = 0, begin_ns = 0;
    for (int i = 0; i < rule->tier_count; i++) {
        const struct rule_tier *tier = &rule->tiers[i];
        bool last = i == rule->tier_count - 1;
        int64_t end_ns = last ? INT64_MAX : month_ns / 1000 * tier->upto_permille;
        int64_t portion = smaller(to_ns, end_ns) - larger(from_ns, begin_ns);
        if (portion > 0)
            sum += portion * tier->percent;
        begin_ns = end_ns;
    }
    return rule->tier_count > 0 ? sum : to_ns - from_ns;
}

static int price_between(const struct rule *rule, int64_t month_ns, int64_t from_ns, int64_t to_ns,
                         int64_t *price, struct err *err)
{
    return money_scale(rule->rate, tiered(rule, month_ns, from_ns, to_ns),
                       rule->per_ns * (rule->tier_count > 0 ? 100 : 1), MONEY_HALF_EVEN, price,
                       err);
}

// The price of `part_ns` after `used_ns` of one month. A cap is for the whole month, earlier uses
// included.
static int month_price(const struct rule *rule, int64_t month_ns, int64_t used_ns, int64_t part_ns,
                       int64_t *price, struct err *err)
{
    int64_t cap = rule->monthly_cap, from_ns = cap >= 0 ? 0 : used_ns, before = 0;
    int rc = price_between(rule, month_ns, from_ns, used_ns + part_ns, price, err);
    if (rc != 0 || cap < 0)
        return rc;
    rc = price_between(rule, month_ns, 0, used_ns, &before, err);
    *price = smaller(*price, cap) - smaller(before, cap);
    return rc;
}

static int time_price(const struct rule *rule, const struct charge_use *use, int64_t charged_ns,
                      int64_t *price, struct err *err)
{
    int64_t at_s = use->start_s - begun_ns(rule, use, rule->unit_ns) / NS_PER_S;
    int64_t used_ns = use->used_ns, left_ns = charged_ns;
    *price = 0;
    if (use->prorated)
        return money_scale(rule->rate, charged_ns, rule->per_ns, MONEY_HALF_EVEN, price, err);
    while (left_ns > 0) {
        int64_t first_s, next_s, month;
        if (!clock_month(at_s, 0, &first_s) || !clock_month(at_s, 1, &next_s))
            return after_9999(err);
        int64_t part_ns = smaller(left_ns, (next_s - at_s) * NS_PER_S);
        int rc = month_price(rule, (next_s - first_s) * NS_PER_S, used_ns, part_ns, &month, err);
        if (rc == 0)
            rc = money_add(*price, month, price, err);
        if (rc != 0)
            return rc;
        left_ns -= part_ns;
        at_s = next_s;
        used_ns = 0;
    }
    if (!spared(rule, use))
        *price = larger(*price, rule->minimum_amount);
    return 0;
}

// A machine that is billed while stopped costs as if it ran on.
static int machine(const struct rule *rule, const struct charge_use *use, struct charge *charge,
                   struct err *err)
{
    charge->charged_ns = charged_length(rule, use);
    int rc = time_price(rule, use, charge->charged_ns, &charge->time, err);
    if (rc != 0 || !rule->billed_while_stopped || use->stopped_ns == 0 || use->interrupted)
        return rc;
    struct charge_use whole = *use;
    whole.length_ns += use->stopped_ns;
    rc = time_price(rule, &whole, charged_length(rule, &whole), &charge->stopped, err);
    charge->stopped -= rc == 0 ? charge->time : 0;
    return rc;
}

// The months in which the machine exists. One that ends exactly at a month's end does not touch the
// next.
static int months_touched(const struct charge_use *use, int64_t *months, struct err *err)
{
    int64_t at_s, ns = use->length_ns + (use->interrupted ? 0 : use->stopped_ns);
    int64_t end_s = use->start_s + ns / NS_PER_S + (ns % NS_PER_S > 0);
    *months = 0;
    for (int i = 0;; i++) {
        if (!clock_month(use->start_s, i, &at_s))
            return after_9999(err);
        if (i > 0 && at_s >= end_s)
            return 0;
        (*months)++;
    }
}

static int fees(const struct rule *rule, const struct charge_use *use, struct charge *charge,
                struct err *err)
{
    int64_t months;
    if (use->prorated)
        return 0;
    int rc = months_touched(use, &months, err);
    if (rc == 0)
        rc = money_scale(rule->monthly_fee, months, 1, MONEY_DOWN, &charge->monthly_fee, err);
    charge->setup_fee = rule->setup_fee;
    return rc;
}

// ---- storage and traffic

static int64_t charged_size(const struct rule *rule, int64_t gb)
{
    for (int i = 0; gb > 0 && i < rule->step_count; i++)
        if (gb <= rule->storage_steps[i]) {
            gb = rule->storage_steps[i];
            break;
        }
    return larger(gb - rule->storage_free_gb, 0);
}

// The price of `ns` that begin `from_ns` after `start_s`, each calendar month by its own length.
static int by_calendar(int64_t per_month, int64_t start_s, int64_t from_ns, int64_t ns,
                       int64_t *price, struct err *err)
{
    int rc = 0;
    *price = 0;
    while (ns > 0 && rc == 0) {
        int64_t first_s, next_s, month, at_s = start_s + from_ns / NS_PER_S;
        if (!clock_month(at_s, 0, &first_s) || !clock_month(at_s, 1, &next_s))
            return after_9999(err);
        int64_t part_ns = smaller(ns, (next_s - at_s) * NS_PER_S - from_ns % NS_PER_S);
        rc = money_scale(per_month, part_ns, (next_s - first_s) * NS_PER_S, MONEY_HALF_EVEN, &month,
                         err);
        if (rc == 0)
            rc = money_add(*price, month, price, err);
        from_ns += part_ns;
        ns -= part_ns;
    }
    return rc;
}

static int64_t storage_units(const struct rule *rule, const struct charge_use *use, int64_t ns)
{
    if (use->prorated)
        return ns;
    return in_units(rule, use, larger(ns, rule->storage_minimum_ns), rule->storage_unit_ns,
                    RULE_UP);
}

// The unit in which the machine stops is charged as running.
static int storage(const struct rule *rule, const struct charge_use *use, struct charge *charge,
                   struct err *err)
{
    int64_t gb = charged_size(rule, use->storage_gb);
    int64_t start_s = use->start_s - begun_ns(rule, use, rule->storage_unit_ns) / NS_PER_S;
    int64_t running_ns = storage_units(rule, use, use->storage_ns);
    int64_t whole_ns = storage_units(rule, use, use->storage_ns + use->stopped_ns);
    const struct {
        int64_t rate, from_ns, ns, *price;
    } parts[] = {
        {rule->disk_included ? 0 : rule->storage_rate, 0, running_ns, &charge->storage},
        {rule->storage_stopped_rate, running_ns, whole_ns - running_ns, &charge->storage_stopped},
    };
    for (size_t i = 0; use->storage_gb > 0 && i < 2; i++) {
        int64_t per_month = 0;
        TRY(money_scale(parts[i].rate, gb, 1, MONEY_DOWN, &per_month, err)); // exact
        if (rule->storage_calendar_month)
            TRY(by_calendar(per_month, start_s, parts[i].from_ns, parts[i].ns, parts[i].price,
                            err));
        else
            TRY(money_scale(per_month, parts[i].ns, rule->storage_month_ns, MONEY_HALF_EVEN,
                            parts[i].price, err));
    }
    return 0;
}

// From the month's byte `from` to its byte `to`. The free bytes count towards the steps' bounds.
static int egress_price(const struct rule *rule, int64_t from, int64_t to, int64_t *price,
                        struct err *err)
{
    int64_t begin = rule->egress_free_gb * rule->gb_bytes;
    int rc = 0;
    for (int i = 0; i <= rule->egress_count && rc == 0; i++) {
        bool last = i == rule->egress_count;
        int64_t end = last ? to : rule->egress_steps[i].upto_gb * rule->gb_bytes, step;
        int64_t bytes = smaller(to, end) - larger(from, begin);
        if (bytes > 0)
            rc = money_scale(last ? rule->egress_rate : rule->egress_steps[i].rate, bytes,
                             rule->gb_bytes, MONEY_HALF_EVEN, &step, err);
        if (bytes > 0 && rc == 0)
            rc = money_add(*price, step, price, err);
        begin = larger(begin, end);
    }
    return rc;
}

static int traffic(const struct rule *rule, const struct charge_use *use, struct charge *charge,
                   struct err *err)
{
    int64_t to;
    if (__builtin_add_overflow(use->egress_used_bytes, use->egress_bytes, &to))
        return err_set(err, ERR_OVERFLOW, "more traffic than can be counted");
    TRY(egress_price(rule, use->egress_used_bytes, to, &charge->egress, err));
    return money_scale(rule->ingress_rate, use->ingress_bytes, rule->gb_bytes, MONEY_HALF_EVEN,
                       &charge->ingress, err);
}

// ---- together

static int check(const struct charge_use *use, struct err *err)
{
    int64_t first_s;
    const int64_t amounts[] = {use->length_ns,     use->used_ns,           use->stopped_ns,
                               use->storage_gb,    use->storage_ns,        use->egress_bytes,
                               use->ingress_bytes, use->egress_used_bytes, use->discount_permille};
    // Earlier starts may have been rounded up, so it may be a little more than the month has.
    if (use->used_ns > 62 * 86400 * NS_PER_S)
        return err_set(err, ERR_FORMAT, "more time was used in the month than it has");
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        if (amounts[i] < 0)
            return err_set(err, ERR_FORMAT, "times, sizes and discounts of a use are 0 or more");
    if (use->length_ns > LONGEST_NS || use->stopped_ns > LONGEST_NS || use->storage_ns > LONGEST_NS)
        return err_set(err, ERR_OVERFLOW, "a use of over 100 years");
    if (use->discount_permille > 1000)
        return err_set(err, ERR_FORMAT, "a discount of over 100 %%");
    if (!clock_month(use->start_s, 0, &first_s))
        return err_set(err, ERR_FORMAT, "a use starts between the years 1 and 9999");
    return 0;
}

static int all_machines(const struct charge_use *use, struct charge *c, struct err *err)
{
    int64_t *const each[] = {&c->time,      &c->stopped, &c->monthly_fee,
                             &c->setup_fee, &c->storage, &c->storage_stopped};
    for (size_t i = 0; use->machines > 1 && i < sizeof each / sizeof *each; i++)
        TRY(money_scale(*each[i], use->machines, 1, MONEY_DOWN, each[i], err));
    return 0;
}

static int add_up(const struct rule *rule, const struct charge_use *use, struct charge *c,
                  struct err *err)
{
    const int64_t lines[] = {c->time,    c->stopped,         c->monthly_fee, c->setup_fee,
                             c->storage, c->storage_stopped, c->egress,      c->ingress};
    int rc = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines && rc == 0; i++)
        rc = money_add(c->subtotal, lines[i], &c->subtotal, err);
    if (rc == 0)
        rc = money_scale(c->subtotal, use->discount_permille, 1000, MONEY_HALF_EVEN, &c->discount,
                         err);
    int64_t step = 1, steps, net = c->subtotal - c->discount;
    for (int i = rule->decimals; i < 9; i++)
        step *= 10;
    if (rc == 0)
        rc = money_scale(net, 1, step, MONEY_HALF_UP, &steps, err);
    if (rc == 0)
        rc = money_scale(steps, step, 1, MONEY_DOWN, &c->total, err);
    c->rounding = rc == 0 ? c->total - net : 0;
    return rc;
}

int charge_use(const struct rule *rule, const struct charge_use *use, struct charge *charge,
               struct err *err)
{
    memset(charge, 0, sizeof *charge);
    TRY(check(use, err));
    TRY(machine(rule, use, charge, err));
    TRY(fees(rule, use, charge, err));
    TRY(storage(rule, use, charge, err));
    TRY(all_machines(use, charge, err));
    TRY(traffic(rule, use, charge, err));
    return add_up(rule, use, charge, err);
}

int charge_parts(const struct charge *charge, int64_t gpus, int64_t gpus_used,
                 const int64_t *length_ns, size_t count, int64_t *out, int64_t *unused,
                 struct err *err)
{
    int64_t length = 0, at = 0, before = 0;
    for (size_t i = 0; i < count; i++)
        length += length_ns[i];
    int64_t whole = larger(length, charge->charged_ns);
    int rc = 0;
    *unused = 0;
    if (gpus > 0 && gpus_used < gpus)
        rc = money_scale(charge->time, gpus - gpus_used, gpus, MONEY_HALF_EVEN, unused, err);
    int64_t rest = charge->time - *unused;
    for (size_t i = 0; i <= count && rc == 0; i++) {
        int64_t upto = i < count ? 0 : rest;
        at = i < count ? at + length_ns[i] : whole;
        if (whole > 0)
            rc = money_scale(rest, at, whole, MONEY_HALF_EVEN, &upto, err);
        out[i] = upto - before;
        before = upto;
    }
    return rc;
}

// ---- a tariff as a rule

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
