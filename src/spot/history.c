// SPDX-License-Identifier: Apache-2.0
#include "spot/history.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "price/image.h"

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
    if (currency_to_usd(r->currencies, o->currency, o->since, offer_per_hour(o), &usd, NULL, NULL,
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
