// SPDX-License-Identifier: Apache-2.0
#include "advise/pricing.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/selector.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/charge.h"
#include "bill/price_rule.h"
#include "base/index.h"
#include "price/book.h"
#include "price/currency.h"
#include "price/rates.h"
#include "price/tariffs.h"

#define DAY_S INT64_C(86400)

struct found { // in the book
    bool known;
    struct offer offer;
};

struct said {                 // by the user: SELECTOR=VALUE
    struct selector selector; // without text: for all
    int64_t nano;             // --price
    const char *value;        // as written
    bool used;                // some run fits it
};

struct pricing {
    bool prorated, dated;
    int64_t date_s;
    struct said *prices, *offers;
    size_t price_count, offer_count;
    const char *book_path, *share;
    struct book *book;   // opened when first asked
    struct index names;  // that were looked up in it, with the day
    struct found *found; // by their numbers
    size_t found_room;
    struct index rule_names; // of prices by the hour: provider, name, kind, day and rate
    struct price *rules;     // by their numbers
    size_t rule_room;
    struct buf key;
    struct rates *rates;
    struct tariff_book *tariffs;
    struct currencies *currencies;
};

static int bad_said(const char *option, const char *text, const char *hint, struct err *err)
{
    if (err)
        err->code = ERR_USAGE;
    err_context(err, "%s %s", option, text);
    err_hint(err, "%s", hint);
    return ERR_USAGE;
}

// SELECTOR=VALUE, or the value alone for every run.
static int read_said(struct said *said, const char *text, struct err *err)
{
    const char *equals = strrchr(text, '=');
    said->value = equals ? equals + 1 : text;
    return equals ? selector_init(&said->selector, text, (size_t)(equals - text), err) : 0;
}

static int read_price(struct said *said, const char *text, struct err *err)
{
    int rc = read_said(said, text, err);
    if (rc == 0)
        rc = money_parse(said->value, &said->nano, err);
    if (rc == 0 && said->nano < 0)
        rc = err_set(err, ERR_USAGE, "a price is not below zero");
    if (rc == 0 || rc == ERR_MEMORY)
        return rc;
    return bad_said("--price", text, "a selector and dollars an hour: --price k80=0.23", err);
}

static int read_offer(struct said *said, const char *text, struct err *err)
{
    int rc = read_said(said, text, err);
    if (rc == 0 && said->value[0] == '\0')
        rc = err_set(err, ERR_USAGE, "the offer is missing");
    if (rc == 0 || rc == ERR_MEMORY)
        return rc;
    return bad_said("--offer", text, "a selector and an offer: --offer v100=aws/p3.2xlarge", err);
}

typedef int read_fn(struct said *said, const char *text, struct err *err);
static int read_list(const char **texts, size_t count, read_fn *read, struct said **out,
                     size_t *out_count, struct err *err)
{
    if (count == 0)
        return 0;
    *out = calloc(count, sizeof **out);
    int rc = *out ? 0 : err_memory(err);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = read(&(*out)[(*out_count)++], texts[i], err);
    return rc;
}

static int read_date(struct pricing *p, const char *text, struct err *err)
{
    if (!text)
        return 0;
    p->dated = true;
    if (clock_parse(text, &p->date_s))
        return 0;
    err_set(err, ERR_USAGE, "--date: '%s' is not a date", text);
    return err_hint(err, "a date looks like 2017-11-14");
}

static int open_tables(struct pricing *p, const char *share, struct err *err)
{
    if (!share) {
        int rc = tariff_book_open(&p->tariffs, err);
        return rc == 0 ? currencies_open(&p->currencies, err) : rc;
    }
    struct buf providers = {0}, currencies = {0};
    buf_printf(&providers, "%s/providers", share);
    buf_printf(&currencies, "%s/currencies.csv", share);
    int rc = buf_check(&providers, err);
    if (rc == 0)
        rc = buf_check(&currencies, err);
    if (rc == 0)
        rc = tariff_book_read(&p->tariffs, buf_str(&providers), NULL, err);
    if (rc == 0)
        rc = currencies_read(&p->currencies, buf_str(&currencies), NULL, err);
    buf_release(&providers);
    buf_release(&currencies);
    return rc;
}

