// SPDX-License-Identifier: Apache-2.0
// import: fare's own tables: share/offers/ and users' files (docs/adding-a-provider.md).
#include <string.h>

#include "base/clock.h"
#include "base/tree.h"
#include "book/book.h"
#include "tables/currency.h"
#include "tables/files.h"
#include "book/format.h"
#include "book/image.h"
#include "book/stock.h"

// First the columns that identify the format, then the other required one.
enum {
    PROVIDER,
    NAME,
    PRICE,
    DATE,
    SOURCE,
    REGION,
    ZONE,
    KIND,
    GPU,
    GPUS,
    GPU_MEMORY,
    VCPUS,
    MEMORY,
    CPU,
    BARE_METAL,
    CURRENCY,
    PER,
    PRICE_IS,
    LACKS,
    VALID_TO,
    COLUMNS
};
static const char *const columns[COLUMNS] = {
    "provider",   "name",     "price", "date",           "source", "region",     "zone",
    "kind",       "gpu",      "gpus",  "gpu_memory_gib", "vcpus",  "memory_gib", "cpu",
    "bare_metal", "currency", "per",   "price_is",       "lacks",  "valid_to"};

static bool knows(const char *head, size_t len)
{
    (void)len;
    return format_has_columns(head, columns, DATE + 1);
}

struct table {
    struct csv csv;
    int at[COLUMNS];
};

static int words(const struct table *t, struct offer *o, struct err *err)
{
    TRY(FORMAT_FIELDS(&t->csv, t->at, err, {PROVIDER, .word = &o->provider},
                      {NAME, .word = &o->name}, {REGION, .word = &o->region},
                      {ZONE, .word = &o->zone}, {GPU, .word = &o->gpu}, {CPU, .word = &o->cpu},
                      {CURRENCY, .word = &o->currency}, {SOURCE, .word = &o->source}));
    if (*o->provider == '\0' || strchr(o->provider, '/'))
        return csv_fault(&t->csv, t->at[PROVIDER], err,
                         "a provider must be a word without a slash");
    if (*o->name == '\0')
        return csv_fault(&t->csv, t->at[NAME], err, "an offer needs a name");
    if (strpbrk(o->name, "@:"))
        return csv_fault(&t->csv, t->at[NAME], err,
                         "a name must not contain @ or :, which start region and kind");
    if (*o->source == '\0')
        return csv_fault(&t->csv, t->at[SOURCE], err, "the source of the price is missing");
    if (*o->currency == '\0')
        o->currency = "USD";
    if (!currency_is_name(o->currency))
        return csv_fault(&t->csv, t->at[CURRENCY], err, "'%.20s' is not a currency: USD, EUR, ...",
                         o->currency);
    return 0;
}

static int numbers(const struct table *t, struct offer *o, struct err *err)
{
    int rc = FORMAT_FIELDS(&t->csv, t->at, err, {GPUS, .milli = &o->gpus_milli},
                           {GPU_MEMORY, .gib = &o->gpu_memory_mib},
                           {VCPUS, .milli = &o->vcpus_milli}, {MEMORY, .gib = &o->memory_mib});
    bool given = false;
    if (rc == 0)
        rc = format_price(&t->csv, t->at[PRICE], &o->rate, &given, err);
    if (rc == 0 && !given)
        rc = csv_fault(&t->csv, t->at[PRICE], err, "no price");
    const char *gpus = rc == 0 ? csv_text(&t->csv, t->at[GPUS]) : NULL;
    if (rc == 0 && *o->gpu != '\0' && o->gpus_milli == 0 && gpus && *gpus)
        rc = csv_fault(&t->csv, t->at[GPUS], err, "no GPU of that name");
    if (rc == 0 && *o->gpu != '\0' && o->gpus_milli == 0)
        o->gpus_milli = 1000;
    if (rc == 0 && *o->gpu == '\0' && o->gpus_milli > 0)
        rc = csv_fault(&t->csv, t->at[GPU], err, "GPUs without a name");
    return rc;
}

