// SPDX-License-Identifier: Apache-2.0
#include "bill/price_rule.h"

#include <stdio.h>
#include <string.h>

#include "base/money.h"

#define HOUR_S 3600

static int to_usd(const struct bill_context *c, const char *currency, int64_t *amount,
                  struct err *err)
{
    return currency_to_usd(c->currencies, currency, c->day, *amount, amount, NULL, NULL, err);
}

// An hourly price that the same machine's price by the month caps.
static int cap_by_month(const struct bill_context *c, const struct offer *offer,
                        struct price_rule *p, struct err *err)
{
    const struct tariff *t = p->tariff;
    if (!t->capped_by_month.known || !t->capped_by_month.v || !c->book ||
        offer->kind != OFFER_ON_DEMAND)
        return 0;
    struct offer month, wanted = *offer;
    struct buf name = {0};
    wanted.kind = OFFER_MONTHLY;
    book_name(&wanted, &name);
    int rc = buf_check(&name, err);
    if (rc == 0 && book_find(c->book, buf_str(&name), c->day, &month, NULL) == 0 &&
        strcmp(month.currency, p->currency) == 0)
        p->rule.monthly_cap = month.rate;
    buf_release(&name);
    return rc;
}

// Fees, caps and storage are in the tariff's currency. Where the rate is in another, all become
// USD.
static int one_currency(const struct bill_context *c, struct price_rule *p, struct err *err)
{
    struct rule *r = &p->rule;
    const char *theirs = p->tariff->currency ? p->tariff->currency : "USD";
    int64_t *const fees[] = {&r->monthly_cap,  &r->monthly_fee, &r->setup_fee,
                             &r->storage_rate, &r->egress_rate, &r->ingress_rate};
    bool any = false;
    for (size_t i = 0; i < sizeof fees / sizeof *fees; i++)
        any |= *fees[i] > 0;
    p->currency = p->paid_in;
    if (!any || strcmp(theirs, p->paid_in) == 0)
        return 0;
    p->fees_in = theirs;
    int rc = to_usd(c, p->paid_in, &r->rate, err);
    for (size_t i = 0; i < sizeof fees / sizeof *fees && rc == 0; i++)
        if (*fees[i] > 0)
            rc = to_usd(c, theirs, fees[i], err);
    p->currency = "USD";
    return rc;
}

void price_rule_name(const struct offer *offer, char *out, size_t size)
{
    bool plain = offer->kind == OFFER_ON_DEMAND;
    snprintf(out, size, "%s%s%s", offer->name, plain ? "" : ":",
             plain ? "" : offer_kind_word(offer->kind));
}

static void find_own(const struct bill_context *c, const struct offer *offer, struct price_rule *p)
{
    char name[256];
    price_rule_name(offer, name, sizeof name);
    p->own = c->rates ? rates_find(c->rates, offer->provider, name, c->day) : NULL;
    p->rate = offer->rate;
    p->per_s = offer->per_s;
    p->paid_in = offer->currency;
    if (p->own && p->own->rate >= 0) {
        p->rate = p->own->rate;
        p->per_s = HOUR_S;
        p->paid_in = p->own->currency;
    }
}

// Committed use where it was asked for and can be had.
static int commit(const struct bill_context *c, struct price_rule *p, struct tariff *priced,
                  struct err *err)
{
    for (size_t i = 0; i < priced->commitments.count; i++) {
        const struct tariff_commitment *offered = &priced->commitments.items[i];
        if (c->commit_months == 0 || offered->months.v != c->commit_months)
            continue;
        p->committed = offered->months.v;
        priced->tiers.count = 0;
        return money_scale(p->rate, offered->percent.v, 100, MONEY_HALF_EVEN, &p->rate, err);
    }
    return 0;
}

int price_rule_make(const struct bill_context *c, const struct offer *offer, struct price_rule *p,
                    struct err *err)
{
    char rate[MONEY_BYTES];
    *p = (struct price_rule){.assumed = false};
    p->tariff = tariff_for(c->tariffs, offer, c->day, &p->assumed);
    find_own(c, offer, p);
    struct tariff priced = *p->tariff; // its texts stay the tariff's
    priced.per_s = some_int(p->per_s);
    if (p->assumed && offer->kind == OFFER_MONTHLY) // whoever rents by the month pays months
        priced.unit_ms = some_int(p->per_s * 1000);
    int rc = commit(c, p, &priced, err);
    money_text(p->rate, rate);
    if (rc == 0)
        rc = rule_read(&p->rule, &priced, rate, err);
    if (rc == 0)
        rc = one_currency(c, p, err);
    return rc == 0 ? cap_by_month(c, offer, p, err) : rc;
}

int price_rule_hour(const struct bill_context *c, const struct offer *offer, int64_t use_s_a_month,
                    int64_t *usd, struct err *err)
{
    struct price_rule p;
    int64_t rate, fee = 0;
    int rc = price_rule_make(c, offer, &p, err);
    if (rc != 0)
        return rc;
    int64_t month = offer->kind == OFFER_MONTHLY ? use_s_a_month : p.per_s;
    rc = money_scale(p.rule.rate, HOUR_S, month > 0 ? month : 1, MONEY_HALF_EVEN, &rate, err);
    if (rc == 0 && p.rule.monthly_fee > 0)
        rc = money_scale(p.rule.monthly_fee, HOUR_S, use_s_a_month > 0 ? use_s_a_month : 1,
                         MONEY_HALF_EVEN, &fee, err);
    if (rc == 0)
        rc = money_add(rate, fee, usd, err);
    return rc == 0 ? to_usd(c, p.currency, usd, err) : rc;
}
