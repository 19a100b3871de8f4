// SPDX-License-Identifier: Apache-2.0
// A comparison's rows, and running runs, in OpenMetrics' text format: one family per figure.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/spending.h"
#include "view/tables.h"

// How the rows of one series make its value: a mean over their runs, or the widest interval.
enum join { JOIN_MEAN, JOIN_LEAST, JOIN_MOST, JOIN_SUM };

static const struct family {
    const char *name, *unit, *help;
    enum join join;
} families[] = {
    {"fare_training_time_seconds", "seconds", "Time of the whole training.", JOIN_MEAN},
    {"fare_training_time_low_seconds", "seconds", "Lower end of its 95 % interval.", JOIN_LEAST},
    {"fare_training_time_high_seconds", "seconds", "Upper end of its 95 % interval.", JOIN_MOST},
    {"fare_training_cost_usd", "usd", "Cost of the whole training, without tax.", JOIN_MEAN},
    {"fare_training_cost_low_usd", "usd", "Lower end of its 95 % interval.", JOIN_LEAST},
    {"fare_training_cost_high_usd", "usd", "Upper end of its 95 % interval.", JOIN_MOST},
    {"fare_training_accuracy_ratio", "ratio", "Test accuracy, 0 to 1.", JOIN_MEAN},
    {"fare_training_gpu_use_ratio", "ratio", "Mean GPU utilisation during training.", JOIN_MEAN},
    {"fare_training_runs", NULL, "Runs behind the figures.", JOIN_SUM},
};
enum { FAMILIES = sizeof families / sizeof *families, RUNS = FAMILIES - 1 };

// The figures of a row, by family.
static void figures_of(const struct compare_row *row, struct maybe_real out[FAMILIES])
{
    const struct maybe_real unknown = {0}, use = row->gpu_percent.value;
    const struct maybe_real all[] = {
        row->time_s.value,
        row->time_s.low,
        row->time_s.high,
        row->cost.lower_bound.v ? unknown : money_real(row->cost.usd), // the format has no ≥
        money_real(row->cost.low_usd),
        money_real(row->cost.high_usd),
        row->accuracy.value,
        use.known ? some_real(use.v / 100) : unknown,
        row->runs.known ? some_real((double)row->runs.v) : unknown,
    };
    _Static_assert(sizeof all / sizeof *all == FAMILIES, "a figure for each family");
    memcpy(out, all, sizeof all);
}

// A label after others, if it is not the first.
static void add_label(struct buf *out, bool first, const char *name, const char *value)
{
    buf_printf(out, "%s%s=\"", first ? "" : ",", name);
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

struct metrics_collecting {
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

static void collect(struct metrics_collecting *c, const char *name, const struct compare_row *row,
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
    struct maybe_real values[FAMILIES];
    figures_of(row, values);
    for (size_t f = 0; f < FAMILIES; f++)
        if (values[f].known && isfinite(values[f].v))
            join_figure(&s->figures[f], families[f].join, values[f].v,
                        row->runs.known && row->runs.v > 0 ? (double)row->runs.v : 1);
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
static size_t choose_series(struct metrics_collecting *c, double *others)
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
    for (size_t i = 0; i < LABELS; i++)
        add_label(out, i == 0, label_names[i], labels[i]);
    buf_printf(out, "} %.12g\n", value);
}

void page_openmetrics(struct buf *out, const struct page *page)
{
    static const char *const other_labels[LABELS] = {"(others)"};
    struct metrics_collecting c = {0};
    double others = 0;
    for (size_t i = 0; i < page->compare.workloads.count; i++) {
        const struct compare_workload *w = &page->compare.workloads.items[i];
        const char *name = w->name ? w->name : w->workload;
        for (size_t k = 0; k < w->rows.count; k++)
            collect(&c, name, &w->rows.items[k], w->rows.items[k].base.known ? "base" : "row");
        for (size_t k = 0; k < w->apart.count; k++)
            collect(&c, name, &w->apart.items[k], "apart");
    }
    size_t count = c.failed ? 0 : choose_series(&c, &others);
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

static const struct {
    const char *name, *unit, *help;
} running[] = {
    {"fare_running_time_seconds", "seconds", "Time since the start of a running run."},
    {"fare_running_progress_ratio", "ratio", "Its progress, 0 to 1."},
    {"fare_running_left_seconds", "seconds", "Estimated time until its end."},
    {"fare_running_cost_usd", "usd", "Its cost so far, without tax."},
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
            const struct maybe_real values[] = {run->live.elapsed_s, run->live.share,
                                                run->live.left_s, money_real(run->live.bill_usd)};
            _Static_assert(sizeof values / sizeof *values == sizeof running / sizeof *running,
                           "a figure for each");
            struct maybe_real value = values[f];
            if (!value.known || !isfinite(value.v))
                continue;
            buf_printf(out, "%s{", running[f].name);
            add_label(out, true, "run", run->id);
            add_label(out, false, "name", run->name ? run->name : run->workload);
            add_label(out, false, "workload", run->workload);
            add_label(out, false, "machine", run_place(run));
            add_label(out, false, "framework", run->framework);
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
    add_label(out, true, "project", project);
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
        buf_adds(out, "fare_budget_spent_ratio{");
        add_label(out, true, "kind", b->kind);
        add_label(out, false, "name", b->name);
        add_label(out, false, "period", b->period);
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
