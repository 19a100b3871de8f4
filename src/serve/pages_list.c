// SPDX-License-Identifier: Apache-2.0
// The list of runs: filters as chips with counts, columns that sort, fifty rows to a page.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/money.h"
#include "base/units.h"
#include "market/bill.h"
#include "record/read.h"
#include "report/html.h"
#include "report/markup.h"
#include "report/part.h"
#include "report/scale.h"
#include "serve/board.h"

enum { ROWS = LIST_ROWS, PAGES_MOST = 1000000, LABELS_MOST = 8 };

// ---- what is asked for

static const char *const filters[] = {"workload", "machine", "framework", "ended",
                                      "label",    "since",   "sort",      NULL};

static const struct order {
    const char *word; // "-" before it: the other way round
    enum ledger_sort sort;
} orders[] = {{"started", LEDGER_STARTED},
              {"time", LEDGER_WALL},
              {"step", LEDGER_STEP},
              {"name", LEDGER_NAME}};

// "time": the shortest first; "-time": the longest; "started": the oldest.
static int read_order(const char *text, struct ledger_filter *filter, struct err *err)
{
    bool minus = text && *text == '-';
    for (size_t i = 0; text && i < sizeof orders / sizeof *orders; i++) {
        if (strcmp(text + minus, orders[i].word) != 0)
            continue;
        filter->sort = orders[i].sort;
        filter->sort_all = true;
        filter->reverse = minus != (orders[i].sort == LEDGER_STARTED);
        return 0;
    }
    return text ? err_set(err, ERR_USAGE, "'sort' must be started, time, step or name") : 0;
}

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
        .ended = request_value(request, "ended"),
        .since = request_value(request, "since"),
        .labels = labels,
        .limit = ROWS + 1, // one extra shows whether there are more
        .skip = (*page - 1) * ROWS,
        .heads = true,
    };
    TRY(read_order(request_value(request, "sort"), filter, err));
    for (size_t i = 0; i < request->query_count; i++) {
        if (strcmp(request->query[i].key, "label") != 0 || !*request->query[i].value)
            continue;
        if (filter->label_count == LABELS_MOST)
            return err_set(err, ERR_USAGE, "too many labels");
        labels[filter->label_count++] = request->query[i].value;
    }
    return 0;
}

// ---- reading rows

// Only the fields that a row shows.
#define TEXT(type, member) FIELD(FIELD_TEXT, type, member, "")
static const struct field place_fields[] = {
    TEXT(struct run_machine, name), TEXT(struct run_machine, gpu),
    TEXT(struct run_machine, instance_type), TEXT(struct run_machine, cpu), FIELD_END};
static const struct field quality_fields[] = {
    TEXT(struct run_quality, metric), FIELD(FIELD_REAL, struct run_quality, value, ""), FIELD_END};
static const struct field use_fields[] = {FIELD(FIELD_INT, struct run_use, gpus, ""), FIELD_END};
static const struct field spent_fields[] = {TEXT(struct run_spent, usd), FIELD_END};
const struct field list_row_fields[] = {
    TEXT(struct run, id),
    TEXT(struct run, started),
    TEXT(struct run, name),
    TEXT(struct run, workload),
    TEXT(struct run, framework),
    TEXT(struct run, engine),
    FIELD_IN(struct run, machine, place_fields, ""),
    TEXT(struct run, ended),
    FIELD_IN(struct run, spent, spent_fields, ""),
    FIELD(FIELD_BOOL, struct run, full, ""),
    FIELD(FIELD_TEXTS, struct run, taints, ""),
    FIELD(FIELD_INT, struct run, batch, ""),
    FIELD(FIELD_REAL, struct run, step_ms, ""),
    FIELD(FIELD_REAL, struct run, test_accuracy, ""),
    FIELD_SUB(FIELD_LIST, struct run, quality, quality_fields, ""),
    FIELD_IN(struct run, phases, run_phase_fields, ""),
    FIELD_IN(struct run, steady, run_steady_fields, ""),
    FIELD_IN(struct run, projection, run_projection_fields, ""),
    FIELD_IN(struct run, use, use_fields, ""),
    FIELD(FIELD_REALS, struct run, step_plot_ms, ""),
    FIELD_END,
};
#undef TEXT

// ---- rows

static bool times_of(const struct run *run, struct list_time *out)
{
    struct bill_time time;
    if (!bill_time_of(run, &time) || time.total_ns <= 0)
        return false;
    bool known = time.low_ns > 0 && time.high_ns >= time.low_ns;
    *out = (struct list_time){.s = (double)time.total_ns / 1e9,
                              .low_s = known ? (double)time.low_ns / 1e9 : 1,
                              .high_s = known ? (double)time.high_ns / 1e9 : 0,
                              .projected = strcmp(time.basis, "projected") == 0};
    return true;
}

