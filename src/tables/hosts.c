// SPDX-License-Identifier: Apache-2.0
#include "tables/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/money.h"
#include "tables/files.h"
#include "record/field.h"

struct hosts {
    LIST_OF(struct hosts_row) rows; // the user's own first
};

enum { GPU, SHARE, MACHINE, SOURCE, DATE, COLUMNS };
static const char *const names[COLUMNS] = {"gpu", "share", "machine", "source", "date"};

static int read_row(const struct csv *csv, const int *at, struct hosts_row *row, struct err *err)
{
    struct buf source = {0};
    int rc = money_parse(csv_text(csv, at[SHARE]), &row->share, err);
    if (rc == 0 && (row->share < MONEY_UNIT || row->share > 100 * MONEY_UNIT))
        rc = err_set(err, ERR_FORMAT, "expected 1 to 100");
    if (rc != 0)
        return csv_context(csv, at[SHARE], err);
    buf_printf(&source, "%s, %s", csv_text(csv, at[SOURCE]), csv_text(csv, at[DATE]));
    TRY(text_take(&row->source, &source, err));
    return TEXTS_SET(err, {&row->gpu, csv_text(csv, at[GPU])},
                     {&row->machine, csv_text(csv, at[MACHINE])});
}

static int read_file(void *arg, const char *path, struct err *err)
{
    struct hosts *hosts = arg;
    struct csv csv;
    int at[COLUMNS] = {0};
    TRY(csv_open(&csv, path, NULL, err));
    int rc = csv_find(&csv, names, COLUMNS, COLUMNS, at, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
        struct hosts_row *row = LIST_ADD(&hosts->rows, err);
        rc = row ? read_row(&csv, at, row, err) : ERR_MEMORY;
    }
    csv_release(&csv);
    return rc;
}

int hosts_open(struct hosts **out, struct err *err)
{
    struct hosts *hosts = calloc(1, sizeof *hosts);
    *out = NULL;
    if (!hosts)
        return err_memory(err);
    int rc = files_both("power.csv", "power.csv", read_file, hosts, err);
    if (rc == 0)
        *out = hosts;
    else
        hosts_close(hosts);
    return rc;
}

void hosts_close(struct hosts *hosts)
{
    for (size_t i = 0; hosts && i < hosts->rows.count; i++) {
        free(hosts->rows.items[i].gpu);
        free(hosts->rows.items[i].machine);
        free(hosts->rows.items[i].source);
    }
    if (hosts)
        free(hosts->rows.items);
    free(hosts);
}

const struct hosts_row *hosts_find(const struct hosts *hosts, const char *gpu)
{
    for (size_t i = 0; i < hosts->rows.count; i++) {
        const struct hosts_row *row = &hosts->rows.items[i];
        if (!row->gpu || (gpu && strstr(gpu, row->gpu)))
            return row;
    }
    return NULL;
}
