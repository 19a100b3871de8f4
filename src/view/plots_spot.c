// SPDX-License-Identifier: Apache-2.0
// Price plots: a spot price over time, zone by zone.
#include <stdlib.h>
#include <string.h>

#include "base/money.h"
#include "book/listing.h"
#include "view/draft.h"
#include "advise/spot/history.h"

enum { ZONES_MOST = 6, MACHINES_MOST = 1, CHANGES_MOST = 100, POINTS = 100 };

#define DAY_S 86400.0

static void add_point(struct draft *d, int64_t at_s, int64_t nano_usd)
{
    draft_point(d, NULL, (double)at_s / DAY_S, (double)nano_usd / 1e9);
}

// A long history as means of equal stretches.
static void zone_means(struct draft *d, const struct spot_series *s)
{
    int64_t from_s = s->changes[0].at_s, length_s = s->until_s - from_s, last = 0;
    for (int64_t i = 0; i < POINTS; i++) {
        int64_t begin_s = from_s + length_s * i / POINTS;
        int64_t mean = spot_mean(s, begin_s, from_s + length_s * (i + 1) / POINTS);
        if (mean > 0)
            add_point(d, begin_s, last = mean);
    }
    add_point(d, s->until_s, last);
}

static void zone_line(struct draft *d, const struct spot_series *s)
{
    draft_series(d, s->zone);
    if (s->count > CHANGES_MOST) {
        zone_means(d, s);
        return;
    }
    for (size_t i = 0; i < s->count; i++)
        add_point(d, s->changes[i].at_s, s->changes[i].nano_usd);
    if (s->until_s > s->changes[s->count - 1].at_s)
        add_point(d, s->until_s, s->changes[s->count - 1].nano_usd);
}

// ---- the cheapest zones

struct ranked {
    const struct spot_series *series;
    int64_t median;
};

static int by_median(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->median != b->median)
        return a->median < b->median ? -1 : 1;
    return strcmp(a->series->zone, b->series->zone);
}

static int rank_zones(const struct spot_history *history, struct ranked *zones, struct err *err)
{
    for (size_t i = 0; i < history->count; i++) {
        struct spot_figures f;
        TRY(spot_figures(&history->series[i], INT64_MIN, INT64_MAX, &f, err));
        zones[i] = (struct ranked){&history->series[i], f.p50};
    }
    qsort(zones, history->count, sizeof *zones, by_median);
    return 0;
}

// One price alone is no history.
static bool tells(const struct spot_history *history)
{
    for (size_t i = 0; i < history->count; i++)
        if (history->series[i].count > 1)
            return true;
    return false;
}

// "aws/p3.2xlarge@us-east-1: us-east-1a is lowest, 0.92 USD an hour for half of the time"
static void machine_panel(struct draft *d, const char *name, const struct spot_history *history)
{
    char amount[MONEY_BYTES];
    struct ranked *zones = malloc((history->count + 1) * sizeof *zones);
    d->rc = zones ? rank_zones(history, zones, d->err) : err_memory(d->err);
    draft_panel(d, NULL, "steps", AXIS("date", "day"), AXIS("price per hour", "USD"));
    if (d->rc == 0) {
        money_short(zones->median, amount);
        draft_print(d, &d->panel->title, "%s: %s%s%s USD an hour or less for half of the time",
                    name, zones->series->zone, *zones->series->zone ? " is lowest, " : "", amount);
    }
    for (size_t i = 0; i < history->count && i < ZONES_MOST && d->rc == 0; i++)
        zone_line(d, zones[i].series);
    free(zones);
}

// Adds a panel if the book has a history of the offer's machine in its region.
static bool offer_panel(struct draft *d, struct market *market, const struct offer *offer)
{
    struct spot_history history;
    SCOPED(buf_release) struct buf title = {0};
    if (d->rc == 0)
        d->rc = spot_history_read(market, offer, &history, d->err);
    if (d->rc != 0)
        return false;
    bool drawn = tells(&history);
    if (drawn) {
        buf_printf(&title, "%s/%s%s%s", offer->provider, offer->name, *offer->region ? "@" : "",
                   offer->region);
        d->rc = buf_check(&title, d->err);
        if (d->rc == 0)
            machine_panel(d, buf_str(&title), &history);
    }
    spot_history_release(&history);
    return drawn;
}

// ---- plots

static void begin_spot(struct draft *d)
{
    draft_plot(d, "spot", "Spot prices",
               "The spot price of one machine in each zone, the lowest six by their median. A "
               "price holds until the next step; long histories are drawn as means.");
}

static bool has_panel(const struct draft *d, const char *machine)
{
    size_t len = strlen(machine);
    for (size_t i = 0; i < d->plot->panels.count; i++) {
        const char *name = strchr(d->plot->panels.items[i].title, '/');
        if (name && strncmp(name + 1, machine, len) == 0 &&
            (name[len + 1] == '@' || name[len + 1] == ':'))
            return true;
    }
    return false;
}

// In the bill's region, or else wherever the book has a history.
static void from_bill(struct draft *d, const struct quote_job *job, const struct bill *bill)
{
    struct offer offer;
    const struct book *book;
    if (d->rc != 0 || d->plot->panels.count == MACHINES_MOST || !bill->kind || !bill->name ||
        !bill->provider || strcmp(bill->kind, "spot") != 0 || has_panel(d, bill->name) ||
        market_book(job->ask.market, &book, NULL) != 0 ||
        !book_has_changes(book, bill->provider, bill->name) ||
        quote_offer(&job->ask, bill, &offer, NULL) != 0 || offer_panel(d, job->ask.market, &offer))
        return;
    offer.region = "";
    offer_panel(d, job->ask.market, &offer);
}

void plots_spot(struct draft *d, const struct quote_job *jobs)
{
    begin_spot(d);
    for (size_t i = 0; i < d->page->quotes.count; i++) {
        const struct quote *quote = &d->page->quotes.items[i];
        for (size_t k = 0; k < quote->bills.count; k++)
            from_bill(d, &jobs[i], &quote->bills.items[k]);
        for (size_t k = 0; k < quote->estimates.count; k++)
            from_bill(d, &jobs[i], &quote->estimates.items[k]);
    }
    draft_end(d);
}

// The cheapest machine of a list that the book has a history of.
void plot_spot_list(struct draft *d, struct market *market, const struct listing *list)
{
    enum { TRIED = 40 };
    size_t tried = 0;
    begin_spot(d);
    for (size_t i = 0; i < list->count && d->rc == 0 && tried < TRIED && d->plot->panels.count == 0;
         i++) {
        const struct offer *offer = &list->items[i].offer;
        if (offer->kind != OFFER_SPOT || list->items[i].doubt)
            continue;
        offer_panel(d, market, offer);
        tried++;
    }
    draft_end(d);
}

int page_spot(struct market *market, const struct offer *offer, struct page *page, struct err *err)
{
    struct draft d = {.page = page, .err = err};
    begin_spot(&d);
    offer_panel(&d, market, offer);
    draft_end(&d);
    return d.rc;
}
