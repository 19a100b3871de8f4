// SPDX-License-Identifier: Apache-2.0
#include "view/moved.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/money.h"
#include "book/listing.h"
#include "view/html.h"
#include "render/markup.h"
#include "render/part.h"

enum { CANDIDATES = 128 }; // GPU models and kinds

struct search {
    const struct book *book;
    const struct currencies *currencies;
    const struct devices *devices;
    int from; // the day from which on a price is new
    struct moved_price items[CANDIDATES];
    size_t count;
};

// The price of a GPU-hour in USD; -1: unknown, doubtful or retired.
static int64_t unit_of(const struct search *s, const struct offer *o)
{
    int64_t hour = 0;
    if (currency_to_usd(s->currencies, o->currency, o->day, offer_per_hour(o), &hour, NULL, NULL,
                        NULL) != 0 ||
        offer_retired(o, 0) || doubt_of(s->devices, o, hour))
        return -1;
    return offer_unit(o, hour);
}

struct before {
    int since; // of the new price
    bool found;
    struct offer offer;
};

static int note_before(void *arg, const struct offer *offer, struct err *err)
{
    struct before *b = arg;
    (void)err;
    if (offer->since < b->since) {
        b->offer = *offer;
        b->found = true;
    }
    return 0;
}

static int64_t lowest(const struct moved_price *p)
{
    return p->before < p->now ? p->before : p->now;
}

static void keep(struct search *s, const struct moved_price *price)
{
    size_t i = 0;
    while (i < s->count && (s->items[i].offer.kind != price->offer.kind ||
                            strcmp(s->items[i].offer.gpu, price->offer.gpu) != 0))
        i++;
    if (i == CANDIDATES)
        return;
    if (i == s->count)
        s->items[s->count++] = *price;
    else if (lowest(price) < lowest(&s->items[i]))
        s->items[i] = *price;
}

static int visit(void *arg, const struct offer *o, struct err *err)
{
    struct search *s = arg;
    struct before before = {.since = o->since};
    if (o->since < s->from || o->gpus_milli == 0 || !*o->gpu)
        return 0;
    TRY(book_history(s->book, o, note_before, &before, err));
    if (!before.found)
        return 0;
    struct moved_price price = {.offer = *o, .seen = before.offer.day};
    price.now = unit_of(s, o);
    price.before = unit_of(s, &before.offer);
    if (price.now <= 0 || price.before <= 0)
        return 0;
    double ratio = (double)price.now / (double)price.before;
    if (fabs(ratio - 1) >= 0.01 && ratio < 10 && ratio > 0.1)
        keep(s, &price);
    return 0;
}

static int by_change(const void *left, const void *right)
{
    const struct moved_price *a = left, *b = right;
    double x = fabs(log((double)a->now / (double)a->before));
    double y = fabs(log((double)b->now / (double)b->before));
    if (x != y)
        return x > y ? -1 : 1;
    int order = strcmp(a->offer.gpu, b->offer.gpu);
    return order != 0 ? order : (int)a->offer.kind - (int)b->offer.kind;
}

int moved_find(struct market *market, struct moved *out, struct err *err)
{
    static const struct book_filter filter = {.with_gpu = true};
    struct search *s = calloc(1, sizeof *s);
    *out = (struct moved){.count = 0};
    if (!s)
        return err_memory(err);
    s->from = book_today() - MOVED_DAYS;
    int rc = market_book(market, &s->book, err);
    if (rc == 0)
        rc = market_currencies(market, &s->currencies, err);
    if (rc == 0)
        rc = market_devices(market, &s->devices, err);
    if (rc == 0)
        rc = book_each(s->book, &filter, visit, s, err);
    if (rc == 0) {
        qsort(s->items, s->count, sizeof *s->items, by_change);
        out->count = s->count < MOVED_MOST ? s->count : MOVED_MOST;
        memcpy(out->items, s->items, out->count * sizeof *out->items);
    }
    free(s);
    return rc;
}

static void moved_row(struct buf *out, const struct moved_price *p, const char *gpu_link,
                      const char *offer_link)
{
    char before[MONEY_BYTES], now[MONEY_BYTES], change[24], seen[12];
    struct buf name = {0};
    double percent = 100 * ((double)p->now / (double)p->before - 1);
    book_name(&p->offer, &name);
    money_short(p->before, before);
    money_short(p->now, now);
    offer_date(p->seen, seen);
    snprintf(change, sizeof change, "%s%.0f %%", percent < 0 ? "−" : "+", fabs(percent));
    buf_printf(out, "<tr><td class=\"long\"><a href=\"%s", gpu_link);
    markup_address(out, p->offer.gpu);
    markup_in(out, "\">", p->offer.gpu, "</a>");
    buf_printf(out, "%s<span class=\"id\"><a href=\"%s",
               p->offer.kind == OFFER_SPOT ? ", spot" : "", offer_link);
    markup_address(out, buf_str(&name));
    markup_in(out, "\">", buf_str(&name), "</a></span></td>");
    buf_printf(out, "<td class=\"num\">%s<span class=\"id\">%s</span></td>", before, seen);
    html_cell(out, "num", now);
    buf_adds(out, "<td class=\"num\">");
    part_chip(out, percent < 0 ? PART_OK : PART_WAIT, change);
    buf_adds(out, "</td></tr>\n");
    buf_drop(out, &name);
}

void html_moved(struct buf *out, const struct moved *moved, const char *gpu_link,
                const char *offer_link)
{
    static const struct html_column columns[] = {
        {"GPU and offer", "long"}, {"was, USD", "num"}, {"is, USD", "num"}, {"change", "num"}};
    if (moved->count == 0)
        return;
    html_begin_table(out, "Prices that moved");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < moved->count; i++)
        moved_row(out, &moved->items[i], gpu_link, offer_link);
    html_end_table(out);
    html_paragraph(out, "mute",
                   "Per GPU-hour; of each GPU the lowest price that changed within 30 days.");
}
