// SPDX-License-Identifier: Apache-2.0
#include "view/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/clock.h"
#include "base/units.h"
#include "base/money.h"
#include "record/read.h"
#include "view/draft.h"
#include "view/run.h"
#include "view/verdict.h"
#include "version.h"

#define QUOTES_MOST 12 // workloads

#define RECORD_TABLES
#include "view/page.def"

const char *const plot_kinds[] = {"cost",         "relative", "frontier", "loss",   "accuracy",
                                  "distribution", "use",      "steps",    "phases", "account",
                                  "timeline",     "batch",    "gpus",     "offers", "speed",
                                  "prices",       "spot",     "buy",      NULL};

void page_offer(const struct bill *bill, char *out, size_t size)
{
    bool plain = !bill->kind || strcmp(bill->kind, "on-demand") == 0;
    snprintf(out, size, "%s/%s%s%s", bill->provider ? bill->provider : "",
             bill->name ? bill->name : "", plain ? "" : ":", plain ? "" : bill->kind);
}

void page_provenance(const struct page *page, struct buf *out)
{
    buf_printf(out, "Made by %s%s%s from %s.", page->program ? page->program : "fare",
               page->made ? " on " : "", page->made ? page->made : "",
               page->from ? page->from : "runs");
}

// ---- the runs

struct gathering {
    const struct page_ask *ask;
    struct page *page;
    struct comparing *comparing;
    LIST_OF(struct run) runs; // shown individually
    int64_t seen;
};

static int keep_run(struct gathering *g, const char *text, size_t len, struct err *err)
{
    struct run *run = LIST_ADD(&g->runs, err);
    int rc = run ? record_from_text(run_fields, text, len, run, err) : ERR_MEMORY;
    if (run && rc != 0) {
        record_release(run_fields, run);
        g->runs.count--;
    }
    return rc;
}

static int add_text(void *arg, const char *id, const char *text, struct err *err)
{
    struct gathering *g = arg;
    size_t len = strlen(text);
    int rc = g->seen < PAGE_RUNS ? keep_run(g, text, len, err) : 0;
    if (rc == 0)
        rc = comparing_add(g->comparing, text, len, err);
    g->seen += rc == 0;
    if (rc == ERR_FORMAT)
        err_context(err, "run %s", id);
    return rc;
}

// With --all there may be very many runs; beyond PAGE_RUNS only their heads are read.
static int add_head(void *arg, const char *id, const char *text, struct err *err)
{
    struct gathering *g = arg;
    (void)id;
    return g->seen++ < PAGE_RUNS ? 0 : comparing_add(g->comparing, text, strlen(text), err);
}

static int add_ledger(struct gathering *g, struct err *err)
{
    const struct page_ask *ask = g->ask;
    bool many = ask->all || ask->workload;
    struct ledger_filter filter = {.workload = ask->workload,
                                   .limit = many ? PAGE_RUNS : PAGE_NEWEST};
    int rc = ledger_each(ask->ledger, &filter, add_text, g, err);
    if (rc != 0 || !many || g->seen < PAGE_RUNS)
        return rc;
    g->seen = 0;
    filter.limit = 0;
    filter.heads = true;
    rc = ledger_each(ask->ledger, &filter, add_head, g, err);
    g->page->left_out = some_int(g->seen - PAGE_RUNS);
    return rc;
}

static int add_words(struct gathering *g, struct err *err)
{
    for (size_t i = 0; i < g->ask->word_count; i++) {
        SCOPED(buf_release) struct buf text = {0};
        TRY(market_run(g->ask->market, g->ask->ledger, g->ask->words[i], &text, err));
        TRY(add_text(g, g->ask->words[i], buf_str(&text), err));
    }
    return 0;
}

static int add_given(struct gathering *g, struct err *err)
{
    for (size_t i = 0; i < g->ask->run_count; i++) {
        SCOPED(buf_release) struct buf text = {0};
        TRY(record_to_line(run_fields, &g->ask->runs[i], &text, err));
        TRY(add_text(g, g->ask->runs[i].id ? g->ask->runs[i].id : "", buf_str(&text), err));
    }
    return 0;
}

