// SPDX-License-Identifier: Apache-2.0
#include "view/offers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/money.h"
#include "base/units.h"
#include "book/listing.h"
#include "render/markup.h"
#include "render/part.h"
#include "view/html.h"

enum { KINDS = 3, PROVIDERS_MOST = 64, MARKS_MOST = 300 };
#define ONE_MARK 0.02 // of the price: marks so close lie on each other

static const char *const kind_names[KINDS] = {
    [OFFER_ON_DEMAND] = "on demand", [OFFER_SPOT] = "spot", [OFFER_MONTHLY] = "by the month"};

int offers_list(struct market *market, const struct book_filter *filter, int64_t max_rate,
                struct listing *list, struct err *err)
{
    const struct book *book;
    int today = filter->day ? filter->day : book_today();
    *list =
        (struct listing){.all = true, .max_rate = max_rate, .oldest = today - LISTING_STALE_DAYS};
    TRY(market_devices(market, &list->devices, err));
    TRY(market_currencies(market, &list->currencies, err));
    TRY(market_book(market, &book, err));
    return listing_make(list, book, filter, err);
}

// The price of a GPU-hour; -1: unknown or doubtful.
static int64_t unit_of(const struct listing_line *line)
{
    return line->doubt || line->offer.gpus_milli == 0 ? -1
                                                      : offer_unit(&line->offer, line->usd_hour);
}

const struct listing_line *offers_cheapest(const struct listing *list, enum offer_kind kind)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].offer.kind == kind && unit_of(&list->items[i]) > 0)
            return &list->items[i];
    return NULL;
}

// "1.49 USD per GPU-hour on demand, 0.85 on spot"; nothing without any.
static void offers_from(const struct listing *list, struct buf *out)
{
    char amount[MONEY_BYTES];
    size_t said = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        const struct listing_line *line = offers_cheapest(list, (enum offer_kind)kind);
        if (!line)
            continue;
        money_short(unit_of(line), amount);
        buf_printf(out, "%s%s%s %s%s", said ? ", " : "", amount, said ? "" : " USD per GPU-hour",
                   kind == OFFER_SPOT ? "on " : "", kind_names[kind]);
        said++;
    }
}

int offers_title(const struct listing *list, char **title, struct err *err)
{
    struct buf from = {0}, text = {0};
    offers_from(list, &from);
    buf_printf(&text, "%s: %s%s", list->items[0].offer.gpu, from.len ? "from " : "",
               from.len ? buf_str(&from) : "no price is known");
    buf_drop(&text, &from);
    return text_take(title, &text, err);
}

// ---- the strip

struct mark { // that is being made, of one provider and kind
    size_t point, offers;
    int64_t low, high; // nano-USD
};

struct strip {
    struct draft *d;
    const char *providers[PROVIDERS_MOST];
    int64_t least[PROVIDERS_MOST]; // nano-USD, of all kinds
    size_t count;
    struct mark marks[PROVIDERS_MOST];
};

static void end_mark(struct strip *s, const struct mark *mark)
{
    char low[MONEY_BYTES], high[MONEY_BYTES];
    struct buf note = {0};
    if (mark->offers < 2 || s->d->rc != 0)
        return;
    money_short(mark->low, low);
    money_short(mark->high, high);
    buf_printf(&note, "%s", units_count((int64_t)mark->offers, "offer").s);
    if (strcmp(low, high) != 0)
        buf_printf(&note, " from %s to %s", low, high);
    if (note.failed)
        s->d->rc = err_memory(s->d->err);
    draft_set(s->d, &s->d->series->points.items[mark->point].note, buf_str(&note));
    buf_release(&note);
}

static size_t provider_of(struct strip *s, const char *provider)
{
    size_t i = 0;
    while (i < s->count && strcmp(s->providers[i], provider) != 0)
        i++;
    if (i == s->count && i < PROVIDERS_MOST) {
        s->least[i] = INT64_MAX;
        s->providers[s->count++] = provider;
    }
    return i;
}

