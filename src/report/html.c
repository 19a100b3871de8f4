// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/markup.h"
#include "report/scale.h"
#include "report/style.h"
#include "report/verdict.h"

enum { OPEN_ROWS = 40 };

// ---- pieces

void html_heading(struct buf *out, int level, const char *text)
{
    buf_printf(out, "<h%d>", level);
    markup_text(out, text);
    buf_printf(out, "</h%d>\n", level);
}

void html_paragraph(struct buf *out, const char *class, const char *text)
{
    if (!text || !*text)
        return;
    buf_printf(out, *class ? "<p class=\"%s\">" : "<p>", class);
    markup_text(out, text);
    buf_adds(out, "</p>\n");
}

// "OLD" is for terminals: a page has a quiet mark.
void html_sentence(struct buf *out, const char *text)
{
    struct buf quiet = {0};
    for (const char *at; (at = strstr(text, " OLD")); text = at + 4) {
        buf_add(&quiet, text, (size_t)(at - text));
        buf_adds(&quiet, " old");
    }
    buf_adds(&quiet, text);
    html_paragraph(out, "", buf_str(&quiet));
    buf_drop(out, &quiet);
}

void html_begin_table(struct buf *out, const char *label)
{
    markup_in(out, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", label,
              "\"><table>\n");
}

void html_end_table(struct buf *out)
{
    buf_adds(out, "</tbody></table></div>\n");
}

static void head_cell(struct buf *out, const char *class, const char *name)
{
    buf_adds(out, "<th scope=\"col\"");
    if (*class)
        buf_printf(out, " class=\"%s\"", class);
    buf_addc(out, '>');
    markup_text(out, name);
    buf_adds(out, "</th>");
}

void html_table_head(struct buf *out, const struct html_column *columns, size_t count)
{
    buf_adds(out, "<thead><tr>");
    for (size_t i = 0; i < count; i++)
        head_cell(out, columns[i].class, columns[i].name);
    buf_adds(out, "</tr></thead>\n<tbody>\n");
}

// Where a figure may break: before and within its interval, and between date and time. Null:
// nowhere.
static const char *next_break(const char *text)
{
    for (const char *p = strchr(text, ' '); p && p > text; p = strchr(p + 1, ' '))
        if (p[1] == '(' || strncmp(p, " to ", 4) == 0 ||
            (isdigit((unsigned char)p[-1]) && isdigit((unsigned char)p[1])))
            return p + 1;
    return NULL;
}

static void figure_text(struct buf *out, const char *text)
{
    for (const char *to; (to = next_break(text)); text = to) {
        struct buf piece = {0};
        buf_add(&piece, text, (size_t)(to - text));
        markup_text(out, buf_str(&piece));
        buf_adds(out, "<wbr>");
        buf_drop(out, &piece);
    }
    markup_text(out, text);
}

void html_cell(struct buf *out, const char *class, const char *text)
{
    buf_adds(out, *class ? "<td class=\"" : "<td");
    if (*class)
        buf_printf(out, "%s\"", class);
    buf_addc(out, '>');
    if (text && strncmp(class, "num", 3) == 0)
        figure_text(out, text);
    else
        markup_text(out, text);
    buf_adds(out, "</td>");
}

void html_offer(struct buf *out, const char *name)
{
    while (name && *name) {
        size_t len = 1 + strcspn(name + 1, "/@_");
        struct buf piece = {0};
        while (name[len] == '/' || name[len] == '_')
            len++;
        buf_add(&piece, name, len);
        markup_in(out, "", buf_str(&piece), name[len] ? "<wbr>" : "");
        buf_drop(out, &piece);
        name += len;
    }
}

