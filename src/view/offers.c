// SPDX-License-Identifier: Apache-2.0
#include "view/offers.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "bill/price.h"

const char *const offers_kind_names[OFFERS_KINDS] = {
    [OFFER_ON_DEMAND] = "on demand", [OFFER_SPOT] = "spot", [OFFER_MONTHLY] = "by the month"};

// ---- the list

static int count_one(void *count, const struct offer *offer, struct err *err)
{
    (void)offer;
    (void)err;
    ++*(size_t *)count;
    return 0;
}

// Counts the offers that have a price after the day only.
static int count_later(const struct book *book, struct book_filter filter, size_t *later,
                       struct err *err)
{
    size_t then = 0, ever = 0;
    filter.aged = false;
    TRY(book_each(book, &filter, count_one, &then, err));
    filter.day = INT_MAX;
    TRY(book_each(book, &filter, count_one, &ever, err));
    *later = ever > then ? ever - then : 0;
    return 0;
}

int offers_list(struct market *market, const struct book_filter *filter, struct listing *list,
                struct err *err)
{
    const struct book *book;
    const int today = filter->day ? filter->day : book_today();
    list->oldest = filter->aged ? 0 : today - LISTING_STALE_DAYS;
    TRY(market_devices(market, &list->devices, err));
    TRY(market_currencies(market, &list->currencies, err));
    TRY(market_book(market, &book, err));
    TRY(listing_make(list, book, filter, err));
    if (list->count == 0 && list->stale == 0 && filter->day > 0)
        return count_later(book, *filter, &list->later, err);
    return 0;
}

static size_t shown_of(const struct listing *list, const struct offers_view *view)
{
    return list->count < view->most ? list->count : view->most;
}

// The price of an hour in the currency asked for.
static int local_price(const struct listing_line *line, const struct offers_view *view,
                       struct maybe_money *out, struct err *err)
{
    const struct maybe_money usd = {line->usd_hour, line->usd_hour >= 0};
    return local_money(view->market, view->currency, view->day, usd, out, err);
}

static int add_record(const struct listing_line *line, const struct offers_view *view,
                      struct offers *all, struct err *err)
{
    struct offer_record *record = LIST_ADD(&all->offers, err);
    TRY(record ? offer_line_record(line, view->day, record, err) : ERR_MEMORY);
    TRY(text_set(&record->local_currency, view->currency, err));
    return local_price(line, view, &record->local_price_per_hour, err);
}

int offers_record(const struct listing *list, const struct offers_view *view, struct offers *out,
                  struct err *err)
{
    struct buf words = {0};
    out->offers.known = true;
    TRY(text_set(&out->schema, OFFERS_SCHEMA, err));
    for (size_t i = 0; i < shown_of(list, view); i++)
        TRY(add_record(&list->items[i], view, out, err));
    if (list->stale > 0)
        out->left_out = some_int((int64_t)list->stale);
    int rc = local_words(view->market, view->currency, view->day, &words, err);
    if (rc == 0 && view->currency)
        rc = text_set(&out->exchange, buf_str(&words), err);
    buf_release(&words);
    return rc;
}

// ---- its document

static struct cell name_cell(struct doc *doc, struct offer offer, const struct offers_view *view)
{
    struct buf name = {0};
    struct cell cell = {.kind = CELL_OFFER};
    book_name(&offer, &name);
    cell.href = doc_link(doc, view->link, buf_str(&name));
    buf_reset(&name);
    if (!view->places)
        offer.region = offer.zone = "";
    book_name(&offer, &name);
    cell.text = doc_take(doc, &name);
    return cell;
}

static struct cell gpu_cell(struct doc *doc, const struct offer *o)
{
    char count[24];
    offer_milli(o->gpus_milli, count);
    return cell_text(o->gpus_milli > 0 ? doc_text(doc, "%s × %s", count, o->gpu) : NULL);
}

static struct cell vcpu_cell(struct doc *doc, const struct offer *o)
{
    char count[24];
    offer_milli(o->vcpus_milli, count);
    return (struct cell){.kind = CELL_COUNT,
                         .text = o->vcpus_milli > 0 ? doc_text(doc, "%s", count) : NULL};
}

static struct cell memory_cell(struct doc *doc, const struct offer *o)
{
    struct cell cell = {.kind = CELL_COUNT};
    if (o->memory_mib > 0)
        cell.text =
            doc_text(doc, "%.*f", o->memory_mib < 10240 ? 1 : 0, (double)o->memory_mib / 1024);
    return cell;
}