int pricing_new(struct pricing **out, const struct pricing_options *o, struct err *err)
{
    struct pricing *p = calloc(1, sizeof *p);
    if (!p)
        return err_memory(err);
    p->prorated = o->prorated;
    int rc = read_date(p, o->date, err);
    p->book_path = o->book;
    p->share = o->share;
    if (rc == 0)
        rc = read_list(o->prices, o->price_count, read_price, &p->prices, &p->price_count, err);
    if (rc == 0)
        rc = read_list(o->offers, o->offer_count, read_offer, &p->offers, &p->offer_count, err);
    if (rc == 0)
        rc = open_tables(p, o->share, err);
    if (rc == 0)
        *out = p;
    else
        pricing_free(p);
    return rc;
}

void pricing_free(struct pricing *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->price_count; i++)
        selector_release(&p->prices[i].selector);
    for (size_t i = 0; i < p->offer_count; i++)
        selector_release(&p->offers[i].selector);
    free(p->prices);
    free(p->offers);
    free(p->found);
    index_release(&p->names);
    free(p->rules);
    index_release(&p->rule_names);
    buf_release(&p->key);
    book_close(p->book);
    rates_close(p->rates);
    tariff_book_close(p->tariffs);
    currencies_close(p->currencies);
    free(p);
}

// The one that fits best; of equals the last.
static const struct said *best_said(struct said *list, size_t count, const struct run *run)
{
    const struct said *best = NULL;
    int most = -1;
    for (size_t i = 0; i < count; i++) {
        int fit = list[i].selector.text ? (int)selector_fits(&list[i].selector, run) : 0;
        if (list[i].selector.text && fit == SELECTOR_NOT)
            continue;
        list[i].used = true;
        if (fit >= most) {
            most = fit;
            best = &list[i];
        }
    }
    return best;
}

int pricing_check(const struct pricing *p, struct err *err)
{
    for (size_t i = 0; i < p->price_count + p->offer_count; i++) {
        bool price = i < p->price_count;
        const struct said *said = price ? &p->prices[i] : &p->offers[i - p->price_count];
        if (!said->used)
            return err_set(err, ERR_USAGE, "no run here fits --%s %s", price ? "price" : "offer",
                           said->selector.text ? said->selector.text : said->value);
    }
    return 0;
}

// When it was, for prices and rules.
static int64_t date_of(const struct pricing *p, const struct run *run)
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

static int day_of(int64_t date_s)
{
    return (int)(date_s >= 0 ? date_s / DAY_S : -((DAY_S - 1 - date_s) / DAY_S));
}

// What has to be said of a price, one thing behind the other.
static void add_note(struct price *price, const char *format, ...) PRINTF_LIKE(2, 3);
static void add_note(struct price *price, const char *format, ...)
{
    static const char cut[] = " ...";
    size_t room = sizeof price->note, len = strlen(price->note);
    va_list args;
    if (len > 0 && len + 2 < room)
        len += (size_t)snprintf(price->note + len, room - len, "; ");
    va_start(args, format);
    int wanted = vsnprintf(price->note + len, room - len, format, args);
    va_end(args);
    if (wanted < 0 || (size_t)wanted < room - len)
        return;
    // Cut where a word ends, so that no letter of several bytes is torn.
    size_t end = room - sizeof cut;
    while (end > len && price->note[end] != ' ')
        end--;
    memcpy(price->note + end, cut, sizeof cut);
}

// ---- the rule

