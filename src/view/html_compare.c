// SPDX-License-Identifier: Apache-2.0
// Runs side by side: the rows of the comparison, and the settings in which the runs differ.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "view/compare.h"
#include "view/html.h"
#include "render/markup.h"

// A figure, and below it its interval.
static void figure_cell(struct buf *out, const char *class, const char *words, const char *below)
{
    buf_printf(out, "<td class=\"%s\">", class);
    html_figure(out, words);
    if (*below)
        markup_in(out, "<span class=\"id\">", below, "</span>");
    buf_adds(out, "</td>");
}

static void percent_cell(struct buf *out, struct maybe_real share, double times, int decimals)
{
    char text[COMPARE_CELL] = "";
    if (share.known)
        snprintf(text, sizeof text, "%.*f %%", decimals, share.v * times);
    html_cell(out, "num more", text);
}

// Columns that have a figure in some row.
struct shown {
    bool cost, quality, use, notes;
};

static struct shown shown_of(const struct compare_workload *w)
{
    struct shown s = {0};
    for (size_t i = 0; i < w->rows.count; i++) {
        const struct compare_row *row = &w->rows.items[i];
        char words[COMPARE_CELL] = "";
        compare_quality_words(row, words);
        s.cost |= row->cost.nano_usd.known || row->money.ratio.known;
        s.quality |= row->accuracy.value.known || (*words && strcmp(words, "-") != 0);
        s.use |= row->gpu_percent.value.known;
        s.notes |= row->notes.count > 0;
    }
    return s;
}

// A phone has room for the cost or the ratio of times.
static const char *ratio_class(const struct shown *shown)
{
    return shown->cost ? "num more" : "num";
}

static void ratio_cell(struct buf *out, const char *class, const struct compare_row *row,
                       const struct compare_against *against)
{
    char words[COMPARE_CELL], interval[COMPARE_CELL] = "";
    compare_ratio_words(against, words);
    if (against->low.known && against->high.known)
        snprintf(interval, sizeof interval, "%.4g–%.4g", against->low.v, against->high.v);
    figure_cell(out, class, row->base.known ? "base" : words, interval);
}

// As in the table of a quote: "11.17, 10.00 EUR", the interval below.
static void cost_cell(struct buf *out, const struct compare_row *row)
{
    char words[COMPARE_CELL], interval[COMPARE_CELL] = "";
    struct buf cost = {0};
    compare_cost_words(row, words);
    buf_adds(&cost, words);
    compare_local_words(row, words);
    if (*words)
        buf_printf(&cost, ", %s %s", words, row->cost.local_currency);
    (void)compare_cost_interval(row, "", "–", interval);
    figure_cell(out, "num", buf_str(&cost), interval);
    buf_drop(out, &cost);
}

static void quality_cell(struct buf *out, const struct compare_row *row)
{
    char words[COMPARE_CELL];
    if (row->accuracy.value.known) {
        percent_cell(out, row->accuracy.value, 100, 2);
        return;
    }
    compare_quality_words(row, words);
    html_cell(out, "num more", words);
}

static void compare_row(struct buf *out, const struct shown *shown, struct compare_notes *notes,
                        const struct compare_row *row)
{
    struct buf name = {0};
    char words[COMPARE_CELL];
    compare_label(row, &name);
    if (row->base.known)
        buf_adds(&name, ", the base");
    buf_adds(out, "<tr>");
    html_cell(out, "long", buf_str(&name));
    compare_time_words(row, words);
    html_cell(out, "num", words);
    ratio_cell(out, ratio_class(shown), row, &row->time);
    if (shown->cost) {
        cost_cell(out, row);
        ratio_cell(out, "num more", row, &row->money);
    }
    if (shown->quality)
        quality_cell(out, row);
    if (shown->use)
        percent_cell(out, row->gpu_percent.value, 1, 0);
    snprintf(words, sizeof words, "%lld", (long long)row->runs.v);
    html_cell(out, "num more", words);
    if (shown->notes) {
        compare_notes_of(notes, row, words);
        html_cell(out, "", words);
    }
    buf_adds(out, "</tr>\n");
    buf_drop(out, &name);
}

static void compare_head(struct buf *out, const struct compare_workload *w,
                         const struct shown *shown)
{
    struct html_column columns[9] = {
        {"on + with", "long"}, {"time", "num"}, {"time ÷ base", ratio_class(shown)}};
    size_t n = 3;
    if (shown->cost) {
        columns[n++] = (struct html_column){"cost, $", "num"};
        columns[n++] = (struct html_column){"cost ÷ base", "num more"};
    }
    if (shown->quality)
        columns[n++] = (struct html_column){compare_quality_head(w, "accuracy"), "num more"};
    if (shown->use)
        columns[n++] = (struct html_column){"GPU use", "num more"};
    columns[n++] = (struct html_column){"runs", "num more"};
    if (shown->notes)
        columns[n++] = (struct html_column){"notes", ""};
    html_table_head(out, columns, n);
}

