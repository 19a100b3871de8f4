// SPDX-License-Identifier: Apache-2.0
// Geometric means over workloads: the one average of ratios that ranks rows alike whatever the
// base. They cover only workloads that every row of the table has, or a row could look better by
// leaving out the workload it is bad at.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/compare_estimates.h"
#include "base/array.h"
#include "view/draft.h"
#include "view/html.h"
#include "view/tables.h"

enum { WORKLOADS_MOST = 64, ROWS_MOST = 256 };

struct mean_kind { // rows of one name, in all workloads
    const struct compare_row *rows[WORKLOADS_MOST];
    uint64_t workloads, base; // bits: where it has a time; where it is the base
    bool chosen;
    double time; // the mean, for sorting
};

struct means {
    const struct compare *compare;
    struct mean_kind *kinds;
    size_t count;
    const struct mean_kind *base;
    uint64_t common; // workloads of all that are chosen
};

static size_t bits(uint64_t set)
{
    return (size_t)__builtin_popcountll(set);
}

static const struct compare_against *time_of(const struct compare_row *row)
{
    return &row->time;
}

static const struct compare_against *cost_of(const struct compare_row *row)
{
    static const struct compare_against unknown = {0};
    return row->cost.lower_bound.v ? &unknown : &row->money;
}

typedef const struct compare_against *against_fn(const struct compare_row *row);

static int add_row(struct means *m, struct index *names, size_t workload,
                   const struct compare_row *row, struct err *err)
{
    struct buf name = {0};
    size_t number = 0;
    bool base = row->base.v;
    if (row->stopped.v || compare_estimated(row) ||
        (!base && !(row->time.ratio.known && row->time.ratio.v > 0)))
        return 0;
    compare_label(row, &name);
    int rc = buf_check(&name, err);
    if (rc == 0)
        rc = index_number(names, buf_str(&name), name.len, &number, err);
    buf_release(&name);
    if (rc != 0 || number >= ROWS_MOST)
        return rc;
    struct mean_kind *kind = &m->kinds[number];
    kind->rows[workload] = row;
    kind->workloads |= UINT64_C(1) << workload;
    kind->base |= (uint64_t)base << workload;
    return 0;
}

static int gather_kinds(struct means *m, struct err *err)
{
    SCOPED(index_release) struct index names = {0};
    int rc = 0;
    for (size_t w = 0; w < m->compare->workloads.count; w++)
        for (size_t i = 0; i < m->compare->workloads.items[w].rows.count && rc == 0; i++)
            rc = add_row(m, &names, w, &m->compare->workloads.items[w].rows.items[i], err);
    m->count = names.count;
    return rc;
}

// Adds the rows with the most workloads first, as long as two workloads and half of the base's are
// left to all.
static void choose_kinds(struct means *m)
{
    struct mean_kind *best = NULL;
    for (size_t i = 0; i < m->count; i++)
        if (!best || bits(m->kinds[i].base) > bits(best->base))
            best = &m->kinds[i];
    size_t all = best ? bits(best->base) : 0, least = all > 4 ? (all + 1) / 2 : 2;
    if (all < 2)
        return;
    m->base = best;
    m->common = best->base;
    best->chosen = true;
    for (size_t size = all; size >= least; size--)
        for (size_t i = 0; i < m->count; i++) {
            struct mean_kind *kind = &m->kinds[i];
            uint64_t common = m->common & kind->workloads;
            if (kind->chosen || bits(kind->workloads & best->base) != size || bits(common) < least)
                continue;
            kind->chosen = true;
            m->common = common;
        }
}

// exp(mean(log)) of one column; absent if it is absent in one workload. The ends are the means of
// the intervals' ends: wider than if the workloads' errors were independent, which nobody knows.
static void fill_mean(const struct means *m, const struct mean_kind *kind, against_fn *against,
                      struct page_mean *to)
{
    double sums[3] = {0}; // of logarithms: ratio, low, high
    bool known = true, ends = true;
    size_t count = bits(m->common);
    for (size_t w = 0; w < m->compare->workloads.count; w++) {
        if (!(m->common >> w & 1))
            continue;
        const struct compare_against *a = against(kind->rows[w]);
        double low = a->low.v, high = a->high.v, ratio = kind == m->base ? 1 : a->ratio.v;
        known &= ratio > 0 && (a->ratio.known || kind == m->base);
        ends &= a->low.known && a->high.known && low > 0 && high > 0;
        sums[0] += log(ratio);
        sums[1] += ends ? log(low) : 0;
        sums[2] += ends ? log(high) : 0;
    }
    if (!known || !isfinite(sums[0]))
        return;
    to->ratio = some_real(exp(sums[0] / (double)count));
    if (!ends || kind == m->base)
        return;
    to->low = some_real(exp(sums[1] / (double)count));
    to->high = some_real(exp(sums[2] / (double)count));
}

