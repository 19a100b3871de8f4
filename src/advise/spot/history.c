// SPDX-License-Identifier: Apache-2.0
#include "advise/spot/history.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/money.h"
#include "book/image.h"
#include "book/listing.h"

#define DAY_S INT64_C(86400)

static void series_release(struct spot_series *s)
{
    free(s->zone);
    free(s->changes);
    free(s->gaps);
    *s = (struct spot_series){0};
}

void spot_history_release(struct spot_history *history)
{
    for (size_t i = 0; i < history->count; i++)
        series_release(&history->series[i]);
    free(history->series);
    free(history->source);
    *history = (struct spot_history){0};
}

// A series while it is read.
struct reading {
    struct market *market;
    const struct book *book;
    const struct currencies *currencies;
    struct spot_history *history;
    size_t series_cap;
    bool exact; // some zone has every change
    int64_t latest_s;
    struct spot_series made;
    size_t change_cap, gap_cap;
    const char *source;
};

static int add_change(struct reading *r, int64_t at_s, int64_t nano_usd, struct err *err)
{
    struct spot_series *s = &r->made;
    TRY(array_grow(&s->changes, s->count, &r->change_cap, sizeof *s->changes, err));
    s->changes[s->count++] = (struct spot_change){at_s, nano_usd};
    return 0;
}

static int add_gap(struct reading *r, int64_t from_s, int64_t to_s, struct err *err)
{
    struct spot_series *s = &r->made;
    TRY(array_grow(&s->gaps, s->gap_count, &r->gap_cap, sizeof *s->gaps, err));
    s->gaps[s->gap_count++] = (struct spot_gap){from_s, to_s};
    return 0;
}

// ---- every change

// After a gap the price may be the one before it: that is no change.
static int read_changes(struct reading *r, const struct book_changes *c, struct err *err)
{
    struct spot_series *s = &r->made;
    for (size_t i = 0; i < c->count; i++) {
        const struct image_change *now = &c->items[i];
        int64_t last = s->count > 0 ? s->changes[s->count - 1].nano_usd : 0;
        if (now->nano_usd == 0 && i + 1 < c->count)
            TRY(add_gap(r, now->at_s, now[1].at_s, err));
        else if (now->nano_usd > 0 && now->nano_usd != last)
            TRY(add_change(r, now->at_s, now->nano_usd, err));
    }
    s->until_s = c->until_s;
    r->source = c->source;
    return 0;
}

// ---- prices of days

static int read_day(void *arg, const struct offer *o, struct err *err)
{
    struct reading *r = arg;
    struct spot_series *s = &r->made;
    int64_t usd, since_s = o->since * DAY_S, until_s = (o->day + 1) * DAY_S;
    if (currency_to_usd(r->currencies, o->currency, o->since, offer_per_hour(o), &usd, NULL,
                        NULL) != 0 ||
        usd <= 0)
        return 0;
    struct spot_change *last = s->count > 0 ? &s->changes[s->count - 1] : NULL;
    if (last && last->at_s >= since_s) { // two layers have a price of that day: the later one
        last->nano_usd = usd;
        if (s->count > 1 && last[-1].nano_usd == usd)
            s->count--;
    } else {
        if (last && since_s - s->until_s > DAY_S)
            TRY(add_gap(r, s->until_s, since_s, err));
        if (!last || last->nano_usd != usd)
            TRY(add_change(r, since_s, usd, err));
    }
    if (until_s > s->until_s) {
        s->until_s = until_s;
        r->source = o->source;
    }
    return 0;
}

// ---- zones

static int keep_series(struct reading *r, const struct offer *o, struct err *err)
{
    struct spot_history *h = r->history;
    struct spot_series *s = &r->made;
    if (s->count == 0)
        return 0;
    TRY(array_grow(&h->series, h->count, &r->series_cap, sizeof *h->series, err));
    s->zone = strdup(*o->zone ? o->zone : o->region);
    if (!s->zone)
        return err_memory(err);
    if (s->until_s >= r->latest_s || !h->source) {
        char *source = strdup(r->source);
        if (!source)
            return err_memory(err);
        free(h->source);
        h->source = source;
        r->latest_s = s->until_s;
    }
    h->series[h->count++] = *s;
    *s = (struct spot_series){0};
    return 0;
}

