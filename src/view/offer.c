// SPDX-License-Identifier: Apache-2.0
#include "view/offer.h"

#include <string.h>

#include "advise/spot/history.h"
#include "base/clock.h"
#include "base/units.h"
#include "bill/market.h"
#include "book/listing.h"

// All digits: providers differ in the last.
static struct cell exact(struct doc *doc, struct maybe_money price)
{
    struct cell cell = {.kind = CELL_AMOUNT, .amount = price};
    if (price.known)
        cell.text = doc_text(doc, "%s", money_exact(price).s);
    return cell;
}

static struct cell length(struct maybe_int seconds)
{
    return cell_number(CELL_TIME, (struct maybe_real){(double)seconds.v, seconds.known});
}

// ---- spot

static void add_zones(struct doc *doc, const struct spot_prices *s)
{
    doc_table(doc, "Spot price by zone");
    for (size_t i = 0; i < s->zones.count; i++) {
        const struct spot_zone *z = &s->zones.items[i];
        struct cell longest = length(z->longest_under_s);
        longest.text = z->longest_under_s.v > 0 ? NULL : "never";
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("zone"), cell_text(z->zone));
        doc_cell(doc, COLUMN("last"), exact(doc, z->price));
        doc_cell(doc, COLUMN("10 %"), exact(doc, z->p10));
        doc_cell(doc, COLUMN("50 %"), exact(doc, z->p50));
        doc_cell(doc, COLUMN("90 %"), exact(doc, z->p90));
        doc_cell(doc, COLUMN("changes a day", .priority = 1),
                 (struct cell){.kind = CELL_NUMBER,
                               .text = doc_text(doc, "%.1f", z->changes_per_day.v)});
        doc_cell(doc, COLUMN("steady", .priority = 2), length(z->steady_s));
        doc_cell(doc, COLUMN("longest", .priority = 3), longest);
        doc_cell(doc, COLUMN("count on", .priority = 4), exact(doc, z->count_on));
    }
    const bool given = strcmp(s->under_is, "--max-price") == 0;
    const bool demand = strcmp(s->under_is, "on-demand") == 0 && s->on_demand_seen;
    doc_say(doc, DOC_ASIDE,
            doc_text(doc,
                     "USD an hour; 10, 50, 90 %%: at or below this price for that share of the "
                     "time. Steady: time since the last change. Longest: "
                     "longest time at or below %s USD%s%s. Count on: the price was at or below it "
                     "for 90 %% of all the time seen.",
                     money_brief(s->under).s,
                     given    ? ""
                     : demand ? ", the on-demand price, seen "
                              : ", the lowest median",
                     demand ? s->on_demand_seen : ""));
}

static const struct spot_zone *zone_called(const struct spot_prices *s, const char *name)
{
    for (size_t k = 0; name && k < s->zones.count; k++)
        if (strcmp(s->zones.items[k].zone, name) == 0)
            return &s->zones.items[k];
    return NULL;
}

static void add_tested(struct buf *text, const struct spot_prices *s)
{
    const struct spot_zone *then = zone_called(s, s->chosen_then);
    const struct spot_zone *later = zone_called(s, s->cheapest_later);
    const bool several = s->zones.count > 1;
    if (!then || !later) {
        buf_adds(text, " The history is too short to test that: it needs two weeks.");
        return;
    }
    buf_printf(text,
               " Tested: its first half said %s%s%s, and in the second half the price there was at "
               "or below that for %.0f %% of the time",
               money_brief(then->count_on_then).s, several ? " in " : "", several ? then->zone : "",
               100 * then->count_on_held.v);
    const int64_t said = then->count_on_then.nano, above = then->count_on_highest.nano - said;
    if (said > 0 && then->count_on_highest.known && above > 0)
        buf_printf(text, ", and at most %s (%.0f %% above)", money_brief(then->count_on_highest).s,
                   100.0 * (double)above / (double)said);
    if (then == later)
        buf_adds(text, several ? "; it still had the lowest price." : ".");
    else
        buf_printf(text, "; the lowest then was that of %s, at %s.", later->zone,
                   money_brief(later->count_on_later).s);
}

