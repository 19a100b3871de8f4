// SPDX-License-Identifier: Apache-2.0
// The page of a single run, for a report and for fare serve: the four figures that matter, where
// the time went, everything over the time of the run, what it costs elsewhere, and how to do it
// again.
#include <stdio.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/units.h"
#include "bill/bill.h"
#include "view/html.h"
#include "view/run.h"
#include "render/markup.h"
#include "render/part.h"
#include "render/scale.h"

// "projected, 95 %: 12 h 03 min to 16 h 39 min"
static void time_source(const struct page_run *run, struct buf *out)
{
    char low[SCALE_LABEL], high[SCALE_LABEL];
    if (!run->time_s.known) {
        buf_adds(out, "ended too early to project it");
        return;
    }
    buf_adds(out, run->basis ? run->basis : "");
    if (!run->low_s.known || !run->high_s.known)
        return;
    scale_words("s", run->low_s.v, low);
    scale_words("s", run->high_s.v, high);
    if (strcmp(low, high) != 0)
        buf_printf(out, "%s95 %%: %s to %s", out->len ? ", " : "", low, high);
}

static void time_stat(struct buf *out, const struct page_run *run)
{
    char words[SCALE_LABEL] = "";
    struct buf sub = {0};
    if (run->time_s.known)
        scale_words("s", run->time_s.v, words);
    time_source(run, &sub);
    part_stat(out, "whole training", words, buf_str(&sub));
    buf_drop(out, &sub);
}

static void usd_words(int64_t nano, char out[MONEY_BYTES + 8])
{
    char amount[MONEY_BYTES];
    money_short(nano, amount);
    snprintf(out, MONEY_BYTES + 8, "%s USD", amount);
}

// What the run itself cost, or else what the training costs to rent: on the cheapest machine with a
// run, or else by estimate, or else the lowest bound.
static void cost_stat(struct buf *out, const struct page *page, const struct page_run *run)
{
    static const struct quote none = {0};
    const struct verdict_quote q =
        verdict_of_quote(page->quotes.count > 0 ? page->quotes.items : &none);
    const struct bill *bill = q.cheapest ? q.cheapest : q.lowest;
    char words[MONEY_BYTES + 8] = "", amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    struct buf sub = {0};
    if (run->usd.known) {
        usd_words(run->usd.nano, words);
        if (run->usd_from)
            buf_printf(&sub, "source of the price: %s", run->usd_from);
        part_stat(out, run->starts.count > 1 ? "this start cost" : "this run cost", words,
                  buf_str(&sub));
    } else if (bill) {
        bill_amount(bill, amount, interval);
        snprintf(words, sizeof words, "%s USD", amount);
        if (bill->gpu && bill->gpus.known)
            buf_printf(&sub, "%g × %s at ", bill->gpus.v, bill->gpu);
        buf_adds(&sub, bill->provider ? bill->provider : "an unknown provider");
        if (bill->certainty)
            buf_printf(&sub, ", %s", bill->certainty);
        if (*interval)
            buf_printf(&sub, ", %s USD", interval);
        part_stat(out, verdict_called(bill, VERDICT_COST), words, buf_str(&sub));
    } else {
        part_stat(out, "cost", NULL, "no known offer fits");
    }
    buf_drop(out, &sub);
}

static void step_stat(struct buf *out, const struct page_run *run)
{
    struct units_text step = {""};
    struct buf sub = {0};
    char rate[SCALE_LABEL];
    if (run->step_ms.known)
        step = units_step(run->step_ms.v);
    else
        buf_adds(&sub, "no steps were seen");
    if (run->samples_per_s.known) {
        scale_words("samples/s", run->samples_per_s.v, rate);
        buf_printf(&sub, "%s over all steps", rate);
    }
    if (run->step_low_ms.known && run->step_high_ms.known)
        buf_printf(&sub, "%s95 %%: %s to %s", sub.len ? "; " : "", units_step(run->step_low_ms.v).s,
                   units_step(run->step_high_ms.v).s);
    part_stat(out, "step time", step.s, buf_str(&sub));
    buf_drop(out, &sub);
}

static void stats(struct buf *out, const struct page *page, const struct page_run *run)
{
    part_stats_begin(out);
    time_stat(out, run);
    cost_stat(out, page, run);
    step_stat(out, run);
    part_stat(out, "quality", run->quality,
              !run->quality          ? "nothing was evaluated"
              : !run->accuracy.known ? "on held-out data"
              : run->basis && strcmp(run->basis, "projected") == 0
                  ? "accuracy on test data, after the sample"
                  : "accuracy on test data");
    part_stats_end(out);
}

// Without its first sentence, which the title and the figures say already.
static void verdict(struct buf *out, const struct page *page, const struct page_run *run)
{
    size_t from = run->time_s.known;
    if (from >= page->verdict.count)
        return;
    buf_adds(out, "<div class=\"verdict\">\n");
    for (size_t i = from; i < page->verdict.count; i++)
        html_paragraph(out, "", page->verdict.items[i]);
    buf_adds(out, "</div>\n");
}

