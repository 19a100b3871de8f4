// SPDX-License-Identifier: Apache-2.0
#include "bill/run_price.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"

struct known_offer { // a look-up in the book
    bool found;
    struct offer offer;
};

struct run_prices {
    struct market *market;
    bool prorated, dated;
    int64_t date_s;
    struct index offer_keys; // name and day
    struct known_offer *offers;
    size_t offer_space;
    struct index rule_keys; // day, rate, kind, provider, name
    struct run_price *rules;
    size_t rule_space;
};

int run_prices_new(struct run_prices **out, struct market *market, bool prorated, bool dated,
                   int64_t date_s, struct err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return err_memory(err);
    **out = (struct run_prices){
        .market = market, .prorated = prorated, .dated = dated, .date_s = date_s};
    return 0;
}

void run_prices_free(struct run_prices *p)
{
    if (!p)
        return;
    index_release(&p->offer_keys);
    index_release(&p->rule_keys);
    free(p->offers);
    free(p->rules);
    free(p);
}

// The number of `key` in `keys`, with space for it in `*items`; `*fresh`: it was added.
static int number_of(struct index *keys, const struct buf *key, void **items, size_t *space,
                     size_t size, size_t *number, bool *fresh, struct err *err)
{
    size_t before = keys->count;
    TRY(array_grow(items, before, space, size, err));
    int rc = buf_check(key, err);
    if (rc == 0)
        rc = index_number(keys, buf_str(key), key->len, number, err);
    *fresh = rc == 0 && *number == before;
    return rc;
}

static int find_offer(struct run_prices *p, const char *name, int day,
                      const struct known_offer **out, struct err *err)
{
    SCOPED(buf_release) struct buf key = {0};
    size_t number = 0;
    bool fresh;
    buf_printf(&key, "%s\x1f%d", name, day);
    int rc = number_of(&p->offer_keys, &key, (void **)&p->offers, &p->offer_space,
                       sizeof *p->offers, &number, &fresh, err);
    if (rc == 0 && fresh) {
        struct err why = {0};
        struct known_offer *known = &p->offers[number];
        memset(known, 0, sizeof *known);
        rc = market_find(p->market, name, day, &known->offer, &why);
        known->found = rc == 0;
        if (rc == ERR_MISSING || rc == ERR_USAGE)
            rc = 0;
        else if (rc != 0 && err)
            *err = why;
    }
    if (rc == 0)
        *out = &p->offers[number];
    return rc;
}

// ---- notes

static void add_note(struct run_price *price, const char *format, ...) PRINTF_LIKE(2, 3);
static void add_note(struct run_price *price, const char *format, ...)
{
    static const char cut[] = " ...";
    size_t size = sizeof price->note, len = strlen(price->note);
    va_list args;
    if (len > 0 && len + 2 < size)
        len += (size_t)snprintf(price->note + len, size - len, "; ");
    va_start(args, format);
    int wanted = vsnprintf(price->note + len, size - len, format, args);
    va_end(args);
    if (wanted < 0 || (size_t)wanted < size - len)
        return;
    // Cut at the end of a word, so that no multi-byte character is split.
    size_t end = size - sizeof cut;
    while (end > len && price->note[end] != ' ')
        end--;
    memcpy(price->note + end, cut, sizeof cut);
}

static int note_price(struct run_price *price, struct err *err)
{
    const struct priced *p = &price->priced;
    const struct currencies *currencies;
    bool own = p->own_rate;
    struct currency_rate rate;
    int64_t usd;
    if (!own && p->offer.day > 0 && offer_old(&p->offer, p->day))
        add_note(price, "OLD price: last seen %s before",
                 units_count(offer_age(&p->offer, p->day), "day").s);
    if (!own && offer_estimated(&p->offer))
        add_note(price, "the price is %s", p->offer.source);
    if (own)
        add_note(price, "your own rate for %.40s", p->offer.provider);
    if (p->own && p->own->discount_permille > 0)
        add_note(price, "your own discount for %.40s", p->offer.provider);
    TRY(market_currencies(p->market, &currencies, err));
    TRY(currency_to_usd(currencies, p->paid_in, p->day, 0, &usd, &rate, err));
    if (!*rate.source)
        return 0;
    SCOPED(buf_release) struct buf words = {0};
    currency_words(&rate, strncmp(rate.source, "derived", strlen("derived")) == 0, &words);
    TRY(buf_check(&words, err));
    add_note(price, "1 %.3s = %s", p->paid_in, buf_str(&words));
    return 0;
}

// ---- the sources of a price

static int set_price(struct run_prices *p, const struct offer *offer, struct run_price *out,
                     struct err *err)
{
    int rc = market_price(p->market, offer, &out->wishes, &out->priced, err);
    if (rc == 0)
        rc = priced_hour(&out->priced, &out->hour, err);
    if (rc == 0)
        rc = note_price(out, err);
    out->known = rc == 0;
    snprintf(out->provider, sizeof out->provider, "%.60s", offer->provider);
    return rc;
}