static void add_spot(struct doc *doc, const struct spot_prices *s)
{
    const struct spot_zone *best = zone_called(s, s->count_on_zone);
    struct buf text = {0};
    char seen[32];
    if (best) {
        clock_words(best->seen_s.v * NS_PER_S, seen, sizeof seen);
        buf_printf(&text, "Count on %s USD an hour%s%s: at or below it for 90 %% of %s.",
                   money_brief(best->count_on).s, s->zones.count > 1 ? " in " : "",
                   s->zones.count > 1 ? best->zone : "", seen);
        add_tested(&text, s);
    }
    doc_say(doc, DOC_PLAIN, doc_take(doc, &text));
    add_zones(doc, s);
    if (s->zones.items[0].daily.v) {
        doc_say(doc, DOC_ASIDE, "From prices of days: the book does not have every change.");
        doc_say(doc, DOC_HINT, "'fare prices import' reads AWS's spot price history.");
    } else if (s->source) {
        doc_say(doc, DOC_ASIDE, doc_text(doc, "Every change: %s.", s->source));
    }
}

bool offer_spot_tells(const struct spot_prices *s)
{
    for (size_t k = 0; k < s->zones.count; k++)
        if (!s->zones.items[k].daily.v || s->zones.items[k].changes.v > 0)
            return true;
    return false;
}

// ---- history

static void add_history(struct doc *doc, const struct offer_record *r, size_t most)
{
    const size_t count = r->history.count, shown = count < most ? count : most;
    const char *head = doc_text(doc, "price %s", units_period(r->per_s.v));
    doc_heading(doc, 0, "Price history");
    doc_table(doc, "Price history");
    for (size_t i = count; i-- > count - shown;) {
        const struct offer_price *p = &r->history.items[i];
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("since"), (struct cell){.kind = CELL_DATE, .text = p->since});
        doc_cell(doc, COLUMN("last seen", .priority = 1),
                 (struct cell){.kind = CELL_DATE, .text = p->seen});
        doc_cell(doc, COLUMN(head, "price"), exact(doc, p->price));
        doc_cell(doc, COLUMN("currency", .priority = 2), cell_text(p->currency));
        doc_cell(doc, COLUMN("source", .least = 24), cell_text(p->source));
    }
    if (shown < count)
        doc_say(doc, DOC_ASIDE, doc_text(doc, "%zu older prices are in the JSON.", count - shown));
}

// ---- the offer

static void add_price(struct doc *doc, const struct offer_page *page)
{
    const struct offer_record *r = &page->record;
    struct buf more = {0};
    if (r->per_s.v != 3600)
        buf_printf(&more, "%s an hour, ", money_brief(r->price_per_hour).s);
    if (r->price_per_gpu_hour.known && r->gpus.v != 1)
        buf_printf(&more, "%s a GPU-hour, ", money_brief(r->price_per_gpu_hour).s);
    buf_adds(&more, r->kind);
    doc_figure(
        doc, "Price",
        doc_text(doc, "%s %s %s", money_exact(r->price).s, r->currency, units_period(r->per_s.v)),
        doc_take(doc, &more));
}

static void part(struct buf *row, const char *text, const char *after)
{
    buf_printf(row, "%s%s%s", row->len ? ", " : "", text, after);
}

// "8 × H100 with 80 GiB each"
static const char *gpus_of(struct doc *doc, const struct offer *o)
{
    char count[24];
    struct buf text = {0};
    if (o->gpus_milli == 0)
        return o->vcpus_milli > 0 ? "no GPU" : NULL;
    offer_milli(o->gpus_milli, count);
    buf_printf(&text, "%s × %s", count, o->gpu);
    if (o->gpu_memory_mib > 0)
        buf_printf(&text, " with %s%s", units_bytes((int64_t)o->gpu_memory_mib << 20).s,
                   o->gpus_milli > 1000 ? " each" : "");
    return doc_take(doc, &text);
}

