// SPDX-License-Identifier: Apache-2.0
// Plots in a page: a panel as SVG for wide and for narrow screens, the figures as a table below,
// and which plots fit into a page's bytes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/html.h"
#include "render/markup.h"

static const char *class_of(enum plot_column column)
{
    return column >= PLOT_X && column <= PLOT_Y_HIGH ? "num" : column == PLOT_NOTE ? "long" : "";
}

static bool is_line(const struct plot_panel *panel)
{
    return panel->form && (strcmp(panel->form, "lines") == 0 || strcmp(panel->form, "steps") == 0);
}

// How many points of a line a row of the table stands for: more than one if it has very many
// points, or if all lines together do.
static size_t every(const struct plot *plot, const struct plot_panel *panel,
                    const struct plot_series *series)
{
    enum { MANY = 100, MOST = 50, ALL = 200 };
    size_t points = 0, lines = 0;
    for (size_t p = 0; p < plot->panels.count; p++)
        for (size_t s = 0; s < plot->panels.items[p].series.count; s++) {
            points += plot->panels.items[p].series.items[s].points.count;
            lines++;
        }
    if (!is_line(panel) || (series->points.count <= MANY && points <= 2 * ALL))
        return 1;
    size_t rows = lines * MOST > ALL ? ALL / lines + 1 : MOST;
    return series->points.count > 2 * rows ? series->points.count / rows : 1;
}

static bool thinned(const struct plot *plot)
{
    for (size_t p = 0; p < plot->panels.count; p++)
        for (size_t s = 0; s < plot->panels.items[p].series.count; s++)
            if (every(plot, &plot->panels.items[p], &plot->panels.items[p].series.items[s]) > 1)
                return true;
    return false;
}

static size_t table_head(struct buf *out, const struct plot *plot, bool shown[PLOT_COLUMNS])
{
    size_t columns = 0;
    buf_adds(out, "<thead><tr>");
    for (enum plot_column c = 0; c < PLOT_COLUMNS; c++) {
        struct buf name = {0};
        shown[c] = c != PLOT_PANEL && plot_has(plot, c);
        columns += shown[c];
        if (!shown[c])
            continue;
        plot_head(plot, c, &name);
        html_head_cell(out, class_of(c), buf_str(&name));
        buf_drop(out, &name);
    }
    buf_adds(out, "</tr></thead>\n");
    return columns;
}

// A row of the table: a point of a series. Those of a panel follow each other.
struct row {
    const struct plot *plot;
    const struct plot_panel *panel;
    size_t series, point;
};

static bool next_row(struct row *row)
{
    const struct plot_panel *panel = row->panel;
    if (row->series < panel->series.count)
        row->point += every(row->plot, panel, &panel->series.items[row->series]);
    while (row->series < panel->series.count &&
           row->point >= panel->series.items[row->series].points.count) {
        row->series++;
        row->point = 0;
    }
    return row->series < panel->series.count;
}

static bool first_row(struct row *row)
{
    const struct plot_panel *panel = row->panel;
    row->series = row->point = 0;
    return panel->series.count > 0 && (panel->series.items[0].points.count > 0 || next_row(row));
}

static const char *row_text(const struct row *row, enum plot_column column)
{
    const struct plot_series *series = &row->panel->series.items[row->series];
    const char *text =
        column == PLOT_SERIES ? series->name : series->points.items[row->point].group;
    return text ? text : "";
}

// How many rows from this one on have the same text in the column: they share a cell.
static size_t rows_alike(struct row row, enum plot_column column)
{
    const char *text = row_text(&row, column);
    size_t count = 1;
    while (next_row(&row) && strcmp(row_text(&row, column), text) == 0)
        count++;
    return count;
}

