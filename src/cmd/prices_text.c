// SPDX-License-Identifier: Apache-2.0
// prices, as tables of 80 columns, as a page, and as records.
#include "cmd/prices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "price/tariffs.h"

void prices_date(int day, char out[12])
{
    char iso[CLOCK_ISO_BYTES];
    clock_iso((int64_t)day * 86400, iso);
    snprintf(out, 12, "%.10s", iso);
}

// A number in thousandths: "8", "0.125".
static void milli(int value, char out[24])
{
    snprintf(out, 24, "%d.%03d", value / 1000, value % 1000);
    size_t len = strlen(out);
    while (out[len - 1] == '0')
        out[--len] = '\0';
    if (out[len - 1] == '.')
        out[len - 1] = '\0';
}

static void gpu_words(const struct offer *o, char out[64])
{
    char count[24];
    milli(o->gpus_milli, count);
    if (o->gpus_milli == 0)
        snprintf(out, 64, "-");
    else if (o->gpus_milli == 1000)
        snprintf(out, 64, "%.60s", o->gpu);
    else
        snprintf(out, 64, "%s×%.36s", count, o->gpu);
}

// The price of an hour of one GPU, or of one vCPU where there is none; -1: unknown.
static int64_t unit_price(const struct offer *o)
{
    int64_t price;
    int units = o->gpus_milli > 0 ? o->gpus_milli : o->vcpus_milli;
    if (units == 0 ||
        money_scale(offer_per_hour(o), 1000, units, MONEY_HALF_EVEN, &price, NULL) != 0)
        return -1;
    return price;
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

void prices_table(struct out *out, const struct offer *offers, size_t count, int day,
                  bool everywhere)
{
    enum { GPU = 13, VCPUS = 4, MEMORY = 5, PRICE = 7, UNIT = 7, AGE = 9 };
    bool gpus = count > 0 && offers[0].gpus_milli > 0, old = false, foreign = false;
    // Regions take the room of sizes, which the page of an offer tells.
    int sizes = everywhere ? 0 : VCPUS + MEMORY + 2;
    int name = out->width - GPU - PRICE - UNIT - AGE - sizes - 5;
    struct buf text = {0};
    out_styled(out, OUT_BOLD, "%-*s %-*s", name, "offer", GPU, "gpu");
    if (!everywhere)
        out_styled(out, OUT_BOLD, " %*s %*s", VCPUS, "vCPU", MEMORY, "GiB");
    out_styled(out, OUT_BOLD, " %*s %*s %*s", PRICE, "USD/h", UNIT, gpus ? "/GPU" : "/vCPU", AGE,
               "seen");
    out_printf(out, "\n");
    for (size_t i = 0; i < count; i++) {
        const struct offer *o = &offers[i];
        char gpu[64], vcpus[24] = "-", memory[24] = "-", price[MONEY_BYTES],
                      unit[MONEY_BYTES] = "-";
        char age[24];
        bool usd = strcmp(o->currency, "USD") == 0;
        foreign |= !usd;
        buf_reset(&text);
        add_name(o, everywhere, &text);
        gpu_words(o, gpu);
        if (o->vcpus_milli > 0)
            milli(o->vcpus_milli, vcpus);
        if (o->memory_mib > 0)
            snprintf(memory, sizeof memory, "%.*f", o->memory_mib < 10240 ? 1 : 0,
                     (double)o->memory_mib / 1024);
        cell_price(offer_per_hour(o), price);
        if (unit_price(o) >= 0)
            cell_price(unit_price(o), unit);
        age_words(o, day, age);
        old |= offer_old(o, day);
        out_cell(out, name, buf_str(&text));
        out_cell(out, GPU, gpu);
        if (!everywhere) {
            out_cell_right(out, VCPUS, vcpus);
            out_printf(out, " ");
            out_cell_right(out, MEMORY, memory);
            out_printf(out, " ");
        }
        out_cell_right(out, PRICE, price);
        out_printf(out, usd ? " " : "*");
        out_cell_right(out, UNIT, unit);
        out_printf(out, " ");
        if (offer_old(o, day)) {
            int pad = AGE - out_columns(age);
            out_printf(out, "%*s", pad > 0 ? pad : 0, "");
            out_styled(out, OUT_YELLOW, "%s", age);
        } else {
            out_cell_right(out, AGE, age);
        }
        out_printf(out, "\n");
    }
    if (foreign)
        out_printf(out, "* in the provider's own currency: 'fare prices OFFER' says which.\n");
    if (old)
        out_printf(out, "OLD prices may have changed: 'fare prices update' fetches new ones.\n");
    out->text.failed |= text.failed;
    buf_release(&text);
}

// ---- records ----

static int set_money(char **member, int64_t nano, struct err *err)
{
    char text[MONEY_BYTES];
    money_text(nano, text);
    return text_set(member, text, err);
}

static int set_date(char **member, int day, struct err *err)
{
    char date[12];
    prices_date(day, date);
    return text_set(member, date, err);
}

static int record_price(const struct offer *o, int day, struct offer_record *r, struct err *err)
{
    int rc = set_money(&r->price, o->rate, err);
    if (rc == 0)
        rc = text_set(&r->currency, o->currency, err);
    r->per_s = some_int(o->per_s);
    if (rc == 0)
        rc = set_money(&r->price_per_hour, offer_per_hour(o), err);
    if (rc == 0 && o->gpus_milli > 0 && unit_price(o) >= 0)
        rc = set_money(&r->price_per_gpu_hour, unit_price(o), err);
    if (rc == 0)
        rc = set_date(&r->since, o->since, err);
    if (rc == 0)
        rc = set_date(&r->seen, o->day, err);
    r->age_days = some_int(offer_age(o, day));
    r->old = some_bool(offer_old(o, day));
    return rc == 0 ? text_set(&r->source, o->source, err) : rc;
}

int prices_record(const struct offer *o, int day, struct offer_record *r, struct err *err)
{
    struct buf name = {0};
    book_name(o, &name);
    int rc = buf_check(&name, err);
    const struct {
        char **to;
        const char *text;
    } texts[] = {{&r->offer, buf_str(&name)}, {&r->provider, o->provider},
                 {&r->name, o->name},         {&r->region, o->region},
                 {&r->zone, o->zone},         {&r->gpu, o->gpu},
                 {&r->cpu, o->cpu},           {&r->kind, offer_kind_word(o->kind)}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && rc == 0; i++)
        rc = text_set(texts[i].to, texts[i].text, err);
    buf_release(&name);
    if (o->vcpus_milli > 0 || o->gpus_milli > 0)
        r->gpus = some_real(o->gpus_milli / 1000.0);
    if (o->gpu_memory_mib > 0)
        r->gpu_memory_mib = some_int(o->gpu_memory_mib);
    if (o->vcpus_milli > 0)
        r->vcpus = some_real(o->vcpus_milli / 1000.0);
    if (o->memory_mib > 0)
        r->memory_mib = some_int(o->memory_mib);
    r->bare_metal = some_bool(o->bare_metal);
    return rc == 0 ? record_price(o, day, r, err) : rc;
}

// ---- the page ----

struct page {
    const struct offer *offer;
    struct offer_record record;
    size_t places; // of the same name and kind
    int64_t low, high;
    bool has_other;
    struct offer other; // the cheapest of the other kind
};

static int add_history(void *arg, const struct offer *o, struct err *err)
{
    struct offer_record *r = arg;
    struct offer_price *p = LIST_ADD(&r->history, err);
    if (!p)
        return ERR_MEMORY;
    int rc = set_money(&p->price, o->rate, err);
    if (rc == 0)
        rc = text_set(&p->currency, o->currency, err);
    p->per_s = some_int(o->per_s);
    if (rc == 0)
        rc = set_date(&p->since, o->since, err);
    if (rc == 0)
        rc = set_date(&p->seen, o->day, err);
    return rc == 0 ? text_set(&p->source, o->source, err) : rc;
}

static int look_around(void *arg, const struct offer *o, struct err *err)
{
    (void)err;
    struct page *page = arg;
    if (strcmp(o->currency, page->offer->currency) != 0)
        return 0;
    int64_t hour = offer_per_hour(o);
    if (o->kind == page->offer->kind) {
        page->low = page->places == 0 || hour < page->low ? hour : page->low;
        page->high = page->places == 0 || hour > page->high ? hour : page->high;
        page->places++;
    } else if (!page->has_other || hour < offer_per_hour(&page->other)) {
        page->has_other = true;
        page->other = *o;
    }
    return 0;
}

// How the provider charges, in words.
static int add_tariff(const struct offer *offer, int day, struct offer_record *r, struct err *err)
{
    struct tariff_book *book = NULL;
    struct buf words = {0};
    bool assumed;
    int rc = tariff_book_open(&book, err);
    if (rc == 0) {
        const struct tariff *tariff = tariff_for(book, offer, day, &assumed);
        if (assumed)
            buf_adds(&words, "ASSUMED: ");
        tariff_words(tariff, &words);
        rc = buf_check(&words, err);
    }
    if (rc == 0)
        rc = text_set(&r->tariff, buf_str(&words), err);
    tariff_book_close(book);
    buf_release(&words);
    return rc;
}

static int add_risk(const struct book *book, const struct offer *o, int day, struct offer_record *r,
                    struct err *err)
{
    struct offer_risk risk;
    if (o->kind != OFFER_SPOT || !book_risk(book, o, day, &risk))
        return 0;
    r->interruptions.low_percent = some_int(risk.low_percent);
    r->interruptions.high_percent = some_int(risk.high_percent);
    if (risk.saving_percent >= 0)
        r->interruptions.saving_percent = some_int(risk.saving_percent);
    int rc = set_date(&r->interruptions.date, risk.day, err);
    return rc == 0 ? text_set(&r->interruptions.source, risk.source, err) : rc;
}

static const char *per_words(int64_t per_s)
{
    switch (per_s) {
    case 1:
        return "a second";
    case 60:
        return "a minute";
    case 3600:
        return "an hour";
    case 86400:
        return "a day";
    case 2592000:
        return "a month of 30 days";
    default:
        return per_s == 2628000 ? "a month of 730 hours" : "its unit";
    }
}

static void what(struct out *out, const struct offer *o)
{
    struct buf text = {0};
    char number[24];
    if (o->gpus_milli > 0) {
        milli(o->gpus_milli, number);
        buf_printf(&text, "%s × %s", number, o->gpu);
        if (o->gpu_memory_mib > 0)
            buf_printf(&text, " with %s%s", units_bytes((int64_t)o->gpu_memory_mib << 20).s,
                       o->gpus_milli > 1000 ? " each" : "");
    } else if (o->vcpus_milli > 0) {
        buf_adds(&text, "no GPU");
    } else {
        buf_adds(&text, "unknown size");
    }
    if (o->vcpus_milli > 0) {
        milli(o->vcpus_milli, number);
        buf_printf(&text, ", %s vCPUs", number);
    }
    if (o->memory_mib > 0)
        buf_printf(&text, ", %s memory", units_bytes((int64_t)o->memory_mib << 20).s);
    if (*o->cpu)
        buf_printf(&text, ", %s", o->cpu);
    if (o->bare_metal)
        buf_adds(&text, ", bare metal");
    out_row(out, "Machine", "%s", buf_str(&text));
    out->text.failed |= text.failed;
    buf_release(&text);
}

static void price_rows(struct out *out, const struct page *page, int day)
{
    const struct offer *o = page->offer;
    const struct offer_record *r = &page->record;
    char hour[MONEY_BYTES], unit[MONEY_BYTES];
    struct buf text = {0};
    buf_printf(&text, "%s %s %s", r->price, o->currency, per_words(o->per_s));
    if (o->per_s != 3600) {
        money_short(offer_per_hour(o), hour);
        buf_printf(&text, ", %s an hour", hour);
    }
    if (o->gpus_milli > 0 && o->gpus_milli != 1000 && unit_price(o) >= 0) {
        money_short(unit_price(o), unit);
        buf_printf(&text, ", %s a GPU-hour", unit);
    }
    buf_printf(&text, ", %s", offer_kind_word(o->kind));
    out_row(out, "Price", "%s", buf_str(&text));
    buf_reset(&text);
    if (offer_old(o, day))
        buf_printf(&text, "OLD: %d days. ", offer_age(o, day));
    buf_printf(&text, "Last seen %s, since %s (%s)", r->seen, r->since, o->source);
    out_row(out, "Seen", "%s", buf_str(&text));
    out->text.failed |= text.failed;
    buf_release(&text);
}

static void around_rows(struct out *out, const struct page *page)
{
    char low[MONEY_BYTES], high[MONEY_BYTES];
    const struct offer *o = page->offer;
    money_short(page->low, low);
    money_short(page->high, high);
    if (page->places > 1 && page->low != page->high)
        out_row(out, "Elsewhere", "%zu places, %s to %s %s an hour", page->places, low, high,
                o->currency);
    else if (page->places > 1)
        out_row(out, "Elsewhere", "%zu places, all at %s %s an hour", page->places, low,
                o->currency);
    if (page->has_other) {
        struct buf name = {0};
        book_name(&page->other, &name);
        money_short(offer_per_hour(&page->other), low);
        out_row(out, page->other.kind == OFFER_SPOT ? "Spot" : "Or", "from %s %s an hour: %s", low,
                o->currency, buf_str(&name));
        buf_release(&name);
    }
    const struct offer_interruptions *i = &page->record.interruptions;
    if (i->low_percent.known && i->high_percent.v < 100)
        out_row(out, "Taken", "%lld to %lld %% of such machines are taken away in a month (%s)",
                (long long)i->low_percent.v, (long long)i->high_percent.v, i->source);
    else if (i->low_percent.known)
        out_row(out, "Taken", "over %lld %% of such machines are taken away in a month (%s)",
                (long long)i->low_percent.v, i->source);
}

static void history_rows(struct out *out, const struct offer_record *r)
{
    enum { MOST = 40 };
    size_t count = r->history.count, first = count > MOST ? count - MOST : 0;
    out_printf(out, "\n");
    out_styled(out, OUT_BOLD, "%-10s %-10s %12s  %s", "since", "last seen", "price", "source");
    out_printf(out, "\n");
    if (first > 0)
        out_printf(out, "... %zu older ones: --json has them all\n", first);
    for (size_t i = first; i < count; i++) {
        const struct offer_price *p = &r->history.items[i];
        out_printf(out, "%-10s %-10s %12s  ", p->since, p->seen, p->price);
        out_cell(out, out->width - 37, p->source ? p->source : "-");
        buf_trim(&out->text);
        out_printf(out, "\n");
    }
}

int prices_page(const struct cmd_call *call, const struct book *book, const struct offer *offer,
                int day, struct err *err)
{
    const struct prices_options *o = call->options;
    struct page page = {.offer = offer};
    struct offer_record *r = &page.record;
    struct book_filter same = {.provider = offer->provider, .name = offer->name, .day = day};
    int rc = prices_record(offer, day, r, err);
    if (rc == 0)
        rc = book_history(book, offer, add_history, r, err);
    if (rc == 0)
        rc = add_tariff(offer, day, r, err);
    if (rc == 0)
        rc = add_risk(book, offer, day, r, err);
    if (rc == 0)
        rc = book_each(book, &same, look_around, &page, err);
    if (rc == 0 && o->common.json) {
        rc = out_record(call->out, offer_record_fields, r, err);
    } else if (rc == 0) {
        out_styled(call->out, OUT_BOLD, "%s", r->offer);
        out_printf(call->out, "\n");
        what(call->out, offer);
        price_rows(call->out, &page, day);
        if (r->tariff)
            out_row(call->out, "Charged", "%s", r->tariff);
        around_rows(call->out, &page);
        history_rows(call->out, r);
    }
    record_release(offer_record_fields, r);
    return rc;
}
