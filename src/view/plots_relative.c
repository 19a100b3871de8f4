// SPDX-License-Identifier: Apache-2.0
// Time and cost relative to the base. A few rows of several workloads stand side by side: a group
// of bars per workload, a colour per row, the geometric mean as the last group. Otherwise each
// workload has a panel, with a bar per row, and the geometric means have the last panel.
#include <stdio.h>
#include <string.h>

#include "advise/compare_estimates.h"
#include "view/draft.h"
#include "render/svg.h" // SVG_COLOURS

static bool same_row(const struct compare_row *a, const struct compare_row *b)
{
    return text_same(a->machine, b->machine) && text_same(a->framework, b->framework) &&
           text_same(a->detail, b->detail);
}

static const struct compare_against *against_of(const struct compare_row *row, bool cost)
{
    return cost ? &row->money : &row->time;
}

static bool is_drawn(const struct compare_workload *w)
{
    return w->rows.count > 1 && w->base;
}

static bool costs_known(const struct compare *c)
{
    for (size_t w = 0; w < c->workloads.count; w++)
        for (size_t i = 0; i < c->workloads.items[w].rows.count; i++)
            if (is_drawn(&c->workloads.items[w]) &&
                c->workloads.items[w].rows.items[i].money.ratio.known)
                return true;
    return false;
}

// The parts of a row's name that differ between the rows of a plot.
struct row_naming {
    bool machine, framework;
};

static void note_parts(struct row_naming *naming, const struct compare_row *a,
                       const struct compare_row *b)
{
    naming->machine |= !text_same(a->machine, b->machine);
    naming->framework |= !text_same(a->framework, b->framework);
}

static struct buf name_of(const struct row_naming *naming, const struct compare_row *row)
{
    struct buf name = {0};
    if (naming->machine && naming->framework) {
        compare_label(row, &name);
        return name;
    }
    buf_adds(&name, naming->framework ? row->framework : row->machine);
    if (row->detail)
        buf_printf(&name, " (%s)", row->detail);
    return name;
}

static void begin_panel(struct draft *d, const char *title, const char *base, const char *axis)
{
    char line[160];
    draft_panel(d, title, "bars", AXIS("", ""), AXIS(axis, "÷ base"));
    snprintf(line, sizeof line, "1 = %.120s", base);
    draft_line(d, line, (struct maybe_real){0}, some_real(1));
}

static const struct page_mean_row *mean_of(const struct page *page, const struct compare_row *row)
{
    SCOPED(buf_release) struct buf name = {0};
    const struct page_mean_row *found = NULL;
    compare_label(row, &name);
    for (size_t i = 0; i < page->means.rows.count && !found; i++)
        if (text_same(page->means.rows.items[i].name, buf_str(&name)))
            found = &page->means.rows.items[i];
    return found;
}

// ---- side by side

struct row_columns {
    const struct compare_row *rows[SVG_COLOURS]; // all but the base, each where it first appears
    size_t count;
    const struct compare_workload *first; // of those drawn
    size_t workloads;
    struct row_naming naming;
    bool fit; // a colour for each, and one base
};

static void add_column(struct row_columns *columns, const struct compare_row *row)
{
    note_parts(&columns->naming, &columns->first->rows.items[0], row);
    if (row->base.v)
        return;
    for (size_t i = 0; i < columns->count; i++)
        if (same_row(columns->rows[i], row))
            return;
    columns->fit = columns->count < SVG_COLOURS;
    if (!columns->fit)
        return;
    size_t at = columns->count; // frameworks of one machine stand beside each other
    for (size_t i = 0; i < columns->count; i++)
        if (text_same(columns->rows[i]->machine, row->machine))
            at = i + 1;
    memmove(&columns->rows[at + 1], &columns->rows[at],
            (columns->count++ - at) * sizeof *columns->rows);
    columns->rows[at] = row;
}

static struct row_columns find_columns(const struct compare *c)
{
    struct row_columns columns = {.fit = true};
    for (size_t w = 0; w < c->workloads.count && columns.fit; w++) {
        const struct compare_workload *workload = &c->workloads.items[w];
        if (!is_drawn(workload))
            continue;
        columns.workloads++;
        columns.first = columns.first ? columns.first : workload;
        columns.fit = text_same(workload->base, columns.first->base);
        for (size_t i = 0; i < workload->rows.count && columns.fit; i++)
            add_column(&columns, &workload->rows.items[i]);
    }
    columns.fit &= columns.workloads > 1;
    return columns;
}

static const struct compare_row *find_row(const struct compare_workload *w,
                                          const struct compare_row *like)
{
    for (size_t i = 0; i < w->rows.count; i++)
        if (same_row(&w->rows.items[i], like))
            return &w->rows.items[i];
    return NULL;
}

static void column_bars(struct draft *d, const struct compare_row *column, bool cost)
{
    const struct compare *c = &d->page->compare;
    for (size_t w = 0; w < c->workloads.count; w++) {
        const struct compare_workload *workload = &c->workloads.items[w];
        if (!is_drawn(workload))
            continue;
        const struct compare_row *row = find_row(workload, column);
        struct plot_point *bar = draft_bar(d, workload->workload, (struct maybe_real){0});
        if (!row)
            continue;
        bar->y = against_of(row, cost)->ratio;
        bar->y_low = against_of(row, cost)->low;
        bar->y_high = against_of(row, cost)->high;
        if (!cost)
            draft_notes(d, bar, row->notes.items, row->notes.count);
    }
    if (d->page->means.rows.count == 0)
        return;
    const struct page_mean_row *row = mean_of(d->page, column);
    struct page_mean mean = row ? cost ? row->cost : row->time : (struct page_mean){0};
    struct plot_point *bar = draft_bar(d, "geometric mean", mean.ratio);
    bar->y_low = mean.low;
    bar->y_high = mean.high;
    bar->marked = some_bool(true);
}

