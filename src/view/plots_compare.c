// SPDX-License-Identifier: Apache-2.0
// Plots of cost and speed by machine: cost, frontier. The figures come from the
// comparison if the measured machines have prices, otherwise from the quotes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/compare_estimates.h"
#include "base/money.h"
#include "view/draft.h"
#include "render/scale.h"

#define HIGH_END  MONEY_UNIT // nano-USD per hour: a machine above it is high-end
#define BARS_MOST 24
#define ESTIMATES 10 // bars
#define MONTH_S   (INT64_C(30) * 86400)

static const char *const groups[] = {"Budget: up to $1 an hour", "High-end: above $1 an hour",
                                     "Several or unknown prices"};
enum { BUDGET, EXPENSIVE, SEVERAL, GROUPS };

// ---- cost of one training

static int group_of_row(const struct compare_row *row)
{
    return !row->price.usd_per_hour.known            ? SEVERAL
           : row->price.usd_per_hour.nano > HIGH_END ? EXPENSIVE
                                                     : BUDGET;
}

static void cost_row(struct draft *d, const struct compare_row *row, int group)
{
    struct buf label = {0};
    compare_label(row, &label);
    buf_adds(&label, row->cost.lower_bound.v ? " ≥" : "");
    struct plot_point *bar = draft_bar(d, NULL, some_real((double)row->cost.nano_usd.v / 1e9));
    draft_take(d, &bar->label, &label);
    bar->y_low = money_real(row->cost.low_usd);
    bar->y_high = money_real(row->cost.high_usd);
    if (row->base.known && row->base.v)
        bar->marked = some_bool(true);
    if (compare_estimated(row))
        bar->estimated = some_bool(true);
    draft_set(d, &bar->group, groups[group]);
    draft_notes(d, bar, row->notes.items, row->notes.count);
}

static int by_row_cost(const void *a, const void *b)
{
    const struct compare_row *x = *(const struct compare_row *const *)a;
    const struct compare_row *y = *(const struct compare_row *const *)b;
    int64_t first = x->cost.nano_usd.v, second = y->cost.nano_usd.v;
    return first != second ? (first > second) - (first < second) : (x > y) - (x < y);
}

static void cost_of_rows(struct draft *d, const struct compare_workload *w)
{
    const struct compare_row **rows = calloc(w->rows.count + 1, sizeof *rows);
    size_t count = 0;
    if (!rows) {
        d->rc = err_memory(d->err);
        return;
    }
    for (size_t i = 0; i < w->rows.count; i++)
        if (w->rows.items[i].cost.nano_usd.known)
            rows[count++] = &w->rows.items[i];
    qsort(rows, count, sizeof *rows, by_row_cost);
    draft_panel(d, w->workload, "bars", AXIS("", ""), AXIS("cost of one training", "USD"));
    draft_series(d, "cost");
    draft_set(d, &d->panel->marks, "the base");
    for (int group = 0; group < GROUPS; group++)
        for (size_t i = 0; i < count; i++)
            if (group_of_row(rows[i]) == group)
                cost_row(d, rows[i], group);
    result_range(d);
    free(rows);
}

// The hourly price of a machine rented continuously; ERR_MISSING without an exchange rate.
static int group_of_bill(const struct quote_job *job, const struct bill *bill)
{
    struct offer offer;
    struct priced price;
    int64_t hour = 0;
    if (quote_offer(&job->ask, bill, &offer, NULL) != 0 ||
        market_price(job->ask.market, &offer, &job->ask.wishes, &price, NULL) != 0 ||
        priced_average_hour(&price, MONTH_S, &hour, NULL) != 0)
        return SEVERAL;
    return hour > HIGH_END ? EXPENSIVE : BUDGET;
}

static void note_bill(struct draft *d, struct plot_point *point, const struct bill *b)
{
    char old[64] = "", doubt[64] = "", *notes[3];
    size_t count = 0;
    if (b->certainty)
        notes[count++] = b->certainty;
    snprintf(doubt, sizeof doubt, "%s", quote_doubt(b) ? quote_doubt(b) : "");
    if (*doubt)
        notes[count++] = doubt;
    if (b->price_old.v)
        snprintf(old, sizeof old, "price %lld days old", (long long)b->price_age_days.v);
    if (*old)
        notes[count++] = old;
    draft_notes(d, point, notes, count);
}

