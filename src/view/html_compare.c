// SPDX-License-Identifier: Apache-2.0
// Runs side by side: the rows of the comparison, and the settings in which the runs differ.
#include <string.h>

#include "base/units.h"
#include "view/compare.h"
#include "view/html.h"
#include "render/markup.h"

void html_compare(struct buf *out, const struct page *page, size_t number, int level)
{
    SCOPED(doc_release) struct doc doc = {0};
    // Of a single workload, title and verdict say the same.
    view_compare_workload(&doc, &page->compare, number, page->compare.workloads.count == 1);
    if (number == 0)
        view_compare_rates(&doc, &page->compare);
    doc_html(out, &doc, level);
}

// ---- differences

enum { COLUMNS_MOST = 4, VALUES_MOST = 6, RUNS_MOST = 200, VALUE_BYTES = 160 };

// Not what differs in any case.
static bool is_setting(const struct page_fact *fact)
{
    return !fact->measured.v && strcmp(fact->what, "Source") != 0;
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
            const struct page_fact *fact = &page->runs.items[r].facts.items[i];
            const char *what = fact->what;
            bool seen = !is_setting(fact) || !differs(page, what);
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