static int read_zone(void *arg, const struct offer *o, struct err *err)
{
    struct reading *r = arg;
    struct book_changes changes;
    bool exact = book_changes(r->book, o, &changes);
    if (exact != r->exact)
        return 0;
    r->change_cap = r->gap_cap = 0;
    r->made.daily = !exact;
    int rc = exact ? read_changes(r, &changes, err) : book_history(r->book, o, read_day, r, err);
    if (rc == 0)
        rc = keep_series(r, o, err);
    series_release(&r->made);
    return rc;
}

static int by_zone(const void *left, const void *right)
{
    const struct spot_series *a = left, *b = right;
    return strcmp(a->zone, b->zone);
}

int spot_history_read(struct market *market, const struct offer *offer, struct spot_history *out,
                      struct err *err)
{
    static const enum offer_kind spot = OFFER_SPOT;
    *out = (struct spot_history){0};
    struct reading r = {.market = market, .history = out};
    TRY(market_book(market, &r.book, err));
    TRY(market_currencies(market, &r.currencies, err));
    const struct book_filter zones = {.provider = offer->provider,
                                      .name = offer->name,
                                      .spelled = book_has(r.book, offer->provider, offer->name),
                                      .region = *offer->region ? offer->region : NULL,
                                      .kind = &spot,
                                      .day = INT_MAX};
    int rc = 0;
    // Daily prices count only where no zone has every change.
    for (int pass = 0; pass < 2 && rc == 0 && out->count == 0; pass++) {
        r.exact = pass == 0;
        rc = book_each(r.book, &zones, read_zone, &r, err);
    }
    if (rc != 0)
        spot_history_release(out);
    else if (out->count > 0)
        qsort(out->series, out->count, sizeof *out->series, by_zone);
    return rc;
}

// ---- the pieces of a series: one price, seen all the time

typedef void piece_fn(void *arg, int64_t from_s, int64_t to_s, int64_t nano_usd);

static void piece(int64_t from_s, int64_t to_s, int64_t nano_usd, piece_fn *visit, void *arg)
{
    if (from_s < to_s)
        visit(arg, from_s, to_s, nano_usd);
}