static int add_runs(struct gathering *g, struct err *err)
{
    const struct page_ask *ask = g->ask;
    SCOPED(buf_release) struct buf from = {0};
    int rc = 0;
    if (ask->source) {
        buf_adds(&from, "the runs of this site");
        rc = ask->source(ask->source_arg, add_text, g, err);
    } else if (ask->runs) {
        buf_adds(&from, ask->run_count == 1 ? "this run" : "this machine's runs");
        rc = add_given(g, err);
    } else if (ask->published) {
        buf_printf(&from, "the published results %s", ask->published);
        rc = published_set(NULL, ask->published, add_text, g, err);
    } else {
        rc = ledger_connect(ask->ledger, ask->says, err);
        if (rc == 0)
            rc = ask->word_count > 0 ? add_words(g, err) : add_ledger(g, err);
        if (rc == 0)
            buf_printf(&from, "the ledger %s", ledger_name(ask->ledger));
    }
    if (rc == 0)
        rc = text_take(&g->page->from, &from, err);
    return rc;
}

// ---- quotes

static bool by_name(const struct page_ask *ask)
{
    return ask->word_count > 0 || ask->source;
}

static const char *workload_of(const struct run *run)
{
    return run->workload ? run->workload : run->name ? run->name : "command";
}

static bool of_workload(const struct run *run, const char *workload)
{
    return strcmp(workload_of(run), workload) == 0;
}

static size_t count_workloads(const struct gathering *g)
{
    size_t count = 0;
    for (size_t i = 0; i < g->runs.count; i++) {
        bool new = true;
        for (size_t k = 0; k < i && new; k++)
            new = !of_workload(&g->runs.items[k], workload_of(&g->runs.items[i]));
        count += new;
    }
    return count > 0 ? count : 1;
}

static int make_quote(const struct gathering *g, struct quote_job *job, struct err *err)
{
    const struct page_ask *ask = g->ask;
    job->ask.max_age = QUOTE_MAX_AGE;
    job->ask.wishes.start_s = ask->day * INT64_C(86400);
    job->ask.wishes.prorated = ask->pricing.prorated;
    job->ask.wishes.currency = ask->currency;
    job->date = ask->pricing.date;
    job->wishes = ask->wishes;
    job->ask.estimates = !ask->measured;
    job->ask.most_estimates = PAGE_ESTIMATES;
    job->ask.most_misfits = (int)(PAGE_MISFITS / count_workloads(g));
    return quote_assemble(job, err);
}

// Prices a named run as `fare quote RUN` does, and a workload as `fare quote WORKLOAD`. For several
// named runs, only their own times count. Runs of bare `fare` are compared with similar ones, as on
// the terminal.
static int load_quote(const struct gathering *g, size_t first, struct quote_job *job,
                      struct err *err)
{
    const struct page_ask *ask = g->ask;
    const struct run *run = &g->runs.items[first];
    size_t alike = 0;
    for (size_t i = first; i < g->runs.count; i++)
        alike += of_workload(&g->runs.items[i], workload_of(run));
    if (by_name(ask) && alike > 1)
        return quote_load_runs(job, run, g->runs.count - first, err);
    bool ours = quote_is_workload(run->workload);
    job->asked = by_name(ask) || !ours;
    if (job->asked)
        return quote_load_run(job, run, ask->ledger, err);
    return ask->runs ? quote_load_like(job, run, ask->ledger, err)
                     : quote_load(job, run->workload, ask->ledger, err);
}

static int quote_run(const struct gathering *g, size_t first, struct quote_job *job,
                     struct err *err)
{
    const struct run *run = &g->runs.items[first];
    job->ask.market = g->ask->market;
    TRY(load_quote(g, first, job, err));
    if (job->asked || g->ask->runs)
        TRY(text_set(&job->quote.run, run->id, err));
    TRY(make_quote(g, job, err));
    if (g->ask->says)
        buf_adds(g->ask->says, buf_str(&job->says));
    return 0;
}

static bool quoted(const struct quote_job *jobs, size_t count, const struct run *run)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].workload && of_workload(run, jobs[i].workload))
            return true;
    return false;
}

// Rent or buy can be answered by speeds alone.
static bool can_quote(const struct page_ask *ask, const struct run *run)
{
    struct bill_time time;
    return bill_time_of(run, &time) || (ask->wishes.buy && run_relative_speed(run) > 0);
}

// One quote per workload with a known time. Published sets already have prices of their own dates,
// in the comparison.
static int add_quotes(struct gathering *g, struct quote_job *jobs, size_t *count, struct err *err)
{
    for (size_t i = 0; i < g->runs.count && *count < QUOTES_MOST; i++) {
        const struct run *run = &g->runs.items[i];
        if (g->ask->published || quoted(jobs, *count, run) || !can_quote(g->ask, run))
            continue;
        TRY(quote_run(g, i, &jobs[(*count)++], err));
    }
    return 0;
}