// Caps and fees of a tariff in another currency than the price's.
static int convert_fees(const struct pricing *p, const struct tariff *tariff, const char *currency,
                        int day, struct rule *rule, struct err *err)
{
    int64_t *const amounts[] = {&rule->monthly_cap, &rule->monthly_fee, &rule->setup_fee};
    const char *theirs = tariff->currency ? tariff->currency : "USD";
    int64_t unit = MONEY_UNIT, ignored;
    if (strcmp(theirs, currency) == 0)
        return 0;
    int rc = currency_to_usd(p->currencies, currency, day, MONEY_UNIT, &ignored, &unit, NULL, err);
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts && rc == 0; i++) {
        if (*amounts[i] <= 0)
            continue;
        rc = currency_to_usd(p->currencies, theirs, day, *amounts[i], amounts[i], NULL, NULL, err);
        if (rc == 0)
            rc = money_scale(*amounts[i], MONEY_UNIT, unit, MONEY_HALF_EVEN, amounts[i], err);
    }
    return rc;
}

static int in_usd(const struct price *price, int64_t amount, int64_t *usd, struct err *err)
{
    return money_scale(amount, price->unit_nano_usd, MONEY_UNIT, MONEY_HALF_EVEN, usd, err);
}

// How the offer's provider charges on the day.
static int read_rule(const struct pricing *p, const struct offer *offer, struct price *out,
                     struct err *err)
{
    static const struct tariff exactly = {.unit_ms = {0, true}};
    const struct tariff *tariff = &exactly;
    int day = day_of(out->start_s);
    int64_t ignored;
    const char *source = "";
    char rate[MONEY_BYTES];
    out->prorated = p->prorated;
    snprintf(out->provider, sizeof out->provider, "%.60s", offer->provider);
    if (!p->prorated)
        tariff = out->tariff = tariff_for(p->tariffs, offer, day, &out->assumed);
    money_text(offer->rate, rate);
    int rc = rule_read(&out->rule, tariff, rate, err);
    out->rule.per_ns = offer->per_s * NS_PER_S; // the price's, whatever the tariff's own is
    if (rc == 0)
        rc = currency_to_usd(p->currencies, offer->currency, day, MONEY_UNIT, &ignored,
                             &out->unit_nano_usd, &source, err);
    if (rc == 0 && *source) // "OLD: 1.228 USD on 2018-02-01, derived from ..."
        add_note(out, "1 %.3s = %.*s", offer->currency, (int)strcspn(source, ","), source);
    if (rc == 0)
        rc = convert_fees(p, tariff, offer->currency, day, &out->rule, err);
    int64_t fees = 0;
    if (rc == 0 && !p->prorated)
        rc = money_add(out->rule.monthly_fee, out->rule.setup_fee, &fees, err);
    if (rc == 0)
        rc = in_usd(out, fees, &out->fees, err);
    if (rc == 0)
        rc = money_scale(offer->rate, 3600, offer->per_s, MONEY_HALF_EVEN, &out->nano, err);
    if (rc == 0)
        rc = in_usd(out, out->nano, &out->nano, err);
    out->rule.monthly_fee = out->rule.setup_fee = 0;
    return rc;
}

// ---- the book

static int open_book(struct pricing *p, struct err *err)
{
    if (p->book)
        return 0;
    int rc = book_open(&p->book, p->book_path, err);
    return rc == 0 && !p->rates && !p->share ? rates_open(&p->rates, NULL, err) : rc;
}

