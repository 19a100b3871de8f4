// SPDX-License-Identifier: Apache-2.0
#include "report/verdict.h"

#include <string.h>

#include "base/clock.h"
#include "base/money.h"

void verdict_time(struct buf *out, double seconds)
{
    char words[48];
    clock_words(seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX, words, sizeof words);
    buf_adds(out, words);
}

const char *verdict_article(const char *machine)
{
    return strncmp(machine, "machine ", 8) == 0 ? "a " : "";
}

bool verdict_priced(const struct page_ask *ask)
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
    verdict_time(out, run->time_s.v);
    if (run->low_s.known && run->high_s.known) {
        buf_adds(out, " (95 %: ");
        verdict_time(out, run->low_s.v);
        buf_adds(out, " to ");
        verdict_time(out, run->high_s.v);
        buf_adds(out, ")");
    }
    buf_printf(out, "%s%s%s", run->basis ? ", " : "", or_unknown(run->basis, ""),
               run->taints.count > 0 ? ", noisy" : "");
    if (row && row->cost.nano_usd.known && verdict_priced(ask)) {
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
        verdict_time(out, least->time_s.v);
        buf_adds(out, " (");
        add_run(least, out);
        buf_adds(out, ") to ");
        verdict_time(out, most->time_s.v);
        buf_adds(out, " (");
        add_run(most, out);
        buf_adds(out, ")");
    }
    buf_adds(out, ".");
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
    if (!compared || !verdict_priced(ask))
        verdict_rent(page, &text);
    TRY(texts_take(&page->verdict, &text, err));
    return ask->wishes.deadline_ns.known ? verdict_deadlines(ask, page, jobs, err) : 0;
}
