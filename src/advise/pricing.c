// SPDX-License-Identifier: Apache-2.0
#include "advise/pricing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/selector.h"
#include "base/clock.h"
#include "base/money.h"
#include "bill/charge.h"
#include "price/currency.h"
#include "price/tariffs.h"

#define DAY_S INT64_C(86400)

struct said {                 // by the user: SELECTOR=VALUE
    struct selector selector; // without text: for all
    int64_t nano;             // --price
    const char *value;        // as written
};

struct pricing {
    bool prorated, dated;
    int64_t date_s;
    struct said *prices;
    size_t price_count;
    struct tariff_book *tariffs;
    struct currencies *currencies;
};

static int read_price(struct said *said, const char *text, struct err *err)
{
    const char *equals = strrchr(text, '=');
    said->value = equals ? equals + 1 : text;
    int rc = equals ? selector_init(&said->selector, text, (size_t)(equals - text), err) : 0;
    if (rc == 0)
        rc = money_parse(said->value, &said->nano, err);
    if (rc == 0 && said->nano < 0)
        rc = err_set(err, ERR_USAGE, "a price is not below zero");
    if (rc == 0 || rc == ERR_MEMORY)
        return rc;
    if (err)
        err->code = ERR_USAGE;
    err_context(err, "--price %s", text);
    err_hint(err, "a selector and dollars an hour: --price k80=0.23");
    return ERR_USAGE;
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
    if (p->prorated)
        return 0;
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
    if (rc == 0 && o->price_count > 0) {
        p->prices = calloc(o->price_count, sizeof *p->prices);
        rc = p->prices ? 0 : err_memory(err);
    }
    for (size_t i = 0; i < o->price_count && rc == 0; i++)
        rc = read_price(&p->prices[p->price_count++], o->prices[i], err);
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
    free(p->prices);
    tariff_book_close(p->tariffs);
    currencies_close(p->currencies);
    free(p);
}

// The one that fits best; of equals the last.
static const struct said *best_said(const struct said *list, size_t count, const struct run *run)
{
    const struct said *best = NULL;
    int most = -1;
    for (size_t i = 0; i < count; i++) {
        int fit = list[i].selector.text ? (int)selector_fits(&list[i].selector, run) : 0;
        if (list[i].selector.text && fit == SELECTOR_NOT)
            continue;
        if (fit >= most) {
            most = fit;
            best = &list[i];
        }
    }
    return best;
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

// Caps and fees of a tariff in another currency than the price's, which is USD.
static int fees_in_usd(const struct pricing *p, const struct tariff *tariff, int day,
                       struct rule *rule, struct err *err)
{
    int64_t *const amounts[] = {&rule->monthly_cap, &rule->monthly_fee, &rule->setup_fee};
    if (!tariff->currency || strcmp(tariff->currency, "USD") == 0)
        return 0;
    int rc = 0;
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts && rc == 0; i++)
        if (*amounts[i] > 0)
            rc = currency_to_usd(p->currencies, tariff->currency, day, *amounts[i], amounts[i],
                                 NULL, NULL, err);
    return rc;
}

// How the run's provider charges, at the price an hour that is known.
static int read_rule(struct pricing *p, const struct run *run, struct price *out, struct err *err)
{
    static const struct tariff exactly = {.unit_ms = {0, true}};
    const struct tariff *tariff = &exactly;
    int day = day_of(out->start_s);
    const char *kind = run_label(run, "price_kind");
    bool spot = kind && (strcmp(kind, "preemptible") == 0 || strcmp(kind, "spot") == 0);
    struct offer offer = {.provider = run->machine.provider ? run->machine.provider : "",
                          .name = run->machine.instance_type ? run->machine.instance_type : "",
                          .kind = spot ? OFFER_SPOT : OFFER_ON_DEMAND};
    out->prorated = p->prorated;
    if (p->prorated)
        snprintf(out->words, sizeof out->words, "rate × time");
    else
        tariff = tariff_for(p->tariffs, &offer, day, &out->assumed);
    if (!p->prorated) {
        struct buf words = {0};
        tariff_words(tariff, &words);
        snprintf(out->words, sizeof out->words, "%s", buf_str(&words));
        buf_release(&words);
    }
    char rate[MONEY_BYTES];
    money_text(out->nano, rate);
    int rc = rule_read(&out->rule, tariff, rate, err);
    out->rule.per_ns = 3600 * NS_PER_S; // the price is for an hour, whatever the tariff's own is
    if (rc == 0)
        rc = fees_in_usd(p, tariff, day, &out->rule, err);
    if (rc == 0 && !p->prorated)
        rc = money_add(out->rule.monthly_fee, out->rule.setup_fee, &out->fees, err);
    out->rule.monthly_fee = out->rule.setup_fee = 0;
    return rc;
}

int pricing_of(struct pricing *p, const struct run *run, struct price *out, struct err *err)
{
    memset(out, 0, sizeof *out);
    out->start_s = date_of(p, run);
    const struct said *said = best_said(p->prices, p->price_count, run);
    const char *label = run_label(run, "price_per_hour_usd");
    if (said) {
        out->nano = said->nano;
        snprintf(out->from, sizeof out->from, "--price%s%.100s", said->selector.text ? " " : "",
                 said->selector.text ? said->selector.text : "");
    } else if (label) {
        if (money_parse(label, &out->nano, NULL) != 0 || out->nano < 0) {
            snprintf(out->from, sizeof out->from, "its label price_per_hour_usd is no price");
            return 0;
        }
        snprintf(out->from, sizeof out->from, "label of the run");
    } else {
        return 0;
    }
    out->known = true;
    return read_rule(p, run, out, err);
}

int price_cost(const struct price *price, int64_t length_ns, int64_t *nano_usd, struct err *err)
{
    struct charge_use use = {
        .start_s = price->start_s, .length_ns = length_ns, .prorated = price->prorated};
    struct charge charge;
    int rc = charge_use(&price->rule, &use, &charge, err);
    if (rc == 0)
        *nano_usd = charge.total;
    return rc;
}
