// SPDX-License-Identifier: Apache-2.0
// A comparison's rows, and running runs, in OpenMetrics' text format: one family per figure.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/money.h"
#include "view/spending.h"
#include "view/tables.h"

typedef struct maybe_real figure_fn(const struct compare_row *row);

static struct maybe_real time_of(const struct compare_row *row)
{
    return row->time_s.value;
}
static struct maybe_real time_low(const struct compare_row *row)
{
    return row->time_s.low;
}
static struct maybe_real time_high(const struct compare_row *row)
{
    return row->time_s.high;
}
static struct maybe_real cost_of(const struct compare_row *row)
{
    return row->cost.lower_bound.v ? (struct maybe_real){0} : money_real(row->cost.usd); // has no ≥
}
static struct maybe_real cost_low(const struct compare_row *row)
{
    return money_real(row->cost.low_usd);
}
static struct maybe_real cost_high(const struct compare_row *row)
{
    return money_real(row->cost.high_usd);
}
static struct maybe_real accuracy_of(const struct compare_row *row)
{
    return row->accuracy.value;
}
static struct maybe_real gpu_use(const struct compare_row *row)
{
    struct maybe_real percent = row->gpu_percent.value;
    return percent.known ? some_real(percent.v / 100) : percent;
}
static struct maybe_real runs_of(const struct compare_row *row)
{
    return row->runs.known ? some_real((double)row->runs.v) : (struct maybe_real){0};
}

// How the rows of one series make its value: a mean over their runs, or the widest interval.
enum join { JOIN_MEAN, JOIN_LEAST, JOIN_MOST, JOIN_SUM };

static const struct family {
    const char *name, *unit, *help;
    figure_fn *figure;
    enum join join;
} families[] = {
    {"fare_training_time_seconds", "seconds", "Time of the whole training.", time_of, JOIN_MEAN},
    {"fare_training_time_low_seconds", "seconds", "Lower end of its 95 % interval.", time_low,
     JOIN_LEAST},
    {"fare_training_time_high_seconds", "seconds", "Upper end of its 95 % interval.", time_high,
     JOIN_MOST},
    {"fare_training_cost_usd", "usd", "Cost of the whole training, without tax.", cost_of,
     JOIN_MEAN},
    {"fare_training_cost_low_usd", "usd", "Lower end of its 95 % interval.", cost_low, JOIN_LEAST},
    {"fare_training_cost_high_usd", "usd", "Upper end of its 95 % interval.", cost_high, JOIN_MOST},
    {"fare_training_accuracy_ratio", "ratio", "Test accuracy, 0 to 1.", accuracy_of, JOIN_MEAN},
    {"fare_training_gpu_use_ratio", "ratio", "Mean GPU utilisation during training.", gpu_use,
     JOIN_MEAN},
    {"fare_training_runs", NULL, "Runs behind the figures.", runs_of, JOIN_SUM},
};
enum { FAMILIES = sizeof families / sizeof *families, RUNS = FAMILIES - 1 };

static void add_label(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s=\"", name);
    for (; value && *value; value++) {
        if (*value == '\\' || *value == '"')
            buf_addc(out, '\\');
        if (*value == '\n')
            buf_adds(out, "\\n");
        else
            buf_addc(out, *value);
    }
    buf_addc(out, '"');
}

static void begin_family(struct buf *out, const char *name, const char *unit, const char *help)
{
    buf_printf(out, "# TYPE %s gauge\n", name);
    if (unit)
        buf_printf(out, "# UNIT %s %s\n", name, unit);
    buf_printf(out, "# HELP %s %s\n", name, help);
}

#define END "# EOF\n"

// ---- series

// So many rows at most become series of their own, those with the most runs: labels hold names that
// people choose. Of the others only the runs are counted.
enum { SERIES_MOST = 500, LABELS = 6 };

static const char *const label_names[LABELS] = {"workload", "machine", "framework",
                                                "detail",   "kind",    "role"};

// Rows with the same labels: commands that differ only in their arguments are one.
struct metric_series {
    const char *labels[LABELS]; // of the page
    struct metric_figure {
        double value, weight; // no weight: unknown
    } figures[FAMILIES];
    size_t number;
};

struct collecting {
    struct index index;
    struct metric_series *series;
    size_t space;
    bool failed;
};

static void join_figure(struct metric_figure *to, enum join join, double value, double runs)
{
    if (to->weight == 0)
        *to = (struct metric_figure){value, runs};
    else if (join == JOIN_LEAST)
        to->value = fmin(to->value, value);
    else if (join == JOIN_MOST)
        to->value = fmax(to->value, value);
    else if (join == JOIN_SUM)
        to->value += value;
    else {
        to->weight += runs;
        to->value += (value - to->value) * (runs / to->weight);
    }
}