void html_one_head(struct buf *out, const struct page *page)
{
    const struct page_run *run = &page->runs.items[0];
    SCOPED(doc_release) struct doc doc = {0};
    buf_adds(out, "<p>");
    part_state(out, run->ended);
    buf_addc(out, ' ');
    if (run->basis)
        part_chip(out, PART_PLAIN, run->basis);
    if (run->taints.count > 0) {
        buf_addc(out, ' ');
        part_chip(out, PART_WAIT, "noisy");
    }
    markup_in(out, " <span class=\"mute\">", run->id, "</span></p>\n");
    stats(out, page, run);
    verdict(out, page, run);
    view_run_doubts(&doc, run);
    doc_html(out, &doc, 2);
}

static const struct plot *plot_of(const struct page *page, const char *kind, size_t *number)
{
    for (*number = 0; *number < page->plots.count; (*number)++)
        if (strcmp(page->plots.items[*number].kind, kind) == 0)
            return &page->plots.items[*number];
    return NULL;
}

static void show_plot(struct buf *out, const struct page *page, const char *kind)
{
    size_t number;
    const struct plot *plot = plot_of(page, kind, &number);
    if (plot)
        html_plot(out, plot, 2, number);
}

// What the timeline, the table of offers and the figures at the top show already; offers of a GPU
// have pages of their own.
static bool shown_before(const struct page *page, const struct plot *plot)
{
    const char *kind = plot->kind;
    static const char *const by_timeline[] = {"loss", "accuracy", "use", "steps", NULL};
    static const char *const before[] = {"phases", "account", "timeline", "frontier",
                                         "cost",   "offers",  NULL};
    size_t number;
    for (size_t i = 0; by_timeline[i]; i++)
        if (strcmp(kind, by_timeline[i]) == 0)
            return plot_of(page, "timeline", &number) != NULL;
    for (size_t i = 0; before[i]; i++)
        if (strcmp(kind, before[i]) == 0)
            return true;
    return !html_worth(plot);
}

static void elsewhere(struct buf *out, const struct page *page)
{
    buf_adds(out, "<section id=\"quotes\">\n");
    html_heading(out, 2, "What it costs elsewhere");
    if (page->quotes.count == 0)
        part_empty(out,
                   "The time of the whole training is unknown, so that no bill can be made. A run "
                   "that trains for longer gives it; so does a time that you know:",
                   "fare quote --time 2h --gpu h100");
    for (size_t i = 0; i < page->quotes.count; i++)
        html_bills(out, &page->quotes.items[i], NULL);
    buf_adds(out, "</section>\n");
}

static void section(struct buf *out, const char *id, struct doc *doc)
{
    if (doc->count > 0) {
        buf_printf(out, "<section id=\"%s\">\n", id);
        doc_html(out, doc, 2);
        buf_adds(out, "</section>\n");
    }
    doc_release(doc);
}

static void figures(struct buf *out, const struct page_run *run)
{
    struct doc doc = {0};
    doc_heading(&doc, 0, "Figures");
    view_run_figures(&doc, run);
    section(out, "figures", &doc);
}

static void provenance(struct buf *out, const struct page_run *run)
{
    struct doc doc = {0};
    buf_adds(out, "<section id=\"again\">\n");
    html_heading(out, 2, "Do it again");
    if (run->again)
        part_command(out, run->again);
    else
        html_paragraph(out, "", "The command line of this run is not known.");
    view_run_settings(&doc, run);
    doc_html(out, &doc, 2);
    doc_release(&doc);
    buf_adds(out, "</section>\n");
}

static void other_plots(struct buf *out, const struct page *page)
{
    for (size_t i = 0; i < page->plots.count; i++)
        if (!shown_before(page, &page->plots.items[i]))
            html_plot(out, &page->plots.items[i], 2, i);
}

void html_one_plots(struct buf *out, const struct page *page)
{
    buf_adds(out, "<div class=\"both\">\n");
    show_plot(out, page, "phases");
    show_plot(out, page, "account");
    show_plot(out, page, "timeline");
    other_plots(out, page);
    buf_adds(out, "</div>\n");
}

static bool any_offer(const struct page *page)
{
    for (size_t i = 0; i < page->quotes.count; i++)
        if (page->quotes.items[i].bills.count + page->quotes.items[i].estimates.count > 0)
            return true;
    return false;
}

void html_one_body(struct buf *out, const struct page *page)
{
    const char *next = "</div>\n<div>\n";
    struct doc starts = {0};
    bool offers = any_offer(page); // their table takes the right column; without it, the timeline
    buf_adds(out, "<div class=\"cols\">\n<div>\n");
    show_plot(out, page, "phases");
    show_plot(out, page, "account");
    figures(out, &page->runs.items[0]);
    if (!offers) {
        elsewhere(out, page);
        provenance(out, &page->runs.items[0]);
        buf_adds(out, next);
    }
    show_plot(out, page, "timeline");
    show_plot(out, page, "frontier");
    other_plots(out, page);
    if (offers) {
        buf_adds(out, next);
        elsewhere(out, page);
    }
    buf_adds(out, "</div>\n</div>\n");
    view_run_starts(&starts, &page->runs.items[0]);
    section(out, "starts", &starts);
    if (offers)
        provenance(out, &page->runs.items[0]);
}