static bool costs_known(const struct means *m)
{
    for (size_t i = 0; i < m->count; i++) {
        struct page_mean cost = {0};
        if (m->kinds[i].chosen && &m->kinds[i] != m->base)
            fill_mean(m, &m->kinds[i], cost_of, &cost);
        if (cost.ratio.known)
            return true;
    }
    return false;
}

static int put_row(const struct means *m, const struct mean_kind *kind, bool costs,
                   struct page_means *out, struct err *err)
{
    struct buf name = {0};
    struct page_mean_row *to = LIST_ADD(&out->rows, err);
    if (!to)
        return ERR_MEMORY;
    for (size_t w = 0; w < m->compare->workloads.count; w++)
        if (m->common >> w & 1) {
            if (!name.len)
                compare_label(kind->rows[w], &name);
            if (kind->rows[w]->noisy.v)
                to->noisy = some_bool(true);
            if (!to->runs.known || kind->rows[w]->runs.v < to->runs.v)
                to->runs = kind->rows[w]->runs;
        }
    fill_mean(m, kind, time_of, &to->time);
    if (costs)
        fill_mean(m, kind, cost_of, &to->cost);
    if (kind == m->base)
        to->base = some_bool(true);
    return text_take(&to->name, &name, err);
}

static int by_time(const void *a, const void *b)
{
    const struct mean_kind *x = *(const struct mean_kind *const *)a,
                           *y = *(const struct mean_kind *const *)b;
    return (x->time > y->time) - (x->time < y->time);
}

// The chosen rows, the base first and then the fastest.
static size_t sort(struct means *m, const struct mean_kind *out[ROWS_MOST])
{
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct mean_kind *kind = &m->kinds[i];
        struct page_mean time = {0};
        if (!kind->chosen)
            continue;
        fill_mean(m, kind, time_of, &time);
        kind->time = kind == m->base ? -1 : time.ratio.v;
        out[count++] = kind;
    }
    qsort(out, count, sizeof *out, by_time);
    return count;
}

static int put_means(struct means *m, struct page_means *out, struct err *err)
{
    const struct mean_kind *rows[ROWS_MOST];
    size_t count = sort(m, rows);
    bool costs = costs_known(m);
    for (size_t i = 0; i < count; i++)
        TRY(put_row(m, rows[i], costs, out, err));
    for (size_t i = 0; i < m->count; i++) {
        struct buf name = {0};
        const struct mean_kind *kind = &m->kinds[i];
        if (kind->chosen)
            continue;
        compare_label(kind->rows[__builtin_ctzll(kind->workloads)], &name);
        TRY(texts_take(&out->left_out, &name, err));
    }
    for (size_t w = 0; w < m->compare->workloads.count; w++)
        if (m->common >> w & 1)
            TRY(texts_add(&out->workloads, m->compare->workloads.items[w].workload, err));
    return 0;
}

int page_means(struct page *page, struct err *err)
{
    struct means m = {.compare = &page->compare};
    if (m.compare->workloads.count < 2 || m.compare->workloads.count > WORKLOADS_MOST)
        return 0;
    m.kinds = calloc(ROWS_MOST, sizeof *m.kinds);
    int rc = m.kinds ? gather_kinds(&m, err) : err_memory(err);
    if (rc == 0 && m.count <= ROWS_MOST)
        choose_kinds(&m);
    size_t chosen = 0;
    for (size_t i = 0; rc == 0 && m.base && i < m.count; i++)
        chosen += m.kinds[i].chosen;
    if (chosen > 1)
        rc = put_means(&m, &page->means, err);
    free(m.kinds);
    return rc;
}

// The geometric means as a table, in HTML and Markdown.

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
    {"machine + framework", "long"}, {"time ÷ base", "num"}, {"cost ÷ base", "num"}};

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
    markdown_text(out, buf_str(&words));
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
            markdown_text(out, buf_str(&text));
            buf_adds(out, " |");
            buf_drop(out, &text);
        }
        buf_addc(out, '\n');
    }
    buf_drop(out, &words);
}
