// SPDX-License-Identifier: Apache-2.0
// The geometric means as a table, in HTML and Markdown.
#include <stdio.h>

#include "view/html.h"
#include "view/tables.h"

enum { COLUMNS = 3 };

static void mean_words(const struct page_mean_row *row, const struct page_mean *mean,
                       struct buf *out)
{
    if (row->base.v)
        buf_adds(out, "base");
    else if (mean->ratio.known)
        buf_printf(out, "%.4f", mean->ratio.v);
    if (mean->low.known && mean->high.known)
        buf_printf(out, " (%.4g–%.4g)", mean->low.v, mean->high.v);
}

static void cell(const struct page_mean_row *row, size_t column, struct buf *out)
{
    if (column == 0)
        buf_printf(out, "%s%s%s", row->name, row->base.v ? ", the base" : "",
                   row->noisy.v ? ", noisy" : "");
    else
        mean_words(row, column == 1 ? &row->time : &row->cost, out);
}

static void add_list(struct buf *out, char *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s%s", i ? ", " : "", items[i]);
}

static void explain(const struct page_means *means, struct buf *out)
{
    buf_adds(out, "Over the workloads that all of them ran: ");
    add_list(out, means->workloads.items, means->workloads.count);
    buf_adds(out, ".");
    if (means->left_out.count == 0)
        return;
    buf_adds(out, " Left out, because they ran too few of them: ");
    add_list(out, means->left_out.items, means->left_out.count);
    buf_adds(out, ".");
}

static size_t shown_columns(const struct page_means *means)
{
    return means->rows.items[0].cost.ratio.known ? COLUMNS : COLUMNS - 1;
}

static const struct html_column columns[COLUMNS] = {
    {"on + with", "long"}, {"time ÷ base", "num"}, {"cost ÷ base", "num"}};

void html_means(struct buf *out, const struct page_means *means, int level)
{
    char title[80];
    struct buf words = {0};
    if (means->rows.count == 0)
        return;
    snprintf(title, sizeof title, "Geometric mean over %zu workloads", means->workloads.count);
    explain(means, &words);
    html_heading(out, level, title);
    html_paragraph(out, "", buf_str(&words));
    html_begin_table(out, title);
    html_table_head(out, columns, shown_columns(means));
    for (size_t i = 0; i < means->rows.count; i++) {
        buf_adds(out, "<tr>");
        for (size_t c = 0; c < shown_columns(means); c++) {
            struct buf text = {0};
            cell(&means->rows.items[i], c, &text);
            html_cell(out, columns[c].class, buf_str(&text));
            buf_drop(out, &text);
        }
        buf_adds(out, "</tr>\n");
    }
    html_end_table(out);
    buf_drop(out, &words);
}

void means_markdown(struct buf *out, const struct page_means *means)
{
    struct buf words = {0};
    if (means->rows.count == 0)
        return;
    explain(means, &words);
    buf_printf(out, "\n## Geometric mean over %zu workloads\n\n", means->workloads.count);
    table_markdown_text(out, buf_str(&words));
    buf_adds(out, "\n\n|");
    for (size_t c = 0; c < shown_columns(means); c++)
        buf_printf(out, " %s |", columns[c].name);
    buf_adds(out, shown_columns(means) == COLUMNS ? "\n|---|--:|--:|\n" : "\n|---|--:|\n");
    for (size_t i = 0; i < means->rows.count; i++) {
        buf_addc(out, '|');
        for (size_t c = 0; c < shown_columns(means); c++) {
            struct buf text = {0};
            cell(&means->rows.items[i], c, &text);
            buf_addc(out, ' ');
            table_markdown_text(out, buf_str(&text));
            buf_adds(out, " |");
            buf_drop(out, &text);
        }
        buf_addc(out, '\n');
    }
    buf_drop(out, &words);
}
