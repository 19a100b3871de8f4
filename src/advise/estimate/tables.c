// SPDX-License-Identifier: Apache-2.0
#include "advise/estimate/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tables/columns.h"

#define TEXT(type, member, title)                                                                  \
    {                                                                                              \
        title, COLUMN_TEXT, offsetof(struct type, member)                                          \
    }
#define NUMBER(type, member, title, from, to)                                                      \
    {                                                                                              \
        .name = title, .kind = COLUMN_REAL, .at = offsetof(struct type, member), .least = from,    \
        .most = to                                                                                 \
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
    {"busy_from", COLUMN_REAL, offsetof(struct estimate_bound, busy_from), COLUMN_EMPTY, NULL, 0, 1,
     -1},
    {"busy_below", COLUMN_REAL, offsetof(struct estimate_bound, busy_below), COLUMN_EMPTY, NULL, 0,
     1, -1},
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
    {"borrowed", COLUMN_TEXT, offsetof(struct estimate_errors, borrowed), COLUMN_EMPTY},
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

static int check_pattern(const struct columns_row *at, void *row, struct err *err)
{
    const struct estimate_pattern *p = row;
    return estimate_model(at->arg, p->kind)
               ? 0
               : columns_fault(at, "kind", err, "no such kind in model.csv");
}

static int check_errors(const struct columns_row *at, void *row, struct err *err)
{
    const struct estimate_errors *e = row;
    for (size_t i = 1; i < ESTIMATE_LEVELS; i++)
        if (e->factor[i] < e->factor[i - 1])
            return columns_fault(at, NULL, err, "expected factors in ascending order");
    return 0;
}

static int check_scaling(const struct columns_row *at, void *row, struct err *err)
{
    const struct estimate_scaling *s = row;
    return s->low <= s->median && s->median <= s->high
               ? 0
               : columns_fault(at, NULL, err,
                               "expected low90, median and high90 in ascending order");
}

static const struct file {
    const char *name;
    struct columns columns;
    size_t list;
} files[] = {
#define FILE_OF(name, columns, list, check)                                                        \
    {                                                                                              \
        "estimate/" name ".csv",                                                                   \
            {columns, sizeof *((struct estimate_tables *)0)->list.items, false, check},            \
            offsetof(struct estimate_tables, list)                                                 \
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

int estimate_tables_open(struct estimate_tables **out, struct err *err)
{
    struct estimate_tables *tables = calloc(1, sizeof *tables);
    *out = NULL;
    int rc = tables ? 0 : err_memory(err);
    for (size_t i = 0; i < FILES && rc == 0; i++)
        rc = columns_both(&files[i].columns, files[i].name, files[i].name,
                          (char *)tables + files[i].list, tables, err);
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
    for (size_t f = 0; tables && f < FILES; f++)
        columns_release(&files[f].columns, (char *)tables + files[f].list);
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