// "primeintellect, 4 × H200, spot" of a name that would be cut; "≥" after that of a lower bound.
static void point_name(const struct bill *b, size_t longest, char *out, size_t size)
{
    page_offer(b, out, size);
    bool spot = b->kind && strcmp(b->kind, "on-demand") != 0;
    size_t mark = bill_is_bound(b) ? strlen(" ≥") : 0;
    if (strlen(out) + mark > longest && b->gpu && b->gpus.known)
        snprintf(out, size, "%.60s, %g × %.60s%s%.20s", b->provider ? b->provider : "", b->gpus.v,
                 b->gpu, spot ? ", " : "", spot ? b->kind : "");
    size_t len = strlen(out);
    if (bill_is_bound(b))
        snprintf(out + len, size - len, " %s", bill_mark(b));
}

// A bill in doubt that is lower than `least`, the cheapest, says why it is not.
static void cost_bar(struct draft *d, const struct bill *b, const char *group, bool mark,
                     int64_t least)
{
    enum { LONG = 44 };
    char name[200];
    point_name(b, LONG, name, sizeof name);
    size_t len = strlen(name);
    const char *doubt = bill_total(b) < least ? quote_doubt(b) : NULL;
    snprintf(name + len, sizeof name - len, "%s%s%s", mark && b->price_old.v ? "\u00a0†" : "",
             doubt ? ", " : "", doubt ? doubt : "");
    struct plot_point *bar = draft_bar(d, name, some_real((double)bill_total(b) / 1e9));
    if (!bill_is_bound(b)) { // a bound has no end
        bar->y_low = money_real(b->low);
        bar->y_high = money_real(b->high);
    }
    if (b->certainty)
        bar->estimated = some_bool(true);
    draft_set(d, &bar->group, group);
    note_bill(d, bar, b);
}

// Says once what the mark means, or that all prices are old.
static void note_old(struct draft *d, size_t old, size_t all)
{
    const char *words = old == all ? "All prices were" : "†: price";
    if (old == 0 || d->rc != 0 || strstr(d->plot->says, words))
        return;
    draft_print(d, &d->plot->says, "%s %s last seen over 30 days ago (spot: over 7).",
                d->plot->says, words);
}

static int by_total(const void *a, const void *b)
{
    int64_t x = bill_total(*(const struct bill *const *)a);
    int64_t y = bill_total(*(const struct bill *const *)b);
    return (x > y) - (x < y);
}

static void cost_of_bills(struct draft *d, const char *title, const struct quote *quote,
                          const struct quote_job *job)
{
    const struct bill **rows = quote_rows(quote, d->err);
    size_t count = 0, estimates = 0, old = 0;
    if (!rows) {
        d->rc = ERR_MEMORY;
        return;
    }
    char from[SCALE_LABEL];
    const struct bill *lowest = verdict_of_quote(quote).lowest;
    int64_t least = bill_total(lowest ? lowest : rows[0]);
    scale_words("USD", (double)least / 1e9, from);
    for (size_t i = 0; rows[i] && count < BARS_MOST; i++)
        if (!rows[i]->certainty || estimates++ < ESTIMATES)
            rows[count++] = rows[i];
    qsort(rows, count, sizeof *rows, by_total);
    for (size_t i = 0; i < count; i++)
        old += rows[i]->price_old.v;
    draft_panel(d, title, "bars", AXIS("", ""), AXIS("cost of one training", "USD"));
    draft_series(d, "cost");
    for (int group = 0; group < GROUPS; group++)
        for (size_t i = 0; i < count; i++)
            if (group_of_bill(job, rows[i]) == group)
                cost_bar(d, rows[i], groups[group], old < count, least);
    note_old(d, old, count);
    result_from(d, from, lowest && !verdict_can_lead(lowest));
    free(rows);
}

static bool any_estimates(const struct page *page)
{
    for (size_t i = 0; i < page->quotes.count; i++)
        if (page->quotes.items[i].estimates.count > 0)
            return true;
    return false;
}

static const struct quote *quote_of(const struct page *page, const char *workload)
{
    for (size_t i = 0; i < page->quotes.count; i++)
        if (page->quotes.items[i].workload && strcmp(page->quotes.items[i].workload, workload) == 0)
            return &page->quotes.items[i];
    return NULL;
}

// Whether to show the measured machines: two or more have prices, or one has and the user gave it.
static bool by_rows(const struct page_ask *ask, const struct compare_workload *w)
{
    size_t priced = 0;
    for (size_t i = 0; i < w->rows.count; i++)
        priced += w->rows.items[i].cost.nano_usd.known;
    bool said = ask->pricing.price_count + ask->pricing.offer_count > 0;
    return priced > 1 || (priced == 1 && said);
}