static struct cell price_cell(int64_t nano, bool estimated)
{
    struct cell cell = cell_amount((struct maybe_money){nano, nano >= 0});
    cell.mark = estimated ? "~" : NULL;
    return cell;
}

static struct cell seen_cell(struct doc *doc, const struct offer *o, bool old)
{
    char seen[12];
    offer_date(o->day, seen);
    return (struct cell){.kind = CELL_DATE, .text = doc_text(doc, "%s%s", seen, old ? "†" : "")};
}

// Why the price is not one of a price list in USD.
static void add_notes(struct doc *doc, const struct listing *list, const struct listing_line *line)
{
    struct buf rate = {0};
    if (line->doubt)
        doc_note(doc, doc_text(doc, "Listed last: the price is %s.", line->doubt), NULL);
    if (offer_estimated(&line->offer))
        doc_note(doc, "The price is estimated; the page of the offer has its source.", NULL);
    if (strcmp(line->offer.currency, "USD") == 0)
        return;
    buf_adds(&rate, list->rate.usd > 0 ? "" : "no rate is known");
    if (list->rate.usd > 0)
        currency_words(&list->rate, true, &rate);
    doc_note(doc, doc_text(doc, "Converted from another currency: %s.", buf_str(&rate)), NULL);
    doc->failed |= rate.failed;
    buf_release(&rate);
}

static int add_line(struct doc *doc, const struct listing *list, const struct listing_line *line,
                    const struct offers_view *view, bool mark, struct err *err)
{
    const struct offer *o = &line->offer;
    const bool gpus = list->items[0].offer.gpus_milli > 0, estimated = offer_estimated(o);
    struct cell usd = price_cell(line->usd_hour, estimated);
    usd.currency = view->currency;
    TRY(local_price(line, view, &usd.local, err));
    doc_row(doc, line->doubt ? DOC_PALE : DOC_NORMAL);
    doc_cell(doc, COLUMN("offer", .least = view->places ? 40 : 28), name_cell(doc, *o, view));
    doc_cell(doc, COLUMN("GPU", .priority = 3, .least = 12), gpu_cell(doc, o));
    doc_cell(doc, COLUMN("vCPUs", "vCPU", .priority = 5), vcpu_cell(doc, o));
    doc_cell(doc, COLUMN("GiB", .priority = 4), memory_cell(doc, o));
    doc_cell(doc, COLUMN("USD per hour", "USD/h"), usd);
    doc_cell(doc, COLUMN(gpus ? "per GPU" : "per vCPU", gpus ? "/GPU" : "/vCPU"),
             price_cell(offer_unit(o, line->usd_hour), estimated));
    doc_cell(doc, COLUMN("price seen", "seen", .priority = 1),
             seen_cell(doc, o, mark && offer_old(o, view->day)));
    add_notes(doc, list, line);
    return 0;
}

void view_old_prices(struct doc *doc, size_t old, size_t all)
{
    if (old > 0)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc, "%s " PART_SEEN_OLD "; 'fare prices update' fetches newer ones.",
                         old == all ? "All of these prices were" : "†"));
}

void view_left_out(struct doc *doc, size_t doubtful)
{
    if (doubtful > 0)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc, "%s left out: doubtful prices and retired machines.",
                         units_count((int64_t)doubtful, "offer").s));
}

static void say_none(struct doc *doc, const struct listing *list)
{
    if (list->later > 0)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc, "%s like that %s no price yet on that date.",
                         units_count((int64_t)list->later, "offer").s,
                         list->later == 1 ? "has" : "have"));
    else
        doc_say(doc, DOC_PLAIN,
                doc_text(doc,
                         "No such offer in the book%s. 'fare prices update' fetches the public "
                         "catalogue.",
                         list->stale > 0 ? " has a price of the last two years" : ""));
}

// What is not shown, and how to see it.
static void say_rest(struct doc *doc, const struct listing *list, size_t shown)
{
    const bool gpus = list->count > 0 && list->items[0].offer.gpus_milli > 0;
    struct buf says = {0}, hint = {0};
    if (shown < list->count) {
        buf_printf(&says, "The first %zu of %zu offers, the lowest price of a %s-hour first. ",
                   shown, list->count, gpus ? "GPU" : "vCPU");
        buf_adds(&hint, "-n N shows more");
    }
    if (!list->all && list->seen > list->count) {
        buf_adds(&says, "Each machine is listed where its price is lowest. ");
        buf_printf(&hint, "%s--all lists all %zu offers", hint.len ? "; " : "", list->seen);
    }
    buf_adds(&says, list->count > 0 ? "Prices are without tax. " : "");
    if (list->stale > 0) {
        buf_printf(&says, "%s %s not listed: the price is over two years old.",
                   units_count((int64_t)list->stale, "offer").s, list->stale == 1 ? "is" : "are");
        buf_printf(&hint, "%s--max-age 9999d or --date shows old prices", hint.len ? "; " : "");
    }
    buf_adds(&hint, hint.len ? "." : "");
    buf_trim(&says);
    doc_say(doc, DOC_ASIDE, doc_take(doc, &says));
    doc_say(doc, DOC_HINT, doc_take(doc, &hint));
}