static void add_machine(struct doc *doc, const struct offer *o)
{
    char vcpus[24];
    struct buf more = {0};
    offer_milli(o->vcpus_milli, vcpus);
    if (o->vcpus_milli > 0)
        part(&more, vcpus, " vCPUs");
    if (o->memory_mib > 0)
        part(&more, units_bytes((int64_t)o->memory_mib << 20).s, " memory");
    if (*o->cpu)
        part(&more, o->cpu, "");
    if (o->bare_metal)
        part(&more, "bare metal", "");
    doc_figure(doc, "Machine", gpus_of(doc, o), doc_take(doc, &more));
}

static void add_seen(struct doc *doc, const struct offer_record *r)
{
    struct buf more = {0};
    if (r->old.v)
        buf_printf(&more, "OLD: %s ago; ", units_count(r->age_days.v, "day").s);
    buf_printf(&more, "unchanged since %s (%s)", r->since, r->source);
    doc_figure(doc, "Seen", r->seen, doc_take(doc, &more));
}

static void add_local(struct doc *doc, const struct offer_record *r)
{
    char hour[MONEY_BYTES];
    money_short_in(r->local_price_per_hour.nano, r->local_currency, hour);
    if (r->local_currency)
        doc_fact(
            doc, r->local_currency,
            doc_text(doc, "%s (%s)",
                     r->local_price_per_hour.known ? doc_text(doc, "%s an hour", hour) : "unknown",
                     r->exchange));
}

// What the same machine costs in other places, or of another kind.
static void add_others(struct doc *doc, const struct offer_page *page)
{
    static const char *const names[] = {
        [OFFER_ON_DEMAND] = "On demand", [OFFER_SPOT] = "Spot", [OFFER_MONTHLY] = "Monthly"};
    const char *currency = page->offer.currency;
    const char *low = doc_text(doc, "%s", money_brief(some_money(page->low)).s);
    struct buf text = {0};
    if (page->places > 1 && page->low != page->high)
        buf_printf(&text, "%zu places, %s to %s %s an hour", page->places, low,
                   money_brief(some_money(page->high)).s, currency);
    else if (page->places > 1)
        buf_printf(&text, "%zu places, all at %s %s an hour", page->places, low, currency);
    doc_fact(doc, "Elsewhere", doc_take(doc, &text));
    if (!page->has_other)
        return;
    buf_printf(&text,
               "from %s %s an hour: ", money_brief(some_money(offer_per_hour(&page->other))).s,
               currency);
    book_name(&page->other, &text);
    if (offer_old(&page->other, page->day)) {
        char seen[12];
        offer_date(page->other.day, seen);
        buf_printf(&text, ", OLD: seen %s", seen);
    }
    doc_fact(doc, names[page->other.kind], doc_take(doc, &text));
}

static void add_interruptions(struct doc *doc, const struct offer_interruptions *i)
{
    const bool bound = i->high_percent.v < 100;
    const char *to = bound ? doc_text(doc, " to %lld", (long long)i->high_percent.v) : "";
    if (i->low_percent.known)
        doc_fact(doc, "Interrupted",
                 doc_text(doc, "%s%lld%s %% of these machines are interrupted in a month (%s)",
                          bound ? "" : "over ", (long long)i->low_percent.v, to, i->source));
}

// A tariff is a sentence of many parts.
static void add_billing(struct doc *doc, const char *tariff)
{
    if (tariff)
        doc_heading(doc, 0, "Billing");
    while (tariff && *tariff) {
        const size_t len = strcspn(tariff, ";");
        doc_item(doc, doc_text(doc, "%.*s", (int)len, tariff));
        tariff += len + strspn(tariff + len, "; ");
    }
}