static void collect(struct collecting *c, const char *name, const struct compare_row *row,
                    const char *role)
{
    const char *const labels[LABELS] = {name,        row->machine, row->framework,
                                        row->detail, row->kind,    role};
    struct buf key = {0};
    size_t number = 0, before = c->index.count;
    for (size_t i = 0; i < LABELS; i++)
        buf_printf(&key, "%s\x1f", labels[i] ? labels[i] : "");
    c->failed |= key.failed ||
                 array_grow(&c->series, before, &c->space, sizeof *c->series, NULL) != 0 ||
                 index_number(&c->index, buf_str(&key), key.len, &number, NULL) != 0;
    buf_release(&key);
    if (c->failed)
        return;
    struct metric_series *s = &c->series[number];
    if (number == before) {
        *s = (struct metric_series){.number = number};
        memcpy(s->labels, labels, sizeof labels);
    }
    for (size_t f = 0; f < FAMILIES; f++) {
        struct maybe_real value = families[f].figure(row);
        if (value.known && isfinite(value.v))
            join_figure(&s->figures[f], families[f].join, value.v,
                        row->runs.known && row->runs.v > 0 ? (double)row->runs.v : 1);
    }
}

static int by_runs(const void *a_, const void *b_)
{
    const struct metric_series *a = a_, *b = b_;
    double x = a->figures[RUNS].value, y = b->figures[RUNS].value;
    return x != y ? (x < y ? 1 : -1) : a->number < b->number ? -1 : 1;
}

static int by_number(const void *a_, const void *b_)
{
    const struct metric_series *a = a_, *b = b_;
    return a->number < b->number ? -1 : 1;
}

// The first of them stay; the others' runs are added up. Gives how many stay.
static size_t choose(struct collecting *c, double *others)
{
    size_t count = c->index.count;
    if (count <= SERIES_MOST)
        return count;
    qsort(c->series, count, sizeof *c->series, by_runs);
    for (size_t i = SERIES_MOST; i < count; i++)
        *others += c->series[i].figures[RUNS].value;
    qsort(c->series, SERIES_MOST, sizeof *c->series, by_number);
    return SERIES_MOST;
}

static void add_sample(struct buf *out, const char *name, const char *const labels[LABELS],
                       double value)
{
    buf_printf(out, "%s{", name);
    for (size_t i = 0; i < LABELS; i++) {
        buf_adds(out, i ? "," : "");
        add_label(out, label_names[i], labels[i]);
    }
    buf_printf(out, "} %.12g\n", value);
}

void page_openmetrics(struct buf *out, const struct page *page)
{
    static const char *const other_labels[LABELS] = {"(others)"};
    struct collecting c = {0};
    double others = 0;
    for (size_t i = 0; i < page->compare.workloads.count; i++) {
        const struct compare_workload *w = &page->compare.workloads.items[i];
        const char *name = w->name ? w->name : w->workload;
        for (size_t k = 0; k < w->rows.count; k++)
            collect(&c, name, &w->rows.items[k], w->rows.items[k].base.known ? "base" : "row");
        for (size_t k = 0; k < w->apart.count; k++)
            collect(&c, name, &w->apart.items[k], "apart");
    }
    size_t count = c.failed ? 0 : choose(&c, &others);
    for (size_t f = 0; f < FAMILIES; f++) {
        begin_family(out, families[f].name, families[f].unit, families[f].help);
        for (size_t i = 0; i < count; i++)
            if (c.series[i].figures[f].weight > 0)
                add_sample(out, families[f].name, c.series[i].labels, c.series[i].figures[f].value);
        if (f == RUNS && others > 0)
            add_sample(out, families[f].name, other_labels, others);
    }
    buf_adds(out, END);
    out->failed |= c.failed;
    index_release(&c.index);
    free(c.series);
}

// ---- running runs

static struct maybe_real elapsed_of(const struct run *run)
{
    return run->live.elapsed_s;
}
static struct maybe_real done_of(const struct run *run)
{
    return run->live.share;
}
static struct maybe_real left_of(const struct run *run)
{
    return run->live.left_s;
}
static struct maybe_real bill_of(const struct run *run)
{
    return money_real(run->live.bill_usd);
}