static int by_book(struct run_prices *p, const char *name, struct run_price *out, struct err *err)
{
    const struct known_offer *known;
    int rc = find_offer(p, name, wishes_day(&out->wishes), &known, err);
    char date[CLOCK_ISO_BYTES];
    clock_iso(out->wishes.start_s, date);
    if (rc != 0)
        return rc;
    if (!known->found) {
        snprintf(out->from, sizeof out->from, "the book has no price of %.80s on %.10s (--date)",
                 name, date);
        return 0;
    }
    SCOPED(buf_release) struct buf full = {0};
    book_name(&known->offer, &full);
    rc = buf_check(&full, err);
    if (rc == 0)
        rc = set_price(p, &known->offer, out, err);
    bool own = rc == 0 && out->priced.own_rate;
    snprintf(out->from, sizeof out->from, "%s: %.100s on %.10s%s", own ? "rates.csv" : "book",
             buf_str(&full), date, !own && offer_estimated(&known->offer) ? ", estimated" : "");
    return rc;
}

static enum offer_kind kind_of(const struct run *run)
{
    const char *kind = run_label(run, "price_kind");
    bool spot = kind && (strcmp(kind, "preemptible") == 0 || strcmp(kind, "spot") == 0);
    return spot ? OFFER_SPOT : OFFER_ON_DEMAND;
}

bool run_price_is_bound(const struct run_price *price, const struct run *run)
{
    bool paid = run->full.known && run->full.v && kind_of(run) == OFFER_SPOT;
    return price->known && price->priced.offer.kind == OFFER_SPOT && !paid;
}

// A price in dollars an hour, charged by the rule of the run's provider. Each rule is made once.
static int by_hour(struct run_prices *p, const struct run *run, enum offer_kind kind, int64_t nano,
                   struct run_price *out, struct err *err)
{
    const struct run_machine *m = &run->machine;
    const struct offer offer = {.provider = m->provider ? m->provider : "",
                                .name = m->instance_type ? m->instance_type : "",
                                .region = m->region ? m->region : "",
                                .zone = "",
                                .gpu = "",
                                .cpu = "",
                                .currency = "USD",
                                .source = "",
                                .kind = kind,
                                .rate = nano,
                                .per_s = 3600};
    SCOPED(buf_release) struct buf key = {0};
    size_t number = 0;
    bool fresh;
    out->wishes.rate_given = true; // whatever its region
    buf_printf(&key, "%d %lld %d %s\x1f%s", wishes_day(&out->wishes), (long long)nano, (int)kind,
               offer.provider, offer.name);
    int rc = number_of(&p->rule_keys, &key, (void **)&p->rules, &p->rule_space, sizeof *p->rules,
                       &number, &fresh, err);
    if (rc != 0)
        return rc;
    struct run_price *cached = &p->rules[number];
    if (fresh) {
        *cached = *out;
        rc = set_price(p, &offer, cached, err);
        cached->priced.offer.provider = cached->priced.offer.name =
            ""; // texts of the run do not last
        cached->priced.offer.region = "";
    }
    struct run_price here = *out;
    *out = *cached;
    out->wishes = here.wishes;
    out->priced.start_s = here.wishes.start_s;
    memcpy(out->from, here.from, sizeof out->from);
    return rc;
}

// `asked` (optional): the kind of price.
static int by_machine(struct run_prices *p, const struct run *run, const enum offer_kind *asked,
                      struct run_price *out, struct err *err)
{
    enum offer_kind kind = asked ? *asked : kind_of(run);
    const struct run_machine *m = &run->machine;
    SCOPED(buf_release) struct buf name = {0};
    if (!m->provider || !m->instance_type)
        return 0;
    buf_printf(&name, "%s/%s%s%s", m->provider, m->instance_type, m->region ? "@" : "",
               m->region ? m->region : "");
    if (asked || kind == OFFER_SPOT)
        buf_printf(&name, ":%s", offer_kind_word(kind));
    TRY(buf_check(&name, err));
    TRY(by_book(p, buf_str(&name), out, err));
    if (!out->known && !asked &&
        kind == OFFER_ON_DEMAND) { // some machines are rented only by the month
        struct run_price monthly = {.wishes = out->wishes};
        buf_adds(&name, ":monthly");
        TRY(buf_check(&name, err));
        TRY(by_book(p, buf_str(&name), &monthly, err));
        if (monthly.known)
            *out = monthly;
    }
    return 0;
}

static int by_label(struct run_prices *p, const struct run *run, const char *label,
                    struct run_price *out, struct err *err)
{
    int64_t nano;
    if (money_parse(label, &nano, NULL) != 0 || nano < 0 || amount_too_large(label)) {
        snprintf(out->from, sizeof out->from, "its label price_per_hour_usd is not a price");
        return 0;
    }
    snprintf(out->from, sizeof out->from, "label of the run");
    return by_hour(p, run, kind_of(run), nano, out, err);
}