void view_offer(struct doc *doc, const struct offer_page *page)
{
    const struct offer_record *r = &page->record;
    add_price(doc, page);
    add_machine(doc, &page->offer);
    add_seen(doc, r);
    add_local(doc, r);
    if (r->price_doubt)
        doc_fact(doc, "Doubt", doc_text(doc, "the price is %s", r->price_doubt));
    if (r->valid_to)
        doc_fact(doc, "Ends", doc_text(doc, "no longer offered from %s on", r->valid_to));
    add_others(doc, page);
    add_interruptions(doc, &r->interruptions);
    add_billing(doc, r->tariff);
}

void view_offer_prices(struct doc *doc, const struct offer_record *r, size_t most)
{
    if (offer_spot_tells(&r->spot))
        add_spot(doc, &r->spot);
    if (most > 0)
        add_history(doc, r, most);
}

// ---- its record

static int look_around(void *arg, const struct offer *o, struct err *err)
{
    struct offer_page *page = arg;
    const int64_t hour = offer_per_hour(o);
    (void)err;
    if (strcmp(o->currency, page->offer.currency) != 0)
        return 0;
    if (o->kind == page->offer.kind) {
        page->low = page->places == 0 || hour < page->low ? hour : page->low;
        page->high = page->places == 0 || hour > page->high ? hour : page->high;
        page->places++;
    } else if (!page->has_other || hour < offer_per_hour(&page->other)) {
        page->has_other = true;
        page->other = *o;
    }
    return 0;
}

// Why the price is doubtful, and what it is in the currency asked for.
static int judge_price(struct market *market, const struct offer_ask *ask, struct offer_page *page,
                       struct err *err)
{
    const struct currencies *currencies;
    const struct devices *devices;
    struct offer_record *r = &page->record;
    struct listing_line line = {.offer = page->offer};
    SCOPED(buf_release) struct buf words = {0};
    TRY(market_currencies(market, &currencies, err));
    TRY(market_devices(market, &devices, err));
    if (currency_to_usd(currencies, line.offer.currency, ask->day, offer_per_hour(&line.offer),
                        &line.usd_hour, NULL, NULL) != 0)
        line.usd_hour = -1;
    line.doubt = listing_doubt(devices, &line, ask->day);
    if (line.doubt == doubt_power_words)
        r->price_impossible = some_bool(true);
    TRY(text_set(&r->price_doubt, line.doubt, err));
    if (!ask->currency)
        return 0;
    const struct maybe_money usd = {line.usd_hour, line.usd_hour >= 0};
    TRY(text_set(&r->local_currency, ask->currency, err));
    TRY(local_money(market, ask->currency, ask->day, usd, &r->local_price_per_hour, err));
    TRY(local_words(market, ask->currency, ask->day, &words, err));
    return text_set(&r->exchange, buf_str(&words), err);
}

// The place of "aws/g5.xlarge@us-east-1a:spot".
static int describe_spot(struct market *market, const struct offer_ask *ask,
                         struct offer_page *page, struct err *err)
{
    struct spot_view spot = {.day = ask->day, .under = ask->under, .plot = ask->plot};
    const char *at = strrchr(ask->name, '@');
    SCOPED(free_pointer) char *place = at ? strndup(at + 1, strcspn(at + 1, ":")) : NULL;
    if (at && !place)
        return err_memory(err);
    spot.place = place;
    if (ask->region)
        spot.place = *page->offer.region ? page->offer.region : NULL;
    return spot_describe(market, &page->offer, &spot, &page->record.spot, err);
}

int offer_page_make(struct market *market, const struct offer_ask *ask, struct offer_page *out,
                    struct err *err)
{
    const struct book *book;
    const struct offer *o = &out->offer;
    out->day = ask->day;
    TRY(text_set(&out->record.schema, OFFER_SCHEMA, err));
    TRY(market_book(market, &book, err));
    TRY(book_find(book, ask->name, ask->day, &out->offer, err));
    const struct book_filter same = {.provider = o->provider, .name = o->name, .day = ask->day};
    TRY(offer_describe(book, o, ask->day, &out->record, err));
    TRY(judge_price(market, ask, out, err));
    TRY(book_each(book, &same, look_around, out, err));
    return o->kind == OFFER_SPOT ? describe_spot(market, ask, out, err) : 0;
}
