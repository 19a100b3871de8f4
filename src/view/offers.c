// SPDX-License-Identifier: Apache-2.0
#include "view/offers.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "bill/market.h"

const char *const offers_kind_names[OFFER_KINDS] = {
    [OFFER_ON_DEMAND] = "on demand", [OFFER_SPOT] = "spot", [OFFER_MONTHLY] = "by the month"};

// ---- the list

static int count_one(void *count, const struct offer *offer, struct err *err)
{
    (void)offer;
    (void)err;
    ++*(size_t *)count;
    return 0;
}

// Counts the offers that have a price after the day only.
static int count_later(const struct book *book, struct book_filter filter, size_t *later,
                       struct err *err)
{
    size_t then = 0, ever = 0;
    filter.aged = false;
    TRY(book_each(book, &filter, count_one, &then, err));
    filter.day = INT_MAX;
    TRY(book_each(book, &filter, count_one, &ever, err));
    *later = ever > then ? ever - then : 0;
    return 0;
}

int offers_list(struct market *market, const struct book_filter *filter, struct listing *list,
                struct err *err)
{
    const struct book *book;
    const int today = filter->day ? filter->day : book_today();
    list->oldest = filter->aged ? 0 : today - LISTING_STALE_DAYS;
    list->hide_old = !list->all && !filter->aged;
    TRY(market_devices(market, &list->devices, err));
    TRY(market_currencies(market, &list->currencies, err));
    TRY(market_book(market, &book, err));
    TRY(listing_make(list, book, filter, err));
    if (list->count + list->stale + list->outdated == 0 && filter->day > 0)
        return count_later(book, *filter, &list->later, err);
    return 0;
}

// The price of an hour in the currency asked for.
static int local_price(const struct listing_line *line, const struct offers_view *view,
                       struct maybe_money *out, struct err *err)
{
    const struct maybe_money usd = {line->usd_hour, line->usd_hour >= 0};
    return local_money(view->market, view->currency, view->day, usd, out, err);
}

static int add_record(const struct listing_line *line, const struct offers_view *view,
                      struct offers *all, struct err *err)
{
    struct offer_record *record = LIST_ADD(&all->offers, err);
    TRY(record ? offer_line_record(line, view->day, record, err) : ERR_MEMORY);
    TRY(text_set(&record->local_currency, view->currency, err));
    return local_price(line, view, &record->local_price_per_hour, err);
}

int offers_record(const struct listing *list, const struct offers_view *view, struct offers *out,
                  struct err *err)
{
    SCOPED(buf_release) struct buf words = {0};
    out->offers.known = true;
    TRY(text_set(&out->schema, OFFERS_SCHEMA, err));
    for (size_t i = 0; i < list->count && i < view->most; i++)
        TRY(add_record(&list->items[i], view, out, err));
    if (list->stale + list->outdated > 0)
        out->left_out = some_int((int64_t)(list->stale + list->outdated));
    TRY(local_words(view->market, view->currency, view->day, &words, err));
    if (view->currency)
        TRY(text_set(&out->exchange, buf_str(&words), err));
    return 0;
}

// ---- its document
//
// One row for each machine, or each of its places where all are listed, with a price of each kind.

struct offer_row {
    const struct listing_line *by_kind[OFFER_KINDS];
    int fewest_milli, most_milli; // GPUs, of the provider's machines with these prices of a GPU
};

struct offer_rows {
    struct offer_row *items;
    size_t count, cap;
    struct index keys; // of machines, or of their places
    bool mixed;        // with and without GPUs
    bool one_hour;     // the price of every machine is that of one GPU
    bool one_day;      // all were seen on the same day
    size_t old, alike; // alike: machines that are another row's
};

static const struct listing_line *first_of(const struct offer_row *row)
{
    int kind = 0;
    while (!row->by_kind[kind])
        kind++;
    return row->by_kind[kind];
}

// The place where a line stands: by price, those without GPUs behind, doubtful ones last.
enum { SECTIONS = 4 };
static int section_of(const struct listing_line *line)
{
    return (line->doubt ? 2 : 0) + (line->offer.gpus_milli == 0);
}