static int by_offer(struct run_prices *p, const struct run_price_said *said, struct run_price *out,
                    struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    struct offer newest;
    buf_adds(&name, said->offer);
    if (said->kind && !strchr(said->offer, ':'))
        buf_printf(&name, ":%s", offer_kind_word(*said->kind));
    TRY(buf_check(&name, err));
    TRY(by_book(p, buf_str(&name), out, err));
    if (!out->known) // on no date at all: the name is wrong
        TRY(market_find(p->market, said->offer, 0, &newest, err));
    return 0;
}

// ---- together

static int64_t date_of(const struct run_prices *p, const struct run *run)
{
    int64_t date;
    if (p->dated)
        return p->date_s;
    if (run->started && clock_parse(run->started, &date))
        return date;
    const char *month = run_label(run, "published"); // "2017-11"
    char first[16];
    if (month && strlen(month) == 7) {
        snprintf(first, sizeof first, "%.7s-01", month);
        if (clock_parse(first, &date))
            return date;
    }
    return clock_date_s();
}

int run_price(struct run_prices *p, const struct run *run, const struct run_price_said *said,
              struct run_price *out, struct err *err)
{
    memset(out, 0, sizeof *out);
    bool at_its_time = !p->dated && run->started;
    out->wishes = (struct wishes){.start_s = date_of(p, run),
                                  .clock = at_its_time ? CLOCK_KNOWN : CLOCK_MEAN,
                                  .prorated = p->prorated};
    const char *label = run_label(run, RUN_PRICE_LABEL);
    if (said->price) {
        snprintf(out->from, sizeof out->from, "%.150s", said->price);
        return by_hour(p, run, said->kind ? *said->kind : kind_of(run), said->hour, out, err);
    }
    if (said->offer)
        return by_offer(p, said, out, err);
    if (label && (!said->kind || *said->kind == kind_of(run)))
        return by_label(p, run, label, out, err);
    return by_machine(p, run, said->kind, out, err);
}

int run_price_cost(const struct run_price *price, int64_t ordered_ns, int64_t wall_ns,
                   int64_t *nano_usd, struct err *err)
{
    return priced_total(&price->priced, &price->wishes,
                        priced_use_ns(&price->priced, ordered_ns, wall_ns), nano_usd, err);
}

int run_price_printed(const struct run_price *price, int64_t wall_ns, int64_t *nano_usd,
                      struct err *err)
{
    struct charge charge;
    struct wishes wishes = price->wishes;
    wishes.prorated = priced_by_month(&price->priced);
    TRY(priced_charge(&price->priced, &wishes, wall_ns, &charge, err));
    return priced_usd(&price->priced, charge.time, nano_usd, err);
}

// ---- again: costs of records that were false

static struct {
    pthread_mutex_t lock;
    struct market *market;
    struct run_prices *prices;
} again = {.lock = PTHREAD_MUTEX_INITIALIZER};

// The price that the record has was found on its day; the book may have another by now.
static int find_again(const struct run *run, struct run_price *price, struct err *err)
{
    static const enum offer_kind spot = OFFER_SPOT;
    const struct run_spent *spent = &run->spent;
    const struct maybe_money hour =
        spent->usd_per_hour.known ? spent->usd_per_hour : run->live.usd_per_hour;
    const char *offer = spent->offer ? spent->offer : run_label(run, "offer");
    const char *kind = offer ? strrchr(offer, ':') : NULL;
    struct run_price_said said = {.hour = hour.nano,
                                  .price = spent->from ? spent->from : "the record",
                                  .kind = kind && strcmp(kind, ":spot") == 0 ? &spot : NULL};
    if (!hour.known)
        said = (struct run_price_said){.offer = spent->offer};
    if (!again.market)
        TRY(market_open(&again.market, NULL, NULL, err));
    if (!again.prices)
        TRY(run_prices_new(&again.prices, again.market, false, false, 0, err));
    return run_price(again.prices, run, &said, price, err);
}

int run_cost_again(const struct run *run, int64_t *nano, struct err *err)
{
    struct run_price price;
    double s = run->live.elapsed_s.known ? run->live.elapsed_s.v : -1;
    int64_t wall_ns = s >= 0 && s < 9e9 ? (int64_t)(s * 1e9) : -1;
    int64_t nodes = run->nodes.known && run->nodes.v > 0 ? run->nodes.v : 1;
    *nano = -1;
    if (run->phases.wall_ns.known)
        wall_ns = run->phases.wall_ns.v;
    if (wall_ns < 0)
        return 0;
    pthread_mutex_lock(&again.lock);
    int rc = find_again(run, &price, NULL);
    bool known = rc == 0 && price.known;
    if (known)
        rc = run_price_cost(&price, run_ordered_ns(run), wall_ns, nano, NULL);
    if (rc == ERR_MEMORY) { // it may have remembered half a rule
        run_prices_free(again.prices);
        again.prices = NULL;
    }
    pthread_mutex_unlock(&again.lock);
    if (rc == 0 && known)
        rc = money_scale(*nano, nodes, 1, MONEY_HALF_EVEN, nano, NULL);
    if (rc != 0)
        *nano = -1; // without a book, or of an amount that is none
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}
