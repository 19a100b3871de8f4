// SPDX-License-Identifier: Apache-2.0
#include "tables/scheduling.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"
#include "base/tree.h"
#include "tables/files.h"
#include "record/field.h"

#define AT(member) offsetof(struct scheduling, member)
#define MOST       INT64_C(1000000000000)

static const struct {
    const char *name;
    bool money;
    size_t at;
} numbers[] = {
    {"disk_rate", true, AT(disk_rate)},
    {"free_disk_gb", false, AT(free_disk_gb)},
    {"rules", false, AT(rules)},
    {"rule_rate", true, AT(rule_rate)},
    {"free_rules", false, AT(free_rules)},
    {"function_ms", false, AT(function_ms)},
    {"function_rate", true, AT(function_rate)},
    {"function_unit_ms", false, AT(function_unit_ms)},
    {"free_function_ms", false, AT(free_function_ms)},
    {"fixed_server", true, AT(fixed_server)},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

struct columns {
    int provider, from, source, number[NUMBERS];
};

struct row {
    char *provider, *source;
    bool own; // a provider in the user's file has no rows from the shipped one
    int64_t day;
    struct scheduling prices;
};

struct schedulings {
    LIST_OF(struct row) rows; // the user's own first
};

static int read_number(const char *text, bool money, int64_t *out, struct err *err)
{
    *out = -1;
    if (*text == '\0')
        return 0;
    int rc = money ? money_parse(text, out, err) : text_int(text, out) ? 0 : ERR_FORMAT;
    if (rc == ERR_FORMAT && !money)
        err_set(err, ERR_FORMAT, "expected a whole number");
    if (rc == 0 && (*out < 0 || (!money && *out > MOST)))
        rc = err_set(err, ERR_FORMAT, "number out of range");
    return rc;
}

static int read_row(struct row *row, const struct csv *csv, const struct columns *at,
                    struct err *err)
{
    for (int i = 0; i < NUMBERS; i++) {
        int64_t *to = (int64_t *)((char *)&row->prices + numbers[i].at);
        if (read_number(csv_text(csv, at->number[i]), numbers[i].money, to, err) != 0)
            return csv_context(csv, at->number[i], err);
    }
    if (row->prices.function_unit_ms == 0)
        return csv_fault(csv, csv_column(csv, "function_unit_ms"), err,
                         "expected a number above 0");
    const char *from = csv_text(csv, at->from);
    if (files_day(from, &row->day, err) != 0)
        return csv_context(csv, at->from, err);
    struct buf source = {0};
    buf_printf(&source, "%s: %s", from, csv_text(csv, at->source));
    TRY(text_take(&row->source, &source, err));
    row->prices.source = row->source;
    row->prices.since = (int)row->day;
    row->prices.disk_stopped_rate = -1;
    return text_set(&row->provider, csv_text(csv, at->provider), err);
}

static int read_file(struct schedulings *s, const char *path, bool own, struct err *err)
{
    struct csv csv;
    struct columns at;
    int rc = csv_open(&csv, path, NULL, err);
    if (rc != 0)
        return rc;
    rc = csv_need(&csv, "provider", &at.provider, err);
    if (rc == 0)
        rc = csv_need(&csv, "from", &at.from, err);
    if (rc == 0)
        rc = csv_need(&csv, "source", &at.source, err);
    for (int i = 0; rc == 0 && i < NUMBERS; i++)
        rc = csv_need(&csv, numbers[i].name, &at.number[i], err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
        struct row *row = LIST_ADD(&s->rows, err);
        rc = row ? read_row(row, &csv, &at, err) : ERR_MEMORY;
        if (row)
            row->own = own;
    }
    csv_release(&csv);
    return rc;
}

int schedulings_open(struct schedulings **out, const char *shipped, const char *own,
                     struct err *err)
{
    struct schedulings *s = calloc(1, sizeof *s);
    struct buf path = {0}, own_path = {0};
    *out = NULL;
    if (!s)
        return err_memory(err);
    int rc = shipped ? 0 : files_shipped("scheduling.csv", &path, err);
    if (rc == 0 && !own)
        rc = files_own("scheduling.csv", &own_path, err);
    own = own ? own : buf_str(&own_path);
    if (rc == 0 && *own && access(own, F_OK) == 0)
        rc = read_file(s, own, true, err);
    if (rc == 0)
        rc = read_file(s, shipped ? shipped : buf_str(&path), false, err);
    buf_release(&path);
    buf_release(&own_path);
    if (rc == 0)
        *out = s;
    else
        schedulings_close(s);
    return rc;
}

void schedulings_close(struct schedulings *s)
{
    for (size_t i = 0; s && i < s->rows.count; i++) {
        free(s->rows.items[i].provider);
        free(s->rows.items[i].source);
    }
    if (s)
        free(s->rows.items);
    free(s);
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
