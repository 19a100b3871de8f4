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

static void price_words(int64_t nano, const char *mark, char out[MONEY_BYTES + 2])
{
    char text[MONEY_BYTES] = "-";
    if (nano >= 0)
        money_short(nano, text);
    snprintf(out, MONEY_BYTES + 2, "%s%s", text, mark);
}

static void add_name(const struct offer *o, bool everywhere, struct buf *out)
{
    struct offer named = *o;
    if (!everywhere)
        named.region = named.zone = "";
    buf_reset(out);
    book_name(&named, out);
}

static const char *mark_of(const struct offer *o)
{
    return offer_estimated(o) ? "~" : strcmp(o->currency, "USD") != 0 ? "*" : "";
}

static void add_row(struct table *table, const struct listing_line *line, const char *name, int day)
{
    const struct offer *o = &line->offer;
    char gpu[64], age[24], vcpus[24] = "-", memory[24] = "-";
    char price[MONEY_BYTES + 2], unit[MONEY_BYTES + 2];
    gpu_words(o, gpu);
    if (o->vcpus_milli > 0)
        offer_milli(o->vcpus_milli, vcpus);
    if (o->memory_mib > 0)
        snprintf(memory, sizeof memory, "%.*f", o->memory_mib < 10240 ? 1 : 0,
                 (double)o->memory_mib / 1024);
    price_words(line->usd_hour, mark_of(o), price);
    price_words(offer_unit(o, line->usd_hour), "", unit);
    age_words(o, day, age);
    const char *const cells[] = {name, gpu, vcpus, memory, price, unit, age};
    table_row(table, OUT_PLAIN, cells, NULL);
}

static void legend(struct out *out, bool foreign, bool estimated, bool old, const char *rate)
{
    if (foreign)
        out_wrapf(out, 0, "* converted from another currency: %s",
                  rate ? rate : "no rate is known");
    if (estimated)
        out_wrap(out, 0, "~ estimated: 'fare prices OFFER' shows its source.");
    if (old)
        out_wrap(out, 0, "OLD prices may have changed: 'fare prices update' fetches new ones.");
}

void prices_table(struct out *out, const struct listing_line *lines, size_t count, int day,
                  bool everywhere, const char *rate)
{
    bool gpus = count > 0 && lines[0].offer.gpus_milli > 0, old = false, foreign = false,
         estimated = false;
    const struct table_column columns[] = {
        {"offer", TABLE_LEFT, 0, everywhere ? 40 : 28},
        {"gpu", TABLE_LEFT, 3, 8},
        {"vCPU", TABLE_RIGHT, 5},
        {"GiB", TABLE_RIGHT, 4},
        {"USD/h", TABLE_POINT},
        {gpus ? "/GPU" : "/vCPU", TABLE_POINT, 2},
        {"seen", TABLE_RIGHT, 1},
    };
    struct table table = TABLE(columns);
    struct buf name = {0};
    for (size_t i = 0; i < count; i++) {
        const struct offer *o = &lines[i].offer;
        add_name(o, everywhere, &name);
        add_row(&table, &lines[i], buf_str(&name), day);
        foreign |= strcmp(o->currency, "USD") != 0;
        old |= offer_old(o, day);
        estimated |= offer_estimated(o);
    }
    table_print(&table, out);
    legend(out, foreign, estimated, old, rate);
    out->text.failed |= name.failed;
    buf_release(&name);
}
