// SPDX-License-Identifier: Apache-2.0
#include "spot/history_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "price/listing.h"
#include "spot/history_figures.h"

#define DAY_S INT64_C(86400)

struct describing {
    struct spot_prices *out;
    const struct spot_view *ask;
    const char *zone;        // null: all
    int64_t from_s, until_s; // of all zones
    int64_t under;
    int64_t count_on, then, later; // the lowest so far; 0: none
};

static int set_time(char **member, int64_t at_s, struct err *err)
{
    char text[CLOCK_ISO_BYTES];
    clock_iso(at_s, text);
    return text_set(member, text, err);
}

static int set_figures(struct spot_zone *zone, const struct spot_figures *f, struct err *err)
{
    zone->price = some_money(f->last);
    zone->lowest = some_money(f->low);
    zone->p10 = some_money(f->p10);
    zone->p50 = some_money(f->p50);
    zone->p90 = some_money(f->p90);
    zone->highest = some_money(f->high);
    zone->mean = some_money(f->mean);
    zone->seen_s = some_int(f->seen_s);
    zone->changes = some_int((int64_t)f->changes);
    zone->changes_per_day = some_real(f->changes_a_day);
    zone->steady_s = some_int(f->until_s - f->steady_from_s);
    TRY(set_time(&zone->from, f->from_s, err));
    TRY(set_time(&zone->until, f->until_s, err));
    return set_time(&zone->steady_since, f->steady_from_s, err);
}

static int set_under(struct spot_zone *zone, const struct describing *d,
                     const struct spot_series *series, struct err *err)
{
    struct spot_under under;
    spot_under(series, d->from_s, d->until_s, d->under, &under);
    zone->under_share = some_real((double)under.under_s / (double)under.seen_s);
    zone->longest_under_s = some_int(under.longest_s);
    return under.longest_s > 0 ? set_time(&zone->longest_under_from, under.longest_from_s, err) : 0;
}

// Where the price holds, in words.
static const char *place_of(const struct spot_series *series)
{
    return *series->zone ? series->zone : "any place";
}

// Names the zone if its price is the lowest yet.
static int set_lowest(char **member, int64_t *lowest, int64_t price, const char *zone,
                      struct err *err)
{
    if (*lowest > 0 && price >= *lowest)
        return 0;
    *lowest = price;
    return text_set(member, zone, err);
}

static int set_steady(struct spot_zone *zone, struct describing *d,
                      const struct spot_series *series, struct err *err)
{
    struct spot_steady steady;
    struct spot_prices *out = d->out;
    TRY(spot_steady(series, d->from_s, d->until_s, &steady, err));
    zone->count_on = some_money(steady.price);
    TRY(set_lowest(&out->count_on_zone, &d->count_on, steady.price, place_of(series), err));
    if (!steady.tested)
        return 0;
    zone->count_on_held = some_real(steady.held);
    zone->count_on_then = some_money(steady.then);
    zone->count_on_later = some_money(steady.later);
    zone->count_on_highest = some_money(steady.highest);
    TRY(set_lowest(&out->chosen_then, &d->then, steady.then, place_of(series), err));
    return set_lowest(&out->cheapest_later, &d->later, steady.later, place_of(series), err);
}

static int set_plot(struct spot_zone *zone, const struct describing *d,
                    const struct spot_series *series, struct err *err)
{
    size_t count = d->ask->plot;
    int64_t length_s = d->until_s - d->from_s;
    double last = (double)series->changes[0].nano_usd / 1e9;
    zone->plot.items = malloc((count + 1) * sizeof *zone->plot.items);
    if (!zone->plot.items)
        return err_memory(err);
    for (size_t i = 0; i < count; i++) {
        int64_t from_s = d->from_s + length_s * (int64_t)i / (int64_t)count;
        int64_t mean =
            spot_mean(series, from_s, d->from_s + length_s * (int64_t)(i + 1) / (int64_t)count);
        last = mean > 0 ? (double)mean / 1e9 : last;
        zone->plot.items[i] = last;
    }
    zone->plot.count = count;
    zone->plot.known = count > 0;
    return 0;
}

static int add_zone(struct describing *d, const struct spot_series *series, struct err *err)
{
    struct spot_figures figures;
    TRY(spot_figures(series, d->from_s, d->until_s, &figures, err));
    if (figures.seen_s == 0)
        return 0;
    struct spot_zone *zone = LIST_ADD(&d->out->zones, err);
    if (!zone)
        return ERR_MEMORY;
    zone->daily = some_bool(series->daily);
    TRY(text_set(&zone->zone, place_of(series), err));
    TRY(set_figures(zone, &figures, err));
    TRY(set_under(zone, d, series, err));
    TRY(set_steady(zone, d, series, err));
    return set_plot(zone, d, series, err);
}

