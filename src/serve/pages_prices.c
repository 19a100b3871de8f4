// SPDX-License-Identifier: Apache-2.0
// The pages about prices: the book, a GPU model, a provider, and one offer with its history.
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
#include "view/provider.h"
#include "view/page.h"
#include "render/part.h"
#include "serve/request.h"

static const struct frame_choice kinds[] = {
    {"", "any"}, {"on-demand", "on demand"}, {"spot", "spot"}, {"monthly", "monthly"}};

// ---- the book

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
    const struct listing_line *lead = listing_lead(list, OFFER_ON_DEMAND);
    if (beside->page.plots.count > 0)
        buf_adds(out, beside->page.title);
    else if (beside->models.count > 0 && lead) {
        money_short(offer_unit(&lead->offer, lead->usd_hour), amount);
        buf_printf(out, "%s from %s USD per GPU-hour on demand",
                   units_count((int64_t)beside->models.count, "GPU model").s, amount);
    } else
        buf_adds(out, list->count > 0 ? units_count((int64_t)list->count, "offer").s
                                      : "No matching offer");
}

static void show_prices(struct buf *out, const struct request *request, const struct listing *list,
                        const struct beside *beside, const struct doc *offers)
{
    enum { OPEN = 18 };
    struct buf title = {0};
    SCOPED(doc_release) struct doc models = {0};
    const struct models_view by_model = {OPEN, "/gpu?name=", "/offer?name="};
    book_title(list, beside, &title);
    frame_begin(out, request, buf_str(&title));
    form_prices(out, request);
    buf_adds(out, "<div class=\"cols\">\n<div class=\"stay\">\n");
    for (size_t i = 0; i < beside->page.plots.count; i++)
        html_plot(out, &beside->page.plots.items[i], 2, i);
    if (beside->page.plots.count > 0) {
        buf_adds(out, "<p><a href=\"/gpu?name=");
        markup_address(out, list->items[0].offer.gpu);
        markup_in(out, "\">Who has the ", list->items[0].offer.gpu,
                  ", since when, and how fast it is</a></p>\n");
    }
    view_models(&models, &beside->models, &by_model);
    doc_html(out, &models, 2);
    buf_adds(out, "</div>\n<div>\n");
    if (list->count > 0)
        html_heading(out, 2, "Offers, the lowest price first");
    doc_html(out, offers, 2);
    buf_adds(out, "</div>\n</div>\n");
    frame_json_link(out, request, "/prices");
    frame_end(out);
    buf_drop(out, &title);
}

static int prices_json(const struct listing *list, const struct offers_view *view, struct buf *out,
                       struct err *err)
{
    struct offers all = {0};
    int rc = offers_record(list, view, &all, err);
    if (rc == 0)
        rc = record_to_text(offers_fields, &all, out, err);
    record_release(offers_fields, &all);
    return rc;
}

int page_prices(const struct request *request, struct answer *answer, struct err *err)
{
    enum { SHOWN = 100 };
    struct market *market;
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
    SCOPED(listing_release) struct listing list = {0};
    SCOPED(doc_release) struct doc doc = {0};
    struct beside beside = {0};
    TRY(request_market(request, &market, err));
    TRY(market_devices(market, &devices, err));
    TRY(offer_words_take(&words, true, devices, &filter, &kind, &list.max_rate, err));
    TRY(offers_list(market, &filter, &list, err));
    const struct offers_view view = {.market = market,
                                     .most = request->json ? SIZE_MAX : SHOWN,
                                     .places = true,
                                     .link = "/offer?name="};
    if (request->json)
        return prices_json(&list, &view, &answer->text, err);
    int rc = view_offers(&doc, &list, &view, err);
    if (rc == 0 && list.count > 0)
        rc = make_beside(market, &filter, list.max_rate, &beside, err);
    if (rc == 0)
        show_prices(&answer->text, request, &list, &beside, &doc);
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

// ---- one provider

int page_provider(const struct request *request, struct answer *answer, struct err *err)
{
    const char *name = request_value(request, "name");
    struct market *market;
    struct ledger *ledger;
    struct provider provider = {0};
    SCOPED(doc_release) struct doc doc = {0};
    if (!name)
        return err_set(err, ERR_USAGE, "name a provider: /provider?name=runpod");
    TRY(request_market(request, &market, err));
    TRY(request_ledger(request, &ledger, err));
    int rc = provider_make(market, ledger, name, &provider, err);
    if (rc == 0 && request->json)
        rc = record_to_text(provider_fields, &provider, &answer->text, err);
    else if (rc == 0) {
        frame_begin(&answer->text, request, provider.title);
        view_provider(&doc, &provider, true, "/gpu?name=");
        doc_html(&answer->text, &doc, 2);
        frame_json_link(&answer->text, request, "/provider");
        frame_end(&answer->text);
    }
    record_release(provider_fields, &provider);
    return rc;
}

// ---- one offer

static void show_offer(struct buf *out, const struct request *request,
                       const struct offer_page *page, const struct page *plots)
{
    const struct offer_record *r = &page->record;
    SCOPED(buf_release) struct buf title = {0};
    SCOPED(doc_release) struct doc doc = {0}, prices = {0};
    buf_adds(&title, r->offer);
    if (r->price_per_hour.known)
        buf_printf(&title, ": %s %s an hour", money_brief(r->price_per_hour).s, r->currency);
    frame_begin(out, request, buf_str(&title));
    view_offer(&doc, page);
    doc_html(out, &doc, 2);
    buf_adds(out, "<p><a href=\"/provider?name=");
    markup_address(out, r->provider);
    markup_in(out, "\">What ", r->provider, " is like</a></p>\n");
    if (r->gpu) {
        buf_adds(out, "<p><a href=\"/gpu?name=");
        markup_address(out, r->gpu);
        markup_in(out, "\">Others who have the ", r->gpu, "</a></p>\n");
    }
    for (size_t i = 0; i < plots->plots.count; i++)
        html_plot(out, &plots->plots.items[i], 2, i);
    view_offer_prices(&prices, r, SIZE_MAX);
    doc_html(out, &prices, 2);
    frame_json_link(out, request, "/offer");
    frame_end(out);
}

int page_offer_history(const struct request *request, struct answer *answer, struct err *err)
{
    const struct offer_ask ask = {
        .name = request_value(request, "name"), .under = -1, .region = true};
    struct market *market;
    struct offer_page offer = {0};
    SCOPED(page_release) struct page plots = {0};
    if (!ask.name)
        return err_set(err, ERR_USAGE, "name an offer: /offer?name=aws/p3.2xlarge");
    TRY(request_market(request, &market, err));
    int rc = offer_page_make(market, &ask, &offer, err);
    if (rc == 0 && request->json)
        rc = record_to_text(offer_record_fields, &offer.record, &answer->text, err);
    else if (rc == 0 && offer.offer.kind == OFFER_SPOT)
        rc = page_spot(market, &offer.offer, &plots, err);
    if (rc == 0 && !request->json)
        show_offer(&answer->text, request, &offer, &plots);
    record_release(offer_record_fields, &offer.record);
    return rc;
}
