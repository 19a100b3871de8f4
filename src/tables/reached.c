// SPDX-License-Identifier: Apache-2.0
#include "tables/reached.h"

#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/money.h"
#include "tables/files.h"
#include "record/field.h"

#define LEAST_OWN    2 // rows of a device that make a range
#define LEAST_OTHERS 3

struct reached {
    LIST_OF(struct reached_row) rows; // the user's own first
};

enum { KIND, DEVICE, OPERATION, PRECISION, RATE, BY, SOURCE, DATE, SPECIFIED, COLUMNS };
static const char *const names[COLUMNS] = {"kind", "device", "operation", "precision", "rate",
                                           "by",   "source", "date",      "specified"};

// TFLOP/s or GB/s with the nine decimals of money; empty is 0.
static int read_rate(const struct csv *csv, int column, bool product, double *per_s,
                     struct err *err)
{
    const char *text = csv_text(csv, column);
    int64_t nano = 0;
    *per_s = 0;
    if (!text || !*text)
        return 0;
    int rc = money_parse(text, &nano, err);
    if (rc == 0 && (nano <= 0 || nano > 1000000 * MONEY_UNIT))
        rc = err_set(err, ERR_FORMAT, "'%s' is out of range", text);
    *per_s = (double)nano * (product ? 1e3 : 1);
    return rc == 0 ? 0 : csv_context(csv, column, err);
}

static int check_word(const struct csv *csv, int column, const char *const *words, struct err *err)
{
    const char *text = csv_text(csv, column);
    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return 0;
    return csv_fault(csv, column, err, "'%.40s' is not known here; '%s' would be", text, words[0]);
}

static int read_row(const struct csv *csv, const int *at, struct reached_row *row, struct err *err)
{
    static const char *const kinds[] = {"gpu", "cpu", NULL};
    static const char *const operations[] = {"product", "copy", "to", "from", NULL};
    static const char *const precisions[] = {"fp32", "tf32", "fp16", "bf16", "fp8", NULL};
    int64_t day;
    TRY(check_word(csv, at[KIND], kinds, err));
    TRY(check_word(csv, at[OPERATION], operations, err));
    bool product = strcmp(csv_text(csv, at[OPERATION]), "product") == 0;
    TRY(read_rate(csv, at[RATE], product, &row->per_s, err));
    TRY(read_rate(csv, at[SPECIFIED], product, &row->specified, err));
    if (row->per_s <= 0)
        return csv_fault(csv, at[RATE], err, "a row needs a rate");
    if (product)
        TRY(check_word(csv, at[PRECISION], precisions, err));
    if (files_day(csv_text(csv, at[DATE]), &day, err) != 0)
        return csv_context(csv, at[DATE], err);
    return TEXTS_SET(
        err, {&row->kind, csv_text(csv, at[KIND])}, {&row->device, csv_text(csv, at[DEVICE])},
        {&row->operation, csv_text(csv, at[OPERATION])},
        {&row->precision, csv_text(csv, at[PRECISION])}, {&row->by, csv_text(csv, at[BY])},
        {&row->source, csv_text(csv, at[SOURCE])}, {&row->date, csv_text(csv, at[DATE])});
}

static int read_file(void *arg, const char *path, struct err *err)
{
    struct reached *reached = arg;
    struct csv csv;
    int at[COLUMNS] = {0};
    int rc = csv_open(&csv, path, NULL, err);
    if (rc != 0)
        return rc;
    rc = csv_find(&csv, names, COLUMNS, SPECIFIED, at, err);
    if (rc == 0)
        rc = csv_only(&csv, names, COLUMNS, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
        struct reached_row *row = LIST_ADD(&reached->rows, err);
        rc = row ? read_row(&csv, at, row, err) : ERR_MEMORY;
    }
    csv_release(&csv);
    return rc;
}

int reached_open(struct reached **out, struct err *err)
{
    struct reached *reached = calloc(1, sizeof *reached);
    *out = NULL;
    if (!reached)
        return err_memory(err);
    int rc = files_both("reached.csv", "devices/reached.csv", read_file, reached, err);
    if (rc == 0)
        *out = reached;
    else
        reached_close(reached);
    return rc;
}

void reached_close(struct reached *reached)
{
    for (size_t i = 0; reached && i < reached->rows.count; i++) {
        struct reached_row *row = &reached->rows.items[i];
        char *const texts[] = {row->kind, row->device, row->operation, row->precision,
                               row->by,   row->source, row->date};
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            free(texts[t]);
    }
    if (reached)
        free(reached->rows.items);
    free(reached);
}

const struct reached_row *reached_at(const struct reached *reached, size_t i)
{
    return i < reached->rows.count ? &reached->rows.items[i] : NULL;
}

double reached_specified(const struct device *d, const char *operation, const char *precision)
{
    if (strcmp(operation, "product") == 0)
        return 1e9 * device_gflops(d, precision);
    return 1e6 * (strcmp(operation, "copy") == 0 ? d->memory_mbs : d->host_mbs);
}

static bool is_asked(const struct reached_row *row, const char *kind, const char *operation,
                     const char *precision)
{
    return strcmp(row->kind, kind) == 0 && strcmp(row->operation, operation) == 0 &&
           (!precision || (row->precision && strcmp(row->precision, precision) == 0));
}

bool reached_usual(const struct reached *reached, const struct devices *devices, const char *kind,
                   const struct device *device, const char *operation, const char *precision,
                   struct reached_usual *out)
{
    struct reached_usual own = {.this_kind = true}, others = {0};
    for (size_t i = 0; i < reached->rows.count; i++) {
        const struct reached_row *row = &reached->rows.items[i];
        const struct device *its = device_find(devices, row->device);
        if (!is_asked(row, kind, operation, precision) || !its)
            continue;
        double specified =
            row->specified > 0 ? row->specified : reached_specified(its, operation, precision);
        double share = specified > 0 ? row->per_s / specified : 0;
        bool gpu = strcmp(kind, "gpu") == 0;
        struct reached_usual *const to[] = {
            device && strcmp(its->name, device->name) == 0 ? &own : NULL,
            device && gpu && strcmp(its->vendor, device->vendor) != 0 ? NULL : &others};
        for (size_t t = 0; t < 2 && share > 0; t++) {
            if (!to[t])
                continue;
            to[t]->low = to[t]->rows == 0 || share < to[t]->low ? share : to[t]->low;
            to[t]->high = share > to[t]->high ? share : to[t]->high;
            to[t]->rows++;
        }
    }
    *out = own.rows >= LEAST_OWN ? own : others;
    return out->rows >= (out->this_kind ? LEAST_OWN : LEAST_OTHERS);
}