// The figure, and below it a drawing, for which a phone has no room.
static void time_cell(struct list_table *table, const struct run *run)
{
    struct buf *out = &table->rows;
    struct list_time t;
    char words[SCALE_LABEL] = "";
    bool known = times_of(run, &t);
    if (known)
        scale_words("s", t.s, words);
    markup_in(out, "<td class=\"num\">", words, "");
    if (known) {
        t.at = out->len;
        table->times[table->time_count++] = t;
    }
    buf_adds(out, "</td>");
}

static void steps_cell(struct buf *out, const struct run *run)
{
    struct maybe_real ms = run->steady.step_ms.known ? run->steady.step_ms : run->step_ms;
    markup_in(out, "<td class=\"num\">", ms.known ? units_step(ms.v).s : "", "");
    if (run->step_plot_ms.count > 1) {
        buf_adds(out, "<span class=\"wide\">");
        part_sparkline(out, run->step_plot_ms.items, run->step_plot_ms.count,
                       "step times over the run");
        buf_adds(out, "</span>");
    }
    buf_adds(out, "</td>");
}

static void name_cell(struct buf *out, const struct run *run)
{
    char batch[40] = "";
    struct buf href = {0}, name = {0};
    if (run->batch.known)
        snprintf(batch, sizeof batch, "batch %lld", (long long)run->batch.v);
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
    buf_drop(out, &href);
    buf_drop(out, &name);
}

static void cost_cell(struct buf *out, const struct run *run)
{
    char words[MONEY_BYTES] = "";
    int64_t nano;
    if (run->spent.usd && money_parse(run->spent.usd, &nano, NULL) == 0)
        money_short(nano, words);
    html_cell(out, "num", words);
}

void list_table_add(struct list_table *table, const struct run *run)
{
    struct buf *out = &table->rows;
    char quality[RUN_QUALITY_BYTES], started[20] = "";
    if (table->count == LIST_ROWS)
        return;
    table->count++;
    run_quality_words(run, quality);
    if (run->started)
        snprintf(started, sizeof started, "%.10s%s%.8s", run->started,
                 strlen(run->started) > 11 ? " " : "",
                 strlen(run->started) > 11 ? run->started + 11 : "");
    buf_adds(out, "<tr>");
    if (table->boxes) {
        markup_in(out, "<td><input type=\"checkbox\" name=\"run\" value=\"", run->id,
                  "\" aria-label=\"Compare ");
        markup_in(out, "", run->id, "\"></td>");
    }
    name_cell(out, run);
    time_cell(table, run);
    cost_cell(out, run);
    steps_cell(out, run);
    html_cell(out, "num", quality);
    html_cell(out, "num", started);
    buf_adds(out, "<td>");
    part_state(out, run->ended);
    if (run->taints.count > 0) {
        buf_addc(out, ' ');
        part_chip(out, PART_WAIT, "noisy");
    }
    buf_adds(out, "</td></tr>\n");
}

// ---- the head, whose links sort

// An address of the list with this parameter set to another value (null: without it), back on the
// first page.
static void link_with(struct buf *out, const struct request *request, const char *key,
                      const char *value)
{
    const char *before = "?";
    buf_adds(out, "/runs");
    for (size_t i = 0; i < request->query_count; i++)
        for (size_t k = 0; filters[k]; k++)
            if (strcmp(request->query[i].key, filters[k]) == 0 && *request->query[i].value &&
                strcmp(filters[k], key) != 0) {
                frame_pair(out, before, &request->query[i]);
                before = "&amp;";
            }
    if (value)
        frame_pair(out, before, &(struct parameter){key, value});
}

static void sort_head(struct buf *out, const struct request *request, const char *class,
                      const char *name, const char *word)
{
    const char *now = request ? request_value(request, "sort") : NULL;
    bool up = now && strcmp(now, word) == 0;
    bool down = now && *now == '-' && strcmp(now + 1, word) == 0;
    char other[24];
    buf_printf(out, "<th scope=\"col\"%s%s%s%s>", *class ? " class=\"" : "", class,
               *class ? "\"" : "",
               up     ? " aria-sort=\"ascending\""
               : down ? " aria-sort=\"descending\""
                      : "");
    if (request && word[0]) {
        snprintf(other, sizeof other, "%s%s", up ? "-" : "", word);
        buf_adds(out, "<a href=\"");
        link_with(out, request, "sort", other);
        buf_printf(out, "\">%s%s</a>", name, up ? " ↑" : down ? " ↓" : "");
    } else {
        buf_adds(out, name);
    }
    buf_adds(out, "</th>");
}

