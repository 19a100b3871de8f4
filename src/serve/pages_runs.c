// SPDX-License-Identifier: Apache-2.0
// The pages about runs: the list with its filters, one run, several side by side.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/bill.h"
#include "ledger/published.h"
#include "record/read.h"
#include "report/html.h"
#include "report/markup.h"
#include "report/scale.h"
#include "serve/request.h"

enum { ROWS = 50, PAGES_MOST = 1000000, COMPARED_MOST = 50, LABELS_MOST = 8 };

// ---- the list

static const char *const filters[] = {"workload", "machine", "framework", "label", "since", NULL};

static int list_filter(const struct request *request, const char **labels,
                       struct ledger_filter *filter, int64_t *page, struct err *err)
{
    const char *number = request_value(request, "page");
    char *end = NULL;
    *page = number ? strtoll(number, &end, 10) : 1;
    if (number && (*end || *page < 1 || *page > PAGES_MOST))
        return err_set(err, ERR_USAGE, "'page' must be 1 or more");
    *filter = (struct ledger_filter){
        .workload = request_value(request, "workload"),
        .machine = request_value(request, "machine"),
        .framework = request_value(request, "framework"),
        .since = request_value(request, "since"),
        .labels = labels,
        .limit = ROWS + 1, // one extra shows whether there are more
        .skip = (*page - 1) * ROWS,
        .heads = true,
    };
    for (size_t i = 0; i < request->query_count; i++) {
        if (strcmp(request->query[i].key, "label") != 0 || !*request->query[i].value)
            continue;
        if (filter->label_count == LABELS_MOST)
            return err_set(err, ERR_USAGE, "too many labels");
        labels[filter->label_count++] = request->query[i].value;
    }
    return 0;
}

struct listing {
    struct buf *out;
    size_t count;
    bool json;
    bool more;
};

static void run_time(struct buf *out, const struct run *run)
{
    struct bill_time time;
    char words[SCALE_LABEL] = "";
    if (bill_time_of(run, &time))
        scale_words("s", (double)time.total_ns / 1e9, words);
    html_cell(out, "num", words);
}

static void run_row(struct buf *out, const struct run *run)
{
    char quality[RUN_QUALITY_BYTES], started[20] = "", batch[40] = "";
    struct buf href = {0}, name = {0};
    run_quality_words(run, quality);
    if (run->started)
        snprintf(started, sizeof started, "%.10s%s%.8s", run->started,
                 strlen(run->started) > 11 ? " " : "",
                 strlen(run->started) > 11 ? run->started + 11 : "");
    if (run->batch.known)
        snprintf(batch, sizeof batch, "batch %lld", (long long)run->batch.v);
    markup_in(out, "<tr><td><input type=\"checkbox\" name=\"run\" value=\"", run->id,
              "\" aria-label=\"Compare ");
    markup_text(out, run->id);
    buf_adds(out, "\"></td>");
    buf_adds(&href, "/runs/");
    frame_escape(&href, run->id ? run->id : "");
    buf_adds(&name, run->name ? run->name : run->workload ? run->workload : "a run");
    if (run->name && run->workload && strcmp(run->name, run->workload) != 0)
        buf_printf(&name, " (%s)", run->workload);
    html_run(out, &(struct html_run){.href = buf_str(&href),
                                     .name = buf_str(&name),
                                     .batch = batch,
                                     .machine = run_place(run),
                                     .framework = run->framework,
                                     .id = run->id});
    run_time(out, run);
    html_cell(out, "num", quality);
    html_cell(out, "num", started);
    html_cell(out, "", run->ended);
    buf_adds(out, "</tr>\n");
    buf_drop(out, &href);
    buf_drop(out, &name);
}

// Read only the fields that a row shows.
#define TEXT(type, member) FIELD(FIELD_TEXT, type, member, "")
static const struct field place_fields[] = {
    TEXT(struct run_machine, name), TEXT(struct run_machine, gpu),
    TEXT(struct run_machine, instance_type), TEXT(struct run_machine, cpu), FIELD_END};
static const struct field quality_fields[] = {
    TEXT(struct run_quality, metric), FIELD(FIELD_REAL, struct run_quality, value, ""), FIELD_END};
