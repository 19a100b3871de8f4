// SPDX-License-Identifier: Apache-2.0
#include "price/scheduling.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"
#include "base/tree.h"
#include "price/files.h"

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

struct search {
    const char *provider;
    int64_t day, best;
    bool found;
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

static int read_row(struct scheduling *row, const struct csv *csv, const struct columns *at,
                    struct err *err)
{
    for (int i = 0; i < NUMBERS; i++) {
        int64_t *to = (int64_t *)((char *)row + numbers[i].at);
        if (read_number(csv_text(csv, at->number[i]), numbers[i].money, to, err) != 0)
            return csv_context(csv, at->number[i], err);
    }
    if (row->function_unit_ms == 0)
        return csv_fault(csv, csv_column(csv, "function_unit_ms"), err,
                         "expected a number above 0");
    return 0;
}

static int consider_row(struct scheduling *out, const struct csv *csv, const struct columns *at,
                        struct search *search, struct err *err)
{
    struct scheduling row = {0};
    int64_t day = 0;
    const char *from = csv_text(csv, at->from);
    TRY(read_row(&row, csv, at, err));
    if (files_day(from, &day, err) != 0)
        TRY(csv_context(csv, at->from, err));
    if (strcmp(csv_text(csv, at->provider), search->provider) != 0 ||
        (search->found && !files_applies(day, search->best, search->day)))
        return 0;
    struct buf source = {0};
    buf_printf(&source, "%s: %s", from, csv_text(csv, at->source));
    row.source = buf_take(&source, err);
    if (!row.source)
        return ERR_MEMORY;
    row.since = (int)day;
    scheduling_release(out);
    *out = row;
    search->found = true;
    search->best = day;
    return 0;
}

static int read_file(struct scheduling *out, const char *path, struct search *search,
                     struct err *err)
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
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = consider_row(out, &csv, &at, search, err);
    csv_release(&csv);
    return rc;
}

int scheduling_find(struct scheduling *out, const char *shipped, const char *own,
                    const char *provider, int day, struct err *err)
{
    struct buf path = {0}, own_path = {0};
    struct search search = {.provider = provider, .day = day != 0 ? day : clock_date_s() / 86400};
    memset(out, 0, sizeof *out);
    for (int i = 0; i < NUMBERS; i++)
        *(int64_t *)((char *)out + numbers[i].at) = -1;
    int rc = 0;
    if (!shipped)
        rc = files_shipped("scheduling.csv", &path, err);
    if (rc == 0 && !own)
        rc = files_own("scheduling.csv", &own_path, err);
    own = own ? own : buf_str(&own_path);
    if (rc == 0 && *own && access(own, F_OK) == 0)
        rc = read_file(out, own, &search, err);
    if (rc == 0 && !search.found)
        rc = read_file(out, shipped ? shipped : buf_str(&path), &search, err);
    buf_release(&path);
    buf_release(&own_path);
    if (rc != 0)
        scheduling_release(out);
    return rc;
}

void scheduling_release(struct scheduling *scheduling)
{
    free(scheduling->source);
    scheduling->source = NULL;
}
