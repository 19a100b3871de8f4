// SPDX-License-Identifier: Apache-2.0
// The list of runs: filters as chips with counts, columns that sort, fifty rows to a page.
#include <stdlib.h>
#include <string.h>

#include "record/read.h"
#include "render/markup.h"
#include "render/part.h"
#include "serve/board.h"

enum { ROWS = RUN_LIST_ROWS, PAGES_MOST = 1000000, LABELS_MOST = 8 };

// ---- what is asked for

static const char *const filters[] = {"workload", "name",  "machine", "framework", "ended",
                                      "label",    "since", "sort",    NULL};

// "time": the shortest first; "-time": the longest; "started": the oldest.
static int read_order(const char *text, struct ledger_filter *filter, struct err *err)
{
    bool minus = text && *text == '-';
    if (!text)
        return 0;
    if (!ledger_sort_parse(text + minus, &filter->sort))
        return err_set(err, ERR_USAGE, "'sort' must be started, time, step or name");
    filter->sort_all = true;
    filter->reverse = minus != (filter->sort == LEDGER_STARTED);
    return 0;
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
        .name = request_value(request, "name"),
        .machine = request_value(request, "machine"),
        .framework = request_value(request, "framework"),
        .ended = request_value(request, "ended"),
        .since = request_value(request, "since"),
        .labels = labels,
        .limit = ROWS + 1, // one extra shows whether there are more
        .skip = (*page - 1) * ROWS,
        .heads = true,
    };
    if (filter->name && !filter->workload) // a command: runs of workloads go by these
        filter->workload = "";
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

// ---- addresses

// An address of the list with this parameter set to another value (null: without it), back on the
// first page; and without another one.
static void link_without(struct buf *out, const struct request *request, const char *key,
                         const char *other, const char *value)
{
    const char *before = "?";
    buf_adds(out, "/runs");
    for (size_t i = 0; i < request->query_count; i++)
        for (size_t k = 0; filters[k]; k++)
            if (strcmp(request->query[i].key, filters[k]) == 0 && *request->query[i].value &&
                strcmp(filters[k], key) != 0 && strcmp(filters[k], other) != 0) {
                frame_pair(out, before, &request->query[i]);
                before = "&amp;";
            }
    if (value)
        frame_pair(out, before, &(struct parameter){key, value});
}

static void link_with(struct buf *out, const struct request *request, const char *key,
                      const char *value)
{
    link_without(out, request, key, "", value);
}

// A column's link: the same list in this order.
static void sort_link(struct buf *out, const void *arg, const char *order)
{
    link_with(out, arg, "sort", order);
}

void list_run_link(struct buf *out, const char *id)
{
    buf_adds(out, "/runs/");
    markup_address(out, id);
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
    for (size_t i = 0; i < request->query_count; i++) { // chips and columns set these
        const struct parameter *p = &request->query[i];
        if (!*p->value || (strcmp(p->key, "name") != 0 && strcmp(p->key, "ended") != 0 &&
                           strcmp(p->key, "sort") != 0))
            continue;
        buf_printf(out, "<input type=\"hidden\" name=\"%s\" value=\"", p->key);
        markup_in(out, "", p->value, "\">\n");
    }
    buf_adds(out, "<button>Show</button>\n</form>\n");
}

// What is chosen of each property; those without a choice are at ANY.
enum { ANY = BOARD_VALUES + 1 };

struct choice {
    struct board_facets facets;
    size_t chosen[BOARD_FACETS];
    bool counted; // nothing else is asked for: the numbers of runs are known
};

static const char *key_of(const struct choice *c, int facet, size_t value)
{
    return facet == BOARD_FRAMEWORK ? "framework"
           : facet == BOARD_ENDED   ? "ended"
           : c->facets.named[value] ? "name"
                                    : "workload";
}

static void choose(struct choice *c, const struct parameter *p)
{
    for (int f = 0; f < BOARD_FACETS; f++)
        for (size_t i = 0; i < c->facets.values[f].count; i++)
            if (strcmp(key_of(c, f, i), p->key) == 0 &&
                strcmp(c->facets.values[f].items[i], p->value) == 0) {
                c->counted &= c->chosen[f] == ANY;
                c->chosen[f] = i;
                return;
            }
    c->counted = false;
}

