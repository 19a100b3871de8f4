// SPDX-License-Identifier: Apache-2.0
// prices: one offer on a page.
#include "cmd/prices.h"

#include <stdlib.h>
#include <string.h>

#include "base/money.h"
#include "base/units.h"
#include "cmd/values.h"
#include "book/listing.h"
#include "advise/spot/history.h"
#include "view/offer.h"

struct page {
    const struct offer *offer;
    struct offer_record record;
    size_t places; // of the same name and kind
    int64_t low, high;
    bool has_other;
    struct offer other; // the cheapest of the other kind
};

static int look_around(void *arg, const struct offer *o, struct err *err)
{
    (void)err;
    struct page *page = arg;
    if (strcmp(o->currency, page->offer->currency) != 0)
        return 0;
    int64_t hour = offer_per_hour(o);
    if (o->kind == page->offer->kind) {
        page->low = page->places == 0 || hour < page->low ? hour : page->low;
        page->high = page->places == 0 || hour > page->high ? hour : page->high;
        page->places++;
    } else if (!page->has_other || hour < offer_per_hour(&page->other)) {
        page->has_other = true;
        page->other = *o;
    }
    return 0;
}

static void what(struct out *out, const struct offer *o)
{
    struct buf text = {0};
    char number[24];
    if (o->gpus_milli > 0) {
        offer_milli(o->gpus_milli, number);
        buf_printf(&text, "%s × %s", number, o->gpu);
        if (o->gpu_memory_mib > 0)
            buf_printf(&text, " with %s%s", units_bytes((int64_t)o->gpu_memory_mib << 20).s,
                       o->gpus_milli > 1000 ? " each" : "");
    } else if (o->vcpus_milli > 0) {
        buf_adds(&text, "no GPU");
    } else {
        buf_adds(&text, "unknown size");
    }
    if (o->vcpus_milli > 0) {
        offer_milli(o->vcpus_milli, number);
        buf_printf(&text, ", %s vCPUs", number);
    }
    if (o->memory_mib > 0)
        buf_printf(&text, ", %s memory", units_bytes((int64_t)o->memory_mib << 20).s);
    if (*o->cpu)
        buf_printf(&text, ", %s", o->cpu);
    if (o->bare_metal)
        buf_adds(&text, ", bare metal");
    out_row(out, "Machine", "%s", buf_str(&text));
    out->text.failed |= text.failed;
    buf_release(&text);
}

static void price_rows(struct out *out, const struct page *page, int day)
{
    const struct offer *o = page->offer;
    const struct offer_record *r = &page->record;
    char hour[MONEY_BYTES], unit[MONEY_BYTES];
    struct buf text = {0};
    buf_printf(&text, "%s %s %s", money_exact(r->price).s, o->currency, value_period(o->per_s));
    if (o->per_s != 3600) {
        money_short(offer_per_hour(o), hour);
        buf_printf(&text, ", %s an hour", hour);
    }
    int64_t each = offer_unit(o, offer_per_hour(o));
    if (o->gpus_milli > 0 && o->gpus_milli != 1000 && each >= 0) {
        money_short(each, unit);
        buf_printf(&text, ", %s a GPU-hour", unit);
    }
    buf_printf(&text, ", %s", offer_kind_word(o->kind));
    out_row(out, "Price", "%s", buf_str(&text));
    buf_reset(&text);
    if (offer_old(o, day))
        buf_printf(&text, "OLD: %s. ", units_count(offer_age(o, day), "day").s);
    buf_printf(&text, "%s, unchanged since %s (%s)", r->seen, r->since, o->source);
    out_row(out, "Seen", "%s", buf_str(&text));
    out->text.failed |= text.failed;
    buf_release(&text);
}

static void around_rows(struct out *out, const struct page *page, int day)
{
    char low[MONEY_BYTES], high[MONEY_BYTES];
    const struct offer *o = page->offer;
    money_short(page->low, low);
    money_short(page->high, high);
    if (page->places > 1 && page->low != page->high)
        out_row(out, "Elsewhere", "%zu places, %s to %s %s an hour", page->places, low, high,
                o->currency);
    else if (page->places > 1)
        out_row(out, "Elsewhere", "%zu places, all at %s %s an hour", page->places, low,
                o->currency);
    if (page->has_other) {
        struct buf name = {0};
        book_name(&page->other, &name);
        money_short(offer_per_hour(&page->other), low);
        char seen[48] = "", date[12];
        offer_date(page->other.day, date);
        if (offer_old(&page->other, day))
            snprintf(seen, sizeof seen, ", OLD: seen %s", date);
        out_row(out, page->other.kind == OFFER_SPOT ? "Spot" : "Or", "from %s %s an hour: %s%s",
                low, o->currency, buf_str(&name), seen);
        buf_release(&name);
    }
    const struct offer_interruptions *i = &page->record.interruptions;
    if (i->low_percent.known && i->high_percent.v < 100)
        out_row(out, "Interrupted",
                "%lld to %lld %% of these machines are interrupted in a month (%s)",
                (long long)i->low_percent.v, (long long)i->high_percent.v, i->source);
    else if (i->low_percent.known)
        out_row(out, "Interrupted",
                "over %lld %% of these machines are interrupted in a month (%s)",
                (long long)i->low_percent.v, i->source);
}

