// SPDX-License-Identifier: Apache-2.0
// prices, as a table.
#include "cmd/prices.h"

#include <stdio.h>
#include <string.h>

#include "base/money.h"
#include "cmd/table.h"

static void gpu_words(const struct offer *o, char out[64])
{
    char count[24];
    offer_milli(o->gpus_milli, count);
    if (o->gpus_milli == 0)
        snprintf(out, 64, "-");
    else if (o->gpus_milli == 1000)
        snprintf(out, 64, "%.60s", o->gpu);
    else
        snprintf(out, 64, "%s×%.36s", count, o->gpu);
}

// "12 d", "OLD 85 d", "OLD 9 y".
static void age_words(const struct offer *o, int day, char out[24])
{
    int age = offer_age(o, day);
    const char *old = offer_old(o, day) ? "OLD " : "";
    if (age >= 730)
        snprintf(out, 24, "%s%d y", old, age / 365);
    else
        snprintf(out, 24, "%s%d d", old, age);
}

static void price_words(int64_t nano, const char *currency, const char *mark,
                        char out[MONEY_BYTES + 4])
{
    char text[MONEY_BYTES] = "-";
    if (nano >= 0)
        money_short_in(nano, currency, text);
    snprintf(out, MONEY_BYTES + 4, "%s%s", text, mark);
}

static void add_name(const struct offer *o, bool everywhere, struct buf *out)
{
    struct offer named = *o;
    if (!everywhere)
        named.region = named.zone = "";
    buf_reset(out);
    book_name(&named, out);
}

static const char *mark_of(const struct listing_line *line)
{
    const struct offer *o = &line->offer;
    return line->doubt                       ? "#"
           : offer_estimated(o)              ? "~"
           : strcmp(o->currency, "USD") != 0 ? "≈"
                                             : "";
}

static int add_row(struct table *table, const struct prices_view *view,
                   const struct listing_line *line, const char *name, struct err *err)
{
    int day = view->day;
    int64_t amount = -1;
    const struct offer *o = &line->offer;
    char gpu[64], age[24], vcpus[24] = "-", memory[24] = "-";
    char price[MONEY_BYTES + 4], unit[MONEY_BYTES + 4], local[MONEY_BYTES + 4] = "";
    gpu_words(o, gpu);
    if (o->vcpus_milli > 0)
        offer_milli(o->vcpus_milli, vcpus);
    if (o->memory_mib > 0)
        snprintf(memory, sizeof memory, "%.*f", o->memory_mib < 10240 ? 1 : 0,
                 (double)o->memory_mib / 1024);
    price_words(line->usd_hour, "USD", mark_of(line), price);
    if (view->currency && line->usd_hour >= 0)
        TRY(local_amount(view->market, view->currency, day, line->usd_hour, &amount, err));
    if (view->currency)
        price_words(amount, view->currency, "", local);
    price_words(offer_unit(o, line->usd_hour), "USD", "", unit);
    age_words(o, day, age);
    const char *const cells[] = {name, gpu, vcpus, memory, price, unit, local, age};
    table_row(table, OUT_PLAIN, cells, NULL);
    return 0;
}

struct marks { // in the table
    bool foreign, estimated, old;
    struct doubts doubts;
};

void doubts_add(struct doubts *doubts, const char *why)
{
    enum { MOST = sizeof doubts->items / sizeof *doubts->items };
    for (size_t i = 0; why && i < doubts->count; i++)
        why = strcmp(doubts->items[i], why) == 0 ? NULL : why;
    if (why && doubts->count < MOST)
        doubts->items[doubts->count++] = why;
}

void doubts_print(struct out *out, const struct doubts *doubts)
{
    struct buf says = {0};
    for (size_t i = 0; i < doubts->count; i++)
        buf_printf(&says, "%s%s", i == 0 ? "# listed last: the price is " : "; or ",
                   doubts->items[i]);
    buf_adds(&says, doubts->count > 0 ? "." : "");
    out_wrap_take(out, 0, &says);
}

static int legend(struct out *out, const struct prices_view *view, struct marks marks,
                  const struct currency_rate *rate, struct err *err)
{
    struct buf words = {0}, exchange = {0};
    doubts_print(out, &marks.doubts);
    if (marks.foreign) {
        buf_printf(&exchange, "≈ converted from another currency: %s",
                   rate->usd > 0 ? "" : "no rate is known");
        if (rate->usd > 0)
            currency_words(rate, true, &exchange);
        out_wrap_take(out, 0, &exchange);
    }
    if (marks.estimated)
        out_wrap(out, 0, "~ estimated: 'fare prices OFFER' shows its source.");
    if (marks.old)
        out_wrap(out, 0, "OLD prices may have changed: 'fare prices update' fetches new ones.");
    int rc = local_words(view->market, view->currency, view->day, &words, err);
    if (rc == 0 && view->currency)
        out_wrap(out, 0, buf_str(&words));
    buf_release(&words);
    return rc;
}

int prices_table(struct out *out, const struct prices_view *view, const struct listing *list,
                 size_t count, struct err *err)
{
    bool gpus = count > 0 && list->items[0].offer.gpus_milli > 0;
    char head[16];
    snprintf(head, sizeof head, "%.8s/h", view->currency ? view->currency : "");
    const struct table_column columns[] = {
        {"offer", TABLE_LEFT, 0, view->everywhere ? 40 : 28},
        {"gpu", TABLE_LEFT, 3, 8},
        {"vCPU", TABLE_RIGHT, 5},
        {"GiB", TABLE_RIGHT, 4},
        {"USD/h", TABLE_POINT},
        {gpus ? "/GPU" : "/vCPU", TABLE_POINT, 2},
        {head, TABLE_POINT},
        {"seen", TABLE_RIGHT, 1},
    };
    struct table table = TABLE(columns);
    struct buf name = {0};
    struct marks marks = {0};
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct listing_line *line = &list->items[i];
        add_name(&line->offer, view->everywhere, &name);
        rc = add_row(&table, view, line, buf_str(&name), err);
        marks.foreign |= strcmp(line->offer.currency, "USD") != 0;
        marks.old |= offer_old(&line->offer, view->day);
        marks.estimated |= offer_estimated(&line->offer);
        doubts_add(&marks.doubts, line->doubt);
    }
    table_print(&table, out);
    out->text.failed |= name.failed;
    buf_release(&name);
    return rc == 0 ? legend(out, view, marks, &list->rate, err) : rc;
}