static void compare_apart(struct buf *out, const struct compare_workload *w)
{
    if (w->apart.count == 0)
        return;
    buf_adds(out, "<p>Not comparable with these:</p>\n<ul>\n");
    for (size_t i = 0; i < w->apart.count; i++) {
        const struct compare_row *row = &w->apart.items[i];
        struct buf text = {0};
        compare_label(row, &text);
        for (size_t k = 0; k < row->reasons.count; k++)
            buf_printf(&text, "%s%s", k ? "; " : ": ", row->reasons.items[k]);
        html_item(out, buf_str(&text));
        buf_drop(out, &text);
    }
    buf_adds(out, "</ul>\n");
}

void html_compare(struct buf *out, const struct page *page, size_t number, int level)
{
    const struct compare_workload *w = &page->compare.workloads.items[number];
    struct shown shown = shown_of(w);
    struct compare_notes notes;
    out->failed |= !compare_notes_init(&notes, w);
    if (page->compare.workloads.count > 1) { // of one, title and verdict say the same
        html_heading(out, level, w->workload);
        for (size_t i = 0; i < w->sentences.count; i++)
            html_paragraph(out, "", w->sentences.items[i]);
    }
    html_begin_table(out, w->workload);
    compare_head(out, w, &shown);
    for (size_t i = 0; i < w->rows.count && !out->failed; i++)
        compare_row(out, &shown, &notes, &w->rows.items[i]);
    html_end_table(out);
    struct buf rates = {0};
    if (number == 0)
        compare_exchange(&page->compare, "", &rates);
    if (rates.len > 0)
        html_paragraph(out, "mute", buf_str(&rates));
    buf_drop(out, &rates);
    if (notes.numbers.count > 0)
        buf_adds(out, "<ol>\n");
    for (size_t i = 0; i < notes.numbers.count && !out->failed; i++) {
        html_item(out, notes.items[i]);
    }
    if (notes.numbers.count > 0)
        buf_adds(out, "</ol>\n");
    compare_apart(out, w);
    compare_notes_release(&notes);
}

// ---- differences

enum { COLUMNS_MOST = 4, VALUES_MOST = 6, RUNS_MOST = 200, VALUE_BYTES = 160 };

// Not what differs in any case.
static bool is_setting(const char *what)
{
    return strcmp(what, "run") != 0 && strcmp(what, "started") != 0 && strcmp(what, "source") != 0;
}

static const char *value_of(const struct page_run *run, const char *what)
{
    for (size_t i = 0; i < run->facts.count; i++)
        if (strcmp(run->facts.items[i].what, what) == 0)
            return run->facts.items[i].value;
    return "";
}

// Whether a value has this piece, between commas.
static bool has_piece(const char *value, const char *piece, size_t len)
{
    while (*value) {
        size_t next = strcspn(value, ",");
        if (next == len && strncmp(value, piece, len) == 0)
            return true;
        value += next + strspn(value + next, ", ");
    }
    return false;
}

static bool all_have(const struct page *page, const char *what, const char *piece, size_t len)
{
    for (size_t i = 0; i < page->runs.count; i++)
        if (!has_piece(value_of(&page->runs.items[i], what), piece, len))
            return false;
    return true;
}

// The pieces of a value that not all runs have: of "torch 2.3, cuda 12" and "torch 2.1, cuda 12",
// the versions of torch. Hashes are cut.
static void own_pieces(const struct page *page, const char *what, const char *value,
                       struct buf *out)
{
    enum { HASH = 64, COMMIT = 40, SHORT = 12 };
    while (*value) {
        size_t len = strcspn(value, ",");
        bool hash = (len == HASH || len == COMMIT) && strspn(value, "0123456789abcdef") == len;
        if (!all_have(page, what, value, len) && out->len + len < VALUE_BYTES)
            buf_printf(out, "%s%.*s%s", out->len ? ", " : "", (int)(hash ? SHORT : len), value,
                       hash ? "…" : "");
        value += len + strspn(value + len, ", ");
    }
}

static bool differs(const struct page *page, const char *what)
{
    const char *first = value_of(&page->runs.items[0], what);
    for (size_t i = 1; i < page->runs.count; i++)
        if (strcmp(value_of(&page->runs.items[i], what), first) != 0)
            return true;
    return false;
}

// Each run has a column.
static void row_of_columns(struct buf *out, const struct page *page, const char *what)
{
    buf_adds(out, "<tr>");
    html_cell(out, "", what);
    for (size_t i = 0; i < page->runs.count; i++) {
        struct buf text = {0};
        own_pieces(page, what, value_of(&page->runs.items[i], what), &text);
        buf_adds(out, "<td class=\"long\">");
        markup_words(out, text.len ? buf_str(&text) : "-");
        buf_adds(out, "</td>");
        buf_drop(out, &text);
    }
    buf_adds(out, "</tr>\n");
}