static void add_offer(struct strip *s, const struct listing_line *line, int64_t unit)
{
    size_t at = provider_of(s, line->offer.provider);
    struct draft *d = s->d;
    if (at == PROVIDERS_MOST || d->rc != 0)
        return;
    struct mark *mark = &s->marks[at];
    s->least[at] = unit < s->least[at] ? unit : s->least[at];
    if (mark->offers > 0 && (double)(unit - mark->low) <= ONE_MARK * (double)mark->low) {
        mark->offers++;
        mark->high = unit;
        return;
    }
    if (d->series->points.count == MARKS_MOST)
        return;
    end_mark(s, mark);
    struct buf name = {0};
    book_name(&line->offer, &name);
    if (name.failed)
        d->rc = err_memory(d->err);
    *mark = (struct mark){d->series->points.count, 1, unit, unit};
    struct plot_point *point = draft_point(d, buf_str(&name), (double)unit / 1e9, 0);
    buf_release(&name);
    point->y = (struct maybe_real){0};
    draft_set(d, &point->group, line->offer.provider);
}

// Each series holds a provider's prices from the lowest up, since the list is sorted so.
static void add_kind(struct strip *s, const struct listing *list, enum offer_kind kind)
{
    memset(s->marks, 0, sizeof s->marks);
    draft_series(s->d, kind_names[kind]);
    for (size_t i = 0; i < list->count && s->d->rc == 0; i++)
        if (list->items[i].offer.kind == kind && unit_of(&list->items[i]) > 0)
            add_offer(s, &list->items[i], unit_of(&list->items[i]));
    for (size_t i = 0; i < s->count; i++)
        end_mark(s, &s->marks[i]);
}

// Of each row the cheapest of all kinds is marked: its price stands beside the row.
static void mark_cheapest(struct strip *s)
{
    for (size_t k = 0; s->d->rc == 0 && k < s->d->panel->series.count; k++)
        for (size_t i = 0; i < s->d->panel->series.items[k].points.count; i++) {
            struct plot_point *p = &s->d->panel->series.items[k].points.items[i];
            if (p->x.v <= (double)s->least[provider_of(s, p->group)] / 1e9)
                p->marked = some_bool(true);
        }
}

// "on demand 1.00 to 15.80 USD, spot 0.855 to 9.55"
static void add_range(const struct listing *list, enum offer_kind kind, struct buf *out)
{
    const struct listing_line *least = offers_cheapest(list, kind), *most = least;
    char low[MONEY_BYTES], high[MONEY_BYTES];
    bool first = out->len == 0;
    if (!least)
        return;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].offer.kind == kind && unit_of(&list->items[i]) > 0)
            most = &list->items[i];
    money_short(unit_of(least), low);
    money_short(unit_of(most), high);
    bool range = strcmp(low, high) != 0;
    buf_printf(out, "%s%s %s%s%s%s", first ? "" : ", ", kind_names[kind], low, range ? " to " : "",
               range ? high : "", first ? " USD" : "");
}

static void begin_plot(struct draft *d)
{
    draft_plot(d, "offers", "What providers ask for a GPU-hour",
               "All offers of the book in all places, without tax. Prices within 2 percent "
               "are one mark. Spot machines can be taken away.");
}

static void add_panel(struct draft *d, const struct listing *list)
{
    struct strip strip = {.d = d};
    struct buf title = {0}, range = {0};
    for (int kind = 0; kind < KINDS; kind++)
        add_range(list, (enum offer_kind)kind, &range);
    buf_printf(&title, "%s: %s", list->items[0].offer.gpu, buf_str(&range));
    if ((title.failed || range.failed) && d->rc == 0)
        d->rc = err_memory(d->err);
    if (d->rc == 0)
        draft_panel(d, buf_str(&title), "strip", AXIS("price per GPU-hour", "USD"),
                    AXIS("provider", ""));
    if (d->rc == 0)
        draft_set(d, &d->panel->marks, "lowest");
    buf_release(&title);
    buf_release(&range);
    for (int kind = 0; kind < KINDS && d->rc == 0; kind++)
        add_kind(&strip, list, (enum offer_kind)kind);
    mark_cheapest(&strip);
}

