// SPDX-License-Identifier: Apache-2.0
// The pages about prices: the book, a GPU model, and one offer with its history.
#include <stdio.h>
#include <string.h>

#include "advise/quote_job.h"
#include "base/money.h"
#include "base/units.h"
#include "book/listing.h"
#include "view/gpu.h"
#include "view/html.h"
#include "render/markup.h"
#include "view/offer.h"
#include "view/offers.h"
#include "view/page.h"
#include "render/part.h"
#include "serve/request.h"
#include "advise/spot/history.h"

static const struct frame_choice kinds[] = {
    {"", "any"}, {"on-demand", "on demand"}, {"spot", "spot"}, {"monthly", "monthly"}};

// ---- the book

enum { OFFERS_SHOWN = 100 };

static void price_cell(struct buf *out, int64_t nano)
{
    char text[MONEY_BYTES] = "";
    if (nano >= 0)
        money_short(nano, text);
    html_cell(out, "num", text);
}

static void offer_row(struct buf *out, const struct listing_line *line, bool mark)
{
    const struct offer *o = &line->offer;
    char count[24], gpus[128] = "", vcpus[24] = "", seen[12];
    struct buf name = {0};
    book_name(o, &name);
    offer_milli(o->gpus_milli, count);
    if (o->gpus_milli > 0)
        snprintf(gpus, sizeof gpus, "%s\u00a0×\u00a0%.80s", count, o->gpu);
    if (o->vcpus_milli > 0)
        offer_milli(o->vcpus_milli, vcpus);
    offer_date(o->day, seen);
    buf_adds(out, "<tr><td class=\"long\"><a href=\"/offer?name=");
    markup_address(out, buf_str(&name));
    buf_adds(out, "\">");
    html_offer(out, buf_str(&name));
    buf_adds(out, "</a>");
    if (line->doubt) {
        buf_addc(out, ' ');
        part_chip(out, PART_BAD, "doubtful");
        markup_in(out, " <small>", line->doubt, "</small>");
    }
    buf_adds(out, "</td>");
    price_cell(out, line->usd_hour);
    price_cell(out, offer_unit(o, line->usd_hour));
    html_cell(out, "more", gpus);
    html_cell(out, "num more", vcpus);
    part_seen(out, seen, mark && offer_old(o, 0));
    buf_adds(out, "</tr>\n");
    buf_drop(out, &name);
}

void form_prices(struct buf *out, const struct request *request)
{
    buf_adds(out, "<form action=\"/prices\" method=\"get\" aria-label=\"Filters\">\n");
    frame_field(out, request, "text", "In its name", "p3");
    frame_field(out, request, "gpu", "GPU", "h100");
    frame_field(out, request, "gpus", "GPUs, at least", "1");
    frame_field(out, request, "provider", "Provider", "aws");
    frame_field(out, request, "region", "Region", "us-east-1");
    frame_field(out, request, "max_price", "USD per hour, at most", "10");
    frame_choose(out, request, "kind", "Kind", kinds, sizeof kinds / sizeof *kinds);
    buf_adds(out, "<button>Show</button>\n</form>\n");
}

static void offer_table(struct buf *out, const struct listing *list)
{
    static const struct html_column columns[] = {{"offer", "long"},     {"USD per hour", "num"},
                                                 {"per GPU", "num"},    {"GPUs", "more"},
                                                 {"vCPUs", "num more"}, {"price seen", "num more"}};
    size_t shown = list->count < OFFERS_SHOWN ? list->count : OFFERS_SHOWN, old = 0;
    for (size_t i = 0; i < shown; i++)
        old += offer_old(&list->items[i].offer, 0);
    html_heading(out, 2, "Offers, the lowest price first");
    buf_printf(
        out,
        "<p>%zu of %zu, each where its price is lowest, sorted by price per GPU (without GPUs: "
        "per vCPU); without tax.</p>\n",
        shown, list->count);
    html_begin_table(out, "Offers");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++)
        offer_row(out, &list->items[i], old < shown);
    html_end_table(out);
    part_seen_note(out, old, shown);
    if (list->stale > 0)
        buf_printf(out,
                   "<p class=\"mute\">%s not listed: their prices are over two years old.</p>\n",
                   units_count((int64_t)list->stale, "offer").s);
}

// What a page of the book shows beside the list: of one GPU model the strip of its offers, else all
// models.
struct beside {
    struct page page;
    struct models models;
};

static int make_beside(struct market *market, const struct book_filter *filter, int64_t max_rate,
                       struct beside *beside, struct err *err)
{
    if (filter->gpu)
        return page_offers(market, filter, max_rate, &beside->page, err);
    if (filter->without_gpu)
        return 0;
    return models_make(market, filter, max_rate, &beside->models, err);
}