static int add_price(const struct listing *list, const struct listing_line *line,
                     struct offer_rows *rows, struct err *err)
{
    const struct offer *o = &line->offer;
    SCOPED(buf_release) struct buf key = {0};
    size_t number;
    const char *const parts[] = {line->doubt ? "1" : "0", o->provider, o->name,
                                 list->all ? o->region : "", list->all ? o->zone : ""};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) { // of each offer: no printf
        buf_adds(&key, parts[i]);
        buf_addc(&key, '\n');
    }
    TRY(buf_check(&key, err));
    TRY(index_number(&rows->keys, buf_str(&key), key.len, &number, err));
    if (number == rows->count) {
        TRY(array_grow(&rows->items, rows->count, &rows->cap, sizeof *rows->items, err));
        rows->items[rows->count++] =
            (struct offer_row){.fewest_milli = o->gpus_milli, .most_milli = o->gpus_milli};
    }
    rows->items[number].by_kind[o->kind] = line;
    return 0;
}

static int64_t unit_of(const struct listing_line *line)
{
    return line ? offer_unit(&line->offer, line->usd_hour) : -1;
}

// The oldest of its prices.
static const struct offer *oldest_of(const struct offer_row *row)
{
    const struct offer *oldest = NULL;
    for (int kind = 0; kind < OFFER_KINDS; kind++)
        if (row->by_kind[kind] && (!oldest || row->by_kind[kind]->offer.day < oldest->day))
            oldest = &row->by_kind[kind]->offer;
    return oldest;
}

// What machines of one row have in common; those without GPUs and doubtful ones are apart.
static void alike_key(const struct offer_row *row, size_t number, struct buf *key)
{
    const struct offer *o = &first_of(row)->offer;
    const bool apart = o->gpus_milli == 0 || first_of(row)->doubt;
    const size_t alone = apart ? number + 1 : 0;
    buf_add(key, &alone, sizeof alone);
    if (apart)
        return;
    buf_add(key, &oldest_of(row)->day, sizeof o->day);
    for (int kind = 0; kind < OFFER_KINDS; kind++) {
        const int64_t unit = unit_of(row->by_kind[kind]);
        buf_add(key, &unit, sizeof unit);
    }
    buf_adds(key, o->provider);
    buf_addc(key, '\n');
    buf_adds(key, o->gpu);
}

// A provider's machines whose GPU is the same and costs the same make one row, which shows that
// with the fewest.
static int join_alike(struct offer_rows *rows, struct err *err)
{
    SCOPED(index_release) struct index keys = {0};
    size_t kept = 0, number;
    for (size_t i = 0; i < rows->count; i++) {
        const struct offer_row *row = &rows->items[i];
        SCOPED(buf_release) struct buf key = {0};
        alike_key(row, i, &key);
        TRY(buf_check(&key, err));
        TRY(index_number(&keys, buf_str(&key), key.len, &number, err));
        struct offer_row *to = &rows->items[number];
        if (number == kept) {
            rows->items[kept++] = *row;
            continue;
        }
        const int most = row->most_milli > to->most_milli ? row->most_milli : to->most_milli;
        if (row->fewest_milli < to->fewest_milli)
            *to = *row;
        to->most_milli = most;
        rows->alike++;
    }
    rows->count = kept;
    return 0;
}

// In the order of the price on demand; of machines without one, of that on spot, then by the month.
static int make_rows(const struct listing *list, struct offer_rows *rows, struct err *err)
{
    for (int section = 0; section < SECTIONS; section++)
        for (int kind = 0; kind < OFFER_KINDS; kind++)
            for (size_t i = 0; i < list->count; i++)
                if ((int)list->items[i].offer.kind == kind &&
                    section_of(&list->items[i]) == section)
                    TRY(add_price(list, &list->items[i], rows, err));
    return list->all ? 0 : join_alike(rows, err);
}

// What the first `shown` rows have in common.
static void describe_rows(struct offer_rows *rows, size_t shown, const struct offers_view *view)
{
    rows->one_hour = rows->one_day = true;
    for (size_t i = 0; i < shown; i++) {
        const struct offer *o = oldest_of(&rows->items[i]), *first = oldest_of(&rows->items[0]);
        rows->mixed |= (o->gpus_milli == 0) != (first->gpus_milli == 0);
        rows->one_hour &= o->gpus_milli == 1000;
        rows->one_day &= o->day == first->day;
        rows->old += offer_old(o, view->day);
    }
}

static void rows_release(struct offer_rows *rows)
{
    free(rows->items);
    index_release(&rows->keys);
}