static size_t first_after(const struct spot_series *s, int64_t at_s)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->changes[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Visits the pieces within a stretch, in the order of time.
static void each_piece(const struct spot_series *s, int64_t from_s, int64_t until_s,
                       piece_fn *visit, void *arg)
{
    size_t i = first_after(s, from_s), g = 0;
    for (i -= i > 0; i < s->count && s->changes[i].at_s < until_s; i++) {
        const struct spot_change *c = &s->changes[i];
        int64_t from = c->at_s > from_s ? c->at_s : from_s;
        int64_t to = i + 1 < s->count ? c[1].at_s : s->until_s;
        to = to < until_s ? to : until_s;
        while (g < s->gap_count && s->gaps[g].to_s <= from)
            g++;
        for (size_t k = g; k < s->gap_count && s->gaps[k].from_s < to; k++) {
            piece(from, s->gaps[k].from_s, c->nano_usd, visit, arg);
            from = s->gaps[k].to_s > from ? s->gaps[k].to_s : from;
        }
        piece(from, to, c->nano_usd, visit, arg);
    }
}

// ---- sums

struct sum {
    int64_t seen_s;
    __int128 paid; // nano-USD an hour × seconds
};

static void add_up(void *arg, int64_t from_s, int64_t to_s, int64_t nano_usd)
{
    struct sum *sum = arg;
    sum->seen_s += to_s - from_s;
    sum->paid += (__int128)nano_usd * (to_s - from_s);
}

int64_t spot_mean(const struct spot_series *series, int64_t from_s, int64_t until_s)
{
    struct sum sum = {0};
    each_piece(series, from_s, until_s, add_up, &sum);
    return sum.seen_s > 0 ? (int64_t)((sum.paid + sum.seen_s / 2) / sum.seen_s) : 0;
}

// ---- quantiles and changes

struct held {
    int64_t nano_usd, for_s;
};

struct collecting {
    struct held *held;
    size_t count;
    struct spot_figures *out;
};

static void collect(void *arg, int64_t from_s, int64_t to_s, int64_t nano_usd)
{
    struct collecting *c = arg;
    struct spot_figures *f = c->out;
    bool first = c->count == 0, joined = !first && f->until_s == from_s;
    if (first)
        f->from_s = from_s;
    f->changes += joined && nano_usd != f->last;
    if (!joined || nano_usd != f->last)
        f->steady_from_s = from_s;
    f->last = nano_usd;
    f->until_s = to_s;
    f->seen_s += to_s - from_s;
    c->held[c->count++] = (struct held){nano_usd, to_s - from_s};
}

static int by_price(const void *left, const void *right)
{
    const struct held *a = left, *b = right;
    return a->nano_usd < b->nano_usd ? -1 : a->nano_usd > b->nano_usd;
}

// The lowest price with `percent` of the time at or below it.
static int64_t quantile(const struct collecting *c, int percent)
{
    __int128 need = (__int128)c->out->seen_s * percent, sum = 0;
    size_t i = 0;
    for (; i + 1 < c->count; i++) {
        sum += (__int128)c->held[i].for_s * 100;
        if (sum >= need)
            break;
    }
    return c->held[i].nano_usd;
}

int spot_figures(const struct spot_series *series, int64_t from_s, int64_t until_s,
                 struct spot_figures *out, struct err *err)
{
    *out = (struct spot_figures){0};
    // A gap cuts at most one piece in two.
    struct collecting c = {.out = out};
    c.held = malloc((series->count + series->gap_count + 1) * sizeof *c.held);
    if (!c.held)
        return err_memory(err);
    each_piece(series, from_s, until_s, collect, &c);
    if (c.count > 0) {
        qsort(c.held, c.count, sizeof *c.held, by_price);
        out->changes_a_day = (double)out->changes * 86400 / (double)out->seen_s;
        out->always = out->steady_from_s == out->from_s;
        out->low = c.held[0].nano_usd;
        out->p10 = quantile(&c, 10);
        out->p50 = quantile(&c, 50);
        out->p90 = quantile(&c, 90);
        out->high = c.held[c.count - 1].nano_usd;
        out->mean = spot_mean(series, from_s, until_s);
    }
    free(c.held);
    return 0;
}

// ---- under a price

struct watching {
    int64_t limit, begin_s, end_s; // the present stretch
    struct spot_under *out;
};

static void watch(void *arg, int64_t from_s, int64_t to_s, int64_t nano_usd)
{
    struct watching *w = arg;
    struct spot_under *u = w->out;
    u->seen_s += to_s - from_s;
    if (nano_usd > w->limit)
        return;
    u->under_s += to_s - from_s;
    if (w->end_s != from_s || w->begin_s == w->end_s)
        w->begin_s = from_s;
    w->end_s = to_s;
    if (to_s - w->begin_s > u->longest_s) {
        u->longest_s = to_s - w->begin_s;
        u->longest_from_s = w->begin_s;
    }
}

void spot_under(const struct spot_series *series, int64_t from_s, int64_t until_s, int64_t nano_usd,
                struct spot_under *out)
{
    *out = (struct spot_under){0};
    struct watching w = {.limit = nano_usd, .out = out};
    each_piece(series, from_s, until_s, watch, &w);
}

// ---- the price to count on

int spot_steady(const struct spot_series *series, int64_t from_s, int64_t until_s,
                struct spot_steady *out, struct err *err)
{
    struct spot_figures all, first, second;
    struct spot_under under;
    *out = (struct spot_steady){0};
    TRY(spot_figures(series, from_s, until_s, &all, err));
    int64_t middle = all.from_s + (all.until_s - all.from_s) / 2;
    TRY(spot_figures(series, from_s, middle, &first, err));
    TRY(spot_figures(series, middle, until_s, &second, err));
    out->price = all.p90;
    out->from_s = all.from_s;
    out->at_s = middle;
    out->until_s = all.until_s;
    out->tested = first.seen_s >= SPOT_HALF_S && second.seen_s >= SPOT_HALF_S;
    if (!out->tested)
        return 0;
    spot_under(series, middle, until_s, first.p90, &under);
    out->then = first.p90;
    out->held = (double)under.under_s / (double)under.seen_s;
    out->highest = second.high;
    out->later = second.p90;
    return 0;
}

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
    if (currency_to_usd(low->currencies, o->currency, low->day, offer_per_hour(o), &usd, NULL,
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