static void history_rows(struct out *out, const struct offer_record *r)
{
    enum { MOST = 40 };
    struct doc doc = {0};
    view_price_history(&doc, r, MOST);
    out_printf(out, "\n");
    out_doc(out, &doc);
    doc_release(&doc);
}

// What --currency asks for, and why the price is doubtful.
static int add_local(struct page *page, const struct prices_view *view, struct err *err)
{
    const struct currencies *currencies;
    const struct devices *devices;
    struct listing_line line = {.offer = *page->offer};
    struct buf words = {0};
    TRY(market_currencies(view->market, &currencies, err));
    TRY(market_devices(view->market, &devices, err));
    if (currency_to_usd(currencies, line.offer.currency, view->day, offer_per_hour(&line.offer),
                        &line.usd_hour, NULL, NULL) != 0)
        line.usd_hour = -1;
    line.doubt = listing_doubt(devices, &line, view->day);
    if (line.doubt == doubt_power_words)
        page->record.price_impossible = some_bool(true);
    TRY(text_set(&page->record.price_doubt, line.doubt, err));
    TRY(prices_local(view, &line, &page->record, err));
    int rc = local_words(view->market, view->currency, view->day, &words, err);
    if (rc == 0 && view->currency)
        rc = text_set(&page->record.exchange, buf_str(&words), err);
    buf_release(&words);
    return rc;
}

static void local_rows(struct out *out, const struct offer_record *r)
{
    if (r->price_doubt)
        out_row(out, "Doubt", "the price is %s", r->price_doubt);
    if (r->valid_to)
        out_row(out, "Ends", "it cannot be ordered from %s on", r->valid_to);
    if (r->local_price_per_hour.known) {
        char hour[MONEY_BYTES];
        money_short_in(r->local_price_per_hour.nano, r->local_currency, hour);
        out_row(out, r->local_currency, "%s an hour (%s)", hour, r->exchange);
    } else if (r->local_currency) {
        out_row(out, r->local_currency, "unknown (%s)", r->exchange);
    }
}

// The place of "aws/g5.xlarge@us-east-1a:spot", copied; null: none is named.
static int place_in(const char *name, char **place, struct err *err)
{
    const char *at = strrchr(name, '@');
    *place = at ? strndup(at + 1, strcspn(at + 1, ":")) : NULL;
    return at && !*place ? err_memory(err) : 0;
}

static int add_spot(const struct cmd_call *call, struct market *market, struct page *page, int day,
                    struct err *err)
{
    const struct prices_options *o = call->options;
    struct spot_view ask = {.day = day, .under = -1, .plot = PRICES_SPOT_POINTS};
    char *place = NULL;
    if (page->offer->kind != OFFER_SPOT)
        return 0;
    if (!o->common.json)
        ask.plot = prices_spot_columns(call->out);
    TRY(word_amount("--max-price", o->words.max_price, &ask.under, err));
    int rc = place_in(call->rest->args[0], &place, err);
    ask.place = place;
    if (rc == 0)
        rc = spot_describe(market, page->offer, &ask, &page->record.spot, err);
    free(place);
    return rc;
}

int prices_page(const struct cmd_call *call, struct market *market, const struct offer *offer,
                int day, struct err *err)
{
    const struct prices_options *o = call->options;
    const struct prices_view view = {.market = market, .currency = o->currency, .day = day};
    const struct book *book;
    struct page page = {.offer = offer};
    struct offer_record *r = &page.record;
    struct book_filter same = {.provider = offer->provider, .name = offer->name, .day = day};
    TRY(market_book(market, &book, err));
    int rc = offer_describe(book, offer, day, r, err);
    if (rc == 0)
        rc = add_local(&page, &view, err);
    if (rc == 0)
        rc = book_each(book, &same, look_around, &page, err);
    if (rc == 0)
        rc = add_spot(call, market, &page, day, err);
    if (rc == 0 && o->common.json) {
        rc = text_set(&r->schema, OFFER_SCHEMA, err);
        if (rc == 0)
            rc = out_record(call->out, offer_record_fields, r, err);
    } else if (rc == 0) {
        out_styled(call->out, OUT_BOLD, "%s", r->offer);
        out_printf(call->out, "\n");
        what(call->out, offer);
        price_rows(call->out, &page, day);
        local_rows(call->out, r);
        if (r->tariff)
            out_row(call->out, "Charged", "%s", r->tariff);
        around_rows(call->out, &page, day);
        if (prices_spot_tells(&r->spot))
            prices_spot(call->out, &r->spot);
        else
            history_rows(call->out, r);
    }
    record_release(offer_record_fields, r);
    return rc;
}