static int take_quotes(struct page *page, struct quote_job *jobs, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct quote *quote = LIST_ADD(&page->quotes, err);
        if (!quote)
            return ERR_MEMORY;
        *quote = jobs[i].quote;
        memset(&jobs[i].quote, 0, sizeof jobs[i].quote);
    }
    return 0;
}

// ---- the whole page

static const char *or_unknown(const char *text, const char *unknown)
{
    return text ? text : unknown;
}

// The machine of all runs; null if there are several.
static const char *only_machine(const struct page *page)
{
    const char *first = page->runs.count > 0 ? page->runs.items[0].machine : NULL;
    for (size_t i = 1; first && i < page->runs.count; i++) {
        const char *other = page->runs.items[i].machine;
        first = other && strcmp(first, other) == 0 ? first : NULL;
    }
    return first;
}

// "cnn takes 2.4 s on H200"
static void one_title(const struct page_run *run, struct buf *out)
{
    buf_adds(out, or_unknown(run->name, "A run"));
    if (run->time_s.known) {
        bool projected = run->basis && strcmp(run->basis, "projected") == 0;
        buf_adds(out, projected ? " takes about " : " takes ");
        verdict_add_time(out, run->time_s.v);
    }
    const char *machine = or_unknown(run->machine, "an unknown machine");
    buf_printf(out, " on %s%s", verdict_article(machine), machine);
}

// The workload of all runs, or the name of all commands; null if there are several.
static const char *only_name(const struct page *page)
{
    const char *first = NULL;
    for (size_t i = 0; i < page->runs.count; i++) {
        const struct page_run *run = &page->runs.items[i];
        const char *name = run->workload ? run->workload : run->name;
        if (!name || (first && strcmp(first, name) != 0))
            return NULL;
        first = name;
    }
    return first;
}

// "3 runs of cnn on H200 take 2.40 s to 2.45 s": where none can be said to be ahead. Nothing if a
// time is not known, not all runs are on the page, or they are of several trainings.
static void range_title(const struct page *page, struct buf *out)
{
    double low = 0, high = 0;
    size_t known = 0;
    if (page->left_out.v > 0)
        return;
    for (size_t i = 0; i < page->runs.count; i++) {
        struct maybe_real s = page->runs.items[i].time_s;
        if (!s.known)
            continue;
        low = known == 0 || s.v < low ? s.v : low;
        high = known == 0 || s.v > high ? s.v : high;
        known++;
    }
    if (known < 2 || known != page->runs.count)
        return;
    const char *name = only_name(page);
    if (!name)
        return;
    buf_printf(out, "%zu runs of %s", known, name);
    if (only_machine(page))
        buf_printf(out, " on %s%s", verdict_article(only_machine(page)), only_machine(page));
    buf_adds(out, " take ");
    verdict_add_time(out, low);
    buf_adds(out, " to ");
    verdict_add_time(out, high);
}

static const char *training_of(const struct page_run *run)
{
    return run->workload ? run->workload : run->name ? run->name : "";
}

// "6 runs of 4 trainings on box-1"
static void title_of_trainings(const struct page *page, struct buf *out)
{
    const char *machine = only_machine(page);
    size_t trainings = 0;
    for (size_t i = 0; i < page->runs.count; i++) {
        size_t k = 0;
        while (k < i &&
               strcmp(training_of(&page->runs.items[k]), training_of(&page->runs.items[i])))
            k++;
        trainings += k == i;
    }
    if (page->left_out.v > 0) // runs that are not listed
        trainings = page->compare.workloads.count;
    buf_printf(out, "%lld runs of ", (long long)page->compare.runs.v);
    buf_adds(out, units_count((int64_t)trainings, "training").s);
    if (machine)
        buf_printf(out, " on %s%s", verdict_article(machine), machine);
}

