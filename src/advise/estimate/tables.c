// SPDX-License-Identifier: Apache-2.0
#include "advise/estimate/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/money.h"
#include "tables/files.h"

enum { MOST_ROWS = 4096, MOST_COLUMNS = 16 };

struct column {
    const char *name;
    size_t at;
    bool text;
    bool may_be_empty;  // a number is then -1
    double least, most; // numbers
};

#define TEXT(type, member, title)                                                                  \
    {                                                                                              \
        .name = title, .at = offsetof(struct type, member), .text = true                           \
    }
#define NUMBER(type, member, title, from, to)                                                      \
    {                                                                                              \
        .name = title, .at = offsetof(struct type, member), .least = from, .most = to              \
    }

static const struct column model_columns[] = {
    TEXT(estimate_model, kind, "kind"),
    NUMBER(estimate_model, matrix, "matrix", 1e-9, 1e9),
    NUMBER(estimate_model, memory, "memory", 0, 1e9),
    NUMBER(estimate_model, units, "units", 0, 1e9),
    NUMBER(estimate_model, clock_power, "clock_power", -4, 4),
    NUMBER(estimate_model, matrix_unit_efficiency, "matrix_unit_efficiency", 0.01, 4),
    {0}};
static const struct column pattern_columns[] = {
    TEXT(estimate_pattern, pattern, "pattern"), TEXT(estimate_pattern, kind, "kind"), {0}};
static const struct column bound_columns[] = {
    TEXT(estimate_bound, bound, "bound"),
    {"busy_from", offsetof(struct estimate_bound, busy_from), false, true, 0, 1},
    {"busy_below", offsetof(struct estimate_bound, busy_below), false, true, 0, 1},
    NUMBER(estimate_bound, power, "power", 0, 2),
    {0}};
static const struct column class_columns[] = {TEXT(estimate_powers, name, "class"),
                                              NUMBER(estimate_powers, matrix, "matrix", 0, 2),
                                              NUMBER(estimate_powers, memory, "memory", 0, 2),
                                              NUMBER(estimate_powers, units, "units", 0, 2),
                                              {0}};
static const struct column error_columns[] = {
    TEXT(estimate_errors, relation, "relation"),
    TEXT(estimate_errors, bound, "bound"),
    TEXT(estimate_errors, scale, "scale"),
    TEXT(estimate_errors, trace, "trace"),
    TEXT(estimate_errors, kind, "kind"),
    NUMBER(estimate_errors, median_percent, "median_percent", 0, 1e6),
    NUMBER(estimate_errors, p90_percent, "p90_percent", 0, 1e6),
    NUMBER(estimate_errors, factor[ESTIMATE_50], "factor50", 1, 1e6),
    NUMBER(estimate_errors, factor[ESTIMATE_80], "factor80", 1, 1e6),
    NUMBER(estimate_errors, factor[ESTIMATE_90], "factor90", 1, 1e6),
    NUMBER(estimate_errors, factor[ESTIMATE_95], "factor95", 1, 1e6),
    NUMBER(estimate_errors, pairs, "pairs", 0, 1e9),
    TEXT(estimate_errors, sources, "sources"),
    {"borrowed", offsetof(struct estimate_errors, borrowed), true, true, 0, 0},
    {0}};
static const struct column scaling_columns[] = {
    TEXT(estimate_scaling, link, "link"),
    TEXT(estimate_scaling, bound, "bound"),
    TEXT(estimate_scaling, parameters, "parameters"),
    NUMBER(estimate_scaling, gpus, "gpus", 2, 1e6),
    NUMBER(estimate_scaling, median, "median", 0.001, 4),
    NUMBER(estimate_scaling, low, "low90", 0.001, 4),
    NUMBER(estimate_scaling, high, "high90", 0.001, 4),
    NUMBER(estimate_scaling, rows, "rows", 0, 1e9),
    {0}};
static const struct column launch_columns[] = {
    TEXT(estimate_launches, framework, "framework"),
    TEXT(estimate_launches, net, "net"),
    NUMBER(estimate_launches, launches, "launches", 0, 1e6),
    NUMBER(estimate_launches, launch_us, "launch_us", 0, 1e6),
    NUMBER(estimate_launches, step_us, "step_us", 0, 1e9),
    {0}};
static const struct column constant_columns[] = {
    TEXT(estimate_constant, name, "name"), NUMBER(estimate_constant, value, "value", 0, 1e9), {0}};