static void columns_panel(struct draft *d, const struct row_columns *columns, bool cost)
{
    begin_panel(d, cost ? "Cost" : "Time", columns->first->base,
                cost ? "cost relative to the base" : "time relative to the base");
    if (d->page->means.rows.count > 0)
        draft_print(d, &d->panel->marks, "over %zu workloads", d->page->means.workloads.count);
    for (size_t i = 0; i < columns->count; i++) {
        struct buf name = name_of(&columns->naming, columns->rows[i]);
        draft_series(d, NULL);
        draft_take(d, &d->series->name, &name);
        column_bars(d, columns->rows[i], cost);
    }
}

// ---- a panel for each workload

static void workload_bars(struct draft *d, const struct compare_workload *w,
                          const struct row_naming *naming, bool cost)
{
    draft_series(d, cost ? "cost" : "time");
    for (size_t i = 0; i < w->rows.count; i++) {
        const struct compare_row *row = &w->rows.items[i];
        const struct compare_against *against = against_of(row, cost);
        struct buf name = name_of(naming, row);
        struct plot_point *bar = draft_bar(d, NULL, row->base.v ? some_real(1) : against->ratio);
        draft_take(d, &bar->label, &name);
        if (row->base.v) {
            bar->marked = some_bool(true);
        } else {
            bar->y_low = against->low;
            bar->y_high = against->high;
        }
        if (compare_estimated(row))
            bar->estimated = some_bool(true);
        if (!cost)
            draft_notes(d, bar, row->notes.items, row->notes.count);
    }
}

static void workload_panel(struct draft *d, const struct compare_workload *w)
{
    char title[160];
    struct row_naming naming = {0};
    bool costs = false;
    const char *framework = w->rows.items[0].framework;
    for (size_t i = 0; i < w->rows.count; i++) {
        note_parts(&naming, &w->rows.items[0], &w->rows.items[i]);
        costs |= w->rows.items[i].money.ratio.known;
    }
    bool one = !naming.framework && strcmp(framework, "-") != 0;
    snprintf(title, sizeof title, "%.70s%s%.70s", w->workload, one ? ", " : "",
             one ? framework : "");
    // A single kind of bar needs no legend.
    begin_panel(d, title, w->base, costs ? "relative to the base" : "time relative to the base");
    draft_set(d, &d->panel->marks, "the base");
    workload_bars(d, w, &naming, false);
    if (costs)
        workload_bars(d, w, &naming, true);
    result_relative(d);
}

static void mean_bars(struct draft *d, bool cost)
{
    draft_series(d, cost ? "cost" : "time");
    for (size_t i = 0; i < d->page->means.rows.count; i++) {
        const struct page_mean_row *row = &d->page->means.rows.items[i];
        const struct page_mean *mean = cost ? &row->cost : &row->time;
        struct plot_point *bar = draft_bar(d, row->name, mean->ratio);
        bar->y_low = mean->low;
        bar->y_high = mean->high;
        if (row->base.v)
            bar->marked = some_bool(true);
    }
}

static void mean_panel(struct draft *d)
{
    const struct page_means *means = &d->page->means;
    char title[80];
    if (means->rows.count == 0)
        return;
    snprintf(title, sizeof title, "geometric mean over %zu workloads", means->workloads.count);
    bool costs = means->rows.items[0].cost.ratio.known;
    begin_panel(d, title, means->rows.items[0].name,
                costs ? "relative to the base" : "time relative to the base");
    draft_set(d, &d->panel->marks, "the base");
    mean_bars(d, false);
    if (costs)
        mean_bars(d, true);
}

void plot_relative(struct draft *d)
{
    const struct compare *c = &d->page->compare;
    const struct page_means *means = &d->page->means;
    bool costs = costs_known(c);
    struct row_columns columns = find_columns(c);
    char says[400], last[100] = "";
    if (means->rows.count > 0)
        snprintf(last, sizeof last,
                 " The geometric mean is over %zu workloads that all of them ran.",
                 means->workloads.count);
    snprintf(says, sizeof says, "Below 1 is %s than the base, above 1 %s.%s%s%s",
             costs ? "faster or cheaper" : "faster", costs ? "slower or more expensive" : "slower",
             columns.fit ? " The base is the dashed line." : "", last,
             costs ? "" : " Costs are missing: what these runs cost is not known.");
    draft_plot(d, "relative",
               costs ? "Time and cost relative to the base" : "Time relative to the base", says);
    if (columns.fit) {
        columns_panel(d, &columns, false);
        if (costs)
            columns_panel(d, &columns, true);
    }
    for (size_t i = 0; i < c->workloads.count && !columns.fit; i++)
        if (is_drawn(&c->workloads.items[i]))
            workload_panel(d, &c->workloads.items[i]);
    if (!columns.fit)
        mean_panel(d);
    draft_end(d);
}