static bool choice_of(const struct request *request, struct choice *c)
{
    if (!board_facets(request->site->board, &c->facets))
        return false;
    c->counted = true;
    for (int f = 0; f < BOARD_FACETS; f++)
        c->chosen[f] = ANY;
    for (size_t i = 0; i < request->query_count; i++) {
        const struct parameter *p = &request->query[i];
        if (*p->value && strcmp(p->key, "page") != 0 && strcmp(p->key, "sort") != 0)
            choose(c, p);
    }
    return true;
}

// The runs with a value of a property, and what is chosen of the others.
static int64_t runs_with(const struct choice *c, int facet, size_t value)
{
    size_t from[BOARD_FACETS], to[BOARD_FACETS];
    int64_t sum = 0;
    for (int f = 0; f < BOARD_FACETS; f++) {
        size_t only = f == facet ? value : c->chosen[f];
        from[f] = only == ANY ? 0 : only;
        to[f] = only == ANY ? BOARD_VALUES : only;
    }
    for (size_t i = from[0]; i <= to[0]; i++)
        for (size_t k = from[1]; k <= to[1]; k++)
            for (size_t m = from[2]; m <= to[2]; m++)
                sum += c->facets.runs[i][k][m];
    return sum;
}

static int64_t runs_of_all(const struct choice *c)
{
    struct choice all = *c;
    for (int f = 0; f < BOARD_FACETS; f++)
        all.chosen[f] = ANY;
    return runs_with(&all, BOARD_FACETS, 0);
}

// The other key of trainings must go when one is chosen: a run has a workload, or is known by name.
static void facet_link(struct buf *out, const struct request *request, const char *key,
                       const char *value)
{
    const char *other = strcmp(key, "name") == 0       ? "workload"
                        : strcmp(key, "workload") == 0 ? "name"
                                                       : "";
    link_without(out, request, key, other, value);
}

