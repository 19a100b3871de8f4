// SPDX-License-Identifier: Apache-2.0
#include "measure/price.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/pricing.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/bill.h"
#include "machine/device.h"
#include "price/book.h"

#define LONGEST_NS (INT64_C(30) * 86400 * NS_PER_S)

struct measure_price {
    struct pricing *pricing;
    struct price price;
    char words[800];
};

// ---- the offer that the user says this machine is

static int contradicts(const struct offer *offer, const struct run_machine *m, struct err *err)
{
    struct buf name = {0};
    book_name(offer, &name);
    int count = (offer->gpus_milli + 999) / 1000;
    if (!m->gpu)
        err_set(err, ERR_USAGE, "--offer %s: that machine has %d × %s, and this one has no GPU",
                buf_str(&name), count, offer->gpu);
    else
        err_set(err, ERR_USAGE, "--offer %s: that machine has %d × %s, and this one %lld × %s",
                buf_str(&name), count, offer->gpu, (long long)m->gpus.v, m->gpu);
    err_hint(err, "run it on that machine, or name the offer that this one is; 'fare quote RUN "
                  "--offer OFFER' prices a run on another");
    buf_release(&name);
    return ERR_USAGE;
}

static int check_gpus(const struct offer *offer, const struct run_machine *m, struct err *err)
{
    if (!*offer->gpu || !m->gpus.known)
        return 0;
    if (!m->gpu || m->gpus.v != (offer->gpus_milli + 999) / 1000)
        return contradicts(offer, m, err);
    struct devices *devices = NULL;
    int rc = devices_open(&devices, err);
    if (rc != 0)
        return rc;
    const struct device *there = device_find(devices, offer->gpu),
                        *here = device_find(devices, m->gpu);
    if (there && here && there != here)
        rc = contradicts(offer, m, err);
    devices_close(devices);
    return rc;
}

static int check_offer(const char *name, const struct run *run, struct err *err)
{
    struct book *book = NULL;
    struct offer offer;
    int rc = book_open(&book, NULL, err);
    if (rc == 0)
        rc = book_find(book, name, 0, &offer, err);
    if (rc == 0)
        rc = check_gpus(&offer, &run->machine, err);
    book_close(book);
    return rc;
}

// ---- its price

static int cost(const void *price, int64_t ns, int64_t *nano_usd, struct err *err)
{
    return price_cost(price, ns, nano_usd, err);
}

static void describe(struct measure_price *p)
{
    char hour[MONEY_BYTES];
    struct buf rule = {0};
    money_short(p->price.nano, hour);
    price_words(&p->price, &rule);
    const char *words = rule.failed ? "" : buf_str(&rule);
    // A running hour's bill goes by the first part of the rule; the rest is for 'fare quote'.
    snprintf(p->words, sizeof p->words, "%s USD an hour (%s), %.*s%s%s%s", hour, p->price.from,
             (int)strcspn(words, ";"), words,
             p->price.assumed ? " (assumed: this provider's rules are not known)" : "",
             p->price.note[0] ? "; " : "", p->price.note);
    buf_release(&rule);
}

int measure_price_open(struct measure_price **out, const char *offer, const struct run *run,
                       struct err *err)
{
    const struct pricing_options options = {.offers = &offer, .offer_count = offer ? 1 : 0};
    *out = NULL;
    int rc = offer ? check_offer(offer, run, err) : 0;
    // Opening the book takes a moment: not where there is nothing to look for.
    bool named = offer || run_label(run, "price_per_hour_usd") ||
                 (run->machine.provider && run->machine.instance_type);
    if (rc != 0 || !named)
        return rc;
    struct measure_price *p = calloc(1, sizeof *p);
    if (!p)
        return err_memory(err);
    if (pricing_new(&p->pricing, &options, NULL) != 0 ||
        pricing_of(p->pricing, run, &p->price, NULL) != 0 || !p->price.known) {
        measure_price_close(p);
        return 0;
    }
    describe(p);
    *out = p;
    return 0;
}

void measure_price_close(struct measure_price *p)
{
    if (p)
        pricing_free(p->pricing);
    free(p);
}

const char *measure_price_words(const struct measure_price *p)
{
    return p->words;
}

