// SPDX-License-Identifier: Apache-2.0
// prices: one offer, with the price of each zone of a spot offer drawn; and one provider.
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "cmd/prices.h"
#include "cmd/values.h"
#include "view/offer.h"
#include "view/provider.h"

static int64_t time_of(const char *iso)
{
    int64_t at_s = 0;
    return iso && clock_parse(iso, &at_s) ? at_s : 0;
}

static void draw_zone(struct out *out, const struct spot_zone *zone, int name_columns, double low,
                      double high)
{
    SCOPED(buf_release) struct buf line = {0};
    for (size_t i = 0; i < zone->plot.count; i++)
        out_block(&line, high > low ? (zone->plot.items[i] - low) / (high - low) : 0, out->unicode);
    out_printf(out, "%-*s %s\n", name_columns, zone->zone, buf_str(&line));
    out->text.failed |= line.failed;
}

// All zones to the same scale.
static void draw(struct out *out, const struct spot_prices *s)
{
    double low = HUGE_VAL, high = 0;
    int name_columns = 0;
    for (size_t k = 0; k < s->zones.count; k++) {
        const struct spot_zone *zone = &s->zones.items[k];
        int width = out_columns(zone->zone);
        name_columns = width > name_columns ? width : name_columns;
        for (size_t i = 0; i < zone->plot.count; i++) {
            low = fmin(low, zone->plot.items[i]);
            high = fmax(high, zone->plot.items[i]);
        }
    }
    char column[32], least[MONEY_BYTES], most[MONEY_BYTES];
    size_t points = s->zones.items[0].plot.count;
    int64_t all_s = time_of(s->plot_until) - time_of(s->plot_from);
    struct buf bottom = {0}, top = {0};
    out_block(&bottom, 0, out->unicode);
    out_block(&top, 1, out->unicode);
    money_short((int64_t)(low * 1e9 + 0.5), least);
    money_short((int64_t)(high * 1e9 + 0.5), most);
    clock_words(points ? all_s / (int64_t)points * NS_PER_S : 0, column, sizeof column);
    out_printf(out, "\n");
    out_wrapf(out, 0,
              "Price from %.10s to %.10s, one column for %s: %s is %s and %s is %s USD an hour.",
              s->plot_from, s->plot_until, column, buf_str(&bottom), least, buf_str(&top), most);
    buf_release(&bottom);
    buf_release(&top);
    for (size_t k = 0; k < s->zones.count; k++)
        draw_zone(out, &s->zones.items[k], name_columns, low, high);
}

static void print(struct out *out, const struct offer_page *page)
{
    enum { PRICES_MOST = 40 };
    const bool tells = offer_spot_tells(&page->record.spot);
    SCOPED(doc_release) struct doc doc = {0}, prices = {0};
    doc_heading(&doc, 0, page->record.offer);
    view_offer(&doc, page);
    out_doc(out, &doc);
    if (tells)
        draw(out, &page->record.spot);
    out_printf(out, "\n");
    view_offer_prices(&prices, &page->record, tells ? 0 : PRICES_MOST);
    out_doc(out, &prices);
}

int prices_page(const struct cmd_call *call, struct market *market, struct err *err)
{
    enum { POINTS = 60, ZONE_COLUMNS = 17 };
    const struct prices_options *o = call->options;
    const size_t room = (size_t)(call->out->width - ZONE_COLUMNS); // width >= 40
    struct offer_ask ask = {.name = call->rest->args[0],
                            .currency = o->currency,
                            .under = -1,
                            .plot = o->common.json || room > POINTS ? POINTS : room};
    struct offer_page page = {0};
    TRY(value_day(o->date, &ask.day, err));
    TRY(word_amount("--max-price", o->words.max_price, &ask.under, err));
    int rc = offer_page_make(market, &ask, &page, err);
    if (rc == 0 && o->common.json)
        rc = out_record(call->out, offer_record_fields, &page.record, err);
    else if (rc == 0)
        print(call->out, &page);
    record_release(offer_record_fields, &page.record);
    return rc;
}

// ---- a provider

int prices_provider(const struct cmd_call *call, struct market *market, struct err *err)
{
    const struct prices_options *o = call->options;
    struct ledger *ledger;
    struct provider provider = {0};
    SCOPED(doc_release) struct doc doc = {0};
    TRY(desk_ledger(call->desk, &ledger, err));
    int rc = provider_make(market, ledger, call->rest->args[0], &provider, err);
    if (rc == 0 && o->common.json) {
        rc = out_record(call->out, provider_fields, &provider, err);
    } else if (rc == 0) {
        doc_say(&doc, DOC_VERDICT, provider.title);
        view_provider(&doc, &provider, o->all, NULL);
        out_doc(call->out, &doc);
    }
    record_release(provider_fields, &provider);
    return rc;
}