static const char *check_pattern(const struct estimate_tables *tables, const void *row)
{
    const struct estimate_pattern *p = row;
    return estimate_model(tables, p->kind) ? NULL : "no such kind in model.csv";
}

static const char *check_errors(const struct estimate_tables *tables, const void *row)
{
    const struct estimate_errors *e = row;
    (void)tables;
    for (size_t i = 1; i < ESTIMATE_LEVELS; i++)
        if (e->factor[i] < e->factor[i - 1])
            return "expected factors in ascending order";
    return NULL;
}

static const char *check_scaling(const struct estimate_tables *tables, const void *row)
{
    const struct estimate_scaling *s = row;
    (void)tables;
    return s->low <= s->median && s->median <= s->high ? NULL
                                                       : "expected low90, median and high90 in "
                                                         "ascending order";
}

static const struct file {
    const char *name;
    const struct column *columns;
    size_t list, size;
    const char *(*check)(const struct estimate_tables *tables, const void *row); // (optional)
} files[] = {
#define FILE_OF(name, columns, list, check)                                                        \
    {                                                                                              \
        "estimate/" name ".csv", columns, offsetof(struct estimate_tables, list),                  \
            sizeof *((struct estimate_tables *)0)->list.items, check                               \
    }
    FILE_OF("model", model_columns, models, NULL), // before kinds, which it checks
    FILE_OF("kinds", pattern_columns, patterns, check_pattern),
    FILE_OF("bounds", bound_columns, bounds, NULL),
    FILE_OF("classes", class_columns, classes, NULL),
    FILE_OF("errors", error_columns, errors, check_errors),
    FILE_OF("scaling", scaling_columns, scalings, check_scaling),
    FILE_OF("launches", launch_columns, launches, NULL),
    FILE_OF("constants", constant_columns, constants, NULL),
#undef FILE_OF
};
enum { FILES = sizeof files / sizeof *files };

static char **text_at(void *row, const struct column *c)
{
    return (char **)(void *)((char *)row + c->at);
}

static int read_number(const struct csv *csv, int at, const struct column *c, double *out,
                       struct err *err)
{
    const char *text = csv_text(csv, at);
    int64_t nano;
    *out = -1;
    if (c->may_be_empty && *text == '\0')
        return 0;
    if (money_parse(text, &nano, err) != 0)
        return csv_context(csv, at, err);
    double value = (double)nano / (double)MONEY_UNIT;
    if (value < c->least || value > c->most)
        return csv_fault(csv, at, err, "'%.40s' is out of range: expected %g to %g", text, c->least,
                         c->most);
    *out = value;
    return 0;
}

static int read_row(const struct csv *csv, const int *at, const struct file *file,
                    struct estimate_tables *tables, void *row, struct err *err)
{
    for (size_t i = 0; file->columns[i].name; i++) {
        const struct column *c = &file->columns[i];
        if (!c->text) {
            double *number = (double *)(void *)((char *)row + c->at);
            TRY(read_number(csv, at[i], c, number, err));
        } else if (*csv_text(csv, at[i]) != '\0') {
            TRY(text_set(text_at(row, c), csv_text(csv, at[i]), err));
        }
        if (c->text && !c->may_be_empty && !*text_at(row, c))
            return csv_fault(csv, at[i], err, "expected a word");
    }
    const char *fault = file->check ? file->check(tables, row) : NULL;
    return fault ? csv_fault(csv, -1, err, "%s", fault) : 0;
}

static int read_file(struct estimate_tables *tables, const struct file *file, const char *path,
                     struct err *err)
{
    const char *names[MOST_COLUMNS];
    int at[MOST_COLUMNS] = {0};
    size_t count = 0;
    struct csv csv;
    struct list *list = (struct list *)(void *)((char *)tables + file->list);
    for (; file->columns[count].name; count++)
        names[count] = file->columns[count].name;
    TRY(csv_open(&csv, path, NULL, err));
    int rc = csv_find(&csv, names, count, count, at, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
        void *row = list->count < MOST_ROWS ? list_add(list, file->size, err) : NULL;
        if (row)
            rc = read_row(&csv, at, file, tables, row, err);
        else
            rc = list->count < MOST_ROWS ? ERR_MEMORY
                                         : csv_fault(&csv, -1, err, "more than %d rows", MOST_ROWS);
    }
    csv_release(&csv);
    return rc;
}