static void list_columns(struct buf *out, const struct list_table *table)
{
    buf_adds(out, "<thead><tr>");
    if (table->boxes)
        sort_head(out, NULL, "", "compare", "");
    sort_head(out, table->request, "long", "run", "name");
    sort_head(out, table->request, "num", "whole training", "time");
    sort_head(out, NULL, "num", "USD", "");
    sort_head(out, table->request, "num", "step time", "step");
    sort_head(out, NULL, "num", "quality", "");
    sort_head(out, table->request, "num", "started", "started");
    sort_head(out, NULL, "", "ended", "");
    buf_adds(out, "</tr></thead>\n<tbody>\n");
}

static void draw_time(struct buf *out, const struct list_time *t, double least, double most)
{
    char words[SCALE_LABEL], low[SCALE_LABEL], high[SCALE_LABEL];
    char tip[3 * SCALE_LABEL + 16];
    scale_words("s", t->s, words);
    scale_words("s", t->low_s, low);
    scale_words("s", t->high_s, high);
    if (t->low_s <= t->high_s)
        snprintf(tip, sizeof tip, "%s, 95 %%: %s to %s", words, low, high);
    else
        snprintf(tip, sizeof tip, "%s", words);
    buf_adds(out, "<span class=\"wide\">");
    part_whisker(out, &(struct part_interval){t->s, t->low_s, t->high_s, t->projected}, least, most,
                 tip);
    buf_adds(out, "</span>");
}

void list_table_show(struct buf *out, struct list_table *table)
{
    double least = 0, most = 0;
    size_t at = 0;
    for (size_t i = 0; i < table->time_count; i++) {
        const struct list_time *t = &table->times[i];
        double low = t->low_s <= t->high_s ? t->low_s : t->s;
        double high = t->high_s > t->s ? t->high_s : t->s;
        least = i == 0 || low < least ? low : least;
        most = high > most ? high : most;
    }
    html_begin_table(out, "Runs");
    list_columns(out, table);
    for (size_t i = 0; i < table->time_count && !table->rows.failed; i++) {
        buf_add(out, buf_str(&table->rows) + at, table->times[i].at - at);
        draw_time(out, &table->times[i], least, most);
        at = table->times[i].at;
    }
    if (!table->rows.failed)
        buf_add(out, buf_str(&table->rows) + at, table->rows.len - at);
    html_end_table(out);
    html_paragraph(out, "mute wide",
                   "Below the times: their 95 % intervals on a logarithmic scale, hollow if "
                   "projected, and the step times over the run.");
    buf_drop(out, &table->rows);
}

// ---- filters

void form_list(struct buf *out, const struct request *request)
{
    buf_adds(out, "<form action=\"/runs\" method=\"get\" aria-label=\"Filters\">\n");
    frame_field(out, request, "workload", "Workload", "cnn");
    frame_field(out, request, "machine", "Machine", "p3.2xlarge");
    frame_field(out, request, "framework", "Framework", "pytorch");
    frame_field(out, request, "label", "Label", "key=value");
    frame_field(out, request, "since", "Since", "2026-11-01");
    buf_adds(out, "<button>Show</button>\n</form>\n");
}

// A chip for each value: its number of runs in the whole ledger; the chosen one ends the choice.
static void facet(struct buf *out, const struct request *request, const char *key,
                  const struct board_counts *counts)
{
    const char *chosen = request_value(request, key);
    if (counts->count < 2 && !chosen)
        return;
    buf_printf(out, "<nav aria-label=\"Runs by %s\"><ul class=\"chips\">\n", key);
    for (size_t i = 0; i < counts->count; i++) {
        const struct board_count *c = &counts->items[i];
        bool here = chosen && strcmp(chosen, c->value) == 0;
        buf_adds(out, "<li><a class=\"chip\" href=\"");
        link_with(out, request, key, here ? NULL : c->value);
        markup_in(out, here ? "\" aria-current=\"true\">" : "\">", c->value, "");
        buf_printf(out, " <b>%lld</b></a></li>\n", (long long)c->runs);
    }
    buf_adds(out, "</ul></nav>\n");
}

static void facets(struct buf *out, const struct request *request)
{
    struct board_facets f;
    if (!board_facets(request->site->board, &f))
        return;
    facet(out, request, "workload", &f.workloads);
    facet(out, request, "framework", &f.frameworks);
    facet(out, request, "ended", &f.ended);
}

// ---- the page

static void page_link(struct buf *out, const struct request *request, int64_t page,
                      const char *words)
{
    struct buf number = {0};
    buf_printf(&number, "%lld", (long long)page);
    buf_adds(out, "<li><a href=\"");
    link_with(out, request, "page", buf_str(&number));
    buf_printf(out, "\">%s</a></li>\n", words);
    buf_drop(out, &number);
}