// The panel's title: it must differ from that of the measured machines' panel.
static void bills_title(const struct page *page, const struct page_ask *ask,
                        const struct quote *quote, char *out, size_t size)
{
    bool beside = false;
    for (size_t i = 0; i < page->compare.workloads.count; i++) {
        const struct compare_workload *w = &page->compare.workloads.items[i];
        beside |= quote_of(page, w->workload) == quote && by_rows(ask, w);
    }
    snprintf(out, size, "%.120s%s", quote->workload ? quote->workload : "The training",
             beside ? ", rented" : "");
}

static void plot_cost(struct draft *d, const struct page_ask *ask, const struct quote_job *jobs)
{
    const struct page *page = d->page;
    char title[160];
    draft_plot(d, "cost", "Cost of one training",
               any_estimates(page)
                   ? "Each bar is the bill of one whole training, by the provider's billing rule "
                     "and without tax. The line at its end is the 95 % interval, if known. Hollow "
                     "bars are estimates for machines without a run; their line is the 90 % "
                     "interval. A bar with a gap, or a line without an end, is longer than drawn."
                   : "Each bar is the bill of one whole training, by the provider's billing rule "
                     "and without tax. The line at its end is the 95 % interval, if known. A "
                     "bar with a gap is longer than drawn.");
    for (size_t i = 0; i < page->compare.workloads.count; i++)
        if (by_rows(ask, &page->compare.workloads.items[i]))
            cost_of_rows(d, &page->compare.workloads.items[i]);
    for (size_t i = 0; i < page->quotes.count; i++) {
        bills_title(page, ask, &page->quotes.items[i], title, sizeof title);
        if (page->quotes.items[i].bills.count + page->quotes.items[i].estimates.count > 0)
            cost_of_bills(d, title, &page->quotes.items[i], &jobs[i]);
    }
    draft_end(d);
}

// ---- time against cost

struct frontier_place {
    const char *label;
    char name[200];
    int64_t order; // of a quote's rows; 0: by cost
    double s, usd;
    struct maybe_real low_s, high_s, low_usd, high_usd;
    bool cannot_win; // noisy or stopped, or never ends
    bool estimated, in_doubt;
};

#define POINT_LONG 30 // characters beside a point

static int by_cost(const void *a, const void *b)
{
    const struct frontier_place *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    if (x->usd != y->usd)
        return x->usd < y->usd ? -1 : 1;
    return (x->s > y->s) - (x->s < y->s);
}

static struct plot_point *add_place(struct draft *d, const struct frontier_place *place)
{
    struct plot_point *point = draft_point(d, place->name, place->s, place->usd);
    point->x_low = place->low_s;
    point->x_high = place->high_s;
    point->y_low = place->low_usd;
    point->y_high = place->high_usd;
    if (place->estimated)
        point->estimated = some_bool(true);
    return point;
}

// As far as no other estimate is both faster and cheaper.
static void add_estimates(struct draft *d, const struct frontier_place *places, size_t count)
{
    double best = 0;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (!places[i].estimated || places[i].cannot_win ||
            !verdict_on_frontier(&best, places[i].s))
            continue;
        if (found++ == 0)
            draft_series(d, "estimate");
        add_place(d, &places[i]);
    }
}

static void frontier_panel(struct draft *d, const char *title, struct frontier_place *places,
                           size_t count, const struct advice_wishes *wishes)
{
    const struct frontier_place *best_place = NULL;
    double best = 0;
    bool doubt = false;
    if (count < 2)
        return;
    for (size_t i = 0; i < count; i++)
        doubt |= places[i].in_doubt;
    qsort(places, count, sizeof *places, by_cost);
    draft_panel(d, title, "points", AXIS("time of one training", "s"),
                AXIS("cost of one training", "USD"));
    draft_set(d, &d->panel->marks, "no other is both faster and cheaper");
    draft_set(d, &d->panel->unmarked,
              doubt ? "another is better, or the bill is in doubt"
                    : "another is both faster and cheaper");
    if (wishes->deadline_ns.known)
        draft_line(d, "deadline", some_real((double)wishes->deadline_ns.v / 1e9),
                   (struct maybe_real){0});
    if (wishes->budget.known)
        draft_line(d, "budget", (struct maybe_real){0}, some_real((double)wishes->budget.v / 1e9));
    draft_series(d, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct frontier_place *place = &places[i];
        if (place->estimated)
            continue;
        struct plot_point *point = add_place(d, place);
        if (place->cannot_win)
            continue;
        if (verdict_on_frontier(&best, place->s))
            best_place = place;
        if (place->s == best_place->s && place->usd == best_place->usd) // equal ones too
            point->marked = some_bool(true);
    }
    add_estimates(d, places, count);
    result_frontier(d);
}