// A chip for each value, with its number of runs among those chosen by the others; the chosen one
// ends the choice.
static void facet(struct buf *out, const struct request *request, const struct choice *c, int f)
{
    static const char *const names[] = {"training", "framework", "end"};
    const struct board_values *values = &c->facets.values[f];
    if (values->count < 2 && c->chosen[f] == ANY)
        return;
    buf_printf(out, "<nav aria-label=\"Runs by %s\"><ul class=\"chips\">\n", names[f]);
    for (size_t i = 0; i < values->count; i++) {
        bool here = c->chosen[f] == i;
        int64_t runs = runs_with(c, f, i);
        if (c->counted && runs == 0 && !here)
            continue;
        buf_adds(out, "<li><a class=\"chip\" href=\"");
        facet_link(out, request, key_of(c, f, i), here ? NULL : values->items[i]);
        markup_in(out, here ? "\" aria-current=\"true\">" : "\">", values->items[i], "");
        if (c->counted) {
            buf_adds(out, " <b>");
            frame_count(out, runs);
            buf_adds(out, "</b>");
        }
        buf_adds(out, "</a></li>\n");
    }
    buf_adds(out, "</ul></nav>\n");
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

// `all`: the runs in the ledger; -1: not known.
static void nothing_found(struct buf *out, const struct request *request, int64_t page, int64_t all)
{
    if (all != 0 && page > 1)
        part_empty(out, "There are no runs on this page. The newest are on the first one.", NULL);
    else if (all != 0 && request->query_count > 0)
        part_empty(out, "Leave out a filter to see more.", NULL);
    else
        part_empty(out, "This measures a small training on this machine, in a few seconds:",
                   "fare run mlp");
    if (all != 0 && request->query_count > 0)
        buf_adds(out, "<p><a href=\"/runs\">All runs</a></p>\n");
}

// "13,421 runs: gpt2": the title says the result.
static void list_title(const struct request *request, int64_t count, bool empty, struct buf *out)
{
    const char *before = ": ";
    if (empty && request->query_count == 0) {
        buf_adds(out, "No runs yet");
        return;
    }
    if (count > 0) {
        frame_count(out, count);
        buf_adds(out, count == 1 ? " run" : " runs");
    } else {
        buf_adds(out, empty ? "No such run" : "Runs");
    }
    for (size_t i = 0; i < request->query_count; i++) {
        const struct parameter *p = &request->query[i];
        if (!*p->value || strcmp(p->key, "page") == 0 || strcmp(p->key, "sort") == 0)
            continue;
        buf_printf(out, "%s%s%.80s", before, strcmp(p->key, "since") == 0 ? "since " : "",
                   p->value);
        before = ", ";
    }
}

static void page_links(struct buf *out, const struct request *request, int64_t page, int64_t count,
                       bool more)
{
    const char *sort = request_value(request, "sort");
    int64_t last = (count + ROWS - 1) / ROWS;
    if (page == 1 && !more)
        return;
    buf_adds(out, "<nav aria-label=\"More runs\"><ul>\n");
    if (page > 2)
        page_link(out, request, 1, "First");
    if (page > 1)
        page_link(out, request, page - 1, sort ? "Previous" : "Newer");
    buf_adds(out, "<li>Page ");
    frame_count(out, page);
    buf_adds(out, count > 0 && last >= page ? " of " : "");
    if (count > 0 && last >= page)
        frame_count(out, last);
    buf_adds(out, "</li>\n");
    if (more)
        page_link(out, request, page + 1, sort ? "Next" : "Older");
    if (more && count > 0 && last > page + 1)
        page_link(out, request, last, "Last");
    buf_adds(out, "</ul></nav>\n");
}

static void show_list(struct buf *out, const struct request *request, struct run_list *table,
                      bool more, const struct buf *live, int64_t page)
{
    const char *sort = request_value(request, "sort");
    struct choice choice;
    bool known = choice_of(request, &choice);
    int64_t count = known && choice.counted ? runs_with(&choice, BOARD_FACETS, 0) : -1;
    struct buf title = {0};
    list_title(request, count, table->count == 0, &title);
    frame_begin(out, request, buf_str(&title));
    buf_drop(out, &title);
    buf_add(out, buf_str(live), live->len);
    if (table->count > 0 || request->query_count > 0) {
        for (int f = 0; known && f < BOARD_FACETS; f++)
            facet(out, request, &choice, f);
        form_list(out, request);
    }
    if (table->count > 0) {
        buf_adds(out, "<form action=\"/compare\" method=\"get\">\n");
        run_list_show(out, table);
        buf_adds(out, "<button>Compare selected</button>\n</form>\n");
    } else {
        nothing_found(out, request, page, known ? runs_of_all(&choice) : -1);
    }
    if (sort && (strstr(sort, "time") || strstr(sort, "step")))
        html_paragraph(out, "mute", "Runs whose value is unknown are left out of this order.");
    page_links(out, request, page, count, more);
    frame_json_link(out, request, "/runs");
    frame_end(out);
}

struct row_list {
    struct run_list *table;
    bool more;
};

// A damaged record must not damage the list: ledger_each() leaves it out.
static int html_row(void *arg, const char *id, const char *text, struct err *err)
{
    struct row_list *list = arg;
    (void)id;
    list->more = list->table->count == ROWS;
    return list->more ? 0 : run_list_record(list->table, text, err);
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
    TRY(ledger_each(ledger, filter, json_row, &list, err));
    buf_printf(out, "\n],\"more\":%s}\n", list.more ? "true" : "false");
    return 0;
}

static int list_page(const struct request *request, struct ledger *ledger,
                     const struct ledger_filter *filter, const struct buf *live, int64_t page,
                     struct buf *out, struct err *err)
{
    struct run_list table = {.link = list_run_link,
                             .order = request_value(request, "sort"),
                             .sort_link = sort_link,
                             .sort_arg = request,
                             .boxes = true,
                             .made = request->site->rows};
    struct row_list list = {.table = &table};
    struct ledger_filter stored = *filter;
    stored.stored = true;
    int rc = ledger_each(ledger, &stored, html_row, &list, err);
    if (rc == 0)
        show_list(out, request, &table, list.more, live, page);
    buf_release(&table.rows);
    return rc;
}

int page_list(const struct request *request, struct answer *answer, struct err *err)
{
    const char *labels[LABELS_MOST];
    struct ledger_filter filter;
    struct ledger *ledger;
    SCOPED(buf_release) struct buf live = {0};
    int64_t page;
    TRY(list_filter(request, labels, &filter, &page, err));
    TRY(request_ledger(request, &ledger, err));
    if (request->query_count == 0)
        TRY(live_list(request, ledger, &live, err));
    TRY(buf_check(&live, err));
    return request->json ? list_json(ledger, &filter, &live, &answer->text, err)
                         : list_page(request, ledger, &filter, &live, page, &answer->text, err);
}