static void nothing_found(struct buf *out, const struct request *request, int64_t page)
{
    if (page > 1)
        part_empty(out, "There are no runs on this page. The newest are on the first one.", NULL);
    else if (request->query_count > 0)
        part_empty(out, "No matching run in the ledger. Leave out a filter to see more.", NULL);
    else
        part_empty(
            out, "No runs in the ledger yet. This measures one in a few seconds:", "fare run mlp");
}

static void show_list(struct buf *out, const struct request *request, struct list_table *table,
                      bool more, const struct buf *live, int64_t page)
{
    const char *sort = request_value(request, "sort");
    frame_begin(out, request, "Runs");
    buf_add(out, buf_str(live), live->len);
    facets(out, request);
    form_list(out, request);
    if (table->count > 0) {
        buf_adds(out, "<form action=\"/compare\" method=\"get\">\n");
        list_table_show(out, table);
        buf_adds(out, "<button>Compare selected</button>\n</form>\n");
    } else {
        nothing_found(out, request, page);
    }
    if (sort && (strstr(sort, "time") || strstr(sort, "step")))
        html_paragraph(out, "mute", "Runs of which this is unknown are not in this order.");
    if (page > 1 || more) {
        buf_adds(out, "<nav aria-label=\"More runs\"><ul>\n");
        if (page > 1)
            page_link(out, request, page - 1, sort ? "Previous" : "Newer");
        if (more)
            page_link(out, request, page + 1, sort ? "Next" : "Older");
        buf_adds(out, "</ul></nav>\n");
    }
    frame_json_link(out, request, "/runs");
    frame_end(out);
}

struct row_list {
    struct list_table *table;
    bool more;
};

// A damaged record must not damage the list: ledger_each() leaves it out.
static int html_row(void *arg, const char *id, const char *text, struct err *err)
{
    struct row_list *list = arg;
    struct run run = {0};
    (void)id;
    list->more = list->table->count == ROWS;
    if (list->more)
        return 0;
    int rc = record_from_checked(list_row_fields, text, strlen(text), &run, err);
    if (rc == 0)
        list_table_add(list->table, &run);
    record_release(list_row_fields, &run);
    return rc;
}

struct json_list {
    struct buf *out;
    size_t count;
    bool more;
};

static int json_row(void *arg, const char *id, const char *text, struct err *err)
{
    struct json_list *list = arg;
    (void)id;
    if (list->count == ROWS) {
        list->more = true;
        return 0;
    }
    int rc = record_from_text(run_fields, text, strlen(text), NULL, err);
    list->count += rc == 0;
    if (rc == 0) {
        buf_printf(list->out, "%s\n", list->count > 1 ? "," : "");
        buf_adds(list->out, text);
    }
    return rc;
}

static int list_json(struct ledger *ledger, const struct ledger_filter *filter,
                     const struct buf *live, struct buf *out, struct err *err)
{
    struct json_list list = {.out = out};
    buf_printf(out, "{\"schema\":\"%s\",\"running\":[%s],\"runs\":[", RUNS_SCHEMA, buf_str(live));
    int rc = ledger_each(ledger, filter, json_row, &list, err);
    buf_printf(out, "\n],\"more\":%s}\n", list.more ? "true" : "false");
    return rc;
}

static int list_page(const struct request *request, struct ledger *ledger,
                     const struct ledger_filter *filter, const struct buf *live, int64_t page,
                     struct buf *out, struct err *err)
{
    struct list_table table = {.request = request, .boxes = true};
    struct row_list list = {.table = &table};
    int rc = ledger_each(ledger, filter, html_row, &list, err);
    if (rc == 0)
        show_list(out, request, &table, list.more, live, page);
    buf_release(&table.rows);
    return rc;
}

int page_list(const struct request *request, struct answer *answer, struct err *err)
{
    const char *labels[LABELS_MOST];
    struct ledger_filter filter;
    struct ledger *ledger = NULL;
    struct buf live = {0};
    int64_t page;
    TRY(list_filter(request, labels, &filter, &page, err));
    int rc = site_ledger(request->site, &ledger, err);
    if (rc == 0 && request->query_count == 0)
        rc = live_list(request, ledger, &live, err);
    if (rc == 0)
        rc = buf_check(&live, err);
    if (rc == 0 && request->json)
        rc = list_json(ledger, &filter, &live, &answer->text, err);
    else if (rc == 0)
        rc = list_page(request, ledger, &filter, &live, page, &answer->text, err);
    buf_release(&live);
    site_give_back(request->site, ledger, rc != 0 && rc != ERR_USAGE);
    return rc;
}