void html_begin(struct buf *out, const char *title, int refresh_s)
{
    buf_adds(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'\">\n");
    if (refresh_s > 0)
        buf_printf(out, "<meta http-equiv=\"refresh\" content=\"%d\">\n", refresh_s);
    buf_adds(out, "<title>");
    markup_text(out, title);
    buf_printf(out, "</title>\n<style>%s%s</style>\n</head>\n<body>\n", page_style, plot_style);
}

void html_end(struct buf *out)
{
    buf_adds(out, "</body>\n</html>\n");
}

void html_verdict(struct buf *out, const struct page *page)
{
    buf_adds(out, "<div class=\"verdict\">\n");
    for (size_t i = 0; i < page->verdict.count; i++)
        html_sentence(out, page->verdict.items[i]);
    buf_adds(out, "</div>\n");
}

void html_verdict_compared(struct buf *out, const struct page *page)
{
    struct buf text = {0};
    verdict_compared(page, &text);
    if (text.len > 0) {
        buf_adds(out, "<div class=\"verdict\">\n");
        html_paragraph(out, "", buf_str(&text));
        buf_adds(out, "</div>\n");
    }
    buf_drop(out, &text);
}

// ---- plots

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
        head_cell(out, class_of(c), buf_str(&name));
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
        figure_text(out, buf_str(&text));
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

#define SECTION "<section id=\"plot-%s\">\n"

static void draw_plot(struct buf *out, const struct plot *plot, int level, size_t number, bool only)
{
    bool alone = plot->panels.count == 1; // its title is the plot's
    bool shared = plot->panels.count > 0 && plot->panels.items[0].x.to.known; // one below the other
    double width = only ? PLOT_ONLY : shared || alone ? PLOT_WIDE : PLOT_MEDIUM;
    buf_printf(out, SECTION, plot->kind);
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

// ---- tables

enum run_column { RUN, TIME, QUALITY, BASIS, STARTED, NOTES, RUN_COLUMNS };

static const struct html_column run_columns[RUN_COLUMNS] = {
    {"run", "long"},   {"whole training (95 %)", "num"}, {"accuracy", "num"},
    {"basis", "more"}, {"started", "num more"},          {"notes", "long more"}};

void html_run(struct buf *out, const struct html_run *run)
{
    bool named = run->framework && strcmp(run->framework, "command") != 0;
    const char *const pieces[] = {run->batch, " on ", run->machine, " + ",
                                  named ? run->framework : NULL};
    buf_adds(out, "<td class=\"long\">");
    if (run->href)
        buf_printf(out, "<a href=\"%s\">", run->href);
    markup_text(out, run->name);
    buf_adds(out, run->href ? "</a>" : "");
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i += 2) {
        if (!pieces[i] || !*pieces[i])
            continue;
        buf_adds(out, i ? pieces[i - 1] : ", ");
        markup_text(out, pieces[i]);
    }
    if (run->id) {
        markup_in(out, "<span class=\"id\">", run->id, "</span>");
    }
    buf_adds(out, "</td>");
}

static void time_words(const struct page_run *run, struct buf *out)
{
    char time[SCALE_LABEL], low[SCALE_LABEL], high[SCALE_LABEL];
    if (!run->time_s.known)
        return;
    scale_words("s", run->time_s.v, time);
    buf_adds(out, time);
    if (!run->low_s.known || !run->high_s.known)
        return;
    scale_words("s", run->low_s.v, low);
    scale_words("s", run->high_s.v, high);
    if (strcmp(low, high) != 0)
        buf_printf(out, "\n(%s to %s)", low, high);
}

static void note_words(const struct page_run *run, struct buf *out)
{
    if (run->name && run->workload && strcmp(run->name, run->workload) != 0)
        buf_printf(out, "called %s", run->name);
    for (size_t i = 0; i < run->taints.count; i++)
        buf_printf(out, "%s%s", out->len ? "; " : "", run->taints.items[i]);
}

static void run_cell(const struct page_run *run, enum run_column column, struct buf *out)
{
    if (column == TIME)
        time_words(run, out);
    else if (column == BASIS)
        buf_adds(out, run->basis ? run->basis : run->ended ? run->ended : "");
    else if (column == QUALITY && run->quality)
        buf_adds(out, run->quality);
    else if (column == STARTED && run->started)
        buf_printf(out, "%.10s", run->started);
    else if (column == NOTES)
        note_words(run, out);
}

static bool any_score(const struct page *page)
{
    for (size_t i = 0; i < page->runs.count; i++)
        if (page->runs.items[i].quality && !page->runs.items[i].accuracy.known)
            return true;
    return false;
}

static bool any_run_has(const struct page *page, enum run_column column)
{
    struct buf text = {0};
    for (size_t i = 0; i < page->runs.count && text.len == 0; i++)
        run_cell(&page->runs.items[i], column, &text);
    bool has = text.len > 0;
    buf_release(&text);
    return has;
}

static void run_table(struct buf *out, const struct page *page)
{
    bool shown[RUN_COLUMNS];
    html_begin_table(out, "Measured runs");
    buf_adds(out, "<thead><tr>");
    for (enum run_column c = 0; c < RUN_COLUMNS; c++) {
        shown[c] = c == RUN || any_run_has(page, c);
        if (shown[c])
            head_cell(out, run_columns[c].class,
                      c == QUALITY && any_score(page) ? "quality" : run_columns[c].name);
    }
    buf_adds(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < page->runs.count; i++) {
        const struct page_run *run = &page->runs.items[i];
        buf_adds(out, "<tr>");
        html_run(out, &(struct html_run){.name = run->workload ? run->workload : run->name,
                                         .machine = run->machine,
                                         .framework = run->framework,
                                         .id = run->id});
        for (enum run_column c = RUN + 1; c < RUN_COLUMNS; c++) {
            struct buf text = {0};
            if (!shown[c])
                continue;
            run_cell(run, c, &text);
            html_cell(out, run_columns[c].class, buf_str(&text));
            buf_drop(out, &text);
        }
        buf_adds(out, "</tr>\n");
    }
    html_end_table(out);
}

void html_runs(struct buf *out, const struct page *page)
{
    bool folded = page->runs.count > OPEN_ROWS;
    if (folded)
        buf_printf(out, "<details><summary>The %zu runs</summary>\n", page->runs.count);
    run_table(out, page);
    if (folded)
        buf_adds(out, "</details>\n");
    if (page->left_out.known && page->left_out.v > 0)
        buf_printf(out, "<p>%lld older runs are in the comparison, but not listed here.</p>\n",
                   (long long)page->left_out.v);
}

// ---- the whole page

// A single row has nothing to be compared with.
static bool several(const struct compare_workload *w)
{
    return w->rows.count + w->apart.count > 1;
}

static bool any_several(const struct page *page)
{
    for (size_t i = 0; i < page->compare.workloads.count; i++)
        if (several(&page->compare.workloads.items[i]))
            return true;
    return false;
}

// `plots`: as they are on the page, some may be left out.
static void contents(struct buf *out, const struct page *page, const struct buf *plots)
{
    buf_adds(out, "<nav aria-label=\"Contents\"><ul>\n<li><a href=\"#runs\">Measured runs</a>"
                  "</li>\n");
    for (size_t i = 0; i < page->plots.count; i++) {
        char begins[64];
        snprintf(begins, sizeof begins, SECTION, page->plots.items[i].kind);
        if (!strstr(buf_str(plots), begins))
            continue;
        buf_printf(out, "<li><a href=\"#plot-%s\">", page->plots.items[i].kind);
        markup_text(out, page->plots.items[i].title);
        buf_adds(out, "</a></li>\n");
    }
    if (any_several(page))
        buf_adds(out, "<li><a href=\"#compare\">Comparison</a></li>\n");
    if (page->quotes.count > 0)
        buf_adds(out, "<li><a href=\"#quotes\">Cost by offer</a></li>\n");
    if (html_differ(page))
        buf_adds(out, "<li><a href=\"#differences\">What differs</a></li>\n");
    buf_adds(out, "</ul></nav>\n");
}

static void tables(struct buf *out, const struct page *page)
{
    if (any_several(page)) {
        buf_adds(out, "<section id=\"compare\">\n");
        html_heading(out, 2, "Comparison");
        html_means(out, &page->means, 3);
        for (size_t i = 0; i < page->compare.workloads.count; i++)
            if (several(&page->compare.workloads.items[i]))
                html_compare(out, page, i, 3);
        buf_adds(out, "</section>\n");
    }
    html_differences(out, page, 2);
    if (page->quotes.count > 0) {
        buf_adds(out, "<section id=\"quotes\">\n");
        html_heading(out, 2, "Cost by offer");
        for (size_t i = 0; i < page->quotes.count; i++)
            html_quote(out, &page->quotes.items[i], 3);
        buf_adds(out, "</section>\n");
    }
}

// Lists each source of published or imported runs once.
static void sources(struct buf *out, const struct page *page)
{
    bool any = false;
    for (size_t i = 0; i < page->runs.count; i++) {
        const char *source = page->runs.items[i].source;
        for (size_t k = 0; source && k < i; k++)
            if (page->runs.items[k].source && strcmp(page->runs.items[k].source, source) == 0)
                source = NULL;
        if (!source)
            continue;
        buf_adds(out, any ? "<li>" : "<p>Sources of runs:</p>\n<ul>\n<li>");
        any = true;
        markup_text(out, source);
        buf_adds(out, "</li>\n");
    }
    if (any)
        buf_adds(out, "</ul>\n");
}

void html_provenance(struct buf *out, const struct page *page)
{
    struct buf text = {0};
    page_provenance(page, &text);
    buf_adds(out, "<footer>\n");
    html_paragraph(out, "", buf_str(&text));
    html_paragraph(
        out, "",
        "Costs exclude tax. Figures are measured; where marked they are projected from a sample, "
        "or "
        "estimated. Intervals are 95 % confidence intervals; those of estimates hold with 90 %.");
    sources(out, page);
    buf_adds(out, "</footer>\n");
    buf_drop(out, &text);
}

static void put_plots(struct buf *out, const struct page *page, size_t most)
{
    struct buf *pieces = calloc(page->plots.count + 1, sizeof *pieces), left_out = {0};
    if (!pieces) {
        out->failed = true;
        return;
    }
    html_plots_within(page, NULL, most > out->len ? most - out->len : 0, pieces, &left_out);
    for (size_t i = 0; i < page->plots.count; i++) {
        buf_add(out, buf_str(&pieces[i]), pieces[i].len);
        buf_drop(out, &pieces[i]);
    }
    free(pieces);
    html_left_out(out, &left_out);
}

// Runs, plots and tables.
static void several_runs(struct buf *out, const struct page *page)
{
    enum { HEAD = 2000, FEW = 8 }; // bytes of the contents, and the like; runs
    struct buf plots = {0}, end = {0};
    // Whoever asks for more runs gets a larger page.
    size_t runs = page->runs.count > FEW ? page->runs.count : FEW;
    size_t limit = HTML_BYTES_MOST / FEW * runs;
    tables(&end, page);
    buf_adds(&end, "</main>\n");
    html_provenance(&end, page);
    html_verdict(out, page);
    size_t taken = out->len + end.len + HEAD;
    buf_adds(&plots, "</header>\n<main>\n<section id=\"runs\">\n");
    html_heading(&plots, 2, "Measured runs");
    html_runs(&plots, page);
    buf_adds(&plots, "</section>\n");
    put_plots(&plots, page, taken < limit ? limit - taken : 0);
    contents(out, page, &plots);
    buf_add(out, buf_str(&plots), plots.len);
    buf_add(out, buf_str(&end), end.len);
    buf_drop(out, &plots);
    buf_drop(out, &end);
}

void html_page(struct buf *out, const struct page *page)
{
    bool one = page->runs.count == 1 && !any_several(page);
    html_begin(out, page->title, 0);
    buf_adds(out, "<header>\n");
    html_heading(out, 1, page->title);
    if (one) {
        html_one_head(out, page);
        buf_adds(out, "</header>\n<main>\n");
        html_one_body(out, page);
        buf_adds(out, "</main>\n");
        html_provenance(out, page);
    } else {
        several_runs(out, page);
    }
    html_end(out);
}
