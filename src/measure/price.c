// SPDX-License-Identifier: Apache-2.0
#include "measure/price.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/bill.h"
#include "bill/market.h"
#include "bill/run_price.h"
#include "book/listing.h"
#include "advise/spot/hazard.h"

#define LONGEST_NS (INT64_C(30) * 86400 * NS_PER_S)

struct measure_price {
    struct market *market;
    struct run_prices *prices;
    struct run_price price;
    int64_t ordered_ns;   // of the run that goes on
    const char *currency; // (optional) beside USD
    char words[800];
};

// ---- the assumed offer (--offer)

static int contradicts(const struct offer *offer, const struct run_machine *m, struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    book_name(offer, &name);
    int count = (offer->gpus_milli + 999) / 1000;
    if (!m->gpu)
        err_set(err, ERR_USAGE, "--offer %s: that machine has %d × %s, and this one has no GPU",
                buf_str(&name), count, offer->gpu);
    else
        err_set(err, ERR_USAGE, "--offer %s: that machine has %d × %s, and this one %lld × %s",
                buf_str(&name), count, offer->gpu, (long long)m->gpus.v, m->gpu);
    err_hint(err, "run it on that machine, or name the offer that this machine is");
    return ERR_USAGE;
}

static int check_offer(struct market *market, const char *name, const struct run_machine *m,
                       struct err *err)
{
    struct offer offer;
    TRY(market_find(market, name, 0, &offer, err));
    if (!*offer.gpu || !m->gpus.known)
        return 0;
    if (!m->gpu || m->gpus.v != (offer.gpus_milli + 999) / 1000)
        return contradicts(&offer, m, err);
    const struct devices *devices;
    TRY(market_devices(market, &devices, err));
    const struct device *there = device_find(devices, offer.gpu),
                        *here = device_find(devices, m->gpu);
    return there && here && there != here ? contradicts(&offer, m, err) : 0;
}

// ---- its price

static int cost(const void *price, int64_t ns, int64_t *nano_usd, struct err *err)
{
    const struct measure_price *p = price;
    return run_price_cost(&p->price, p->ordered_ns, ns, nano_usd, err);
}

static void describe_price(struct measure_price *p)
{
    char hour[MONEY_BYTES];
    SCOPED(buf_release) struct buf rule = {0};
    money_short(p->price.hour, hour);
    priced_words(&p->price.priced, false, &rule);
    const char *words = rule.failed ? "" : buf_str(&rule);
    // The bill of a run in progress uses the first part of the rule; 'fare quote' has the rest.
    snprintf(p->words, sizeof p->words, "%s USD an hour (%s), %.*s%s%s%s", hour, p->price.from,
             (int)strcspn(words, ";"), words,
             p->price.priced.assumed ? " (assumed: this provider's rules are unknown)" : "",
             p->price.note[0] ? "; " : "", p->price.note);
}

int measure_price_open(struct measure_price **out, struct market *market, const char *offer,
                       const char *currency, const struct run *run, struct err *err)
{
    const struct run_price_said said = {.offer = offer};
    *out = NULL;
    // Opening the book takes a moment: avoid it if there is nothing to look for.
    bool named = offer || run_label(run, "price_per_hour_usd") ||
                 (run->machine.provider && run->machine.instance_type);
    if (!named)
        return 0;
    struct measure_price *p = calloc(1, sizeof *p);
    if (!p)
        return err_memory(err);
    p->market = market;
    int rc = offer ? check_offer(market, offer, &run->machine, err) : 0;
    if (rc == 0)
        rc = run_prices_new(&p->prices, market, false, false, 0, err);
    // Failing to find a price is not an error.
    if (rc != 0 || run_price(p->prices, run, &said, &p->price, NULL) != 0 || !p->price.known) {
        measure_price_close(p);
        return rc;
    }
    describe_price(p);
    p->currency = currency;
    *out = p;
    return 0;
}

int measure_price_between(const struct measure_price *p, int64_t *mean_ns, struct buf *words,
                          struct err *err)
{
    const struct hazard_given nothing = {0};
    SCOPED(hazard_release) struct hazard hazard = {0};
    *mean_ns = 0;
    if (!p || !p->price.known || p->price.priced.offer.kind != OFFER_SPOT)
        return 0;
    TRY(hazard_find(p->market, &p->price.priced.offer, 0, &nothing, NULL, &hazard, err));
    if (hazard.kind != HAZARD_UNKNOWN) {
        *mean_ns =
            hazard.trace ? (int64_t)(availability_mean_s(hazard.trace) * 1e9) : hazard.mean_ns;
        buf_adds(words, buf_str(&hazard.words));
        TRY(buf_check(words, err));
    }
    return 0;
}