static int set_title(struct gathering *g, struct err *err)
{
    const struct page *page = g->page;
    struct buf text = {0}, result = {0};
    if (!g->ask->published && page->runs.count > 1) {
        verdict_title(page, &result);
        if (result.len == 0)
            range_title(page, &result);
    }
    if (result.len > 0) {
        bool article = *verdict_article(buf_str(&result)) != '\0'; // "machine with an H200 ..."
        buf_printf(&text, "%s%s", article ? "A " : "", buf_str(&result));
    } else if (g->ask->published)
        buf_printf(&text, "%s: published results", g->ask->published);
    else if (g->ask->workload)
        buf_printf(&text, "%s: time and cost", g->ask->workload);
    else if (page->runs.count == 1)
        one_title(&page->runs.items[0], &text);
    else
        title_of_trainings(page, &text);
    buf_drop(&text, &result);
    return text_take(&g->page->title, &text, err);
}

int page_made(char **made, char **program, struct err *err)
{
    char date[CLOCK_ISO_BYTES];
    clock_iso(clock_date_s(), date);
    date[10] = '\0';
    return TEXTS_SET(err, {made, date}, {program, "fare " FARE_VERSION " (build " FARE_BUILD ")"});
}

// Runs, comparison and quotes, unless `jobs` is null. The jobs stay, for the plots.
static int gather(struct gathering *g, struct quote_job *jobs, size_t *count, struct err *err)
{
    struct compare_options options = {.base = g->ask->base,
                                      .workload = g->ask->workload,
                                      .pricing = g->ask->pricing,
                                      .published = g->ask->as_published,
                                      .currency = g->ask->currency};
    options.pricing.market = g->ask->market;
    TRY(comparing_new(&g->comparing, &options, err));
    TRY(add_runs(g, err));
    TRY(comparing_finish(g->comparing, &g->page->compare, err));
    for (size_t i = 0; i < g->runs.count; i++)
        TRY(page_run_add(g->page, &g->runs.items[i], err));
    if (jobs)
        TRY(add_quotes(g, jobs, count, err));
    return 0;
}

static void gathering_release(struct gathering *g, struct quote_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        quote_release(&jobs[i]);
    for (size_t i = 0; i < g->runs.count; i++)
        record_release(run_fields, &g->runs.items[i]);
    free(g->runs.items);
    comparing_free(g->comparing);
}

int page_make(const struct page_ask *ask, struct page *page, struct err *err)
{
    struct gathering g = {.ask = ask, .page = page};
    struct quote_job own[QUOTES_MOST] = {{.asked = false}};
    struct quote_job *jobs = ask->jobs ? ask->jobs : own;
    struct draft draft = {.page = page, .err = err};
    size_t count = 0;
    int rc = text_set(&page->schema, PAGE_SCHEMA, err);
    if (rc == 0)
        rc = page_made(&page->made, &page->program, err);
    if (rc == 0)
        rc = gather(&g, ask->jobs ? NULL : own, &count, err);
    if (rc == 0)
        rc = take_quotes(page, jobs, ask->jobs ? ask->job_count : count, err);
    if (rc == 0)
        rc = page_means(page, err);
    if (rc == 0) {
        plots_compare(&draft, ask, jobs);
        plots_runs(&draft, g.runs.items, g.runs.count);
        plots_one(&draft, g.runs.items, g.runs.count);
        plots_money(&draft, ask, jobs);
        rc = draft.rc;
    }
    if (rc == 0)
        rc = page_verdict(ask, page, jobs, err);
    if (rc == 0)
        rc = set_title(&g, err);
    gathering_release(&g, own, count);
    return rc;
}

int page_plots(const struct run *run, struct page *page, struct err *err)
{
    struct draft draft = {.page = page, .err = err};
    plots_runs(&draft, run, 1);
    plots_one(&draft, run, 1);
    return draft.rc;
}

int page_frontier(struct quote_job *job, struct page *page, struct err *err)
{
    const struct page_ask ask = {.wishes = job->wishes};
    struct draft draft = {.page = page, .err = err};
    page->quotes.items = &job->quote; // lent
    page->quotes.count = 1;
    plot_frontier(&draft, &ask);
    page->quotes.items = NULL;
    page->quotes.count = 0;
    return draft.rc;
}

int page_focus(const struct page_ask *ask, struct buf *out, struct err *err)
{
    SCOPED(page_release) struct page page = {0};
    struct gathering g = {.ask = ask, .page = &page};
    struct quote_job jobs[QUOTES_MOST] = {{.asked = false}};
    size_t count = 0;
    int rc = gather(&g, jobs, &count, err);
    focus_head(out);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = focus_bill(out, &jobs[i], err);
    gathering_release(&g, jobs, count);
    return rc == 0 ? buf_check(out, err) : rc;
}