static struct cell name_cell(struct doc *doc, const struct book *book, struct offer offer,
                             const struct offers_view *view)
{
    struct buf name = {0}, brief = {0};
    book_name(&offer, &name);
    const char *full = doc_take(doc, &name);
    offer.kind = OFFER_ON_DEMAND; // its column tells
    if (view->full_names)
        book_name(&offer, &brief);
    else
        book_short_name(book, &offer, view->places, &brief);
    const char *text = doc_take(doc, &brief);
    return (struct cell){.kind = CELL_OFFER,
                         .href = doc_link(doc, view->link, full),
                         .text = text,
                         .sub = full && text && strcmp(full, text) != 0 ? full : NULL};
}

// "8 × H100", "1-8 × H100"
static struct cell gpu_cell(struct doc *doc, const struct offer_row *row)
{
    const struct offer *o = &first_of(row)->offer;
    const bool range = row->most_milli > row->fewest_milli;
    char count[24], most[24];
    offer_milli(row->fewest_milli, count);
    offer_milli(row->most_milli, most);
    return cell_text(o->gpus_milli > 0 ? doc_text(doc, "%s%s%s × %s", count, range ? "-" : "",
                                                  range ? most : "", o->gpu)
                                       : NULL);
}

static struct cell vcpu_cell(struct doc *doc, const struct offer *o)
{
    char count[24];
    offer_milli(o->vcpus_milli, count);
    return (struct cell){.kind = CELL_COUNT,
                         .text = o->vcpus_milli > 0 ? doc_text(doc, "%s", count) : NULL};
}

static struct cell memory_cell(struct doc *doc, const struct offer *o)
{
    struct cell cell = {.kind = CELL_COUNT};
    if (o->memory_mib > 0)
        cell.text =
            doc_text(doc, "%.*f", o->memory_mib < 10240 ? 1 : 0, (double)o->memory_mib / 1024);
    return cell;
}

static struct cell price_cell(int64_t nano, bool estimated)
{
    struct cell cell = cell_amount((struct maybe_money){nano, nano >= 0});
    cell.mark = estimated ? "~" : NULL;
    return cell;
}

// Of one GPU, or one vCPU where no row has a GPU.
static struct cell unit_cell(const struct offer_row *row, enum offer_kind kind, bool mixed)
{
    const struct listing_line *line = row->by_kind[kind];
    const bool other = line && mixed && line->offer.gpus_milli == 0;
    return line && !other
               ? price_cell(offer_unit(&line->offer, line->usd_hour), offer_estimated(&line->offer))
               : price_cell(-1, false);
}

static struct cell seen_cell(struct doc *doc, const struct offer *o, bool old)
{
    char seen[12];
    offer_date(o->day, seen);
    return (struct cell){.kind = CELL_DATE, .text = doc_text(doc, "%s%s", seen, old ? "†" : "")};
}

// Why the price is not one of a price list in USD.
static void add_notes(struct doc *doc, const struct listing *list, const struct listing_line *line)
{
    SCOPED(buf_release) struct buf rate = {0};
    if (line->doubt)
        doc_note(doc, doc_text(doc, "Listed last: the price is %s.", line->doubt), NULL);
    if (offer_estimated(&line->offer))
        doc_note(doc, "The price is estimated; the page of the offer has its source.", NULL);
    if (strcmp(line->offer.currency, "USD") == 0)
        return;
    buf_adds(&rate, list->rate.usd > 0 ? "" : "no rate is known");
    if (list->rate.usd > 0)
        currency_words(&list->rate, true, &rate);
    doc_note(doc, doc_text(doc, "Converted from another currency: %s.", buf_str(&rate)), NULL);
    doc->failed |= rate.failed;
}

