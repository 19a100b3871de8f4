// SPDX-License-Identifier: Apache-2.0
// prices, as tables of 80 columns and as records.
#include "cmd/prices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"

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

// As money_short(), within the seven columns of a cell: fractions of a cent are cut at five
// decimals.
static void cell_price(int64_t nano, char out[MONEY_BYTES])
{
    if (nano < 0)
        snprintf(out, MONEY_BYTES, "-");
    else
        money_short(nano, out);
    if (strlen(out) > 7)
        money_rounded(nano, nano < MONEY_UNIT ? 5 : 0, MONEY_HALF_UP, out);
}

static void add_name(const struct offer *o, bool everywhere, struct buf *out)
{
    struct offer named = *o;
    if (!everywhere)
        named.region = named.zone = "";
    book_name(&named, out);
}

enum { GPU_COLUMNS = 13, VCPU_COLUMNS = 4, MEMORY_COLUMNS = 5, PRICE_COLUMNS = 7, AGE_COLUMNS = 9 };

static void age_cell(struct out *out, const struct offer *o, int day)
{
    char age[24];
    age_words(o, day, age);
    int pad = AGE_COLUMNS - out_columns(age);
    out_printf(out, "%*s", pad > 0 ? pad : 0, "");
    out_styled(out, offer_old(o, day) ? OUT_YELLOW : OUT_PLAIN, "%s", age);
}

static void size_cells(struct out *out, const struct offer *o)
{
    char vcpus[24] = "-", memory[24] = "-";
    if (o->vcpus_milli > 0)
        offer_milli(o->vcpus_milli, vcpus);
    if (o->memory_mib > 0)
        snprintf(memory, sizeof memory, "%.*f", o->memory_mib < 10240 ? 1 : 0,
                 (double)o->memory_mib / 1024);
    out_cell_right(out, VCPU_COLUMNS, vcpus);
    out_printf(out, " ");
    out_cell_right(out, MEMORY_COLUMNS, memory);
    out_printf(out, " ");
}

static void table_row(struct out *out, const struct listing_line *line, int day, int name,
                      bool everywhere, bool sizes, bool gpus)
{
    const struct offer *o = &line->offer;
    char gpu[64], price[MONEY_BYTES], unit[MONEY_BYTES];
    struct buf text = {0};
    add_name(o, everywhere, &text);
    gpu_words(o, gpu);
    cell_price(line->usd_hour, price);
    cell_price(offer_unit(o, line->usd_hour), unit);
    out_cell(out, name, buf_str(&text));
    if (gpus)
        out_cell(out, GPU_COLUMNS, gpu);
    if (sizes)
        size_cells(out, o);
    out_cell_right(out, PRICE_COLUMNS, price);
    out_printf(out, offer_estimated(o) ? "~" : strcmp(o->currency, "USD") == 0 ? " " : "*");
    out_cell_right(out, PRICE_COLUMNS, unit);
    out_printf(out, " ");
    age_cell(out, o, day);
    out_printf(out, "\n");
    out->text.failed |= text.failed;
    buf_release(&text);
}

void prices_table(struct out *out, const struct listing_line *lines, size_t count, int day,
                  bool everywhere, const char *rate)
{
    bool gpus = count > 0 && lines[0].offer.gpus_milli > 0, old = false, foreign = false,
         estimated = false;
    // Regions take the room of sizes, which the page of an offer tells.
    bool sizes = !everywhere && out->width >= 70;
    bool shows_gpu = out->width >= 56; // most names tell it
    int name = out->width - 2 * PRICE_COLUMNS - AGE_COLUMNS - 3 -
               (shows_gpu ? GPU_COLUMNS + 1 : 0) - (sizes ? VCPU_COLUMNS + MEMORY_COLUMNS + 2 : 0);
    if (name < 12)
        name = 12;
    out_styled(out, OUT_BOLD, "%-*s", name, "offer");
    if (shows_gpu)
        out_styled(out, OUT_BOLD, " %-*s", GPU_COLUMNS, "gpu");
    if (sizes)
        out_styled(out, OUT_BOLD, " %*s %*s", VCPU_COLUMNS, "vCPU", MEMORY_COLUMNS, "GiB");
    out_styled(out, OUT_BOLD, " %*s %*s %*s", PRICE_COLUMNS, "USD/h", PRICE_COLUMNS,
               gpus ? "/GPU" : "/vCPU", AGE_COLUMNS, "seen");
    out_printf(out, "\n");
    for (size_t i = 0; i < count; i++) {
        table_row(out, &lines[i], day, name, everywhere, sizes, shows_gpu);
        foreign |= strcmp(lines[i].offer.currency, "USD") != 0;
        old |= offer_old(&lines[i].offer, day);
        estimated |= offer_estimated(&lines[i].offer);
    }
    if (foreign) {
        out_printf(out, "* ");
        struct buf text = {0};
        buf_printf(&text, "converted from another currency: %s", rate ? rate : "no rate is known");
        out_wrap_here(out, 2, buf_str(&text));
        out->text.failed |= text.failed;
        buf_release(&text);
    }
    if (estimated)
        out_wrap(out, 0, "~ estimated; the offer's page says from what.");
    if (old)
        out_wrap(out, 0, "OLD prices may have changed: 'fare prices update' fetches new ones.");
}
