// SPDX-License-Identifier: Apache-2.0
// Prices that changed lately.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/offers.h"

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
static int64_t moved_unit(const struct search *s, const struct offer *o)
{
    int64_t hour = 0;
    if (currency_to_usd(s->currencies, o->currency, o->day, offer_per_hour(o), &hour, NULL, NULL) !=
            0 ||
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

static int moved_visit(void *arg, const struct offer *o, struct err *err)
{
    struct search *s = arg;
    struct before before = {.since = o->since};
    if (o->since < s->from || o->gpus_milli == 0 || !*o->gpu)
        return 0;
    TRY(book_history(s->book, o, note_before, &before, err));
    if (!before.found)
        return 0;
    struct moved_price price = {.offer = *o, .seen = before.offer.day};
    price.now = moved_unit(s, o);
    price.before = moved_unit(s, &before.offer);
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
    SCOPED(free_pointer) struct search *s = calloc(1, sizeof *s);
    *out = (struct moved){.count = 0};
    if (!s)
        return err_memory(err);
    s->from = book_today() - MOVED_DAYS;
    TRY(market_book(market, &s->book, err));
    TRY(market_currencies(market, &s->currencies, err));
    TRY(market_devices(market, &s->devices, err));
    TRY(book_each(s->book, &filter, moved_visit, s, err));
    qsort(s->items, s->count, sizeof *s->items, by_change);
    out->count = s->count < MOVED_MOST ? s->count : MOVED_MOST;
    memcpy(out->items, s->items, out->count * sizeof *out->items);
    return 0;
}

static void add_moved(struct doc *doc, const struct moved_price *p, const char *gpu_link,
                      const char *offer_link)
{
    const double percent = 100 * ((double)p->now / (double)p->before - 1);
    const char *change = doc_text(doc, "%s%.0f %%", percent < 0 ? "−" : "+", fabs(percent));
    struct cell before = cell_amount(some_money(p->before));
    struct buf name = {0};
    char seen[12];
    offer_date(p->seen, seen);
    before.sub = seen;
    book_name(&p->offer, &name);
    const char *link = doc_link(doc, offer_link, buf_str(&name));
    doc_row(doc, DOC_NORMAL);
    doc_cell(doc, COLUMN("GPU"),
             (struct cell){.text = p->offer.gpu, .href = doc_link(doc, gpu_link, p->offer.gpu)});
    doc_cell(doc, COLUMN("offer"),
             (struct cell){.kind = CELL_OFFER, .text = doc_take(doc, &name), .href = link});
    doc_cell(doc, COLUMN("was, USD", .what = ""), before);
    doc_cell(doc, COLUMN("is, USD"), cell_amount(some_money(p->now)));
    doc_cell(doc, COLUMN("change"),
             (struct cell){.text = "", .chips = {{percent < 0 ? PART_OK : PART_WAIT, change}}});
}

void view_moved(struct doc *doc, const struct moved *moved, const char *gpu_link,
                const char *offer_link)
{
    if (moved->count == 0)
        return;
    doc_table(doc, "Prices that moved");
    for (size_t i = 0; i < moved->count; i++)
        add_moved(doc, &moved->items[i], gpu_link, offer_link);
    doc_say(doc, DOC_ASIDE,
            "Per GPU-hour; of each GPU the lowest price that changed within 30 days.");
}
