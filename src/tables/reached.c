// SPDX-License-Identifier: Apache-2.0
#include "tables/reached.h"

#include <stddef.h>
#include <string.h>

#include "record/field.h"
#include "tables/files.h"

#define LEAST_OWN    2 // rows of a device that make a range
#define LEAST_OTHERS 3

struct reached {
    LIST_OF(struct reached_row) rows; // the user's own first
};

static const char *const kinds[] = {"gpu", "cpu", NULL};
static const char *const operations[] = {"product", "copy", "to", "from", NULL};
static const char *const precisions[] = {"fp32", "tf32", "fp16", "bf16", "fp8", NULL};

#define AT(member) offsetof(struct reached_row, member)
static const struct column columns[] = {
    {"kind", COLUMN_TEXT, AT(kind), .words = kinds},
    {"device", COLUMN_TEXT, AT(device)},
    {"operation", COLUMN_TEXT, AT(operation), .words = operations},
    {"precision", COLUMN_TEXT, AT(precision), COLUMN_EMPTY, precisions},
    {"rate", COLUMN_REAL, AT(per_s), .least = COLUMN_ABOVE_0, .most = 1e6},
    {"by", COLUMN_TEXT, AT(by), COLUMN_EMPTY},
    {"source", COLUMN_TEXT, AT(source), COLUMN_EMPTY},
    {"date", COLUMN_DATE, AT(date)},
    {"specified", COLUMN_REAL, AT(specified), COLUMN_ABSENT, NULL, COLUMN_ABOVE_0, 1e6},
    {0}};

// The table has TFLOP/s or GB/s.
static int finish_reached(const struct columns_row *at, void *arg, struct err *err)
{
    struct reached_row *row = arg;
    bool product = strcmp(row->operation, "product") == 0;
    row->per_s *= product ? 1e12 : 1e9;
    row->specified *= product ? 1e12 : 1e9;
    return product && !row->precision
               ? columns_fault(at, "precision", err, "a product needs a precision")
               : 0;
}

static const struct columns table = {columns, sizeof(struct reached_row), true, finish_reached};

int reached_open(struct reached **out, struct err *err)
{
    int rc;
    *out = columns_new(&table, "reached.csv", "devices/reached.csv", &rc, err);
    return rc;
}

void reached_close(struct reached *reached)
{
    columns_free(&table, reached);
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
