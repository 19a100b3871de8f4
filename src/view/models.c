// SPDX-License-Identifier: Apache-2.0
#include "view/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/money.h"
#include "base/units.h"
#include "book/listing.h"
#include "view/html.h"
#include "render/markup.h"

struct walk {
    struct models *models;
    size_t cap, last; // last: the model of the offer before
    const struct currencies *currencies;
    const struct devices *devices;
    int64_t max_rate;
    int day, oldest;
};

// The book is sorted by provider and name, so that the next offer mostly has the same GPU.
static int model_of(struct walk *w, const char *gpu, struct model **out, struct err *err)
{
    struct models *m = w->models;
    *out = NULL;
    if (w->last < m->count && strcmp(m->items[w->last].gpu, gpu) == 0) {
        *out = &m->items[w->last];
        return 0;
    }
    for (w->last = 0; w->last < m->count; w->last++)
        if (strcmp(m->items[w->last].gpu, gpu) == 0) {
            *out = &m->items[w->last];
            return 0;
        }
    if (m->count == MODELS_MOST)
        return 0;
    TRY(array_grow(&m->items, m->count, &w->cap, sizeof *m->items, err));
    *out = &m->items[m->count++];
    **out = (struct model){.gpu = gpu, .last_provider = "", .on_demand = -1, .spot = -1};
    return 0;
}

static void keep_least(int64_t *least, int64_t price)
{
    if (*least < 0 || price < *least)
        *least = price;
}

static int visit(void *arg, const struct offer *o, struct err *err)
{
    struct walk *w = arg;
    struct model *model;
    int64_t hour = offer_per_hour(o);
    if (o->day < w->oldest || !*o->gpu)
        return 0;
    if (strcmp(o->currency, "USD") != 0 &&
        currency_to_usd(w->currencies, o->currency, w->day, hour, &hour, NULL, NULL, NULL) != 0)
        return 0;
    if (w->max_rate >= 0 && hour > w->max_rate)
        return 0;
    if (offer_retired(o, w->day) || doubt_of(w->devices, o, hour)) {
        w->models->doubtful++;
        return 0;
    }
    int64_t unit = offer_unit(o, hour);
    TRY(model_of(w, o->gpu, &model, err));
    if (!model || unit <= 0)
        return 0;
    model->offers++;
    if (strcmp(model->last_provider, o->provider) != 0)
        model->providers++;
    model->last_provider = o->provider;
    if (o->kind == OFFER_SPOT)
        keep_least(&model->spot, unit);
    else if (o->kind == OFFER_ON_DEMAND)
        keep_least(&model->on_demand, unit);
    part_rug_add(&model->rug, o->kind == OFFER_SPOT, (double)unit / MONEY_UNIT);
    return 0;
}

static int by_providers(const void *left, const void *right)
{
    const struct model *a = left, *b = right;
    if (a->providers != b->providers)
        return a->providers > b->providers ? -1 : 1;
    if (a->offers != b->offers)
        return a->offers > b->offers ? -1 : 1;
    return strcmp(a->gpu, b->gpu);
}

int models_make(struct market *market, const struct book_filter *filter, int64_t max_rate,
                struct models *out, struct err *err)
{
    struct book_filter gpus = *filter;
    const struct book *book;
    struct walk w = {.models = out, .max_rate = max_rate, .day = filter->day};
    w.oldest = (filter->day ? filter->day : book_today()) - LISTING_STALE_DAYS;
    gpus.with_gpu = true;
    TRY(market_book(market, &book, err));
    TRY(market_currencies(market, &w.currencies, err));
    TRY(market_devices(market, &w.devices, err));
    TRY(book_each(book, &gpus, visit, &w, err));
    if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, by_providers);
    return 0;
}

void models_release(struct models *models)
{
    free(models->items);
    *models = (struct models){0};
}

// ---- the table

static void price_cell(struct buf *out, int64_t nano)
{
    char amount[MONEY_BYTES] = "";
    if (nano >= 0)
        money_short(nano, amount);
    html_cell(out, "num", amount);
}

static void model_row(struct buf *out, const struct model *m, const char *link)
{
    char providers[24];
    snprintf(providers, sizeof providers, "%zu", m->providers);
    buf_adds(out, "<tr><td>");
    if (link) {
        buf_printf(out, "<a href=\"%s", link);
        markup_address(out, m->gpu);
        buf_adds(out, "\">");
    }
    markup_text(out, m->gpu);
    buf_adds(out, link ? "</a></td>" : "</td>");
    price_cell(out, m->on_demand);
    price_cell(out, m->spot);
    html_cell(out, "num wide", providers);
    buf_adds(out, "<td>");
    part_rug(out, &m->rug);
    buf_adds(out, "</td></tr>\n");
}

static void model_table(struct buf *out, const struct models *models, size_t from, size_t to,
                        const char *link)
{
    static const struct html_column columns[] = {
        {"GPU", ""}, {"on demand, USD", "num"}, {"spot, USD", "num"}, {"providers", "num wide"}};
    html_begin_table(out, from == 0 ? "GPU models" : "More GPU models");
    buf_adds(out, "<thead><tr>");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        buf_printf(out, "<th scope=\"col\" class=\"%s\">%s</th>", columns[i].class,
                   columns[i].name);
    buf_adds(out, "<th scope=\"col\">all prices, USD per GPU-hour");
    part_rug_axis(out);
    buf_adds(out, "</th></tr></thead>\n<tbody>\n");
    for (size_t i = from; i < to; i++)
        model_row(out, &models->items[i], link);
    html_end_table(out);
}

void html_models(struct buf *out, const struct models *models, const char *link)
{
    enum { OPEN = 18 };
    size_t open = models->count < OPEN + 4 ? models->count : OPEN;
    if (models->count == 0)
        return;
    html_paragraph(out, "",
                   "The lowest price of one GPU for an hour; those that most providers have first. "
                   "Each line of the strip is a price that "
                   "somebody asks: above on demand, below on spot.");
    model_table(out, models, 0, open, link);
    if (open < models->count) {
        buf_printf(out, "<details><summary>%s more</summary>\n",
                   units_count((int64_t)(models->count - open), "GPU model").s);
        model_table(out, models, open, models->count, link);
        buf_adds(out, "</details>\n");
    }
    if (models->doubtful > 0)
        buf_printf(out,
                   "<p class=\"mute\">%s left out: doubtful prices and retired machines.</p>\n",
                   units_count((int64_t)models->doubtful, "offer").s);
}