static void frontier_of_rows(struct draft *d, const struct compare_workload *w,
                             const struct advice_wishes *wishes)
{
    size_t count = 0;
    SCOPED(free_pointer) struct frontier_place *places = calloc(w->rows.count + 1, sizeof *places);
    if (!places) {
        d->rc = err_memory(d->err);
        return;
    }
    for (size_t i = 0; i < w->rows.count; i++) {
        const struct compare_row *row = &w->rows.items[i];
        struct frontier_place *place = &places[count];
        struct buf label = {0};
        if (!row->cost.nano_usd.known || !row->time_s.value.known)
            continue;
        compare_label(row, &label);
        snprintf(place->name, sizeof place->name, "%s%s", buf_str(&label),
                 row->cost.lower_bound.v ? " ≥" : "");
        if (label.failed)
            d->rc = err_memory(d->err);
        buf_release(&label);
        place->cannot_win = !verdict_can_win(row) || row->cost.lower_bound.v;
        place->s = row->time_s.value.v;
        place->usd = (double)row->cost.nano_usd.v / 1e9;
        place->low_s = row->time_s.low;
        place->high_s = row->time_s.high;
        place->low_usd = money_real(row->cost.low_usd);
        place->high_usd = money_real(row->cost.high_usd);
        count++;
    }
    frontier_panel(d, w->workload, places, count, wishes);
}

static void frontier_of_bills(struct draft *d, const char *title, const struct quote *quote,
                              const struct advice_wishes *wishes)
{
    size_t count = 0;
    const struct bill **rows = quote_rows(quote, d->err);
    struct frontier_place *places =
        calloc(quote->bills.count + quote->estimates.count + 1, sizeof *places);
    if (!rows || !places)
        d->rc = err_memory(d->err);
    for (size_t i = 0; rows && places && rows[i]; i++) {
        const struct bill *b = rows[i];
        struct frontier_place *place = &places[count];
        if (!b->time_s.known || bill_price_doubtful(b))
            continue;
        point_name(b, POINT_LONG, place->name, sizeof place->name);
        place->order = b->place.v;
        place->cannot_win = !verdict_can_lead(b);
        place->in_doubt = quote_doubt(b) || bill_is_bound(b);
        place->s = b->time_s.v;
        place->usd = (double)bill_total(b) / 1e9;
        place->estimated = b->certainty != NULL;
        if (!bill_is_bound(b)) { // a bound has no end
            place->low_s = b->low_s;
            place->high_s = b->high_s;
            place->low_usd = money_real(b->low);
            place->high_usd = money_real(b->high);
        }
        count++;
    }
    if (d->rc == 0)
        frontier_panel(d, title, places, count, wishes);
    free(rows);
    free(places);
}

// Says that some intervals are not drawn.
static void note_crowds(struct draft *d)
{
    bool crowded = false;
    for (size_t i = 0; i < d->plot->panels.count; i++)
        crowded |= plot_crowded(&d->plot->panels.items[i]);
    if (crowded && d->rc == 0)
        draft_print(d, &d->plot->says,
                    "%s Intervals of hollow circles are not drawn: there are too many.",
                    d->plot->says);
}

void plot_frontier(struct draft *d, const struct page_ask *ask)
{
    const struct page *page = d->page;
    const struct maybe_int *deadline = &ask->wishes.deadline_ns;
    char title[160];
    draft_plot(d, "frontier", "Time against cost", NULL);
    draft_print(d, &d->plot->says, "Further left is faster, further down cheaper. %s%s",
                deadline->known ? "Points right of the dashed vertical line miss the deadline."
                                : "A hollow circle is slower and more expensive than some filled "
                                  "one, or its bill is in doubt. A dashed line joins the filled "
                                  "ones.",
                any_estimates(page) ? " Squares are estimates, those that no other estimate beats."
                                    : "");
    for (size_t i = 0; i < page->compare.workloads.count; i++)
        if (by_rows(ask, &page->compare.workloads.items[i]))
            frontier_of_rows(d, &page->compare.workloads.items[i], &ask->wishes);
    for (size_t i = 0; i < page->quotes.count; i++) {
        bills_title(page, ask, &page->quotes.items[i], title, sizeof title);
        frontier_of_bills(d, title, &page->quotes.items[i], &ask->wishes);
    }
    note_crowds(d);
    draft_end(d);
}

void plots_compare(struct draft *d, const struct page_ask *ask, const struct quote_job *jobs)
{
    plot_cost(d, ask, jobs);
    plot_relative(d);
    plot_frontier(d, ask);
}