// Tables are a third of a page: closing tags and quotes that HTML does not need are left out, and
// figures have no class (.fig in the style sheet).
static void row_cell(struct buf *out, const struct row *row, enum plot_column column, size_t rows)
{
    const struct plot_series *series = &row->panel->series.items[row->series];
    const char *class = class_of(column);
    struct buf text = {0};
    plot_cell(row->panel, series, &series->points.items[row->point], column, &text);
    buf_adds(out, "<td");
    if (strcmp(class, "num") != 0)
        buf_printf(out, " class=%s", *class ? class : "t");
    if (rows > 1)
        buf_printf(out, " rowspan=%zu", rows);
    buf_addc(out, '>');
    if (strcmp(class, "num") == 0)
        html_figure(out, buf_str(&text));
    else
        markup_text(out, buf_str(&text));
    buf_drop(out, &text);
}

static void panel_rows(struct buf *out, const struct plot *plot, const struct plot_panel *panel,
                       const bool *shown)
{
    struct row row = {.plot = plot, .panel = panel};
    size_t shared[PLOT_COLUMNS] = {0}; // rows that a cell above has still to fill
    for (bool more = first_row(&row); more; more = next_row(&row)) {
        buf_adds(out, "<tr>");
        for (enum plot_column c = 0; c < PLOT_COLUMNS; c++) {
            if (!shown[c] || (shared[c] > 0 && shared[c]--))
                continue;
            size_t rows = c == PLOT_SERIES || c == PLOT_GROUP ? rows_alike(row, c) : 1;
            row_cell(out, &row, c, rows);
            shared[c] = rows - 1;
        }
        buf_addc(out, '\n');
    }
}

// Of several panels each is a group of rows below its title.
static void plot_table(struct buf *out, const struct plot *plot)
{
    bool shown[PLOT_COLUMNS];
    buf_adds(out, "<details class=\"fig\"><summary>The figures as a table</summary>\n");
    if (thinned(plot))
        html_paragraph(out, "mute", "Of long lines only some points; the JSON has all of them.");
    html_begin_table(out, plot->title);
    size_t columns = table_head(out, plot, shown);
    for (size_t p = 0; p < plot->panels.count; p++) {
        const struct plot_panel *panel = &plot->panels.items[p];
        buf_adds(out, "<tbody>\n");
        if (plot->panels.count > 1) {
            buf_printf(out, "<tr><th scope=\"rowgroup\" colspan=\"%zu\">", columns);
            markup_in(out, "", panel->title, "</th></tr>\n");
        }
        panel_rows(out, plot, panel, shown);
        buf_adds(out, p + 1 < plot->panels.count ? "</tbody>\n" : "");
    }
    html_end_table(out);
    buf_adds(out, "</details>\n");
}

// `width`: of the drawing for wide screens; a phone has another. PLOT_ONLY: there is just one.
static void one_panel(struct buf *out, const struct plot_panel *panel, double width, int level,
                      size_t plot, size_t number)
{
    char id[64];
    bool only = width == PLOT_ONLY;
    buf_adds(out, "<figure>\n<figcaption>");
    html_heading(out, level, panel->title ? panel->title : "");
    buf_adds(out, only ? "</figcaption>\n" : "</figcaption>\n<div class=\"wide\">");
    snprintf(id, sizeof id, "p%zu-%zu-w", plot, number);
    plot_panel_svg(out, panel, width, id);
    if (!only) {
        buf_adds(out, "</div>\n<div class=\"narrow\">");
        snprintf(id, sizeof id, "p%zu-%zu-n", plot, number);
        plot_panel_svg(out, panel, PLOT_NARROW, id);
    }
    buf_adds(out, only ? "</figure>\n" : "</div>\n</figure>\n");
}