void plot_offers(struct draft *d, const struct listing *list)
{
    if (list->count == 0)
        return;
    begin_plot(d);
    add_panel(d, list);
    draft_end(d);
}

// ---- of a report: the GPUs of the cheapest bills

static void add_gpu(struct draft *d, struct market *market, const char *gpu, int day)
{
    enum { PANELS_MOST = 2 };
    const struct book_filter filter = {.gpu = gpu, .with_gpu = true, .day = day};
    struct listing list = {0};
    if (d->rc != 0 || !gpu || d->plot->panels.count == PANELS_MOST)
        return;
    for (size_t i = 0; i < d->plot->panels.count; i++) {
        const char *title = d->plot->panels.items[i].title;
        if (strncmp(title, gpu, strlen(gpu)) == 0 && title[strlen(gpu)] == ':')
            return;
    }
    d->rc = offers_list(market, &filter, -1, &list, d->err);
    if (d->rc == 0 && list.count > 0)
        add_panel(d, &list);
    listing_release(&list);
}

void plots_offers(struct draft *d, const struct page_ask *ask, const struct quote_job *jobs)
{
    enum { BILLS = 3 };
    if (d->rc != 0)
        return;
    begin_plot(d);
    for (size_t i = 0; i < d->page->quotes.count && d->rc == 0; i++) {
        const struct quote *quote = &d->page->quotes.items[i];
        for (size_t k = 0; k < quote->bills.count && k < BILLS; k++)
            add_gpu(d, jobs[i].ask.market, quote->bills.items[k].gpu, ask->day);
        for (size_t k = 0; k < quote->estimates.count && k < BILLS; k++)
            add_gpu(d, jobs[i].ask.market, quote->estimates.items[k].gpu, ask->day);
    }
    draft_end(d);
}

// ---- what the prices did

enum { HISTORIES_MOST = 6, PRICES_MOST = 200 };

struct history {
    struct draft *d;
    struct market *market;
    size_t prices;
    double first, last; // USD per GPU-hour
    bool moved;
};

static int add_price(void *arg, const struct offer *offer, struct err *err)
{
    struct history *h = arg;
    const struct currencies *currencies;
    int64_t hour = 0;
    TRY(market_currencies(h->market, &currencies, err));
    if (h->prices == PRICES_MOST || currency_to_usd(currencies, offer->currency, offer->day,
                                                    offer_per_hour(offer), &hour, NULL, NULL) != 0)
        return 0;
    int64_t unit = offer_unit(offer, hour);
    if (unit < 0) // its GPUs are not known
        return 0;
    h->last = (double)unit / 1e9;
    h->moved |= h->prices > 0 && h->last != h->first;
    h->first = h->prices++ == 0 ? h->last : h->first;
    if (offer->since < offer->day)
        draft_point(h->d, NULL, offer->since, h->last);
    draft_point(h->d, NULL, offer->day, h->last);
    return h->d->rc;
}

// Adds a line of the offer's prices if they changed, and says so in the title if they changed most:
// "lambda/gpu_8x_a100 went from 1.99 to 1.50 USD".
static void add_history(struct draft *d, struct market *market, const struct offer *offer,
                        double *most)
{
    struct history h = {.d = d, .market = market};
    const struct book *book;
    struct buf name = {0};
    book_name(offer, &name);
    draft_series(d, buf_str(&name));
    if (d->rc == 0)
        d->rc = market_book(market, &book, d->err);
    if (d->rc == 0)
        d->rc = book_history(book, offer, add_price, &h, d->err);
    if (d->rc == 0 && !h.moved) {
        record_release(plot_series_fields, d->series);
        d->panel->series.count--;
    }
    double change = h.moved && h.first > 0 && h.last > 0 ? fabs(log(h.last / h.first)) : 0;
    if (d->rc == 0 && change > *most) {
        char from[MONEY_BYTES], to[MONEY_BYTES];
        *most = change;
        money_short(llround(h.first * 1e9), from);
        money_short(llround(h.last * 1e9), to);
        buf_printf(&name, " went from %s to %s USD", from, to);
        d->rc = buf_check(&name, d->err);
        draft_set(d, &d->panel->title, buf_str(&name));
    }
    buf_release(&name);
}

