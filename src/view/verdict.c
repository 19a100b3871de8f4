// SPDX-License-Identifier: Apache-2.0
#include "view/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/money.h"

// Whether the user gave the machines' prices.
static bool is_priced(const struct page_ask *ask)
{
    return ask->pricing.price_count + ask->pricing.offer_count > 0;
}

static const char *or_unknown(const char *text, const char *unknown)
{
    return text ? text : unknown;
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static const char *name_of(const struct page_run *run)
{
    return or_unknown(run->workload, or_unknown(run->name, "the run"));
}

// "cnn on a machine with 2 CPUs"
static void add_run(const struct page_run *run, struct buf *out)
{
    const char *machine = or_unknown(run->machine, "an unknown machine");
    buf_printf(out, "%s on %s%s", name_of(run), verdict_article(machine), machine);
}

// The comparison's row of the only run.
static const struct compare_row *only_row(const struct page *page)
{
    const struct compare *c = &page->compare;
    bool one = c->workloads.count == 1 && c->workloads.items[0].rows.count == 1;
    return one ? &c->workloads.items[0].rows.items[0] : NULL;
}

static void say_unknown(const struct page_run *run, const struct compare_row *row, struct buf *out)
{
    bool calculated = row && row->calculation_ms.value.known;
    buf_adds(out, calculated ? "One calculation of " : "The time of ");
    add_run(run, out);
    if (calculated)
        buf_printf(out, " takes %.4g ms; the time of the whole run is unknown.",
                   row->calculation_ms.value.v);
    else if (row && same(row->kind, "relative"))
        buf_adds(out, " is unknown: only its speed relative to others is known.");
    else
        buf_adds(out, " is unknown: the run ended too early to project it.");
}

// One run by itself.
static void say_run(const struct page_ask *ask, const struct page *page, struct buf *out)
{
    const struct page_run *run = &page->runs.items[0];
    const struct compare_row *row = only_row(page);
    char cost[MONEY_BYTES];
    if (!run->time_s.known) {
        say_unknown(run, row, out);
        return;
    }
    buf_adds(out, "The whole training of ");
    add_run(run, out);
    buf_adds(out, " takes ");
    verdict_add_time(out, run->time_s.v);
    if (run->low_s.known && run->high_s.known) {
        buf_adds(out, " (95 %: ");
        verdict_add_time(out, run->low_s.v);
        buf_adds(out, " to ");
        verdict_add_time(out, run->high_s.v);
        buf_adds(out, ")");
    }
    buf_printf(out, "%s%s%s", run->basis ? ", " : "", or_unknown(run->basis, ""),
               run->taints.count > 0 ? ", noisy" : "");
    if (row && row->cost.nano_usd.known && is_priced(ask)) {
        money_short(row->cost.nano_usd.v, cost);
        buf_printf(out, ", and costs $%s at the price given", cost);
    }
    buf_adds(out, ".");
}

static void say_many(const struct page *page, struct buf *out)
{
    const struct page_run *least = NULL, *most = NULL;
    for (size_t i = 0; i < page->runs.count; i++) {
        const struct page_run *run = &page->runs.items[i];
        if (!run->time_s.known)
            continue;
        least = !least || run->time_s.v < least->time_s.v ? run : least;
        most = !most || run->time_s.v > most->time_s.v ? run : most;
    }
    buf_printf(out, "%zu runs were measured", page->runs.count);
    // Of one workload they are different trainings, or the comparison would have said more.
    if (least && !same(least->workload, most->workload)) {
        buf_adds(out, "; whole trainings take from ");
        verdict_add_time(out, least->time_s.v);
        buf_adds(out, " (");
        add_run(least, out);
        buf_adds(out, ") to ");
        verdict_add_time(out, most->time_s.v);
        buf_adds(out, " (");
        add_run(most, out);
        buf_adds(out, ")");
    }
    buf_adds(out, ".");
}

// ---- the comparison

// Means as rows whose ratios alone are known; null: no memory, or none.
static struct compare_row *rows_of_means(const struct page_means *means, struct buf *out)
{
    static char none[] = "-"; // each name has its framework
    struct compare_row *rows = calloc(means->rows.count + 1, sizeof *rows);
    out->failed |= !rows;
    for (size_t i = 0; rows && i < means->rows.count; i++) {
        const struct page_mean_row *m = &means->rows.items[i];
        rows[i] = (struct compare_row){
            .machine = m->name,
            .framework = none,
            .base = m->base,
            .noisy = m->noisy,
            .time = {.ratio = m->time.ratio, .low = m->time.low, .high = m->time.high},
            .money = {.ratio = m->cost.ratio, .low = m->cost.low, .high = m->cost.high}};
    }
    return rows;
}

static void say_means(const struct page_means *means, struct buf *out)
{
    SCOPED(free_pointer) struct compare_row *rows = rows_of_means(means, out);
    struct buf scope = {0};
    buf_printf(&scope, "By the geometric mean over %zu workloads that all %zu ran, ",
               means->workloads.count, means->rows.count);
    for (int m = 0; rows && m < VERDICT_MEASURES; m++) {
        const struct verdict v = verdict_of_rows(rows, means->rows.count, m);
        bool first = out->len == 0;
        if (v.of < 2 || !v.winner.row)
            continue;
        buf_adds(out, first ? "" : " ");
        verdict_say_rows(&v, first ? buf_str(&scope) : "", out);
    }
    buf_drop(out, &scope);
}

void verdict_compared(const struct page *page, struct buf *out)
{
    const struct compare *c = &page->compare;
    const struct compare_workload *only = NULL;
    size_t compared = 0;
    for (size_t i = 0; i < c->workloads.count; i++)
        if (c->workloads.items[i].sentences.count > 0) {
            only = &c->workloads.items[i];
            compared++;
        }
    if (page->means.rows.count > 0)
        say_means(&page->means, out);
    if (out->len > 0)
        return;
    if (compared == 1 && c->workloads.count > 1)
        buf_printf(out, "%s: ", only->workload);
    for (size_t i = 0; compared == 1 && i < only->sentences.count; i++)
        buf_printf(out, "%s%s", i ? " " : "", only->sentences.items[i]);
    for (size_t i = 0; compared != 1 && i < c->sentences.count; i++)
        buf_printf(out, "%s%s", i ? " " : "", c->sentences.items[i]);
}

void verdict_title(const struct page *page, struct buf *out)
{
    const struct compare *c = &page->compare;
    const struct compare_workload *only = c->workloads.count == 1 ? c->workloads.items : NULL;
    SCOPED(free_pointer) struct compare_row *means = only ? NULL : rows_of_means(&page->means, out);
    const struct compare_row *rows = only ? only->rows.items : means;
    size_t count = only ? only->rows.count : page->means.rows.count;
    struct verdict v[VERDICT_MEASURES];
    for (int m = 0; m < VERDICT_MEASURES; m++)
        v[m] = verdict_of_rows(rows, rows ? count : 0, m);
    if (v[VERDICT_COST].of > 1 && (v[VERDICT_COST].winner.row || v[VERDICT_TIME].winner.row)) {
        if (only)
            buf_printf(out, "%s: ", only->workload);
        else
            buf_printf(out, "Over %zu workloads, ", page->means.workloads.count);
        verdict_title_rows(v, out);
    } else {
        struct verdict_most most;
        out->failed |= verdict_of_workloads(c, VERDICT_TIME, &most, NULL) != 0;
        verdict_title_most(&most, out);
    }
}

// ---- offers, and the answer to a deadline

// The words of the quote's own advice.
static int say_rent(struct page *page, struct err *err)
{
    const struct quote *quote = page->quotes.items;
    struct buf text = {0};
    if (page->quotes.count == 1 && quote_count(quote) > 0) {
        verdict_say_bills(quote, &text);
    } else if (page->quotes.count == 1 && quote->advice.count > 0) {
        buf_adds(&text, quote->advice.items[0]);
    } else if (page->quotes.count > 1) {
        verdict_say_sum(quote, page->quotes.count, &text);
    }
    return texts_take(&page->verdict, &text, err);
}

// Bills answer, as in `fare quote`; without any, or with prices given by the user, the machines of
// the runs do, unless they are late and there are estimates.
static bool rows_answer(const struct page_ask *ask, const struct compare_workload *w,
                        const struct verdict_limit *rows, const struct quote *quote)
{
    if (!quote || is_priced(ask))
        return true;
    if (quote->bills.count > 0 || (quote->estimates.count > 0 && !rows->sure.row))
        return false;
    for (size_t i = 0; i < w->rows.count; i++)
        if (w->rows.items[i].cost.nano_usd.known)
            return true;
    return false;
}

static int say_deadline(const struct page_ask *ask, struct page *page, const struct quote_job *jobs,
                        const struct compare_workload *w, struct err *err)
{
    struct buf text = {0};
    double deadline_s = (double)ask->wishes.deadline_ns.v / 1e9;
    const struct verdict_limit rows =
        verdict_of_rows_in_time(w->rows.items, w->rows.count, deadline_s);
    size_t at = 0;
    while (at < page->quotes.count && strcmp(page->quotes.items[at].workload, w->workload) != 0)
        at++;
    const struct quote *quote = at < page->quotes.count ? &page->quotes.items[at] : NULL;
    if (page->compare.workloads.count > 1)
        buf_printf(&text, "%s: ", w->workload);
    size_t start = text.len;
    if (rows_answer(ask, w, &rows, quote))
        verdict_say_rows_in_time(&rows, deadline_s, &text);
    else
        advice_deadline(&jobs[at].ask, ask->wishes.deadline_ns.v, quote, &text);
    if (start > 0 && text.len > start)
        text.data[start] = 'w'; // "mlp: within"
    return texts_take(&page->verdict, &text, err);
}

int page_verdict(const struct page_ask *ask, struct page *page, const struct quote_job *jobs,
                 struct err *err)
{
    struct buf text = {0};
    if (page->runs.count == 0) {
        buf_adds(&text, "There are no runs to report on.");
        return texts_take(&page->verdict, &text, err);
    }
    verdict_compared(page, &text);
    bool compared = text.len > 0;
    if (!compared && page->runs.count == 1)
        say_run(ask, page, &text);
    else if (!compared)
        say_many(page, &text);
    TRY(texts_take(&page->verdict, &text, err));
    if (!compared || !is_priced(ask))
        TRY(say_rent(page, err));
    for (size_t i = 0; ask->wishes.deadline_ns.known && i < page->compare.workloads.count; i++)
        TRY(say_deadline(ask, page, jobs, &page->compare.workloads.items[i], err));
    return 0;
}