// An offer by its name on a day, looked up once.
static int find_offer(struct pricing *p, const char *name, int day, const struct found **out,
                      struct err *err)
{
    struct buf key = {0};
    size_t number, before = p->names.count;
    int rc = open_book(p, err);
    buf_printf(&key, "%s\x1f%d", name, day);
    if (rc == 0)
        rc = buf_check(&key, err);
    if (rc == 0 && before == p->found_room) {
        size_t room = p->found_room ? p->found_room * 2 : 16;
        struct found *found = realloc(p->found, room * sizeof *found);
        rc = found ? 0 : err_memory(err);
        if (found) {
            p->found = found;
            p->found_room = room;
        }
    }
    if (rc == 0)
        rc = index_number(&p->names, buf_str(&key), key.len, &number, err);
    buf_release(&key);
    if (rc != 0)
        return rc;
    if (number == before) {
        struct found *found = &p->found[number];
        struct err why = {0};
        memset(found, 0, sizeof *found);
        rc = book_find(p->book, name, day, &found->offer, &why);
        found->known = rc == 0;
        if (rc == ERR_MEMORY && err)
            *err = why;
        rc = rc == ERR_MEMORY ? rc : 0;
    }
    *out = &p->found[number];
    return rc;
}

// What the user pays instead of the list price, which then has no age.
static bool apply_rates(const struct pricing *p, struct offer *offer, int day, struct price *out)
{
    char name[256];
    price_rule_name(offer, name, sizeof name);
    const struct rates_row *row =
        p->rates ? rates_find(p->rates, offer->provider, name, day) : NULL;
    bool own = row && row->rate >= 0;
    out->discount_permille = row ? row->discount_permille : 0;
    if (own) {
        offer->rate = row->rate;
        offer->per_s = 3600;
        offer->currency = row->currency;
    }
    if (!own && offer_old(offer, day))
        add_note(out, "OLD price: last seen %s before",
                 units_count(offer_age(offer, day), "day").s);
    if (!own && offer_estimated(offer))
        add_note(out, "the price is %s", offer->source);
    if (own)
        add_note(out, "your own rate of %.40s", offer->provider);
    if (out->discount_permille > 0)
        add_note(out, "your own discount of %.40s", offer->provider);
    return own;
}

static int by_book(struct pricing *p, const char *name, struct price *out, struct err *err)
{
    const struct found *found;
    int day = day_of(out->start_s), rc = find_offer(p, name, day, &found, err);
    char date[CLOCK_ISO_BYTES];
    clock_iso(out->start_s, date);
    if (rc != 0)
        return rc;
    if (!found->known) {
        snprintf(out->from, sizeof out->from, "the book has no price of %.80s on %.10s (--date)",
                 name, date);
        return 0;
    }
    struct offer offer = found->offer;
    struct buf full = {0};
    bool own = apply_rates(p, &offer, day, out);
    book_name(&offer, &full);
    snprintf(out->from, sizeof out->from, "%s: %.100s on %.10s%s", own ? "rates.csv" : "book",
             buf_str(&full), date, !own && offer_estimated(&offer) ? ", estimated" : "");
    rc = buf_check(&full, err);
    buf_release(&full);
    out->known = rc == 0;
    return rc == 0 ? read_rule(p, &offer, out, err) : rc;
}

// ---- a run's

static bool is_spot(const struct run *run)
{
    const char *kind = run_label(run, "price_kind");
    return kind && (strcmp(kind, "preemptible") == 0 || strcmp(kind, "spot") == 0);
}

// The rule of a price by the hour, read once for all runs that have it on a day.
static int hour_rule(struct pricing *p, const struct offer *offer, struct price *out,
                     struct err *err)
{
    size_t number, before = p->rule_names.count;
    int day = day_of(out->start_s), rc = 0;
    if (before == p->rule_room) {
        size_t room = p->rule_room ? p->rule_room * 2 : 16;
        struct price *rules = realloc(p->rules, room * sizeof *rules);
        if (!rules)
            return err_memory(err);
        p->rules = rules;
        p->rule_room = room;
    }
    buf_reset(&p->key);
    buf_add(&p->key, &day, sizeof day);
    buf_add(&p->key, &offer->rate, sizeof offer->rate);
    buf_addc(&p->key, offer->kind == OFFER_SPOT ? 's' : 'd');
    buf_adds(&p->key, offer->provider);
    buf_addc(&p->key, '\x1f');
    buf_adds(&p->key, offer->name);
    rc = buf_check(&p->key, err);
    if (rc == 0)
        rc = index_number(&p->rule_names, buf_str(&p->key), p->key.len, &number, err);
    if (rc != 0)
        return rc;
    struct price *kept = &p->rules[number];
    if (number == before) {
        rc = read_rule(p, offer, out, err);
        *kept = *out;
        return rc;
    }
    struct price here = *out;
    *out = *kept;
    out->start_s = here.start_s;
    memcpy(out->from, here.from, sizeof out->from);
    memcpy(out->note, here.note, sizeof out->note);
    return 0;
}

