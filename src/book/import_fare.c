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

static int words(const struct csv *csv, const int *at, struct offer *o, struct err *err)
{
    TRY(FORMAT_FIELDS(csv, at, err, {PROVIDER, .word = &o->provider}, {NAME, .word = &o->name},
                      {REGION, .word = &o->region}, {ZONE, .word = &o->zone},
                      {GPU, .word = &o->gpu}, {CPU, .word = &o->cpu},
                      {CURRENCY, .word = &o->currency}, {SOURCE, .word = &o->source}));
    if (*o->provider == '\0' || strchr(o->provider, '/'))
        return csv_fault(csv, at[PROVIDER], err, "a provider must be a word without a slash");
    if (*o->name == '\0')
        return csv_fault(csv, at[NAME], err, "an offer needs a name");
    if (strpbrk(o->name, "@:"))
        return csv_fault(csv, at[NAME], err,
                         "a name must not contain @ or :, which start region and kind");
    if (*o->source == '\0')
        return csv_fault(csv, at[SOURCE], err, "the source of the price is missing");
    if (*o->currency == '\0')
        o->currency = "USD";
    if (!currency_is_name(o->currency))
        return csv_fault(csv, at[CURRENCY], err, "'%.20s' is not a currency: USD, EUR, ...",
                         o->currency);
    return 0;
}

static int numbers(const struct csv *csv, const int *at, struct offer *o, struct err *err)
{
    TRY(FORMAT_FIELDS(csv, at, err, {GPUS, .milli = &o->gpus_milli},
                      {GPU_MEMORY, .gib = &o->gpu_memory_mib}, {VCPUS, .milli = &o->vcpus_milli},
                      {MEMORY, .gib = &o->memory_mib}));
    bool given = false;
    TRY(format_price(csv, at[PRICE], &o->rate, &given, err));
    if (!given)
        return csv_fault(csv, at[PRICE], err, "no price");
    const char *gpus = csv_text(csv, at[GPUS]);
    if (*o->gpu != '\0' && o->gpus_milli == 0 && gpus && *gpus)
        return csv_fault(csv, at[GPUS], err, "no GPU of that name");
    if (*o->gpu != '\0' && o->gpus_milli == 0)
        o->gpus_milli = 1000;
    return *o->gpu == '\0' && o->gpus_milli > 0
               ? csv_fault(csv, at[GPU], err, "GPUs without a name")
               : 0;
}

static int choices(const struct csv *csv, const int *at, struct offer *o, struct err *err)
{
    const char *kind, *metal, *per, *date;
    TRY(FORMAT_FIELDS(csv, at, err, {KIND, .word = &kind}, {BARE_METAL, .word = &metal},
                      {PER, .word = &per}, {DATE, .word = &date}));
    if (*kind && !offer_kind_parse(kind, &o->kind))
        return csv_fault(csv, at[KIND], err, "'%.40s' is not on-demand, spot or monthly", kind);
    o->bare_metal = strcmp(metal, "yes") == 0;
    if (*metal && !o->bare_metal && strcmp(metal, "no") != 0)
        return csv_fault(csv, at[BARE_METAL], err, "'%.40s' is not yes or no", metal);
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
        return csv_fault(csv, at[PER], err,
                         "'%.40s' is not second, minute, hour, day, month or 730 hours", per);
    int64_t s;
    if (!clock_parse(date, &s) || s < 0)
        return csv_fault(csv, at[DATE], err, "'%.40s' is not a date: 2026-08-22", date);
    o->since = o->day = (int)(s / 86400);
    return 0;
}

// What a catalogue left open, in the tables made from one.
static int limits(const struct csv *csv, const int *at, struct offer *o, struct err *err)
{
    const char *basis, *lacks, *end;
    int64_t day = 0;
    TRY(FORMAT_FIELDS(csv, at, err, {PRICE_IS, .word = &basis}, {LACKS, .word = &lacks},
                      {VALID_TO, .word = &end}));
    if (!offer_basis_parse(basis, &o->basis))
        return csv_fault(csv, at[PRICE_IS], err, "'%.40s' is not list, floor or median", basis);
    if (!offer_lacks_parse(lacks, &o->lacks))
        return csv_fault(csv, at[LACKS], err, "'%.40s' is not region, currency or spot", lacks);
    if (*end && files_day(end, &day, err) != 0)
        return csv_context(csv, at[VALID_TO], err);
    o->valid_to = (int)day;
    return 0;
}

static int add_fare_row(struct import *im, const struct csv *csv, const int *at, struct err *err)
{
    struct offer offer = format_offer(im);
    im->report->rows++;
    TRY(words(csv, at, &offer, err));
    TRY(numbers(csv, at, &offer, err));
    TRY(choices(csv, at, &offer, err));
    TRY(limits(csv, at, &offer, err));
    offer.gpu = format_gpu(im, offer.gpu, offer.gpus_milli, &offer.gpu_memory_mib);
    TRY(format_add(im, &offer, err));
    return stock_from(im->stock, im->name, csv_line(csv), err);
}

static int read_table(struct import *im, struct err *err)
{
    int at[COLUMNS];
    SCOPED(csv_release) struct csv csv = {0};
    TRY(format_csv(im, &csv, err));
    TRY(csv_find(&csv, columns, COLUMNS, SOURCE + 1, at, err));
    TRY(csv_only(&csv, columns, COLUMNS, err));
    int rc;
    while ((rc = csv_next(&csv, err)) > 0)
        TRY(add_fare_row(im, &csv, at, err));
    return rc;
}

const struct price_format format_fare = {
    .name = "fare",
    .knows = knows,
    .read = read_table,
};