static int64_t boot_of(const struct measure_price *p, const struct run *run)
{
    const struct tariff *tariff = p->price.tariff;
    bool is_free = tariff && tariff->boot_free.known && tariff->boot_free.v;
    return run->phases.boot_ns.known && !is_free ? run->phases.boot_ns.v : 0;
}

void measure_price_begin(struct measure_price *p, const struct run *run, struct live_price *live)
{
    *live = (struct live_price){0};
    if (p)
        *live = (struct live_price){.offer = p->words,
                                    .hour = p->price.nano,
                                    .before_ns = boot_of(p, run),
                                    .cost = cost,
                                    .price = &p->price};
}

static bool cost_words(const struct measure_price *p, const struct run *run, double wall_s,
                       char out[MONEY_BYTES])
{
    int64_t nano;
    if (!(wall_s >= 0 && wall_s < 3e9) ||
        price_cost(&p->price, boot_of(p, run) + (int64_t)(wall_s * 1e9), &nano, NULL) != 0)
        return false;
    money_short(nano, out);
    return true;
}

bool measure_price_bill(const struct measure_price *p, const struct run *run, struct buf *out)
{
    char this[MONEY_BYTES], whole[MONEY_BYTES], hour[MONEY_BYTES];
    const struct run_projection *projection = &run->projection;
    if (!p || !run->phases.wall_ns.known ||
        !cost_words(p, run, (double)run->phases.wall_ns.v / 1e9, this))
        return false;
    buf_printf(out, "%s USD for this run", this);
    if (run->full.known && run->full.v)
        buf_adds(out, ", which is the whole training");
    else if (projection->wall_s.known && cost_words(p, run, projection->wall_s.v, whole))
        buf_printf(out, ", %s USD for the whole training", whole);
    money_short(p->price.nano, hour);
    buf_printf(out, "; derived from %s USD an hour (%s)%s%s", hour, p->price.from,
               p->price.note[0] ? "; " : "", p->price.note);
    return true;
}

// ---- a budget

static int add_doubts(const struct bill_context *context, const struct offer *offer,
                      struct buf *says, struct err *err)
{
    struct bill bill = {0};
    const struct bill_time moment = {
        .parts = {{"run", 1}}, .count = 1, .total_ns = 1, .low_ns = -1, .high_ns = -1};
    int rc = bill_make(context, offer, offer->name, &moment, 0, &bill, err);
    if (rc == 0 && bill.price_old.v)
        buf_printf(says,
                   "--max-spend counts with a price that is OLD, last seen %s, %s ago: 'fare "
                   "prices update' gets new ones\n",
                   bill.price_date, units_count(bill.price_age_days.v, "day").s);
    if (rc == 0 && bill.exchange && strstr(bill.exchange, "OLD"))
        buf_printf(says, "--max-spend counts with a rate of exchange that is OLD: %s\n",
                   bill.exchange);
    if (rc == 0 && bill.price_estimated.v)
        buf_printf(says, "--max-spend counts with a price that is %s\n", bill.price_source);
    if (rc == 0 && bill.tariff_assumed.v)
        buf_adds(says, "--max-spend: this provider's rules are not known; per second is assumed\n");
    record_release(bill_fields, &bill);
    return rc == 0 ? buf_check(says, err) : rc;
}

int measure_price_longest(const char *name, int64_t budget, int64_t *longest_ns, struct buf *says,
                          struct err *err)
{
    struct book *book = NULL;
    struct tariff_book *tariffs = NULL;
    struct currencies *currencies = NULL;
    struct rates *rates = NULL;
    struct offer offer;
    int rc = book_open(&book, NULL, err);
    if (rc == 0)
        rc = book_find(book, name, 0, &offer, err);
    if (rc == 0)
        rc = tariff_book_open(&tariffs, err);
    if (rc == 0)
        rc = currencies_open(&currencies, err);
    if (rc == 0)
        rc = rates_open(&rates, NULL, err);
    if (rc == 0) {
        const struct bill_context context = {
            .tariffs = tariffs, .currencies = currencies, .rates = rates};
        rc = add_doubts(&context, &offer, says, err);
        if (rc == 0)
            rc = bill_longest(&context, &offer, budget, LONGEST_NS, longest_ns, err);
    }
    rates_close(rates);
    currencies_close(currencies);
    tariff_book_close(tariffs);
    book_close(book);
    return rc;
}
