// SPDX-License-Identifier: Apache-2.0
#include "view/tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/compare.h"
#include "view/quote.h"
#include "view/run.h"

// ---- a plot's figures

static bool is_number(enum plot_column column)
{
    return column >= PLOT_X && column <= PLOT_Y_HIGH;
}

typedef void row_fn(void *arg, const struct plot_panel *panel, const struct plot_series *series,
                    const struct plot_point *point);

static void each_row(const struct plot *plot, row_fn *row, void *arg)
{
    for (size_t p = 0; p < plot->panels.count; p++)
        for (size_t s = 0; s < plot->panels.items[p].series.count; s++) {
            const struct plot_panel *panel = &plot->panels.items[p];
            const struct plot_series *series = &panel->series.items[s];
            for (size_t i = 0; i < series->points.count; i++)
                row(arg, panel, series, &series->points.items[i]);
        }
}

struct markdown {
    struct buf *out;
    const struct plot *plot;
};

static void markdown_row(void *arg, const struct plot_panel *panel,
                         const struct plot_series *series, const struct plot_point *point)
{
    struct markdown *m = arg;
    buf_addc(m->out, '|');
    for (enum plot_column c = 0; c < PLOT_COLUMNS; c++) {
        struct buf cell = {0};
        if (!plot_has(m->plot, c))
            continue;
        plot_cell(panel, series, point, c, &cell);
        buf_addc(m->out, ' ');
        markdown_text(m->out, buf_str(&cell));
        buf_adds(m->out, " |");
        buf_drop(m->out, &cell);
    }
    buf_addc(m->out, '\n');
}

static void markdown_foot(struct buf *out, const struct page *page)
{
    struct buf text = {0};
    page_provenance(page, &text);
    buf_addc(out, '\n');
    markdown_text(out, buf_str(&text));
    buf_addc(out, '\n');
    buf_drop(out, &text);
}

void plot_markdown(struct buf *out, const struct plot *plot, const struct page *page)
{
    struct markdown m = {out, plot};
    buf_adds(out, "## ");
    markdown_text(out, plot->title);
    buf_adds(out, "\n\n|");
    for (enum plot_column c = 0; c < PLOT_COLUMNS; c++) {
        struct buf head = {0};
        if (!plot_has(plot, c))
            continue;
        plot_head(plot, c, &head);
        buf_addc(out, ' ');
        markdown_text(out, buf_str(&head));
        buf_adds(out, " |");
        buf_drop(out, &head);
    }
    buf_adds(out, "\n|");
    for (enum plot_column c = 0; c < PLOT_COLUMNS; c++)
        if (plot_has(plot, c))
            buf_adds(out, is_number(c) ? "--:|" : "---|");
    buf_addc(out, '\n');
    each_row(plot, markdown_row, &m);
    markdown_foot(out, page);
}

static void csv_number(struct csv_writer *w, struct maybe_real number)
{
    char text[40] = "";
    if (number.known && isfinite(number.v))
        snprintf(text, sizeof text, "%.12g", number.v);
    csv_put(w, text);
}

static void csv_point(void *arg, const struct plot_panel *panel, const struct plot_series *series,
                      const struct plot_point *point)
{
    struct csv_writer *w = arg;
    const char *const texts[] = {panel->title, point->group, series->name, point->label};
    const struct maybe_real numbers[] = {point->x, point->x_low, point->x_high,
                                         point->y, point->y_low, point->y_high};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        csv_put_text(w, texts[i]);
    csv_put(w, panel->x.unit);
    for (size_t i = 0; i < 3; i++)
        csv_number(w, numbers[i]);
    csv_put(w, panel->y.unit);
    for (size_t i = 3; i < 6; i++)
        csv_number(w, numbers[i]);
    csv_put(w, point->marked.v ? panel->marks : NULL);
    csv_put_text(w, point->note);
    csv_end(w);
}

void plot_csv(struct buf *out, const struct plot *plot)
{
    static const char *const names[] = {"panel", "group",  "series", "label",  "x_unit",
                                        "x",     "x_low",  "x_high", "y_unit", "y",
                                        "y_low", "y_high", "mark",   "note"};
    struct csv_writer w = {.out = out};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        csv_put(&w, names[i]);
    csv_end(&w);
    each_row(plot, csv_point, &w);
}

// ---- the whole report in Markdown

static void markdown_quote(struct buf *out, const struct quote *quote)
{
    SCOPED(doc_release) struct doc doc = {0};
    doc_heading(&doc, 0, doc_text(&doc, "Cost of %s by offer", quote->workload));
    view_bills(&doc, quote, NULL);
    doc_markdown(out, &doc, 2);
}

static void markdown_compare(struct buf *out, const struct compare *compare)
{
    SCOPED(doc_release) struct doc doc = {0};
    if (compare->workloads.count == 0)
        return;
    buf_adds(out, "\n## Comparison\n");
    for (size_t i = 0; i < compare->workloads.count; i++)
        view_compare_workload(&doc, compare, i, compare->workloads.count == 1);
    view_compare_rates(&doc, compare);
    doc_markdown(out, &doc, 3);
}

// A run by itself.
static void markdown_run(struct buf *out, const struct page_run *run)
{
    SCOPED(doc_release) struct doc doc = {0};
    doc_heading(&doc, 0, "Figures");
    view_run_doubts(&doc, run);
    view_run_figures(&doc, run);
    view_run_starts(&doc, run);
    view_run_settings(&doc, run);
    doc_fact(&doc, "Again", run->again);
    doc_markdown(out, &doc, 2);
}

void page_markdown(struct buf *out, const struct page *page)
{
    buf_adds(out, "# ");
    markdown_text(out, page->title);
    buf_adds(out, "\n\n");
    for (size_t i = 0; i < page->verdict.count; i++) {
        markdown_text(out, page->verdict.items[i]);
        buf_adds(out, i + 1 < page->verdict.count ? " " : "\n");
    }
    if (page->runs.count == 1)
        markdown_run(out, &page->runs.items[0]);
    means_markdown(out, &page->means);
    markdown_compare(out, &page->compare);
    for (size_t i = 0; i < page->quotes.count; i++)
        markdown_quote(out, &page->quotes.items[i]);
    markdown_foot(out, page);
}