static const struct {
    const char *name, *unit, *help;
    struct maybe_real (*figure)(const struct run *run);
} running[] = {
    {"fare_running_time_seconds", "seconds", "Time since the start of a running run.", elapsed_of},
    {"fare_running_progress_ratio", "ratio", "Its progress, 0 to 1.", done_of},
    {"fare_running_left_seconds", "seconds", "Estimated time until its end.", left_of},
    {"fare_running_cost_usd", "usd", "Its cost so far, without tax.", bill_of},
};

enum { RUNNING_MOST = 100 }; // with figures; all are counted

void running_openmetrics(struct buf *out, const struct run *runs, size_t count)
{
    if (out->len >= strlen(END))
        out->data[out->len -= strlen(END)] = '\0';
    begin_family(out, "fare_running_runs", NULL, "Runs in progress on this machine.");
    buf_printf(out, "fare_running_runs %zu\n", count);
    for (size_t f = 0; count > 0 && f < sizeof running / sizeof *running; f++) {
        begin_family(out, running[f].name, running[f].unit, running[f].help);
        for (size_t i = 0; i < count && i < RUNNING_MOST; i++) {
            const struct run *run = &runs[i];
            struct maybe_real value = running[f].figure(run);
            if (!value.known || !isfinite(value.v))
                continue;
            const char *const labels[][2] = {{"run", run->id},
                                             {"name", run->name ? run->name : run->workload},
                                             {"workload", run->workload},
                                             {"machine", run_place(run)},
                                             {"framework", run->framework}};
            buf_printf(out, "%s{", running[f].name);
            for (size_t k = 0; k < sizeof labels / sizeof *labels; k++) {
                buf_adds(out, k ? "," : "");
                add_label(out, labels[k][0], labels[k][1]);
            }
            buf_printf(out, "} %.12g\n", value.v);
        }
    }
    buf_adds(out, END);
}

// ---- a team's ledger

enum { PROJECTS_MOST = 50 }; // so that a label has few values; the rest is one

static void add_gauge(struct buf *out, const char *name, const char *help, int64_t value)
{
    begin_family(out, name, NULL, help);
    buf_printf(out, "%s %lld\n", name, (long long)value);
}

static void add_spend(struct buf *out, const char *project, double usd_)
{
    buf_adds(out, "fare_month_cost_usd{");
    add_label(out, "project", project);
    buf_printf(out, "} %.12g\n", usd_);
}

static void add_budgets(struct buf *out, const struct budgets *budgets)
{
    if (budgets->budgets.count == 0)
        return;
    begin_family(out, "fare_budget_spent_ratio", "ratio",
                 "Share of a budget that is spent in its current period.");
    for (size_t i = 0; i < budgets->budgets.count && i < PROJECTS_MOST; i++) {
        const struct budget_state *b = &budgets->budgets.items[i];
        const char *const labels[][2] = {
            {"kind", b->kind}, {"name", b->name}, {"period", b->period}};
        buf_adds(out, "fare_budget_spent_ratio{");
        for (size_t k = 0; k < sizeof labels / sizeof *labels; k++) {
            buf_adds(out, k ? "," : "");
            add_label(out, labels[k][0], labels[k][1]);
        }
        buf_printf(out, "} %.12g\n", b->share.v);
    }
}

void spending_openmetrics(struct buf *out, const struct spending *month,
                          const struct spending *hosts, const struct budgets *budgets)
{
    int64_t named = 0;
    double others = 0;
    if (out->len >= strlen(END))
        out->data[out->len -= strlen(END)] = '\0';
    for (size_t i = 0; i < hosts->rows.count; i++)
        named += hosts->rows.items[i].host != NULL;
    add_gauge(out, "fare_month_runs", "Runs that started this month.", month->total.runs.v);
    add_gauge(out, "fare_month_failed_runs", "Of them, those that failed or were killed.",
              month->total.failed.v);
    add_gauge(out, "fare_month_unknown_runs", "Of them, those with an unknown cost.",
              month->total.unknown.v);
    add_gauge(out, "fare_month_out_of_range_runs",
              "Of the unknown ones, those whose recorded cost is out of range.",
              month->total.out_of_range.v);
    add_gauge(out, "fare_month_hosts", "Hosts they ran on.", named);
    begin_family(out, "fare_month_cost_usd", "usd",
                 "Cost of the runs that started this month, as far as known, without tax.");
    for (size_t i = 0; i < month->rows.count; i++) {
        const struct spending_row *row = &month->rows.items[i];
        struct maybe_real cost = money_real(row->usd);
        if (cost.known && i < PROJECTS_MOST)
            add_spend(out, row->project ? row->project : "", cost.v);
        else if (cost.known)
            others += cost.v;
    }
    if (others > 0)
        add_spend(out, "(others)", others);
    add_budgets(out, budgets);
    buf_adds(out, END);
}