static int add_line(struct doc *doc, const struct listing *list, const struct offer_rows *rows,
                    const struct offer_row *row, const struct book *book,
                    const struct offers_view *view, bool mark, struct err *err)
{
    const struct listing_line *line = first_of(row);
    const struct offer *o = &line->offer;
    const bool hours = !rows->one_hour || view->currency, mixed = rows->mixed;
    struct cell usd = price_cell(hours ? line->usd_hour : -1, offer_estimated(o));
    usd.currency = view->currency;
    TRY(local_price(line, view, &usd.local, err));
    doc_row(doc, line->doubt ? DOC_PALE : DOC_NORMAL);
    if (list->items[0].offer.gpus_milli > 0)
        doc_cell(doc, COLUMN("GPU"), gpu_cell(doc, row));
    doc_cell(doc, COLUMN("offer", .least = 30), name_cell(doc, book, *o, view));
    doc_cell(doc, COLUMN("vCPUs", "vCPU", .priority = 5), vcpu_cell(doc, o));
    doc_cell(doc, COLUMN("GiB", .priority = 4), memory_cell(doc, o));
    doc_cell(doc, COLUMN("on demand"), unit_cell(row, OFFER_ON_DEMAND, mixed));
    doc_cell(doc, COLUMN("spot"), unit_cell(row, OFFER_SPOT, mixed));
    doc_cell(doc, COLUMN("by the month", "monthly"), unit_cell(row, OFFER_MONTHLY, mixed));
    doc_cell(doc, COLUMN("the machine", "machine", .priority = mixed || view->currency ? 0 : 3),
             usd);
    doc_cell(doc, COLUMN("price seen", "seen", .priority = 1),
             rows->one_day
                 ? cell_text(NULL)
                 : seen_cell(doc, oldest_of(row), mark && offer_old(oldest_of(row), view->day)));
    add_notes(doc, list, line);
    return 0;
}

void view_old_prices(struct doc *doc, size_t old, size_t all)
{
    if (old > 0)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc, "%s " PART_SEEN_OLD "; 'fare prices update' fetches newer ones.",
                         old == all ? "All of these prices were" : "†"));
}

void view_left_out(struct doc *doc, size_t doubtful)
{
    if (doubtful > 0)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc, "%s left out: doubtful prices and retired machines.",
                         units_count((int64_t)doubtful, "offer").s));
}

static void say_none(struct doc *doc, const struct listing *list)
{
    if (list->later > 0)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc, "%s like that %s no price yet on that date.",
                         units_count((int64_t)list->later, "offer").s,
                         list->later == 1 ? "has" : "have"));
    else
        doc_say(
            doc, DOC_PLAIN,
            doc_text(doc,
                     "No such offer in the book%s. 'fare prices update' fetches the public "
                     "catalogue.",
                     list->stale + list->outdated > 0 ? " has a price of the last two years" : ""));
}

static const char *unit_words(const struct listing *list)
{
    return list->count > 0 && list->items[0].offer.gpus_milli > 0 ? "GPU" : "vCPU";
}

// "runpod/h100, 2.39 USD on demand (H100)"
static void say_lead(const struct book *book, const struct listing_line *lead, bool date,
                     struct buf *out)
{
    char amount[MONEY_BYTES], seen[12];
    const char *kind = offers_kind_names[lead->offer.kind];
    buf_adds(out, out->len > 0 ? "; " : "");
    money_short(offer_unit(&lead->offer, lead->usd_hour), amount);
    book_short_name(book, &lead->offer, false, out);
    buf_printf(out, ", %s USD %s%s", amount, lead->offer.kind == OFFER_SPOT ? "on " : "", kind);
    offer_date(lead->offer.day, seen);
    if (*lead->offer.gpu || date)
        buf_printf(out, " (%s%s%s%s)", lead->offer.gpu, *lead->offer.gpu && date ? ", " : "",
                   date ? "seen " : "", date ? seen : "");
}

// Who has the lowest prices, by the rule of ages in listing.h. The day on which all of them were
// seen; 0: none, or several.
static int say_answer(struct doc *doc, const struct book *book, const struct listing *list,
                      const struct offer_rows *rows, const struct offers_view *view)
{
    const struct listing_line *leads[OFFER_KINDS], *first = first_of(&rows->items[0]);
    struct buf says = {0};
    size_t count = 0;
    bool old = false, same = true, lower = false;
    char seen[12];
    for (int kind = 0; kind < OFFER_KINDS; kind++)
        if (listing_lead(list, (enum offer_kind)kind))
            leads[count++] = listing_lead(list, (enum offer_kind)kind);
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        same &= leads[i]->offer.day == leads[0]->offer.day;
        old |= offer_age(&leads[i]->offer, view->day) > PRICE_CURRENT_DAYS;
        lower |= first->offer.kind == leads[i]->offer.kind && unit_of(first) < unit_of(leads[i]);
    }
    for (size_t i = 0; i < count; i++)
        say_lead(book, leads[i], !same, &says);
    offer_date(leads[0]->offer.day, seen);
    if (same)
        buf_printf(&says, ". At prices of %s", seen);
    if (old && view->day == 0)
        buf_adds(&says, same ? ": 'fare prices update' gets today's"
                             : ". 'fare prices update' gets today's prices");
    buf_adds(&says, lower ? ". Lower prices below are older" : "");
    const char *who = doc_take(doc, &says);
    doc_say(doc, DOC_VERDICT, doc_text(doc, "Cheapest %s-hour: %s.", unit_words(list), who));
    return same ? leads[0]->offer.day : 0;
}