static void book_title(const struct listing *list, const struct beside *beside, struct buf *out)
{
    char amount[MONEY_BYTES];
    if (beside->page.plots.count > 0)
        buf_adds(out, beside->page.title);
    else if (beside->models.count > 0 && list->count > 0 && list->items[0].usd_hour >= 0) {
        money_short(offer_unit(&list->items[0].offer, list->items[0].usd_hour), amount);
        buf_printf(out, "%s from %s USD per GPU-hour",
                   units_count((int64_t)beside->models.count, "GPU model").s, amount);
    } else
        buf_adds(out, list->count > 0 ? units_count((int64_t)list->count, "offer").s
                                      : "No matching offer");
}

static void show_prices(struct buf *out, const struct request *request, const struct listing *list,
                        const struct beside *beside)
{
    struct buf title = {0};
    book_title(list, beside, &title);
    frame_begin(out, request, buf_str(&title));
    form_prices(out, request);
    if (list->count == 0)
        part_empty(out,
                   list->stale > 0 ? "No matching offer in the book has a price of the last two "
                                     "years. The public catalogue may have newer ones:"
                                   : "No matching offer in the book. The public catalogue may have "
                                     "one:",
                   "fare prices update");
    buf_adds(out, "<div class=\"cols\">\n<div class=\"stay\">\n");
    for (size_t i = 0; i < beside->page.plots.count; i++)
        html_plot(out, &beside->page.plots.items[i], 2, i);
    if (beside->page.plots.count > 0) {
        buf_adds(out, "<p><a href=\"/gpu?name=");
        markup_address(out, list->items[0].offer.gpu);
        markup_in(out, "\">Who has the ", list->items[0].offer.gpu,
                  ", since when, and how fast it is</a></p>\n");
    }
    if (beside->models.count > 0)
        html_heading(out, 2, "GPU models");
    html_models(out, &beside->models, "/gpu?name=");
    buf_adds(out, "</div>\n<div>\n");
    if (list->count > 0)
        offer_table(out, list);
    buf_adds(out, "</div>\n</div>\n");
    frame_json_link(out, request, "/prices");
    frame_end(out);
    buf_drop(out, &title);
}

static int prices_json(const struct listing *list, struct buf *out, struct err *err)
{
    struct offers all = {.offers = {.known = true}};
    int rc = text_set(&all.schema, OFFERS_SCHEMA, err);
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        struct offer_record *record = LIST_ADD(&all.offers, err);
        rc = record ? offer_line_record(&list->items[i], 0, record, err) : ERR_MEMORY;
    }
    if (list->stale > 0)
        all.left_out = some_int((int64_t)list->stale);
    if (rc == 0)
        rc = record_to_text(offers_fields, &all, out, err);
    record_release(offers_fields, &all);
    return rc;
}

int page_prices(const struct request *request, struct answer *answer, struct err *err)
{
    struct market *market;
    const struct book *book;
    const struct devices *devices;
    const struct offer_words words = {.text = request_value(request, "text"),
                                      .gpu = request_value(request, "gpu"),
                                      .gpus = request_value(request, "gpus"),
                                      .provider = request_value(request, "provider"),
                                      .region = request_value(request, "region"),
                                      .kind = request_value(request, "kind"),
                                      .max_price = request_value(request, "max_price")};
    struct book_filter filter;
    enum offer_kind kind;
    SCOPED(listing_release) struct listing list = {.oldest = book_today() - LISTING_STALE_DAYS};
    struct beside beside = {0};
    int rc = request_market(request, &market, err);
    if (rc == 0)
        rc = market_devices(market, &devices, err);
    if (rc == 0)
        rc = offer_words_take(&words, true, devices, &filter, &kind, &list.max_rate, err);
    if (rc == 0)
        rc = market_book(market, &book, err);
    if (rc == 0)
        rc = market_currencies(market, &list.currencies, err);
    if (rc == 0) {
        list.devices = devices;
        rc = listing_make(&list, book, &filter, err);
    }
    if (rc == 0 && !request->json && list.count > 0)
        rc = make_beside(market, &filter, list.max_rate, &beside, err);
    if (rc == 0 && request->json)
        rc = prices_json(&list, &answer->text, err);
    else if (rc == 0)
        show_prices(&answer->text, request, &list, &beside);
    record_release(page_fields, &beside.page);
    models_release(&beside.models);
    return rc;
}

// ---- one GPU model

int page_gpu(const struct request *request, struct answer *answer, struct err *err)
{
    const char *name = request_value(request, "name");
    struct market *market;
    struct gpu_model gpu = {0};
    if (!name)
        return err_set(err, ERR_USAGE, "name a GPU: /gpu?name=H100");
    int rc = request_market(request, &market, err);
    if (rc == 0)
        rc = gpu_make(market, name, &gpu, err);
    if (rc == 0 && request->json)
        rc = record_to_text(gpu_model_fields, &gpu, &answer->text, err);
    else if (rc == 0) {
        frame_begin(&answer->text, request, gpu.title);
        html_gpu(&answer->text, &gpu, "/offer?name=");
        if (gpu.providers.count > 0) {
            buf_adds(&answer->text, "<p><a href=\"/prices?gpu=");
            markup_address(&answer->text, gpu.gpu);
            buf_adds(&answer->text, "\">Its offers, one by one</a></p>\n");
        }
        frame_json_link(&answer->text, request, "/gpu");
        frame_end(&answer->text);
    }
    record_release(gpu_model_fields, &gpu);
    return rc;
}