void measure_price_close(struct measure_price *p)
{
    if (!p)
        return;
    run_prices_free(p->prices);
    free(p);
}

const char *measure_price_words(const struct measure_price *p)
{
    return p->words;
}

int64_t measure_price_hour(const struct measure_price *p)
{
    return p->price.hour;
}

void measure_price_begin(struct measure_price *p, const struct run *run, struct live_price *live)
{
    *live = (struct live_price){0};
    if (!p)
        return;
    p->ordered_ns = run_ordered_ns(run);
    *live = (struct live_price){.offer = p->words, .hour = p->price.hour, .cost = cost, .price = p};
}

static void add_amount(const struct measure_price *p, int64_t nano, struct buf *out)
{
    int64_t local = -1;
    char text[MONEY_BYTES];
    money_short(nano, text);
    buf_printf(out, "%s USD", text);
    if (local_amount(p->market, p->currency, p->price.priced.day, nano, &local, NULL) == 0 &&
        local >= 0) {
        money_short_in(local, p->currency, text);
        buf_printf(out, " (%s %s)", text, p->currency);
    }
}

bool measure_price_amount(const struct measure_price *p, const struct run *run, double wall_s,
                          struct buf *out)
{
    int64_t nano;
    if (!p || !(wall_s >= 0 && wall_s < 3e9) ||
        run_price_cost(&p->price, run_ordered_ns(run), (int64_t)(wall_s * 1e9), &nano, NULL) != 0)
        return false;
    add_amount(p, nano, out);
    return true;
}

// A saved job's start has its bill already, by the rule for machines that are taken away.
static bool add_own(const struct measure_price *p, const struct run *run, struct buf *out)
{
    if (!run->saving.place || !run->spent.usd.known)
        return measure_price_amount(p, run, (double)run->phases.wall_ns.v / 1e9, out);
    add_amount(p, run->spent.usd.nano, out);
    return true;
}

bool measure_price_bill(const struct measure_price *p, const struct run *run, struct buf *out)
{
    char hour[MONEY_BYTES];
    const struct run_projection *projection = &run->projection;
    struct buf whole = {0};
    if (!p || !run->phases.wall_ns.known || !add_own(p, run, out))
        return false;
    buf_adds(out, " for this run");
    if (run->full.known && run->full.v)
        buf_adds(out, " (the whole training)");
    else if (projection->wall_s.known && measure_price_amount(p, run, projection->wall_s.v, &whole))
        buf_printf(out, ", %s for the whole training", buf_str(&whole));
    buf_drop(out, &whole);
    money_short(p->price.hour, hour);
    buf_printf(out, "; derived from %s USD an hour (%s)%s%s", hour, p->price.from,
               p->price.note[0] ? "; " : "", p->price.note);
    buf_adds(out, p->currency ? "; " : "");
    out->failed |= local_words(p->market, p->currency, p->price.priced.day, out, NULL) != 0;
    return true;
}

// ---- starts of a saved job

// Keeps what it is where the cost is unknown.
static void set_cost(struct maybe_money *member, const struct priced *priced,
                     const struct wishes *wishes, int64_t ordered_ns, double seconds)
{
    int64_t nano;
    if (!(seconds >= 0 && seconds < 3e9))
        return;
    int64_t use_ns = priced_use_ns(priced, ordered_ns, (int64_t)(seconds * 1e9));
    if (priced_total(priced, wishes, use_ns, &nano, NULL) == 0)
        *member = some_money(nano);
}

// The same machine on demand; `*found` is false if it is not in the book or has no price.
static int on_demand(const struct measure_price *p, struct priced *out, bool *found,
                     struct err *err)
{
    struct offer offer;
    *out = p->price.priced;
    *found = out->offer.kind != OFFER_SPOT;
    if (*found)
        return 0;
    TRY(market_on_demand(p->market, &p->price.priced.offer, 0, &offer, found, err));
    *found = *found && market_price(p->market, &offer, &p->price.wishes, out, NULL) == 0;
    return 0;
}

