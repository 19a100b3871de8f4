// SPDX-License-Identifier: Apache-2.0
#include "tables/scheduling.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/field.h"
#include "tables/columns.h"
#include "tables/files.h"

struct row {
    char *provider, *from, *source;
    bool own; // a provider in the user's file has no rows from the shipped one
    int64_t day;
    struct scheduling prices;
};

struct schedulings {
    LIST_OF(struct row) rows; // the user's own first
};

#define AT(member) offsetof(struct row, member)
#define AMOUNT(member)                                                                             \
    {                                                                                              \
#member, COLUMN_NANO, AT(prices.member), COLUMN_EMPTY, NULL, 0, 1e9, -1                    \
    }
#define COUNT(member)                                                                              \
    {                                                                                              \
#member, COLUMN_WHOLE, AT(prices.member), COLUMN_EMPTY, NULL, 0, 1e12, -1                  \
    }
static const struct column columns[] = {{"provider", COLUMN_TEXT, AT(provider)},
                                        {"from", COLUMN_DAY, AT(day)},
                                        {"from", COLUMN_STRING, AT(from)},
                                        {"source", COLUMN_TEXT, AT(source), COLUMN_EMPTY},
                                        AMOUNT(disk_rate),
                                        COUNT(free_disk_gb),
                                        COUNT(rules),
                                        AMOUNT(rule_rate),
                                        COUNT(free_rules),
                                        COUNT(function_ms),
                                        AMOUNT(function_rate),
                                        {"function_unit_ms", COLUMN_WHOLE,
                                         AT(prices.function_unit_ms), COLUMN_EMPTY, NULL, 1, 1e12,
                                         -1},
                                        COUNT(free_function_ms),
                                        AMOUNT(fixed_server),
                                        {0}};

static int finish(const struct columns_row *at, void *arg, struct err *err)
{
    struct row *row = arg;
    struct buf source = {0};
    row->own = at->own;
    row->prices.since = (int)row->day;
    row->prices.disk_stopped_rate = -1;
    buf_printf(&source, "%s: %s", row->from, row->source ? row->source : "");
    TRY(text_take(&row->source, &source, err));
    row->prices.source = row->source;
    return 0;
}

static const struct columns table = {columns, sizeof(struct row), false, finish};

int schedulings_open(struct schedulings **out, const char *shipped, const char *own,
                     struct err *err)
{
    int rc;
    *out = NULL;
    if (!shipped) {
        *out = columns_new(&table, "scheduling.csv", "scheduling.csv", &rc, err);
        return rc;
    }
    struct schedulings *s = calloc(1, sizeof *s);
    rc = s ? columns_load(&table, own, true, s, NULL, err) : err_memory(err);
    if (rc == 0)
        rc = columns_load(&table, shipped, false, s, NULL, err);
    if (rc == 0)
        *out = s;
    else
        schedulings_close(s);
    return rc;
}

void schedulings_close(struct schedulings *s)
{
    columns_free(&table, s);
}

struct scheduling scheduling_find(const struct schedulings *s, const char *provider, int day)
{
    const struct row *best = NULL;
    int64_t on = day != 0 ? day : clock_date_s() / 86400;
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct row *row = &s->rows.items[i];
        if (strcmp(row->provider, provider) == 0 &&
            (!best || (best->own == row->own && files_applies(row->day, best->day, on))))
            best = row;
    }
    return best ? best->prices : SCHEDULING_UNKNOWN;
}
