// SPDX-License-Identifier: Apache-2.0
// The page of one run, and of several side by side.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/read.h"
#include "view/html.h"
#include "render/markup.h"
#include "render/part.h"
#include "serve/board.h"
#include "serve/request.h"

enum { COMPARED_MOST = 50 };

// ---- one run, and several

// What the pages of the runs have, and the tables.
static bool is_elsewhere(const char *kind)
{
    static const char *const kinds[] = {"use",    "steps",  "account", "cost",
                                        "offers", "prices", "spot",    NULL};
    for (size_t i = 0; kinds[i]; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

enum place { LEFT, RIGHT, LAST }; // how fast and how dear; how it trained; on what to rent

static enum place place_of(const char *kind)
{
    static const char *const left[] = {"relative", "distribution", "batch", "gpus", NULL};
    for (size_t i = 0; left[i]; i++)
        if (strcmp(kind, left[i]) == 0)
            return LEFT;
    return strcmp(kind, "frontier") == 0 ? LAST : RIGHT;
}

static bool is_here(const char *kind)
{
    return !is_elsewhere(kind);
}

static void put_plots(struct buf *out, const struct page *page, struct buf *pieces,
                      enum place place)
{
    for (size_t i = 0; i < page->plots.count; i++)
        if (place_of(page->plots.items[i].kind) == place)
            html_piece(out, &pieces[i]);
}

static void show_end(struct buf *out, const struct page *page)
{
    buf_adds(out, "</main>\n");
    html_provenance(out, page);
    html_end(out);
}

static void show_run(struct buf *out, const struct request *request, const struct page *page)
{
    const char *id = page->runs.items[0].id ? page->runs.items[0].id : request->rest;
    struct buf path = {0};
    frame_begin(out, request, page->title);
    html_one_head(out, page);
    html_one_body(out, page);
    buf_adds(out, "<p><a href=\"/quote?run=");
    markup_address(out, id);
    buf_adds(out, "\">Price it with a deadline or a budget</a></p>\n");
    buf_adds(&path, "/runs/");
    markup_address(&path, id);
    frame_json_link(out, request, buf_str(&path));
    buf_drop(out, &path);
    show_end(out, page);
}

// The record as it is kept. A damaged one is named in the log and answered with the fault.
static int find_record(const struct request *request, struct answer *answer, struct buf *text,
                       bool *damaged, struct err *err)
{
    struct ledger *ledger;
    struct market *market;
    struct err why = {0};
    char says[sizeof why.text + 64];
    TRY(request_ledger(request, &ledger, err));
    TRY(request_market(request, &market, err));
    int rc = market_run(market, ledger, request->rest, text, err);
    if (rc == 0)
        rc = record_from_text(run_fields, buf_str(text), text->len, NULL, &why);
    *damaged = rc == ERR_FORMAT;
    if (!*damaged)
        return rc;
    site_say_damaged(request->site, request->rest, why.text);
    snprintf(says, sizeof says, "The record of this run is damaged: %s.", why.text);
    route_error(request, answer, 500, says);
    return 0;
}

static int gather(const struct request *request, const char *const *words, size_t count,
                  struct page *page, struct err *err)
{
    struct page_ask ask = {.words = words, .word_count = count};
    TRY(request_ledger(request, &ask.ledger, err));
    TRY(request_market(request, &ask.market, err));
    return page_make(&ask, page, err);
}

int page_run(const struct request *request, struct answer *answer, struct err *err)
{
    SCOPED(page_release) struct page page = {0};
    bool running = false;
    int rc = live_run(request, answer, &running, err);
    if (rc != 0 || running)
        return rc;
    SCOPED(buf_release) struct buf record = {0};
    bool damaged = false;
    rc = find_record(request, answer, &record, &damaged, err);
    if (rc == 0 && !damaged && request->json) {
        buf_add(&answer->text, buf_str(&record), record.len);
        buf_addc(&answer->text, '\n');
    } else if (rc == 0 && !damaged) {
        rc = gather(request, &request->rest, 1, &page, err);
        if (rc == 0 && page.runs.count == 0)
            rc = err_set(err, ERR_MISSING, "no run '%s'", request->rest);
        if (rc == 0)
            show_run(&answer->text, request, &page);
    }
    return rc;
}

// Side by side, what can be compared; then the runs themselves.
static void add_tables(struct buf *out, const struct page *page)
{
    size_t compared = 0;
    for (size_t i = 0; i < page->compare.workloads.count; i++) {
        const struct compare_workload *w = &page->compare.workloads.items[i];
        if (w->rows.count + w->apart.count < 2) // nothing to compare it with
            continue;
        if (compared++ == 0)
            html_heading(out, 2, "Side by side");
        html_compare(out, page, i, 3);
    }
    if (compared == 0)
        html_heading(out, 2, "One by one: they are different trainings");
    else
        buf_adds(out, "<details><summary>The runs, one by one</summary>\n");
    html_runs(out, page);
    buf_adds(out, compared ? "</details>\n" : "");
}

// What the trainings cost: tables of as many as a page has room for, links to those of the others.
static void add_quotes(struct buf *out, const struct page *page)
{
    enum { BYTES_MOST = 150000 };
    struct buf others = {0};
    for (size_t i = 0; i < page->quotes.count; i++) {
        const struct quote *quote = &page->quotes.items[i];
        struct buf piece = {0};
        html_quote(&piece, quote, NULL, 3);
        if (out->len + piece.len <= BYTES_MOST) {
            html_piece(out, &piece);
            continue;
        }
        buf_drop(out, &piece);
        buf_printf(&others, "%s<a href=\"/quote?run=", others.len ? ", " : "");
        markup_address(&others, quote->run ? quote->run : quote->workload ? quote->workload : "");
        markup_in(&others, "\">", quote->workload ? quote->workload : quote->run, "</a>");
    }
    if (others.len > 0)
        buf_printf(out, "<p>On pages of their own: %s.</p>\n", buf_str(&others));
    buf_drop(out, &others);
}

static void show_compare(struct buf *out, const struct request *request, const struct page *page)
{
    enum { FRAME = 2000 }; // bytes of what is between the pieces
    SCOPED(free_pointer) struct buf *plots = calloc(page->plots.count + 1, sizeof *plots);
    struct buf left_out = {0};
    struct buf tables = {0}, quotes = {0}, differences = {0}, end = {0};
    if (!plots) {
        out->failed = true;
        return;
    }
    add_tables(&tables, page);
    html_differences(&differences, page, 2);
    add_quotes(&quotes, page);
    frame_json_link(&end, request, "/compare");
    show_end(&end, page);
    frame_begin(out, request, page->title);
    html_verdict_compared(out, page);
    size_t taken = out->len + tables.len + quotes.len + differences.len + end.len + FRAME;
    html_plots_within(page, is_here, taken < HTML_BYTES_MOST ? HTML_BYTES_MOST - taken : 0, plots,
                      &left_out);
    buf_adds(out, "<div class=\"cols\">\n<div>\n");
    size_t before = out->len;
    put_plots(out, page, plots, LEFT);
    if (out->len == before) // different trainings: nothing else is for this column
        html_piece(out, &tables);
    buf_adds(out, "</div>\n<div>\n");
    put_plots(out, page, plots, RIGHT);
    html_piece(out, &differences);
    buf_adds(out, "</div>\n</div>\n");
    html_piece(out, &tables);
    // Folded: the question here is how the runs differ.
    if (page->quotes.count > 0)
        buf_adds(out, "<details><summary>What they cost elsewhere</summary>\n");
    html_piece(out, &quotes);
    put_plots(out, page, plots, LAST);
    buf_adds(out, page->quotes.count > 0 ? "</details>\n" : "");
    html_left_out(out, &left_out);
    html_piece(out, &end);
}

int page_compare(const struct request *request, struct answer *answer, struct err *err)
{
    const char *words[COMPARED_MOST];
    size_t count = 0;
    SCOPED(page_release) struct page page = {0};
    for (size_t i = 0; i < request->query_count; i++) {
        if (strcmp(request->query[i].key, "run") != 0 || !*request->query[i].value)
            continue;
        if (count == COMPARED_MOST)
            return err_set(err, ERR_USAGE, "at most %d runs can be compared at once",
                           COMPARED_MOST);
        words[count++] = request->query[i].value;
    }
    if (count == 0 && request->json)
        return err_set(err, ERR_USAGE, "name runs: /compare.json?run=last&run=cnn");
    if (count == 0) {
        struct board_facets facets; // each run has an end
        bool none =
            board_facets(request->site->board, &facets) && facets.values[BOARD_ENDED].count == 0;
        frame_begin(&answer->text, request, none ? "No runs yet" : "Which runs?");
        if (none)
            part_empty(&answer->text,
                       "This makes a run in a few seconds; two can be compared:", "fare run mlp");
        part_empty(&answer->text,
                   "Select two runs or more in the list and press Compare selected. In a terminal, "
                   "by their ids or names:",
                   "fare compare RUN RUN");
        buf_adds(&answer->text, "<p><a href=\"/runs\">The list of runs</a></p>\n");
        frame_end(&answer->text);
        return 0;
    }
    TRY(gather(request, words, count, &page, err));
    if (request->json)
        TRY(record_to_text(compare_fields, &page.compare, &answer->text, err));
    else
        show_compare(&answer->text, request, &page);
    return 0;
}