void plot_offer_histories(struct draft *d, struct market *market, const struct listing *list)
{
    struct strip seen = {.d = d};
    double most = 0;
    draft_plot(d, "prices", "What the prices did",
               "The lowest price on demand of each provider that changed, per GPU-hour. A "
               "price holds until the next step.");
    if (d->rc == 0)
        draft_panel(d, "on demand", "steps", AXIS("date", "day"),
                    AXIS("price per GPU-hour", "USD"));
    for (size_t i = 0; d->rc == 0 && i < list->count && d->panel->series.count < HISTORIES_MOST;
         i++) {
        const struct listing_line *line = &list->items[i];
        size_t before = seen.count;
        if (line->offer.kind == OFFER_ON_DEMAND && unit_of(line) > 0 &&
            provider_of(&seen, line->offer.provider) == before && before < PROVIDERS_MOST)
            add_history(d, market, &line->offer, &most);
    }
    draft_end(d);
    plot_spot_list(d, market, list);
}

int page_offers(struct market *market, const struct book_filter *filter, int64_t max_rate,
                struct page *page, struct err *err)
{
    struct draft d = {.page = page, .err = err};
    struct listing list = {0};
    d.rc = offers_list(market, filter, max_rate, &list, err);
    if (d.rc == 0 && list.count > 0)
        plot_offers(&d, &list);
    if (d.rc == 0 && list.count > 0)
        d.rc = offers_title(&list, &page->title, err);
    listing_release(&list);
    return d.rc;
}

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