static int set_offer(const struct measure_price *p, char **member, struct err *err)
{
    struct buf name = {0};
    if (!*p->price.priced.offer.name) // a price by the hour
        return 0;
    book_name(&p->price.priced.offer, &name);
    return text_take(member, &name, err);
}

int measure_price_attempt(const struct measure_price *p, struct run_attempt *a, struct err *err)
{
    struct priced other;
    bool found;
    if (!p || !a->wall_s.known)
        return 0;
    struct wishes wishes = p->price.wishes;
    wishes.interrupted = a->taken.known && a->taken.v;
    set_cost(&a->usd, &p->price.priced, &wishes, p->ordered_ns, a->wall_s.v);
    if (!a->offer)
        TRY(text_set(&a->offer, p->price.from, err));
    if (!a->billed)
        TRY(set_offer(p, &a->billed, err));
    wishes.interrupted = false;
    TRY(on_demand(p, &other, &found, err));
    if (!found)
        return 0;
    char seen[12];
    offer_date(other.offer.day, seen);
    set_cost(&a->on_demand_usd, &other, &wishes, p->ordered_ns, a->wall_s.v - a->lost_s.v);
    return other.offer.day > 0 ? text_set(&a->on_demand_seen, seen, err) : 0;
}

// ---- what a run has cost

int measure_price_spent(const struct measure_price *p, struct run *run, struct err *err)
{
    struct run_spent *spent = &run->spent;
    struct maybe_money usd = {0};
    int64_t nano;
    if (!p)
        return 0;
    for (size_t i = 0; i < run->saving.attempts.count; i++) {
        const struct run_attempt *a = &run->saving.attempts.items[i];
        if (a->run && run->id && strcmp(a->run, run->id) == 0)
            usd = a->usd;
    }
    if (usd.known)
        spent->usd = usd;
    else if (run->phases.wall_ns.known &&
             run_price_cost(&p->price, run_ordered_ns(run), run->phases.wall_ns.v, &nano, NULL) ==
                 0 &&
             money_scale(nano, run->nodes.known ? run->nodes.v : 1, 1, MONEY_HALF_EVEN, &nano,
                         NULL) == 0)
        spent->usd = some_money(nano);
    spent->usd_per_hour = some_money(p->price.hour);
    TRY(text_set(&spent->from, p->price.from, err));
    return set_offer(p, &spent->offer, err);
}

// ---- a budget

static int add_doubts(struct market *market, const struct offer *offer, struct buf *says,
                      struct err *err)
{
    const struct wishes wishes = {0};
    SCOPED(bill_release) struct bill bill = {0};
    const struct bill_time moment = {
        .parts = {{"run", 1, NULL}}, .count = 1, .total_ns = 1, .low_ns = -1, .high_ns = -1};
    TRY(bill_make(market, &wishes, offer, offer->name, &moment, 0, &bill, err));
    if (bill.price_old.v)
        buf_printf(says,
                   "--max-spend uses an OLD price, last seen %s, %s ago: 'fare prices update' "
                   "gets new ones\n",
                   bill.price_date, units_count(bill.price_age_days.v, "day").s);
    if (bill.exchange_old.v)
        buf_printf(says, "--max-spend uses an OLD exchange rate: %s\n", bill.exchange);
    if (bill.price_doubt)
        buf_printf(says, "--max-spend uses a doubtful price, %s\n", bill.price_doubt);
    if (bill.price_estimated.v)
        buf_printf(says, "--max-spend uses a price that is %s\n", bill.price_source);
    if (bill.tariff_assumed.v)
        buf_printf(says, "--max-spend uses an assumed rule: %s\n", bill.words);
    return buf_check(says, err);
}

int measure_price_longest(struct market *market, const char *name, int64_t budget,
                          int64_t ordered_ns, int64_t *longest_ns, struct buf *says,
                          struct err *err)
{
    const struct wishes wishes = {0};
    struct offer offer;
    struct priced priced;
    *longest_ns = 0;
    TRY(market_find(market, name, 0, &offer, err));
    TRY(add_doubts(market, &offer, says, err));
    TRY(market_price(market, &offer, &wishes, &priced, err));
    TRY(priced_longest(&priced, &wishes, budget, LONGEST_NS, longest_ns, err));
    int64_t spent_ns = priced_use_ns(&priced, ordered_ns, 0);
    *longest_ns = *longest_ns > spent_ns ? *longest_ns - spent_ns : 0;
    return 0;
}