// ---- one offer

static int add_spot(struct market *market, const struct offer *offer, struct offer_record *record,
                    struct page *plots, struct err *err)
{
    const struct spot_view ask = {.place = *offer->region ? offer->region : NULL, .under = -1};
    TRY(spot_describe(market, offer, &ask, &record->spot, err));
    return page_spot(market, offer, plots, err);
}

// "55.04 USD"; "" if unknown.
static const char *amount_of(struct maybe_money price, const char *currency,
                             char out[MONEY_BYTES + 16])
{
    out[0] = '\0';
    if (price.known)
        snprintf(out, MONEY_BYTES + 16, "%s %.12s", money_brief(price).s, currency ? currency : "");
    return out;
}

static void offer_stats(struct buf *out, const struct offer_record *r)
{
    char amount[MONEY_BYTES + 16], gpus[120] = "none", cpus[48] = "", memory[64] = "";
    struct buf seen = {0};
    part_stats_begin(out);
    if (r->gpus.known && r->gpus.v > 0) {
        snprintf(gpus, sizeof gpus, "%g × %.80s", r->gpus.v, r->gpu ? r->gpu : "GPU");
        part_stat(out, "a GPU-hour", amount_of(r->price_per_gpu_hour, r->currency, amount), gpus);
    }
    if (r->vcpus.known)
        snprintf(cpus, sizeof cpus, "%g vCPUs", r->vcpus.v);
    if (r->memory_mib.known)
        snprintf(memory, sizeof memory, "%s of memory", units_bytes(r->memory_mib.v << 20).s);
    if (*cpus)
        part_stat(out, "processors", cpus, memory);
    if (r->since && r->seen && strcmp(r->since, r->seen) != 0)
        buf_printf(&seen, "since %s", r->since);
    if (r->old.v)
        buf_printf(&seen, "%s%lld days ago", seen.len ? "; " : "", (long long)r->age_days.v);
    part_stat(out, "price last seen", r->seen, buf_str(&seen));
    part_stats_end(out);
    buf_drop(out, &seen);
}

// A tariff is a sentence of many parts: one below the other.
static void offer_billing(struct buf *out, const char *tariff)
{
    html_heading(out, 2, "Billing");
    buf_adds(out, "<ul>\n");
    while (*tariff) {
        size_t len = strcspn(tariff, ";");
        struct buf part = {0};
        buf_add(&part, tariff, len);
        html_item(out, buf_str(&part));
        buf_drop(out, &part);
        tariff += len + strspn(tariff + len, "; ");
    }
    buf_adds(out, "</ul>\n");
}

static void show_offer(struct buf *out, const struct request *request, const struct offer_record *r,
                       const struct page *plots)
{
    char hour[MONEY_BYTES + 16];
    struct buf title = {0};
    struct doc doc = {0};
    buf_adds(&title, r->offer);
    if (*amount_of(r->price_per_hour, r->currency, hour))
        buf_printf(&title, ": %s an hour", hour);
    frame_begin(out, request, buf_str(&title));
    buf_drop(out, &title);
    offer_stats(out, r);
    if (r->gpu) {
        buf_adds(out, "<p><a href=\"/gpu?name=");
        markup_address(out, r->gpu);
        markup_in(out, "\">Others who have the ", r->gpu, "</a></p>\n");
    }
    if (r->tariff)
        offer_billing(out, r->tariff);
    for (size_t i = 0; i < plots->plots.count; i++)
        html_plot(out, &plots->plots.items[i], 2, i);
    if (r->spot.zones.count > 0 && plots->plots.count > 0)
        view_spot(&doc, &r->spot);
    doc_heading(&doc, 0, "Price history");
    view_price_history(&doc, r, SIZE_MAX);
    doc_html(out, &doc, 2);
    doc_release(&doc);
    frame_json_link(out, request, "/offer");
    frame_end(out);
}

int page_offer_history(const struct request *request, struct answer *answer, struct err *err)
{
    const char *name = request_value(request, "name");
    struct market *market;
    const struct book *book;
    struct offer offer;
    struct offer_record record = {0};
    struct page plots = {0};
    if (!name)
        return err_set(err, ERR_USAGE, "name an offer: /offer?name=aws/p3.2xlarge");
    int rc = request_market(request, &market, err);
    if (rc == 0)
        rc = market_book(market, &book, err);
    if (rc == 0)
        rc = book_find(book, name, 0, &offer, err);
    if (rc == 0)
        rc = offer_describe(book, &offer, 0, &record, err);
    if (rc == 0 && offer.kind == OFFER_SPOT)
        rc = add_spot(market, &offer, &record, &plots, err);
    if (rc == 0 && request->json)
        rc = record_to_text(offer_record_fields, &record, &answer->text, err);
    else if (rc == 0)
        show_offer(&answer->text, request, &record, &plots);
    record_release(offer_record_fields, &record);
    record_release(page_fields, &plots);
    return rc;
}
