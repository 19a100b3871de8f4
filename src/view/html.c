// SPDX-License-Identifier: Apache-2.0
#include "view/html.h"

#include <stdlib.h>
#include <string.h>

#include "render/markup.h"
#include "render/scale.h"
#include "view/verdict.h"

enum { OPEN_ROWS = 40 };

// ---- pieces

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
        html_paragraph(out, "", page->verdict.items[i]);
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
    if (run->id)
        markup_in(out, "<span class=\"id\">", run->id, "</span>");
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
    SCOPED(buf_release) struct buf text = {0};
    for (size_t i = 0; i < page->runs.count && text.len == 0; i++)
        run_cell(&page->runs.items[i], column, &text);
    return text.len > 0;
}

static void run_table(struct buf *out, const struct page *page)
{
    bool shown[RUN_COLUMNS];
    html_begin_table(out, "Measured runs");
    buf_adds(out, "<thead><tr>");
    for (enum run_column c = 0; c < RUN_COLUMNS; c++) {
        shown[c] = c == RUN || any_run_has(page, c);
        if (shown[c])
            html_head_cell(out, run_columns[c].class,
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

// `plots`: each as a piece, empty if it is left out.
static void contents(struct buf *out, const struct page *page, const struct buf *plots)
{
    buf_adds(out, "<nav aria-label=\"Contents\"><ul>\n<li><a href=\"#runs\">Measured runs</a>"
                  "</li>\n");
    for (size_t i = 0; i < page->plots.count; i++) {
        if (plots[i].len == 0)
            continue;
        buf_printf(out, "<li><a href=\"#plot-%s\">", page->plots.items[i].kind);
        markup_text(out, page->plots.items[i].title);
        buf_adds(out, "</a></li>\n");
    }
    if (any_several(page))
        buf_adds(out, "<li><a href=\"#compare\">Comparison</a></li>\n");
    if (html_differ(page))
        buf_adds(out, "<li><a href=\"#differences\">What differs</a></li>\n");
    if (page->quotes.count > 0)
        buf_adds(out, "<li><a href=\"#quotes\">Cost by offer</a></li>\n");
    buf_adds(out, "</ul></nav>\n");
}

static void tables(struct buf *out, const struct page *page)
{
    if (any_several(page)) {
        buf_adds(out, "<section id=\"compare\">\n");
        html_heading(out, 2, "Comparison");
        html_means(out, &page->means, 3);
        buf_adds(out, "<div class=\"cols\">\n");
        for (size_t i = 0; i < page->compare.workloads.count; i++) {
            if (!several(&page->compare.workloads.items[i]))
                continue;
            buf_adds(out, "<div>\n");
            html_compare(out, page, i, 3);
            buf_adds(out, "</div>\n");
        }
        buf_adds(out, "</div>\n</section>\n");
    }
    html_differences(out, page, 2);
    if (page->quotes.count > 0) {
        buf_adds(out, "<section id=\"quotes\">\n");
        html_heading(out, 2, "Cost by offer");
        buf_adds(out, "<div class=\"cols\">\n");
        for (size_t i = 0; i < page->quotes.count; i++) {
            buf_adds(out, "<div>\n");
            html_quote(out, &page->quotes.items[i], page, 3);
            buf_adds(out, "</div>\n");
        }
        buf_adds(out, "</div>\n</section>\n");
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

// Runs, plots and tables.
static void several_runs(struct buf *out, const struct page *page)
{
    enum { HEAD = 2000, FEW = 8 }; // bytes of the contents, and the like; runs
    SCOPED(free_pointer) struct buf *plots = calloc(page->plots.count + 1, sizeof *plots);
    struct buf runs = {0}, end = {0}, left_out = {0};
    if (!plots) {
        out->failed = true;
        return;
    }
    // A report of more runs may be larger.
    size_t most = HTML_BYTES_MOST / FEW * (page->runs.count > FEW ? page->runs.count : FEW);
    html_verdict(out, page);
    html_runs(&runs, page);
    tables(&end, page);
    buf_adds(&end, "</main>\n");
    html_provenance(&end, page);
    size_t taken = out->len + runs.len + end.len + HEAD;
    html_plots_within(page, NULL, taken < most ? most - taken : 0, plots, &left_out);
    contents(out, page, plots);
    buf_adds(out, "</header>\n<main>\n<section id=\"runs\">\n");
    html_heading(out, 2, "Measured runs");
    html_piece(out, &runs);
    buf_adds(out, "</section>\n<div class=\"flow\">\n");
    for (size_t i = 0; i < page->plots.count; i++)
        html_piece(out, &plots[i]);
    buf_adds(out, "</div>\n");
    html_left_out(out, &left_out);
    html_piece(out, &end);
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