// What the figures are; `day`: said already.
static int say_prices(struct doc *doc, const struct listing *list, const struct offer_rows *rows,
                      size_t shown, const struct offers_view *view, int day, struct err *err)
{
    struct buf exchange = {0}, says = {0};
    const int first = oldest_of(&rows->items[0])->day;
    char seen[12];
    TRY(local_words(view->market, view->currency, view->day, &exchange, err));
    offer_date(first, seen);
    buf_printf(&says, "USD an hour for one %s, without tax%s", unit_words(list),
               list->all ? "" : ", in the cheapest place of each machine");
    if (rows->one_day && first != day)
        buf_printf(&says, "; all seen on %s", seen);
    else if (rows->old > 0 && rows->old < shown)
        buf_adds(&says, "; † " PART_SEEN_OLD);
    if (exchange.len > 0)
        buf_printf(&says, "; %s", buf_str(&exchange));
    doc->failed |= exchange.failed;
    buf_release(&exchange);
    doc_fact(doc, "Prices", doc_take(doc, &says));
    return 0;
}

// What is not shown, and how to see it.
static void say_rest(struct doc *doc, const struct listing *list, const struct offer_rows *rows,
                     size_t shown, const struct offers_view *view)
{
    const bool typed = !view->link;
    const struct {
        size_t count;
        const char *what, *how;
    } all[] = {{rows->count - shown, "more", "-n N"},
               {rows->alike, "with the same GPU at the same price", "--all"},
               {list->outdated, "with prices over 180 days old", "--all"},
               {list->stale, "with prices over two years old", "--max-age 9999d or --date"},
               {list->all ? 0 : list->seen - list->count, "in other places", "--all"}};
    struct buf says = {0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].count > 0)
            buf_printf(&says, "%s%zu %s%s%s%s", says.len > 0 ? ", " : "", all[i].count, all[i].what,
                       typed ? " (" : "", typed ? all[i].how : "", typed ? ")" : "");
    doc_fact(doc, "Not shown", doc_take(doc, &says));
}

static void say_next(struct doc *doc, const struct book *book, const struct listing *list,
                     const struct offer_rows *rows, const struct offers_view *view)
{
    const struct listing_line *lead = listing_lead(list, OFFER_ON_DEMAND);
    struct buf name = {0};
    if (view->link)
        return;
    lead = lead ? lead : first_of(&rows->items[0]);
    book_short_name(book, &lead->offer, false, &name);
    const char *first = doc_take(doc, &name);
    doc_fact(doc, "Next", doc_text(doc, "fare prices %s: its billing rule and history", first));
}

int view_offers(struct doc *doc, const struct listing *list, const struct offers_view *view,
                struct err *err)
{
    const struct book *book;
    SCOPED(rows_release) struct offer_rows rows = {0};
    TRY(market_book(view->market, &book, err));
    TRY(make_rows(list, &rows, err));
    const size_t shown = rows.count < view->most ? rows.count : view->most;
    describe_rows(&rows, shown, view);
    const int day = shown > 0 ? say_answer(doc, book, list, &rows, view) : 0;
    doc_table(doc, "Offers");
    for (size_t i = 0; i < shown; i++)
        TRY(add_line(doc, list, &rows, &rows.items[i], book, view, rows.old < shown, err));
    if (list->count == 0)
        say_none(doc, list);
    if (shown > 0)
        TRY(say_prices(doc, list, &rows, shown, view, day, err));
    say_rest(doc, list, &rows, shown, view);
    if (shown > 0)
        say_next(doc, book, list, &rows, view);
    return 0;
}

// ---- the offers of one GPU model

int64_t offers_unit(const struct listing_line *line)
{
    return line->doubt || line->offer.gpus_milli == 0 ? -1
                                                      : offer_unit(&line->offer, line->usd_hour);
}

