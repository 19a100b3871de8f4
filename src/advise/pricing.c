// SPDX-License-Identifier: Apache-2.0
#include "advise/pricing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/selector.h"
#include "base/clock.h"
#include "base/money.h"

struct said {                 // by the user: SELECTOR=VALUE
    struct selector selector; // without text: for all
    int64_t nano;             // --price
    const char *value;        // as written
    bool used;                // some run fits it
};

struct pricing {
    struct run_prices *run_prices;
    struct said *prices, *offers;
    size_t price_count, offer_count;
    const enum offer_kind *kind;
};

static int bad_said(const char *option, const char *text, const char *hint, struct err *err)
{
    if (err)
        err->code = ERR_USAGE;
    err_context(err, "%s %s", option, text);
    err_hint(err, "%s", hint);
    return ERR_USAGE;
}

// SELECTOR=VALUE; the value alone is for every run.
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
        rc = err_set(err, ERR_USAGE, "a price cannot be below zero");
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
    TRY(*out ? 0 : err_memory(err));
    for (size_t i = 0; i < count; i++)
        TRY(read(&(*out)[(*out_count)++], texts[i], err));
    return 0;
}

static int read_date(const char *text, int64_t *date_s, struct err *err)
{
    if (!text || clock_parse(text, date_s))
        return 0;
    err_set(err, ERR_USAGE, "--date: '%s' is not a date", text);
    return err_hint(err, "a date looks like 2017-11-14");
}

int pricing_new(struct pricing **out, const struct pricing_options *o, struct err *err)
{
    struct pricing *p = calloc(1, sizeof *p);
    int64_t date_s = 0;
    if (!p)
        return err_memory(err);
    p->kind = o->kind;
    int rc = read_date(o->date, &date_s, err);
    if (rc == 0)
        rc = read_list(o->prices, o->price_count, read_price, &p->prices, &p->price_count, err);
    if (rc == 0)
        rc = read_list(o->offers, o->offer_count, read_offer, &p->offers, &p->offer_count, err);
    if (rc == 0)
        rc = run_prices_new(&p->run_prices, o->market, o->prorated, o->date != NULL, date_s, err);
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
    run_prices_free(p->run_prices);
    free(p);
}

// The best match; the last of equals.
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

int pricing_of(struct pricing *p, const struct run *run, struct run_price *out, struct err *err)
{
    const struct said *price = best_said(p->prices, p->price_count, run);
    const struct said *offer = best_said(p->offers, p->offer_count, run);
    char from[160];
    struct run_price_said said = {.offer = offer ? offer->value : NULL, .kind = p->kind};
    if (price) {
        snprintf(from, sizeof from, "--price%s%.100s", price->selector.text ? " " : "",
                 price->selector.text ? price->selector.text : "");
        said.price = from;
        said.hour = price->nano;
    }
    int rc = run_price(p->run_prices, run, &said, out, err);
    return rc == 0 || rc == ERR_MEMORY || price || !offer ? rc : err_context(err, "--offer");
}