// Dollars an hour, charged as the run's own provider does.
static int by_hour(struct pricing *p, const struct run *run, int64_t nano, struct price *out,
                   struct err *err)
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
                                .kind = is_spot(run) ? OFFER_SPOT : OFFER_ON_DEMAND,
                                .rate = nano,
                                .per_s = 3600};
    out->known = true;
    return hour_rule(p, &offer, out, err);
}

static int by_itself(struct pricing *p, const struct run *run, struct price *out, struct err *err)
{
    const struct run_machine *m = &run->machine;
    struct buf name = {0};
    if (!m->provider || !m->instance_type)
        return 0;
    buf_printf(&name, "%s/%s%s%s%s", m->provider, m->instance_type, m->region ? "@" : "",
               m->region ? m->region : "", is_spot(run) ? ":spot" : "");
    int rc = buf_check(&name, err);
    if (rc == 0)
        rc = by_book(p, buf_str(&name), out, err);
    if (rc == 0 && !out->known && !is_spot(run)) { // what is let by the month only
        struct price monthly = {.start_s = out->start_s};
        buf_adds(&name, ":monthly");
        rc = buf_check(&name, err);
        if (rc == 0)
            rc = by_book(p, buf_str(&name), &monthly, err);
        if (rc == 0 && monthly.known)
            *out = monthly;
    }
    buf_release(&name);
    return rc;
}

int pricing_of(struct pricing *p, const struct run *run, struct price *out, struct err *err)
{
    memset(out, 0, sizeof *out);
    out->start_s = date_of(p, run);
    int64_t nano;
    const struct said *said = best_said(p->prices, p->price_count, run);
    const struct said *offer = best_said(p->offers, p->offer_count, run);
    if (said) {
        snprintf(out->from, sizeof out->from, "--price%s%.100s", said->selector.text ? " " : "",
                 said->selector.text ? said->selector.text : "");
        return by_hour(p, run, said->nano, out, err);
    }
    said = offer;
    if (said) {
        int rc = by_book(p, said->value, out, err);
        struct offer newest;
        if (rc == 0 && !out->known) // at no date at all: a name that the user has wrong
            rc = book_find(p->book, said->value, 0, &newest, err);
        return rc == 0 || rc == ERR_MEMORY ? rc : err_context(err, "--offer");
    }
    const char *label = run_label(run, "price_per_hour_usd");
    if (!label)
        return by_itself(p, run, out, err);
    if (money_parse(label, &nano, NULL) != 0 || nano < 0) {
        snprintf(out->from, sizeof out->from, "its label price_per_hour_usd is no price");
        return 0;
    }
    snprintf(out->from, sizeof out->from, "label of the run");
    return by_hour(p, run, nano, out, err);
}

void price_words(const struct price *price, struct buf *out)
{
    if (price->tariff)
        tariff_words(price->tariff, out);
    else
        buf_adds(out, "rate × time");
}

int price_cost(const struct price *price, int64_t length_ns, int64_t *nano_usd, struct err *err)
{
    const struct charge_use use = {.start_s = price->start_s,
                                   .length_ns = length_ns,
                                   .prorated = price->prorated,
                                   .discount_permille = price->discount_permille};
    struct charge charge;
    int rc = charge_use(&price->rule, &use, &charge, err);
    return rc == 0 ? in_usd(price, charge.total, nano_usd, err) : rc;
}
