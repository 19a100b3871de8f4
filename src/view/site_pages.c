// SPDX-License-Identifier: Apache-2.0
// The page of a run and of a comparison, with their JSON, and the frame of all pages of a site.
#include <stdio.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/money.h"
#include "bill/bill.h"
#include "view/compare.h"
#include "view/html.h"
#include "render/markup.h"
#include "render/part.h"
#include "render/scale.h"
#include "view/site_job.h"

// ---- the frame

void site_begin(struct buf *out, const char *up, const char *here, const char *title)
{
    static const struct {
        const char *path, *name;
    } pages[] = {
        {"index.html", "Overview"}, {"runs.html", "Runs"}, {"compare.html", "Comparisons"}};
    html_begin(out, title, 0);
    buf_adds(out, "<header>\n<nav class=\"top\" aria-label=\"Pages\"><ul>\n");
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        buf_printf(out, "<li><a href=\"%s%s\"%s>%s</a></li>\n", up, pages[i].path,
                   here && strcmp(here, pages[i].path) == 0 ? " aria-current=\"page\"" : "",
                   pages[i].name);
    buf_adds(out, "</ul></nav>\n");
    html_heading(out, 1, title);
    buf_adds(out, "</header>\n<main>\n");
}

void site_json_link(struct buf *out, const char *href)
{
    buf_printf(out, "<p class=\"mute\"><a href=\"%s\">This page as JSON</a></p>\n", href);
}

void site_end(struct buf *out, const struct page *page, bool sources)
{
    struct page without = page ? *page : (struct page){0};
    memset(&without.runs, 0, sizeof without.runs);
    buf_adds(out, "</main>\n");
    if (page)
        html_provenance(out, sources ? page : &without);
    html_end(out);
}

// ---- records

// Those of one training, of one run, or all.
struct records {
    struct site_job *job;
    const struct site_run *only;
    size_t training; // SIZE_MAX: all
};

static int each_record(void *arg, ledger_visit_fn *visit, void *visit_arg, struct err *err)
{
    const struct records *r = arg;
    SCOPED(buf_release) struct buf text = {0};
    size_t count = r->only ? 1 : r->job->run_count;
    for (size_t i = 0; i < count; i++) {
        const struct site_run *run = r->only ? r->only : &r->job->runs[i];
        if (!r->only && r->training != SIZE_MAX && run->training != r->training)
            continue;
        TRY(site_record(r->job, run, &text, err));
        TRY(visit(visit_arg, run->id, buf_str(&text), err));
    }
    return 0;
}

// Only the records that the site has, and its prices.
static struct page_ask ask_of(const struct site_job *job, struct market *market)
{
    struct page_ask ask = job->ask->page;
    ask.market = market;
    ask.ledger = NULL;
    ask.words = NULL;
    ask.word_count = 0;
    ask.workload = ask.published = NULL;
    ask.all = false;
    ask.says = NULL;
    return ask;
}

int site_page_make(struct site_job *job, struct market *market, const struct site_run *only,
                   size_t training, struct page *page, struct err *err)
{
    struct records records = {job, only, training};
    struct page_ask ask = ask_of(job, market);
    ask.source = each_record;
    ask.source_arg = &records;
    return page_make(&ask, page, err);
}

// ---- a run

static void show_run(struct buf *out, const struct site_job *job, const struct site_run *run,
                     const struct page *page)
{
    const struct site_training *t = &job->trainings[run->training];
    site_begin(out, "../", NULL, page->title);
    html_one_head(out, page);
    if (t->compared) {
        buf_printf(out, "<p><a href=\"../compare/%s.html\">Compared with other runs of ", t->name);
        markup_in(out, "", t->title, "</a></p>\n"); // without their number, which grows
    }
    html_one_body(out, page);
    buf_printf(out,
               "<p class=\"mute\"><a href=\"%s.json\">The record of this run as JSON</a></p>\n",
               run->name);
    site_end(out, page, true);
}

// ---- what a training's row says

static bool timed(const struct compare_row *row)
{
    return row->time_s.value.known && row->time_s.value.v > 0;
}