// ---- the price to stay under

struct lowest {
    const struct currencies *currencies;
    int day;
    int64_t nano_usd; // 0: none
    int seen;         // day
};

static int see_on_demand(void *arg, const struct offer *o, struct err *err)
{
    (void)err;
    struct lowest *low = arg;
    int64_t usd;
    if (currency_to_usd(low->currencies, o->currency, low->day, offer_per_hour(o), &usd, NULL, NULL,
                        NULL) == 0 &&
        usd > 0 && (low->nano_usd == 0 || usd < low->nano_usd) && !offer_retired(o, low->day) &&
        o->basis != BASIS_FLOOR) {
        low->nano_usd = usd;
        low->seen = o->day;
    }
    return 0;
}

// In the offer's region, or, if it names none, anywhere.
static int on_demand(struct market *market, const struct offer *offer, int day, struct lowest *low,
                     struct err *err)
{
    static const enum offer_kind kind = OFFER_ON_DEMAND;
    const struct book *book;
    *low = (struct lowest){.day = day};
    const struct book_filter same = {.provider = offer->provider,
                                     .name = offer->name,
                                     .region = *offer->region ? offer->region : NULL,
                                     .kind = &kind,
                                     .day = day};
    TRY(market_book(market, &book, err));
    TRY(market_currencies(market, &low->currencies, err));
    return book_each(book, &same, see_on_demand, low, err);
}

static bool is_in(const struct spot_series *series, const char *zone)
{
    return !zone || strcmp(series->zone, zone) == 0;
}

static int lowest_median(const struct describing *d, const struct spot_history *history,
                         int64_t *lowest, struct err *err)
{
    for (size_t i = 0; i < history->count; i++) {
        struct spot_figures f;
        TRY(spot_figures(&history->series[i], d->from_s, d->until_s, &f, err));
        if (f.seen_s > 0 && is_in(&history->series[i], d->zone) &&
            (*lowest == 0 || f.p50 < *lowest))
            *lowest = f.p50;
    }
    return 0;
}

static int choose_under(struct describing *d, struct market *market, const struct offer *offer,
                        const struct spot_history *history, struct err *err)
{
    struct lowest low;
    char seen[12];
    const char *is = "--max-price";
    TRY(on_demand(market, offer, d->ask->day, &low, err));
    int64_t usual = low.nano_usd;
    if (usual > 0) {
        offer_date(low.seen, seen);
        d->out->on_demand = some_money(usual);
        TRY(text_set(&d->out->on_demand_seen, seen, err));
    }
    d->under = d->ask->under;
    if (d->under < 0) {
        is = usual > 0 ? "on-demand" : "median";
        d->under = usual;
        if (usual == 0)
            TRY(lowest_median(d, history, &d->under, err));
    }
    d->out->under = some_money(d->under);
    return text_set(&d->out->under_is, is, err);
}

// ---- all zones

static int describe(struct describing *d, struct market *market, const struct offer *offer,
                    const struct spot_history *history, struct err *err)
{
    int64_t end_s = d->ask->day ? (d->ask->day + 1) * DAY_S : INT64_MAX;
    for (size_t i = 0; i < history->count; i++) {
        const struct spot_series *s = &history->series[i];
        if (!is_in(s, d->zone) || s->changes[0].at_s >= end_s)
            continue;
        int64_t until_s = s->until_s < end_s ? s->until_s : end_s;
        if (d->until_s == 0 || s->changes[0].at_s < d->from_s)
            d->from_s = s->changes[0].at_s;
        d->until_s = until_s > d->until_s ? until_s : d->until_s;
    }
    if (d->until_s == 0)
        return 0;
    TRY(choose_under(d, market, offer, history, err));
    for (size_t i = 0; i < history->count; i++)
        if (is_in(&history->series[i], d->zone))
            TRY(add_zone(d, &history->series[i], err));
    TRY(set_time(&d->out->plot_from, d->from_s, err));
    TRY(set_time(&d->out->plot_until, d->until_s, err));
    return text_set(&d->out->source, history->source, err);
}

int spot_describe(struct market *market, const struct offer *offer, const struct spot_view *ask,
                  struct spot_prices *out, struct err *err)
{
    struct spot_history history;
    struct offer anywhere = *offer;
    struct describing d = {.out = out, .ask = ask};
    if (!ask->place)
        anywhere.region = "";
    else if (strcmp(ask->place, offer->region) != 0)
        d.zone = ask->place;
    TRY(spot_history_read(market, &anywhere, &history, err));
    int rc = describe(&d, market, &anywhere, &history, err);
    spot_history_release(&history);
    return rc;
}
