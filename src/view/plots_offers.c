// SPDX-License-Identifier: Apache-2.0
// The prices of a GPU model as plots: all its offers as a strip, and what they did over time.
#include <math.h>
#include <string.h>

#include "base/money.h"
#include "base/units.h"
#include "view/offers.h"

enum { PROVIDERS_MOST = 64, MARKS_MOST = 300 };
#define ONE_MARK 0.02 // of the price: marks so close lie on each other

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
    SCOPED(buf_release) struct buf note = {0};
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
    draft_series(s->d, offers_kind_names[kind]);
    for (size_t i = 0; i < list->count && s->d->rc == 0; i++)
        if (list->items[i].offer.kind == kind && offers_unit(&list->items[i]) > 0)
            add_offer(s, &list->items[i], offers_unit(&list->items[i]));
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
    const struct listing_line *least = NULL, *most = NULL;
    char low[MONEY_BYTES], high[MONEY_BYTES];
    bool first = out->len == 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].offer.kind == kind && offers_unit(&list->items[i]) > 0) {
            least = least ? least : &list->items[i];
            most = &list->items[i];
        }
    if (!least)
        return;
    money_short(offers_unit(least), low);
    money_short(offers_unit(most), high);
    bool range = strcmp(low, high) != 0;
    buf_printf(out, "%s%s %s%s%s%s", first ? "" : ", ", offers_kind_names[kind], low,
               range ? " to " : "", range ? high : "", first ? " USD" : "");
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
    for (int kind = 0; kind < OFFER_KINDS; kind++)
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
    for (int kind = 0; kind < OFFER_KINDS && d->rc == 0; kind++)
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
    SCOPED(listing_release) struct listing list = {.all = true, .max_rate = -1};
    if (d->rc != 0 || !gpu || d->plot->panels.count == PANELS_MOST)
        return;
    for (size_t i = 0; i < d->plot->panels.count; i++) {
        const char *title = d->plot->panels.items[i].title;
        if (strncmp(title, gpu, strlen(gpu)) == 0 && title[strlen(gpu)] == ':')
            return;
    }
    d->rc = offers_list(market, &filter, &list, d->err);
    if (d->rc == 0 && list.count > 0)
        add_panel(d, &list);
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
    SCOPED(buf_release) struct buf name = {0};
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
        if (line->offer.kind == OFFER_ON_DEMAND && offers_unit(line) > 0 &&
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
    SCOPED(listing_release) struct listing list = {.all = true, .max_rate = max_rate};
    d.rc = offers_list(market, filter, &list, err);
    if (d.rc == 0 && list.count > 0)
        plot_offers(&d, &list);
    if (d.rc == 0 && list.count > 0)
        d.rc = offers_title(&list, &page->title, err);
    return d.rc;
}