// The row that leads, or else the best of those that are noisy or stopped; null: none has a figure
// of its own.
static const struct compare_row *best_row(const struct compare *compare,
                                          enum verdict_measure measure)
{
    struct verdict_one best = {0}, unsure = {0};
    for (size_t w = 0; w < compare->workloads.count; w++) {
        const struct compare_workload *workload = &compare->workloads.items[w];
        const struct verdict v =
            verdict_of_rows(workload->rows.items, workload->rows.count, measure);
        if (v.winner.row && (!best.row || v.winner.value.v < best.value.v))
            best = v.winner;
        if (v.unsure.row && (!unsure.row || v.unsure.value.v < unsure.value.v))
            unsure = v.unsure;
    }
    const struct compare_row *row = best.row ? best.row : unsure.row;
    bool known = row && (measure == VERDICT_COST ? row->cost.nano_usd.known : timed(row));
    return known ? row : NULL;
}

// "on k80 + tensorflow, noisy"
static void add_row(struct buf *out, const struct compare_row *row)
{
    const char *machine = row->machine ? row->machine : "an unknown machine";
    buf_printf(out, " on %s%s", verdict_article(machine), machine);
    if (row->framework && strcmp(row->framework, "-") != 0)
        buf_printf(out, " + %s", row->framework);
    buf_adds(out, row->stopped.v ? ", stopped" : row->noisy.v ? ", noisy" : "");
}

static void fastest_words(const struct compare *compare, char out[SITE_WORDS])
{
    const struct compare_row *row = best_row(compare, VERDICT_TIME);
    SCOPED(buf_release) struct buf text = {0};
    if (!row)
        return;
    const struct cell time = compare_time(row);
    cell_words(&time, &text);
    add_row(&text, row);
    snprintf(out, SITE_WORDS, "%s", buf_str(&text));
}

// Of machines with a price of their own, or else to rent, of those with a run.
static void lowest_words(const struct page *page, char out[SITE_WORDS])
{
    const struct compare_row *row = best_row(&page->compare, VERDICT_COST);
    const struct quote *quote = page->quotes.count > 0 ? &page->quotes.items[0] : NULL;
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES], offer[96];
    SCOPED(buf_release) struct buf text = {0};
    if (row) {
        const struct cell cost = compare_cost(row);
        cell_words(&cost, &text);
        buf_adds(&text, " USD");
        add_row(&text, row);
    } else if (quote && verdict_of_quote(quote).cheapest) {
        const struct bill *bill = verdict_of_quote(quote).cheapest;
        bill_amount(bill, amount, interval);
        page_offer(bill, offer, sizeof offer);
        buf_printf(&text, "%s USD to rent: %s", amount, offer);
    }
    snprintf(out, SITE_WORDS, "%s", buf_str(&text));
}

// What one run says about its training, where it is the only one.
static void only_run(struct site_training *t, const struct page_run *run)
{
    char words[SCALE_LABEL];
    if (!run->time_s.known)
        return;
    const char *machine = run->machine ? run->machine : "an unknown machine";
    scale_words("s", run->time_s.v, words);
    snprintf(t->fastest, sizeof t->fastest, "%s%s on %s%.100s%s",
             run->basis && strcmp(run->basis, "projected") == 0 ? "~" : "", words,
             verdict_article(machine), machine, run->taints.count > 0 ? ", noisy" : "");
}

int site_run_page(struct site_job *job, struct market *market, const struct site_run *run,
                  struct err *err)
{
    struct site_training *t = &job->trainings[run->training];
    SCOPED(page_release) struct page page = {0};
    SCOPED(buf_release) struct buf html = {0};
    char path[SITE_NAME_BYTES + 16];
    bool kept;
    snprintf(path, sizeof path, "runs/%s.html", run->name);
    int rc = site_keep(job, run, path, &kept, err);
    if (rc != 0 || kept)
        return rc;
    rc = site_page_make(job, market, run, 0, &page, err);
    if (rc == 0 && page.runs.count == 0)
        rc = err_set(err, ERR_FAIL, "run %s has gone", run->id);
    if (rc == 0)
        rc = text_set(&page.made, NULL, err); // the same runs give the same page
    if (rc == 0) {
        show_run(&html, job, run, &page);
        rc = site_put(job, path, &html, err);
    }
    if (rc == 0 && t->runs == 1) {
        only_run(t, &page.runs.items[0]);
        lowest_words(&page, t->lowest);
    }
    return rc;
}