int view_offers(struct doc *doc, const struct listing *list, const struct offers_view *view,
                struct err *err)
{
    const size_t shown = shown_of(list, view);
    size_t old = 0;
    struct buf exchange = {0};
    for (size_t i = 0; i < shown; i++)
        old += offer_old(&list->items[i].offer, view->day);
    doc_table(doc, "Offers");
    for (size_t i = 0; i < shown; i++)
        TRY(add_line(doc, list, &list->items[i], view, old < shown, err));
    if (list->count == 0)
        say_none(doc, list);
    view_old_prices(doc, old, shown);
    int rc = shown > 0 ? local_words(view->market, view->currency, view->day, &exchange, err) : 0;
    const char *words = doc_take(doc, &exchange);
    doc_say(doc, DOC_ASIDE, words ? doc_text(doc, "%s.", words) : NULL);
    say_rest(doc, list, shown);
    return rc;
}

// ---- the offers of one GPU model

int64_t offers_unit(const struct listing_line *line)
{
    return line->doubt || line->offer.gpus_milli == 0 ? -1
                                                      : offer_unit(&line->offer, line->usd_hour);
}

const struct listing_line *offers_cheapest(const struct listing *list, enum offer_kind kind)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].offer.kind == kind && offers_unit(&list->items[i]) > 0)
            return &list->items[i];
    return NULL;
}

// "1.49 USD per GPU-hour on demand, 0.85 on spot"; nothing without any.
static void offers_from(const struct listing *list, struct buf *out)
{
    char amount[MONEY_BYTES];
    size_t said = 0;
    for (int kind = 0; kind < OFFERS_KINDS; kind++) {
        const struct listing_line *line = offers_cheapest(list, (enum offer_kind)kind);
        if (!line)
            continue;
        money_short(offers_unit(line), amount);
        buf_printf(out, "%s%s%s %s%s", said ? ", " : "", amount, said ? "" : " USD per GPU-hour",
                   kind == OFFER_SPOT ? "on " : "", offers_kind_names[kind]);
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

// ---- the book by GPU model

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

// ---- its document

static void add_model(struct doc *doc, const struct model *m, const char *link)
{
    doc_row(doc, DOC_NORMAL);
    doc_cell(doc, COLUMN("GPU"),
             (struct cell){.text = m->gpu, .href = doc_link(doc, link, m->gpu)});
    doc_cell(doc, COLUMN("on demand, USD"), price_cell(m->on_demand, false));
    doc_cell(doc, COLUMN("spot, USD"), price_cell(m->spot, false));
    doc_cell(doc, COLUMN("providers", .priority = 1), cell_count(some_int((int64_t)m->providers)));
    doc_cell(doc, COLUMN("all prices, USD per GPU-hour"),
             (struct cell){.kind = CELL_RUG, .rug = &m->rug});
}

void view_models(struct doc *doc, const struct models *models, const char *link)
{
    enum { OPEN = 18 };
    const size_t open = models->count < OPEN + 4 ? models->count : OPEN;
    if (models->count == 0)
        return;
    doc_heading(doc, 0, "GPU models");
    doc_say(doc, DOC_PLAIN,
            "The lowest price of one GPU for an hour; those that most providers have first.");
    doc_say(doc, DOC_DRAWN,
            "Each line of the strip is a price that somebody asks: above on demand, below on "
            "spot.");
    doc_table(doc, "GPU models");
    for (size_t i = 0; i < open; i++)
        add_model(doc, &models->items[i], link);
    if (open < models->count) {
        doc_fold(doc, doc_text(doc, "%s more",
                               units_count((int64_t)(models->count - open), "GPU model").s));
        doc_table(doc, "More GPU models");
        for (size_t i = open; i < models->count; i++)
            add_model(doc, &models->items[i], link);
        doc_unfold(doc);
    }
    view_left_out(doc, models->doubtful);
}