static const struct field use_fields[] = {FIELD(FIELD_INT, struct run_use, gpus, ""), FIELD_END};
static const struct field row_fields[] = {
    TEXT(struct run, id),
    TEXT(struct run, started),
    TEXT(struct run, name),
    TEXT(struct run, workload),
    TEXT(struct run, framework),
    TEXT(struct run, engine),
    FIELD_IN(struct run, machine, place_fields, ""),
    TEXT(struct run, ended),
    FIELD(FIELD_BOOL, struct run, full, ""),
    FIELD(FIELD_INT, struct run, batch, ""),
    FIELD(FIELD_REAL, struct run, test_accuracy, ""),
    FIELD_SUB(FIELD_LIST, struct run, quality, quality_fields, ""),
    FIELD_IN(struct run, phases, run_phase_fields, ""),
    FIELD_IN(struct run, projection, run_projection_fields, ""),
    FIELD_IN(struct run, use, use_fields, ""),
    FIELD_END,
};
#undef TEXT

static int list_one(void *arg, const char *id, const char *text, struct err *err)
{
    struct listing *list = arg;
    struct run run = {0};
    (void)id;
    if (list->count == ROWS) {
        list->more = true;
        return 0;
    }
    // A damaged record must not damage the list: ledger_each() leaves it out.
    int rc = list->json ? record_from_text(run_fields, text, strlen(text), NULL, err)
                        : record_from_checked(row_fields, text, strlen(text), &run, err);
    list->count += rc == 0;
    if (rc == 0 && list->json) {
        buf_printf(list->out, "%s\n", list->count > 1 ? "," : "");
        buf_adds(list->out, text);
    } else if (rc == 0) {
        run_row(list->out, &run);
    }
    record_release(row_fields, &run);
    return rc;
}

void form_list(struct buf *out, const struct request *request)
{
    buf_adds(out, "<form action=\"/\" method=\"get\" aria-label=\"Filters\">\n");
    frame_field(out, request, "workload", "Workload", "cnn");
    frame_field(out, request, "machine", "Machine", "p3.2xlarge");
    frame_field(out, request, "framework", "Framework", "pytorch");
    frame_field(out, request, "label", "Label", "key=value");
    frame_field(out, request, "since", "Since", "2026-11-01");
    buf_adds(out, "<button>Show</button>\n</form>\n");
}

static void list_begin(struct buf *out, const struct request *request, const struct buf *live)
{
    static const struct html_column columns[] = {{"compare", ""},           {"run", "long"},
                                                 {"whole training", "num"}, {"quality", "num"},
                                                 {"started", "num"},        {"ended", ""}};
    frame_begin(out, request, "Runs");
    buf_add(out, buf_str(live), live->len);
    form_list(out, request);
    buf_adds(out, "<form action=\"/compare\" method=\"get\">\n");
    html_begin_table(out, "Runs");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
}

static void page_link(struct buf *out, const struct request *request, int64_t page,
                      const char *words)
{
    buf_printf(out, "<li><a href=\"/?page=%lld", (long long)page);
    for (size_t i = 0; i < request->query_count; i++)
        for (size_t k = 0; filters[k]; k++)
            if (strcmp(request->query[i].key, filters[k]) == 0 && *request->query[i].value) {
                buf_printf(out, "&amp;%s=", filters[k]);
                frame_escape(out, request->query[i].value);
            }
    buf_printf(out, "\">%s</a></li>\n", words);
}

static void list_end(struct buf *out, const struct request *request, const struct listing *list,
                     int64_t page)
{
    html_end_table(out);
    if (list->count > 0)
        buf_adds(out, "<button>Compare selected</button>\n");
    buf_adds(out, "</form>\n");
    if (list->count == 0)
        html_paragraph(out, "",
                       page > 1 || request->query_count > 0
                           ? "No matching run in the ledger."
                           : "No runs in the ledger yet. 'fare run mlp' measures one in a "
                             "few seconds.");
    if (page > 1 || list->more) {
        buf_adds(out, "<nav aria-label=\"More runs\"><ul>\n");
        if (page > 1)
            page_link(out, request, page - 1, "Newer");
        if (list->more)
            page_link(out, request, page + 1, "Older");
        buf_adds(out, "</ul></nav>\n");
    }
    frame_json_link(out, request, "/runs");
    frame_end(out);
}