static int read_both(struct estimate_tables *tables, const struct file *file, struct err *err)
{
    struct buf shipped = {0}, own = {0};
    int rc = files_shipped(file->name, &shipped, err);
    if (rc == 0)
        rc = files_own(file->name, &own, err);
    if (rc == 0 && own.len > 0 && access(buf_str(&own), F_OK) == 0)
        rc = read_file(tables, file, buf_str(&own), err);
    if (rc == 0)
        rc = read_file(tables, file, buf_str(&shipped), err);
    buf_release(&shipped);
    buf_release(&own);
    return rc;
}

int estimate_tables_open(struct estimate_tables **out, struct err *err)
{
    struct estimate_tables *tables = calloc(1, sizeof *tables);
    *out = NULL;
    int rc = tables ? 0 : err_memory(err);
    for (size_t i = 0; i < FILES && rc == 0; i++)
        rc = read_both(tables, &files[i], err);
    if (rc == 0 && !estimate_model(tables, "unknown"))
        rc = err_set(err, ERR_FORMAT, "estimate/model.csv: expected a row of kind 'unknown'");
    if (rc == 0)
        *out = tables;
    else
        estimate_tables_close(tables);
    return rc;
}

void estimate_tables_close(struct estimate_tables *tables)
{
    for (size_t f = 0; tables && f < FILES; f++) {
        struct list *list = (struct list *)(void *)((char *)tables + files[f].list);
        for (size_t i = 0; i < list->count; i++)
            for (const struct column *c = files[f].columns; c->name; c++)
                if (c->text)
                    free(*text_at((char *)list->items + i * files[f].size, c));
        free(list->items);
    }
    free(tables);
}

const struct estimate_model *estimate_model(const struct estimate_tables *tables, const char *kind)
{
    for (size_t i = 0; i < tables->models.count; i++)
        if (strcmp(tables->models.items[i].kind, kind) == 0)
            return &tables->models.items[i];
    return NULL;
}

const struct estimate_bound *estimate_bound(const struct estimate_tables *tables, double busy)
{
    for (size_t i = 0; i < tables->bounds.count; i++) {
        const struct estimate_bound *b = &tables->bounds.items[i];
        bool unknown = b->busy_from < 0;
        if (busy >= 0
                ? !unknown && busy >= b->busy_from && (b->busy_below < 0 || busy < b->busy_below)
                : unknown)
            return b;
    }
    return NULL;
}

const struct estimate_powers *estimate_powers(const struct estimate_tables *tables,
                                              const char *name)
{
    for (size_t i = 0; i < tables->classes.count; i++)
        if (strcmp(tables->classes.items[i].name, name) == 0)
            return &tables->classes.items[i];
    return NULL;
}

const struct estimate_errors *estimate_errors(const struct estimate_tables *tables,
                                              const struct estimate_class *class)
{
    for (size_t i = 0; i < tables->errors.count; i++) {
        const struct estimate_errors *e = &tables->errors.items[i];
        if (strcmp(e->relation, class->relation) == 0 && strcmp(e->bound, class->bound) == 0 &&
            strcmp(e->scale, class->scale) == 0 && strcmp(e->trace, class->trace) == 0 &&
            strcmp(e->kind, class->kind) == 0)
            return e;
    }
    return NULL;
}

const struct estimate_launches *estimate_launches(const struct estimate_tables *tables,
                                                  const char *framework, const char *net)
{
    for (size_t i = 0; i < tables->launches.count; i++) {
        const struct estimate_launches *l = &tables->launches.items[i];
        if (strcmp(l->framework, framework) == 0 && strcmp(l->net, net) == 0)
            return l;
    }
    return NULL;
}

const struct estimate_constant *estimate_constant(const struct estimate_tables *tables,
                                                  const char *name)
{
    for (size_t i = 0; i < tables->constants.count; i++)
        if (strcmp(tables->constants.items[i].name, name) == 0)
            return &tables->constants.items[i];
    return NULL;
}

const char *estimate_kind_of(const struct estimate_tables *tables, const char *text)
{
    for (size_t i = 0; text && i < tables->patterns.count; i++)
        if (strcasestr(text, tables->patterns.items[i].pattern))
            return tables->patterns.items[i].kind;
    return NULL;
}