static void draw_plot(struct buf *out, const struct plot *plot, int level, size_t number, bool only)
{
    bool alone = plot->panels.count == 1; // its title is the plot's
    bool shared = plot->panels.count > 0 && plot->panels.items[0].x.to.known; // one below the other
    double width = only ? PLOT_ONLY : shared || alone ? PLOT_WIDE : PLOT_MEDIUM;
    buf_printf(out, "<section id=\"plot-%s\"%s>\n", plot->kind, alone ? " class=\"alone\"" : "");
    if (!alone)
        html_heading(out, level, plot->title);
    buf_adds(out, shared  ? "<div class=\"panels down\">\n"
                  : alone ? "<div class=\"panels\">\n"
                          : "<div class=\"panels many\">\n");
    for (size_t i = 0; i < plot->panels.count; i++)
        one_panel(out, &plot->panels.items[i], width, alone ? level : level + 1, number, i);
    buf_adds(out, "</div>\n");
    html_paragraph(out, "says", plot->says);
    plot_table(out, plot);
    buf_adds(out, "</section>\n");
}

void html_plot(struct buf *out, const struct plot *plot, int level, size_t number)
{
    draw_plot(out, plot, level, number, false);
}

// Whether some price of the history differs from the one before.
static bool any_change(const struct plot *plot)
{
    for (size_t p = 0; p < plot->panels.count; p++)
        for (size_t s = 0; s < plot->panels.items[p].series.count; s++) {
            const struct plot_series *series = &plot->panels.items[p].series.items[s];
            for (size_t i = 1; i < series->points.count; i++)
                if (series->points.items[i].y.v != series->points.items[i - 1].y.v)
                    return true;
        }
    return false;
}

bool html_worth(const struct plot *plot)
{
    return strcmp(plot->kind, "prices") != 0 || any_change(plot);
}

void html_plot_within(struct buf *out, const struct plot *plot, int level, size_t number,
                      size_t most, struct buf *left_out)
{
    struct buf piece = {0};
    if (!html_worth(plot))
        return;
    html_plot(&piece, plot, level, number);
    if (out->len + piece.len <= most)
        buf_add(out, buf_str(&piece), piece.len);
    else
        buf_printf(left_out, "%s%s", left_out->len ? ", " : "", plot->title);
    buf_drop(out, &piece);
}

bool html_shows_one(const char *kind)
{
    static const char *const kinds[] = {"use", "steps", "account", "timeline", "phases", NULL};
    for (size_t i = 0; kinds[i]; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

// With one drawing for all screens, those that compare runs first.
static size_t fit_small(const struct page *page, html_shows_fn *shows, size_t most,
                        struct buf *pieces, struct buf *left_out)
{
    size_t taken = 0;
    for (int one = 0; one < 2; one++)
        for (size_t i = 0; i < page->plots.count; i++) {
            const struct plot *plot = &page->plots.items[i];
            if (html_shows_one(plot->kind) != (one == 1) || !html_worth(plot) ||
                (shows && !shows(plot->kind)))
                continue;
            draw_plot(&pieces[i], plot, 2, i, true);
            if (taken + pieces[i].len <= most) {
                taken += pieces[i].len;
                continue;
            }
            buf_printf(left_out, "%s%s", left_out->len ? ", " : "", plot->title);
            buf_drop(left_out, &pieces[i]);
        }
    return taken;
}

void html_plots_within(const struct page *page, html_shows_fn *shows, size_t most,
                       struct buf *pieces, struct buf *left_out)
{
    size_t taken = fit_small(page, shows, most, pieces, left_out);
    for (size_t i = 0; i < page->plots.count; i++) {
        struct buf large = {0};
        if (pieces[i].len == 0)
            continue;
        draw_plot(&large, &page->plots.items[i], 2, i, false);
        bool fits = taken - pieces[i].len + large.len <= most;
        if (fits) {
            taken += large.len - pieces[i].len;
            buf_drop(&large, &pieces[i]);
            pieces[i] = large;
        } else {
            buf_drop(left_out, &large);
        }
    }
}

void html_left_out(struct buf *out, struct buf *left_out)
{
    if (left_out->len > 0)
        markup_in(out,
                  "<p class=\"mute\">Plots that are too large for this page: ", buf_str(left_out),
                  ". 'fare report --plot' draws them.</p>\n");
    buf_drop(out, left_out);
}