static int choices(const struct table *t, struct offer *o, struct err *err)
{
    const char *kind, *metal, *per, *date;
    TRY(FORMAT_FIELDS(&t->csv, t->at, err, {KIND, .word = &kind}, {BARE_METAL, .word = &metal},
                      {PER, .word = &per}, {DATE, .word = &date}));
    if (*kind && !offer_kind_parse(kind, &o->kind))
        return csv_fault(&t->csv, t->at[KIND], err, "'%.40s' is not on-demand, spot or monthly",
                         kind);
    o->bare_metal = strcmp(metal, "yes") == 0;
    if (*metal && !o->bare_metal && strcmp(metal, "no") != 0)
        return csv_fault(&t->csv, t->at[BARE_METAL], err, "'%.40s' is not yes or no", metal);
    static const struct {
        const char *word;
        int64_t seconds;
    } units[] = {{"second", 1},  {"minute", 60},     {"hour", 3600},
                 {"day", 86400}, {"month", 2592000}, {"730 hours", 2628000}};
    o->per_s = *per ? 0 : o->kind == OFFER_MONTHLY ? 2592000 : 3600;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(per, units[i].word) == 0)
            o->per_s = units[i].seconds;
    if (o->per_s == 0)
        return csv_fault(&t->csv, t->at[PER], err,
                         "'%.40s' is not second, minute, hour, day, month or 730 hours", per);
    int64_t s;
    if (!clock_parse(date, &s) || s < 0)
        return csv_fault(&t->csv, t->at[DATE], err, "'%.40s' is not a date: 2026-08-22", date);
    o->since = o->day = (int)(s / 86400);
    return 0;
}

// What a catalogue left open, in the tables made from one.
static int limits(const struct table *t, struct offer *o, struct err *err)
{
    const char *basis, *lacks, *end;
    int64_t day = 0;
    TRY(FORMAT_FIELDS(&t->csv, t->at, err, {PRICE_IS, .word = &basis}, {LACKS, .word = &lacks},
                      {VALID_TO, .word = &end}));
    if (!offer_basis_parse(basis, &o->basis))
        return csv_fault(&t->csv, t->at[PRICE_IS], err, "'%.40s' is not list, floor or median",
                         basis);
    if (!offer_lacks_parse(lacks, &o->lacks))
        return csv_fault(&t->csv, t->at[LACKS], err, "'%.40s' is not region, currency or spot",
                         lacks);
    if (*end && files_day(end, &day, err) != 0)
        return csv_context(&t->csv, t->at[VALID_TO], err);
    o->valid_to = (int)day;
    return 0;
}

static int add_fare_row(struct import *im, const struct table *t, struct err *err)
{
    struct offer offer = format_offer(im);
    im->report->rows++;
    TRY(words(t, &offer, err));
    TRY(numbers(t, &offer, err));
    TRY(choices(t, &offer, err));
    TRY(limits(t, &offer, err));
    offer.gpu = format_gpu(im, offer.gpu, offer.gpus_milli, &offer.gpu_memory_mib);
    TRY(format_add(im, &offer, err));
    return stock_from(im->stock, im->name, csv_line(&t->csv), err);
}

static int read_table(struct import *im, struct err *err)
{
    struct table t;
    int rc = format_csv(im, &t.csv, err);
    if (rc != 0)
        return rc;
    rc = csv_find(&t.csv, columns, COLUMNS, SOURCE + 1, t.at, err);
    if (rc == 0)
        rc = csv_only(&t.csv, columns, COLUMNS, err);
    while (rc == 0 && (rc = csv_next(&t.csv, err)) > 0)
        rc = add_fare_row(im, &t, err);
    csv_release(&t.csv);
    return rc;
}

const struct price_format format_fare = {
    .name = "fare",
    .knows = knows,
    .read = read_table,
};