int page_list(const struct request *request, struct answer *answer, struct err *err)
{
    const char *labels[LABELS_MOST];
    struct ledger_filter filter;
    struct ledger *ledger = NULL;
    struct listing list = {.out = &answer->text, .json = request->json};
    int64_t page;
    int rc = list_filter(request, labels, &filter, &page, err);
    if (rc == 0)
        rc = site_ledger(request->site, &ledger, err);
    if (rc != 0)
        return rc;
    struct buf live = {0};
    if (request->query_count == 0)
        rc = live_list(request, ledger, &live, err);
    if (rc == 0 && request->query_count == 0 && !request->json)
        rc = spend_warnings(request, ledger, &live, err);
    if (rc == 0)
        rc = buf_check(&live, err);
    if (request->json)
        buf_printf(&answer->text, "{\"schema\":\"%s\",\"running\":[%s],\"runs\":[", RUNS_SCHEMA,
                   buf_str(&live));
    else
        list_begin(&answer->text, request, &live);
    buf_release(&live);
    if (rc == 0)
        rc = ledger_each(ledger, &filter, list_one, &list, err);
    if (request->json)
        buf_printf(&answer->text, "\n],\"more\":%s}\n", list.more ? "true" : "false");
    else
        list_end(&answer->text, request, &list, page);
    site_give_back(request->site, ledger, rc != 0 && rc != ERR_USAGE);
    return rc;
}

// ---- one run, and several

static void show_plots(struct buf *out, const struct page *page)
{
    for (size_t i = 0; i < page->plots.count; i++)
        html_plot(out, &page->plots.items[i], 2, i);
}

static void show_quotes(struct buf *out, const struct page *page)
{
    if (page->quotes.count > 0)
        html_heading(out, 2, "Cost by offer");
    for (size_t i = 0; i < page->quotes.count; i++)
        html_quote(out, &page->quotes.items[i], 3);
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
    buf_adds(out, "<p><a href=\"/quote?run=");
    frame_escape(out, id);
    buf_adds(out, "\">What would it cost elsewhere?</a></p>\n");
    html_one_body(out, page);
    buf_adds(&path, "/runs/");
    frame_escape(&path, id);
    frame_json_link(out, request, buf_str(&path));
    buf_drop(out, &path);
    show_end(out, page);
}

// The record as it is kept. A damaged one is named in the log and answered with the fault.
static int find_record(const struct request *request, struct answer *answer, struct buf *text,
                       bool *damaged, struct err *err)
{
    struct ledger *ledger = NULL;
    struct err why = {0};
    char says[sizeof why.text + 64];
    int rc = site_ledger(request->site, &ledger, err);
    if (rc == 0)
        rc = ledger_connect(ledger, NULL, err);
    if (rc == 0)
        rc = published_or_ledger(ledger, request->rest, text, err);
    site_give_back(request->site, ledger, rc != 0 && rc != ERR_MISSING && rc != ERR_USAGE);
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
    const struct serve_options *o = &request->site->options;
    const struct page_ask ask = {.ledger = o->ledger,
                                 .book = o->book,
                                 .words = words,
                                 .word_count = count,
                                 .pricing = {.book = o->book}};
    return page_make(&ask, page, err);
}

int page_run(const struct request *request, struct answer *answer, struct err *err)
{
    struct page page = {0};
    bool running = false;
    int rc = live_run(request, answer, &running, err);
    if (rc != 0 || running)
        return rc;
    struct buf record = {0};
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
    buf_release(&record);
    record_release(page_fields, &page);
    return rc;
}

static void show_compare(struct buf *out, const struct request *request, const struct page *page)
{
    frame_begin(out, request, page->title);
    html_verdict(out, page);
    frame_json_link(out, request, "/compare");
    html_heading(out, 2, "Comparison");
    for (size_t i = 0; i < page->compare.workloads.count; i++)
        html_compare(out, page, i, 3);
    html_heading(out, 2, "Measured runs");
    html_runs(out, page);
    show_plots(out, page);
    show_quotes(out, page);
    show_end(out, page);
}

int page_compare(const struct request *request, struct answer *answer, struct err *err)
{
    const char *words[COMPARED_MOST];
    size_t count = 0;
    struct page page = {0};
    for (size_t i = 0; i < request->query_count; i++) {
        if (strcmp(request->query[i].key, "run") != 0 || !*request->query[i].value)
            continue;
        if (count == COMPARED_MOST)
            return err_set(err, ERR_USAGE, "at most %d runs can be compared at once",
                           COMPARED_MOST);
        words[count++] = request->query[i].value;
    }
    if (count == 0)
        return err_set(err, ERR_USAGE, "select runs in the list, or name them: /compare?run=…");
    int rc = gather(request, words, count, &page, err);
    if (rc == 0 && request->json)
        rc = record_to_text(compare_fields, &page.compare, &answer->text, err);
    else if (rc == 0)
        show_compare(&answer->text, request, &page);
    record_release(page_fields, &page);
    return rc;
}