const struct listing_line *offers_cheapest(const struct listing *list, enum offer_kind kind)
{
    return listing_lead(list, kind);
}

// "1.49 USD per GPU-hour on demand, 0.85 on spot"; nothing without any.
static void offers_from(const struct listing *list, struct buf *out)
{
    char amount[MONEY_BYTES];
    size_t said = 0;
    for (int kind = 0; kind < OFFER_KINDS; kind++) {
        const struct listing_line *line = offers_cheapest(list, (enum offer_kind)kind);
        if (!line)
            continue;
        money_short(offers_unit(line), amount);
        buf_printf(out, "%s%s%s %s%s", said ? ", " : "", amount, said ? "" : " USD per GPU-hour",
                   kind == OFFER_SPOT ? "on " : "", offers_kind_names[kind]);
        said++;
    }
}

int offers_title(const struct listing *list, char **title, struct err *err)
{
    struct buf from = {0}, text = {0};
    offers_from(list, &from);
    buf_printf(&text, "%s: %s%s", list->items[0].offer.gpu, from.len ? "from " : "",
               from.len ? buf_str(&from) : "no price is known");
    buf_drop(&text, &from);
    return text_take(title, &text, err);
}

// ---- the book by GPU model

struct walk {
    struct models *models;
    bool newest;      // only find the newest price of each model
    size_t cap, last; // last: the model of the offer before
    const struct currencies *currencies;
    const struct devices *devices;
    int64_t max_rate;
    int day, oldest;
};

// The book is sorted by provider and name, so that the next offer mostly has the same GPU.
static int model_of(struct walk *w, const char *gpu, struct model **out, struct err *err)
{
    struct models *m = w->models;
    *out = NULL;
    if (w->last < m->count && strcmp(m->items[w->last].gpu, gpu) == 0) {
        *out = &m->items[w->last];
        return 0;
    }
    for (w->last = 0; w->last < m->count; w->last++)
        if (strcmp(m->items[w->last].gpu, gpu) == 0) {
            *out = &m->items[w->last];
            return 0;
        }
    if (m->count == MODELS_MOST)
        return 0;
    TRY(array_grow(&m->items, m->count, &w->cap, sizeof *m->items, err));
    *out = &m->items[m->count++];
    **out = (struct model){.gpu = gpu, .last_provider = ""};
    return 0;
}

static int models_visit(void *arg, const struct offer *o, struct err *err)
{
    struct walk *w = arg;
    struct model *model;
    int64_t hour = offer_per_hour(o);
    if (o->day < w->oldest || !*o->gpu)
        return 0;
    if (strcmp(o->currency, "USD") != 0 &&
        currency_to_usd(w->currencies, o->currency, w->day, hour, &hour, NULL, NULL) != 0)
        return 0;
    if (w->max_rate >= 0 && hour > w->max_rate)
        return 0;
    if (offer_retired(o, w->day) || doubt_of(w->devices, o, hour)) {
        w->models->doubtful += w->newest;
        return 0;
    }
    int64_t unit = offer_unit(o, hour);
    TRY(model_of(w, o->gpu, &model, err));
    if (!model || unit <= 0)
        return 0;
    struct model_price *least = &model->least[o->kind];
    if (w->newest) {
        least->newest = o->day > least->newest ? o->day : least->newest;
        return 0;
    }
    const int today = w->day ? w->day : book_today();
    if (o->day >= today - price_oldest_age(today - least->newest) &&
        (!least->offer.provider || unit < least->unit))
        *least = (struct model_price){*o, unit, least->newest};
    model->offers++;
    if (strcmp(model->last_provider, o->provider) != 0)
        model->providers++;
    model->last_provider = o->provider;
    part_rug_add(&model->rug, o->kind == OFFER_SPOT, (double)unit / MONEY_UNIT);
    return 0;
}

static int by_providers(const void *left, const void *right)
{
    const struct model *a = left, *b = right;
    if (a->providers != b->providers)
        return a->providers > b->providers ? -1 : 1;
    if (a->offers != b->offers)
        return a->offers > b->offers ? -1 : 1;
    return strcmp(a->gpu, b->gpu);
}