static int models_visit(void *arg, const struct offer *o, struct err *err)
{
    struct walk *w = arg;
    struct model *model;
    int64_t hour = offer_per_hour(o);
    if (o->day < w->oldest || !*o->gpu)
        return 0;
    if (strcmp(o->currency, "USD") != 0 &&
        currency_to_usd(w->currencies, o->currency, w->day, hour, &hour, NULL, NULL) != 0)
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
    TRY(book_each(book, &gpus, models_visit, &w, err));
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

enum { CANDIDATES = 128 }; // GPU models and kinds

struct search {
    const struct book *book;
    const struct currencies *currencies;
    const struct devices *devices;
    int from; // the day from which on a price is new
    struct moved_price items[CANDIDATES];
    size_t count;
};

// The price of a GPU-hour in USD; -1: unknown, doubtful or retired.
static int64_t moved_unit(const struct search *s, const struct offer *o)
{
    int64_t hour = 0;
    if (currency_to_usd(s->currencies, o->currency, o->day, offer_per_hour(o), &hour, NULL, NULL) !=
            0 ||
        offer_retired(o, 0) || doubt_of(s->devices, o, hour))
        return -1;
    return offer_unit(o, hour);
}

struct before {
    int since; // of the new price
    bool found;
    struct offer offer;
};

static int note_before(void *arg, const struct offer *offer, struct err *err)
{
    struct before *b = arg;
    (void)err;
    if (offer->since < b->since) {
        b->offer = *offer;
        b->found = true;
    }
    return 0;
}

static int64_t lowest(const struct moved_price *p)
{
    return p->before < p->now ? p->before : p->now;
}

static void keep(struct search *s, const struct moved_price *price)
{
    size_t i = 0;
    while (i < s->count && (s->items[i].offer.kind != price->offer.kind ||
                            strcmp(s->items[i].offer.gpu, price->offer.gpu) != 0))
        i++;
    if (i == CANDIDATES)
        return;
    if (i == s->count)
        s->items[s->count++] = *price;
    else if (lowest(price) < lowest(&s->items[i]))
        s->items[i] = *price;
}

static int moved_visit(void *arg, const struct offer *o, struct err *err)
{
    struct search *s = arg;
    struct before before = {.since = o->since};
    if (o->since < s->from || o->gpus_milli == 0 || !*o->gpu)
        return 0;
    TRY(book_history(s->book, o, note_before, &before, err));
    if (!before.found)
        return 0;
    struct moved_price price = {.offer = *o, .seen = before.offer.day};
    price.now = moved_unit(s, o);
    price.before = moved_unit(s, &before.offer);
    if (price.now <= 0 || price.before <= 0)
        return 0;
    double ratio = (double)price.now / (double)price.before;
    if (fabs(ratio - 1) >= 0.01 && ratio < 10 && ratio > 0.1)
        keep(s, &price);
    return 0;
}

static int by_change(const void *left, const void *right)
{
    const struct moved_price *a = left, *b = right;
    double x = fabs(log((double)a->now / (double)a->before));
    double y = fabs(log((double)b->now / (double)b->before));
    if (x != y)
        return x > y ? -1 : 1;
    int order = strcmp(a->offer.gpu, b->offer.gpu);
    return order != 0 ? order : (int)a->offer.kind - (int)b->offer.kind;
}

int moved_find(struct market *market, struct moved *out, struct err *err)
{
    static const struct book_filter filter = {.with_gpu = true};
    struct search *s = calloc(1, sizeof *s);
    *out = (struct moved){.count = 0};
    if (!s)
        return err_memory(err);
    s->from = book_today() - MOVED_DAYS;
    int rc = market_book(market, &s->book, err);
    if (rc == 0)
        rc = market_currencies(market, &s->currencies, err);
    if (rc == 0)
        rc = market_devices(market, &s->devices, err);
    if (rc == 0)
        rc = book_each(s->book, &filter, moved_visit, s, err);
    if (rc == 0) {
        qsort(s->items, s->count, sizeof *s->items, by_change);
        out->count = s->count < MOVED_MOST ? s->count : MOVED_MOST;
        memcpy(out->items, s->items, out->count * sizeof *out->items);
    }
    free(s);
    return rc;
}

static void moved_row(struct buf *out, const struct moved_price *p, const char *gpu_link,
                      const char *offer_link)
{
    char before[MONEY_BYTES], now[MONEY_BYTES], change[24], seen[12];
    struct buf name = {0};
    double percent = 100 * ((double)p->now / (double)p->before - 1);
    book_name(&p->offer, &name);
    money_short(p->before, before);
    money_short(p->now, now);
    offer_date(p->seen, seen);
    snprintf(change, sizeof change, "%s%.0f %%", percent < 0 ? "−" : "+", fabs(percent));
    buf_printf(out, "<tr><td class=\"long\"><a href=\"%s", gpu_link);
    markup_address(out, p->offer.gpu);
    markup_in(out, "\">", p->offer.gpu, "</a>");
    buf_printf(out, "%s<span class=\"id\"><a href=\"%s",
               p->offer.kind == OFFER_SPOT ? ", spot" : "", offer_link);
    markup_address(out, buf_str(&name));
    markup_in(out, "\">", buf_str(&name), "</a></span></td>");
    buf_printf(out, "<td class=\"num\">%s<span class=\"id\">%s</span></td>", before, seen);
    html_cell(out, "num", now);
    buf_adds(out, "<td class=\"num\">");
    part_chip(out, percent < 0 ? PART_OK : PART_WAIT, change);
    buf_adds(out, "</td></tr>\n");
    buf_drop(out, &name);
}

void html_moved(struct buf *out, const struct moved *moved, const char *gpu_link,
                const char *offer_link)
{
    static const struct html_column columns[] = {
        {"GPU and offer", "long"}, {"was, USD", "num"}, {"is, USD", "num"}, {"change", "num"}};
    if (moved->count == 0)
        return;
    html_begin_table(out, "Prices that moved");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < moved->count; i++)
        moved_row(out, &moved->items[i], gpu_link, offer_link);
    html_end_table(out);
    html_paragraph(out, "mute",
                   "Per GPU-hour; of each GPU the lowest price that changed within 30 days.");
}