// How many runs have this value, and whether this is the first of them.
static size_t runs_with(const struct page *page, const char *what, size_t number, bool *first)
{
    const char *value = value_of(&page->runs.items[number], what);
    size_t runs = 0;
    *first = true;
    for (size_t i = 0; i < page->runs.count; i++) {
        if (strcmp(value_of(&page->runs.items[i], what), value) != 0)
            continue;
        runs++;
        *first &= i >= number;
    }
    return runs;
}

// Each value with the number of runs that have it, in the order of the runs.
static void value_list(struct buf *out, const struct page *page, const char *what)
{
    size_t values = 0;
    for (size_t i = 0; i < page->runs.count; i++) {
        struct buf text = {0};
        bool first;
        size_t runs = runs_with(page, what, i, &first);
        if (!first || values++ >= VALUES_MOST)
            continue;
        own_pieces(page, what, value_of(&page->runs.items[i], what), &text);
        buf_adds(out, values > 1 ? "; " : "");
        markup_words(out, text.len ? buf_str(&text) : "not recorded");
        buf_adds(out, " <span class=\"mute\">(");
        markup_words(out, units_count((int64_t)runs, "run").s);
        buf_adds(out, ")</span>");
        buf_drop(out, &text);
    }
    if (values > VALUES_MOST)
        buf_printf(out, "; %zu more", values - VALUES_MOST);
}

static void row_of_values(struct buf *out, const struct page *page, const char *what)
{
    bool each = true; // has a value of its own
    for (size_t i = 0; i < page->runs.count && each; i++) {
        bool first;
        each = runs_with(page, what, i, &first) == 1;
    }
    buf_adds(out, "<tr>");
    html_cell(out, "", what);
    buf_adds(out, "<td class=\"long\">");
    if (each)
        buf_adds(out, "different in each run");
    else
        value_list(out, page, what);
    buf_adds(out, "</td></tr>\n");
}

// The end of the run's id.
static const char *tail_of(const struct page_run *run)
{
    size_t len = run->id ? strlen(run->id) : 0;
    return len > 6 ? run->id + len - 6 : len > 0 ? run->id : "";
}

// Whether no other run's id has this end; those of published runs say what was trained.
static bool is_alone(const struct page *page, size_t number, const char *tail)
{
    for (size_t i = 0; i < page->runs.count; i++)
        if (i != number && strcmp(tail_of(&page->runs.items[i]), tail) == 0)
            return false;
    return *tail != '\0';
}

static void head_of_columns(struct buf *out, const struct page *page)
{
    buf_adds(out, "<thead><tr><th scope=\"col\">what</th>");
    for (size_t i = 0; i < page->runs.count; i++) {
        const struct page_run *run = &page->runs.items[i];
        const char *tail = tail_of(run);
        bool command = run->framework && strcmp(run->framework, "command") == 0;
        markup_in(out, "<th scope=\"col\" class=\"long\">", run->machine ? run->machine : run->name,
                  "");
        if (run->framework && !command)
            markup_in(out, " + ", run->framework, "");
        if (is_alone(page, i, tail))
            markup_in(out, "<span class=\"id\">…", tail, "</span>");
        buf_adds(out, "</th>");
    }
    buf_adds(out, "</tr></thead>\n<tbody>\n");
}

bool html_differ(const struct page *page)
{
    return page->runs.count > 1 && page->runs.count <= RUNS_MOST;
}

void html_differences(struct buf *out, const struct page *page, int level)
{
    static const struct html_column columns[] = {{"what", ""}, {"values", "long"}};
    bool beside = page->runs.count <= COLUMNS_MOST;
    size_t rows = 0;
    if (!html_differ(page))
        return;
    buf_adds(out, "<section id=\"differences\">\n");
    html_heading(out, level, "What differs");
    for (size_t r = 0; r < page->runs.count; r++)
        for (size_t i = 0; i < page->runs.items[r].facts.count; i++) {
            const char *what = page->runs.items[r].facts.items[i].what;
            bool seen = !is_setting(what) || !differs(page, what);
            for (size_t k = 0; k < r && !seen; k++)
                seen = *value_of(&page->runs.items[k], what) != '\0';
            if (seen)
                continue;
            if (rows++ == 0) {
                html_begin_table(out, "What differs");
                if (beside)
                    head_of_columns(out, page);
                else
                    html_table_head(out, columns, 2);
            }
            (beside ? row_of_columns : row_of_values)(out, page, what);
        }
    if (rows > 0) {
        html_end_table(out);
        html_paragraph(out, "mute", "What all of these runs have in common is left out.");
    } else {
        html_paragraph(
            out, "",
            "Nothing that was recorded: settings, data, versions and machines are the same.");
    }
    buf_adds(out, "</section>\n");
}