int models_make(struct market *market, const struct book_filter *filter, int64_t max_rate,
                struct models *out, struct err *err)
{
    struct book_filter gpus = *filter;
    const struct book *book;
    struct walk w = {.models = out, .max_rate = max_rate, .day = filter->day};
    w.oldest = (filter->day ? filter->day : book_today()) - LISTING_STALE_DAYS;
    gpus.with_gpu = true;
    TRY(market_book(market, &book, err));
    TRY(market_currencies(market, &w.currencies, err));
    TRY(market_devices(market, &w.devices, err));
    w.newest = true;
    TRY(book_each(book, &gpus, models_visit, &w, err));
    w.newest = false;
    TRY(book_each(book, &gpus, models_visit, &w, err));
    if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, by_providers);
    return 0;
}

void models_release(struct models *models)
{
    free(models->items);
    *models = (struct models){0};
}

// ---- its document

// Who asks it, by the short name; on a page the price leads to that.
static struct cell least_cell(struct doc *doc, const struct model_price *least,
                              const char *offer_link)
{
    struct cell cell = price_cell(least->offer.provider ? least->unit : -1, false);
    SCOPED(buf_release) struct buf name = {0};
    if (least->offer.provider)
        book_name(&least->offer, &name);
    cell.href = name.len > 0 ? doc_link(doc, offer_link, buf_str(&name)) : NULL;
    return cell;
}

static struct cell date_cell(struct doc *doc, const struct model *m)
{
    const struct model_price *least = &m->least[OFFER_ON_DEMAND];
    char seen[12];
    least = least->offer.provider ? least : &m->least[OFFER_SPOT];
    offer_date(least->offer.day, seen);
    return (struct cell){.kind = CELL_DATE,
                         .text = least->offer.provider ? doc_text(doc, "%s", seen) : NULL};
}

static void add_model(struct doc *doc, const struct model *m, const struct models_view *view)
{
    doc_row(doc, DOC_NORMAL);
    doc_cell(doc, COLUMN("GPU"),
             (struct cell){.text = m->gpu, .href = doc_link(doc, view->gpu_link, m->gpu)});
    doc_cell(doc, COLUMN("on demand, USD", "on demand"),
             least_cell(doc, &m->least[OFFER_ON_DEMAND], view->offer_link));
    doc_cell(doc, COLUMN("spot, USD", "spot"),
             least_cell(doc, &m->least[OFFER_SPOT], view->offer_link));
    doc_cell(doc, COLUMN("providers", .priority = 2), cell_count(some_int((int64_t)m->providers)));
    if (!view->gpu_link) // a page has the strip instead
        doc_cell(doc, COLUMN("seen", .priority = 1), date_cell(doc, m));
    doc_cell(doc, COLUMN("all prices, USD per GPU-hour"),
             (struct cell){.kind = CELL_RUG, .rug = &m->rug});
}

void view_models(struct doc *doc, const struct models *models, const struct models_view *view)
{
    const size_t few = view->gpu_link ? 4 : 0, // too few to fold away
        open = models->count < view->most + few ? models->count : view->most,
                 rest = models->count - open;
    if (models->count == 0)
        return;
    if (view->gpu_link)
        doc_heading(doc, 0, "GPU models");
    doc_say(doc, view->gpu_link ? DOC_PLAIN : DOC_VERDICT,
            "The lowest price of one GPU for an hour; those that most providers have first.");
    doc_say(doc, DOC_DRAWN,
            "Each line of the strip is a price that somebody asks: above on demand, below on "
            "spot.");
    doc_table(doc, "GPU models");
    for (size_t i = 0; i < open; i++)
        add_model(doc, &models->items[i], view);
    if (rest > 0 && view->gpu_link) {
        doc_fold(doc, doc_text(doc, "%s more", units_count((int64_t)rest, "GPU model").s));
        doc_table(doc, "More GPU models");
        for (size_t i = open; i < models->count; i++)
            add_model(doc, &models->items[i], view);
        doc_unfold(doc);
    }
    if (view->gpu_link) {
        view_left_out(doc, models->doubtful);
        return;
    }
    doc_fact(doc, "Prices", "USD without tax; each of the newest prices of its GPU");
    doc_fact(doc, "Not shown",
             rest > 0 ? doc_text(doc, "%zu more GPUs (-n N), machines without one (--gpus 0)", rest)
                      : "machines without a GPU (--gpus 0)");
    doc_fact(doc, "Next", doc_text(doc, "fare prices %s: who has it", models->items[0].gpu));
}
