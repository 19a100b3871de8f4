// SPDX-License-Identifier: Apache-2.0
#include "spot/warning.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/tree.h"
#include "price/files.h"
#include "record/field.h"

enum { PROVIDER, NOTICE, TAKEN, WORDS, SOURCE, DATE, COLUMNS };
static const char *const names[COLUMNS] = {"provider", "notice_s", "taken",
                                           "words",    "source",   "date"};

static int read_row(const struct csv *csv, const int *at, struct warning *row, struct err *err)
{
    const char *seconds = csv_text(csv, at[NOTICE]), *taken = csv_text(csv, at[TAKEN]);
    struct buf source = {0};
    int64_t s = -1;
    if (*seconds && (!text_int(seconds, &s) || s < 0 || s > 86400))
        return csv_fault(csv, at[NOTICE], err, "expected 0 to 86400 seconds");
    row->by_price = strcmp(taken, "price") == 0;
    if (!row->by_price && strcmp(taken, "capacity") != 0)
        return csv_fault(csv, at[TAKEN], err, "expected capacity or price");
    row->ns = *seconds ? s * NS_PER_S : -1;
    buf_printf(&source, "%s, %s", csv_text(csv, at[SOURCE]), csv_text(csv, at[DATE]));
    TRY(text_take(&row->source, &source, err));
    return TEXTS_SET(err, {&row->provider, csv_text(csv, at[PROVIDER])},
                     {&row->words, csv_text(csv, at[WORDS])});
}

static int read_file(void *arg, const char *path, struct err *err)
{
    struct warnings *warnings = arg;
    struct csv csv;
    int at[COLUMNS] = {0};
    TRY(csv_open(&csv, path, NULL, err));
    int rc = csv_find(&csv, names, COLUMNS, COLUMNS, at, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
        struct warning *row = LIST_ADD(warnings, err);
        rc = row ? read_row(&csv, at, row, err) : ERR_MEMORY;
    }
    csv_release(&csv);
    return rc;
}

int warnings_open(struct warnings *out, struct err *err)
{
    *out = (struct warnings){0};
    int rc = files_both("spot.csv", "spot.csv", read_file, out, err);
    if (rc != 0)
        warnings_release(out);
    return rc;
}

void warnings_release(struct warnings *warnings)
{
    for (size_t i = 0; i < warnings->count; i++) {
        free(warnings->items[i].provider);
        free(warnings->items[i].words);
        free(warnings->items[i].source);
    }
    free(warnings->items);
    *warnings = (struct warnings){0};
}

const struct warning *warnings_find(const struct warnings *warnings, const char *provider)
{
    for (size_t i = 0; i < warnings->count; i++)
        if (strcmp(warnings->items[i].provider, provider) == 0)
            return &warnings->items[i];
    return NULL;
}
