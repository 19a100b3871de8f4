// SPDX-License-Identifier: Apache-2.0
#include "spot/history_figures.h"

#include <stdlib.h>

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
