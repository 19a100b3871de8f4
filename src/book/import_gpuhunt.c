// SPDX-License-Identifier: Apache-2.0
// import: gpuhunt's catalogues, one CSV file per provider. Its GB are GiB.
#include <string.h>

#include "book/format.h"

// First the columns that identify the format, then the other required ones.
enum { NAME, LOCATION, PRICE, GPU, SPOT, GPUS, CPU, MEMORY, GPU_MEMORY, VENDOR, COLUMNS };
static const char *const columns[COLUMNS] = {"instance_name", "location",  "price", "gpu_name",
                                             "spot",          "gpu_count", "cpu",   "memory",
                                             "gpu_memory",    "gpu_vendor"};

static bool knows(const char *head, size_t len)
{
    (void)len;
    return format_has_columns(head, columns, SPOT + 1);
}

static int is_spot(const struct csv *csv, int column, bool *spot, struct err *err)
{
    const char *text;
    TRY(format_word(csv, column, &text, err));
    *spot = strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0;
    if (*spot || strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0)
        return 0;
    return csv_fault(csv, column, err, "'%.40s' is neither True nor False", text);
}

static int read_row(const struct csv *csv, const int *at, struct offer *o, bool *priced,
                    const char **vendor, struct err *err)
{
    bool spot = false;
    TRY(FORMAT_FIELDS(csv, at, err, {NAME, .word = &o->name}, {LOCATION, .word = &o->region},
                      {GPU, .word = &o->gpu}, {VENDOR, .word = vendor}));
    TRY(format_price(csv, at[PRICE], &o->rate, priced, err));
    TRY(FORMAT_FIELDS(csv, at, err, {CPU, .milli = &o->vcpus_milli},
                      {MEMORY, .gib = &o->memory_mib}, {GPUS, .milli = &o->gpus_milli},
                      {GPU_MEMORY, .gib = &o->gpu_memory_mib}));
    TRY(is_spot(csv, at[SPOT], &spot, err));
    o->kind = spot ? OFFER_SPOT : OFFER_ON_DEMAND;
    return 0;
}

static int add_gpuhunt_row(struct import *im, const struct csv *csv, const int *at, struct err *err)
{
    struct offer o = format_offer(im);
    bool priced = false;
    const char *vendor = "", *why = NULL;
    TRY(read_row(csv, at, &o, &priced, &vendor, err));
    im->report->rows++;
    if (*o.name == '\0')
        why = "no name";
    else if (!priced)
        why = "no price";
    else if (o.rate == 0)
        why = "a price of 0";
    else if (strcasecmp(vendor, "google") == 0 || format_is_other(o.gpu))
        why = "an accelerator that is not a GPU";
    else if (o.gpus_milli > 0 && *o.gpu == '\0')
        why = "GPUs without a name";
    if (why) {
        format_left_out(im, csv_line(csv), why, o.name);
        return 0;
    }
    if (o.gpus_milli == 0)
        o.gpu = "";
    if (format_is_total(im, o.gpu, o.gpus_milli, o.gpu_memory_mib)) {
        format_noted(im, csv_line(csv), "the memory of all GPUs given for one", o.name);
        o.gpu_memory_mib /= o.gpus_milli / 1000;
    }
    o.gpu = format_gpu(im, o.gpu, o.gpus_milli, &o.gpu_memory_mib);
    o.bare_metal = format_is_bare_metal(o.name);
    return format_add_listed(im, &o, err);
}

static int read_catalogue(struct import *im, struct err *err)
{
    SCOPED(csv_release) struct csv csv = {0};
    int at[COLUMNS], rc;
    TRY(format_csv(im, &csv, err));
    size_t first = im->stock->count;
    TRY(csv_find(&csv, columns, COLUMNS, GPUS + 1, at, err));
    while ((rc = csv_next(&csv, err)) > 0)
        TRY(add_gpuhunt_row(im, &csv, at, err));
    stock_mark_copies(im->stock, first);
    return rc;
}

const struct price_format format_gpuhunt = {
    .name = "gpuhunt",
    .knows = knows,
    .read = read_catalogue,
};