// ---- a comparison

// "cnn takes 2.4 s to 3 h": the title says the result.
static void compare_title(const struct site_training *t, const struct page *page, struct buf *out)
{
    double least = 0, most = 0;
    size_t rows = 0;
    char from[SCALE_LABEL], to[SCALE_LABEL];
    for (size_t w = 0; w < page->compare.workloads.count; w++)
        for (size_t i = 0; i < page->compare.workloads.items[w].rows.count; i++) {
            const struct compare_row *row = &page->compare.workloads.items[w].rows.items[i];
            if (!timed(row))
                continue;
            double s = row->time_s.value.v;
            least = rows == 0 || s < least ? s : least;
            most = s > most ? s : most;
            rows++;
        }
    scale_words("s", least, from);
    scale_words("s", most, to);
    if (rows > 0 && strcmp(from, to) != 0)
        buf_printf(out, "%s takes %s to %s", t->title, from, to);
    else if (rows > 0)
        buf_printf(out, "%s takes %s", t->title, from);
    else
        buf_printf(out, "%s: %zu runs", t->title, t->runs);
}

static int runs_of(struct site_job *job, size_t training, struct buf *out, struct err *err)
{
    size_t numbers[RUN_LIST_ROWS], count = 0;
    for (size_t i = 0; i < job->run_count && count < RUN_LIST_ROWS; i++)
        if (job->runs[i].training == training)
            numbers[count++] = i;
    html_heading(out, 2, "Runs");
    TRY(site_rows(job, numbers, count, true, out, err));
    if (job->trainings[training].runs > count)
        buf_printf(out,
                   "<p>%zu older runs are in the comparison; the <a href=\"../runs.html\">lists"
                   "</a> have them.</p>\n",
                   job->trainings[training].runs - count);
    return 0;
}

static int show_compare(struct buf *out, struct site_job *job, size_t training,
                        const struct page *page, struct err *err)
{
    const struct site_training *t = &job->trainings[training];
    struct buf title = {0}, left_out = {0};
    compare_title(t, page, &title);
    site_begin(out, "../", NULL, buf_str(&title));
    buf_drop(out, &title);
    html_verdict_compared(out, page);
    buf_adds(out, "<div class=\"cols\">\n<div>\n");
    html_heading(out, 2, "Side by side");
    for (size_t i = 0; i < page->compare.workloads.count; i++)
        html_compare(out, page, i, 3);
    TRY(runs_of(job, training, out, err));
    if (page->quotes.count > 0)
        html_heading(out, 2, "Cost by offer");
    for (size_t i = 0; i < page->quotes.count; i++)
        html_quote(out, &page->quotes.items[i], NULL, 3);
    buf_adds(out, "</div>\n<div>\n");
    for (size_t i = 0; i < page->plots.count; i++)
        if (!html_shows_one(page->plots.items[i].kind))
            html_plot_within(out, &page->plots.items[i], 2, i, SITE_PLOTS_UNTIL, &left_out);
    html_left_out(out, &left_out);
    buf_adds(out, "</div>\n</div>\n");
    buf_printf(out, "<p class=\"mute\"><a href=\"%s.json\">The comparison as JSON</a></p>\n",
               t->name);
    site_end(out, page, true);
    return buf_check(out, err);
}

int site_compare_page(struct site_job *job, size_t training, struct err *err)
{
    struct site_training *t = &job->trainings[training];
    SCOPED(page_release) struct page page = {0};
    SCOPED(buf_release) struct buf html = {0}, json = {0};
    char path[SITE_NAME_BYTES + 16];
    TRY(site_page_make(job, job->ask->page.market, NULL, training, &page, err));
    TRY(text_set(&page.made, NULL, err));
    TRY(show_compare(&html, job, training, &page, err));
    snprintf(path, sizeof path, "compare/%s.html", t->name);
    TRY(site_put(job, path, &html, err));
    TRY(record_to_text(compare_fields, &page.compare, &json, err));
    buf_addc(&json, '\n');
    snprintf(path, sizeof path, "compare/%s.json", t->name);
    TRY(site_put(job, path, &json, err));
    fastest_words(&page.compare, t->fastest);
    lowest_words(&page, t->lowest);
    return 0;
}
