// SPDX-License-Identifier: Apache-2.0
// Running runs: in the list, and each on its page, which reloads itself until the run has ended and
// then shows the finished run at the same address.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "record/read.h"
#include "report/html.h"
#include "report/markup.h"
#include "report/scale.h"
#include "serve/request.h"

// The journal is written every two seconds, and in long runs after each fiftieth of their time.
enum { REFRESH_LEAST_S = 2, REFRESH_MOST_S = 30, WRITTEN_PARTS = 50 };

// The journal's record describes the run as killed.
static int read_running(const char *text, struct run *run, struct err *err)
{
    TRY(record_from_text(run_fields, text, strlen(text), run, err));
    TRY(text_set(&run->ended, "running", err));
    return text_set(&run->problem, NULL, err);
}

static const char *name_of(const struct run *run)
{
    return run->name ? run->name : run->workload ? run->workload : run->id;
}

// "0.0123 USD", or "".
static const char *usd(const char *amount, char out[MONEY_BYTES + 8])
{
    int64_t nano;
    char text[MONEY_BYTES];
    if (!amount || money_parse(amount, &nano, NULL) != 0)
        return "";
    money_short(nano, text);
    snprintf(out, MONEY_BYTES + 8, "%s USD", text);
    return out;
}

static const char *share_words(const struct run *run, char out[16])
{
    if (!run->live.share.known)
        return "";
    snprintf(out, 16, "%d %%", (int)(run->live.share.v * 100)); // rounds down: 100 is the end
    return out;
}

static const char *time_words(struct maybe_real seconds, char out[SCALE_LABEL])
{
    if (!seconds.known)
        return "";
    scale_words("s", seconds.v, out);
    return out;
}

#define DATE_BYTES (CLOCK_ISO_BYTES + 4)

// "2026-11-15 10:32:07 UTC": may be broken between lines.
static const char *date_words(int64_t date_s, char out[DATE_BYTES])
{
    char iso[CLOCK_ISO_BYTES];
    clock_iso(date_s, iso);
    out[0] = '\0';
    if (strlen(iso) == strlen("2026-11-15T10:32:07Z"))
        snprintf(out, DATE_BYTES, "%.10s %.8s UTC", iso, iso + 11);
    return out;
}

static const char *date_of(const char *text, double plus_s, char out[DATE_BYTES])
{
    int64_t at;
    return text && clock_parse(text, &at) ? date_words(at + (int64_t)plus_s, out) : "";
}

// ---- in the list

struct live_list {
    struct buf *out;
    bool json;
    size_t count;
};

static void list_row(struct buf *out, const struct run *run)
{
    char share[16], left[SCALE_LABEL], money[MONEY_BYTES + 8], more[MONEY_BYTES + 8],
        date[DATE_BYTES];
    buf_adds(out, "<tr><td><a href=\"/runs/");
    markup_address(out, run->id);
    markup_in(out, "\">", name_of(run), "</a></td>");
    html_cell(out, "", run->workload);
    html_cell(out, "long", run_place(run));
    html_cell(out, "", run->ended);
    html_cell(out, "num", share_words(run, share));
    html_cell(out, "num", time_words(run->live.left_s, left));
    html_cell(out, "num", usd(run->live.bill_usd, money));
    html_cell(out, "num", usd(run->live.projected_usd, more));
    html_cell(out, "", date_of(run->started, 0, date));
    buf_adds(out, "</tr>\n");
}

static void list_begin(struct buf *out)
{
    static const struct html_column columns[] = {
        {"run", ""},     {"workload", ""}, {"on", "long"},         {"state", ""},
        {"done", "num"}, {"left", "num"},  {"bill so far", "num"}, {"bill at the end", "num"},
        {"started", ""}};
    html_heading(out, 2, "Running now");
    html_begin_table(out, "Running now");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
}

// As in lists, without the long members.
static int list_json(const struct run *run, struct live_list *list, struct err *err)
{
    struct run head = *run;
    head.samples.count = head.step_plot_ms.count = head.epoch_list.count = 0;
    head.samples.known = head.step_plot_ms.known = head.epoch_list.known = false;
    buf_adds(list->out, list->count > 1 ? ",\n" : "\n");
    return record_to_line(run_fields, &head, list->out, err);
}

static int list_one(void *arg, const char *id, const char *text, struct err *err)
{
    struct live_list *list = arg;
    struct run run = {0};
    int rc = read_running(text, &run, err);
    if (rc == 0 && run.id && strcmp(run.id, id) == 0) {
        if (list->count++ == 0 && !list->json)
            list_begin(list->out);
        if (list->json)
            rc = list_json(&run, list, err);
        else
            list_row(list->out, &run);
    }
    record_release(run_fields, &run);
    return rc == ERR_FORMAT ? 0 : rc; // skip a bad record
}

int live_list(const struct request *request, struct ledger *ledger, struct buf *out,
              struct err *err)
{
    struct live_list list = {.out = out, .json = request->json};
    TRY(ledger_running(ledger, NULL, list_one, &list, err));
    if (list.count > 0 && !request->json)
        html_end_table(out);
    return 0;
}

// ---- as records

static int add_running(void *arg, const char *id, const char *text, struct err *err)
{
    struct runs *runs = arg;
    struct run run = {0};
    int rc = read_running(text, &run, err);
    struct run *added = NULL;
    if (rc == 0 && run.id && strcmp(run.id, id) == 0) {
        added = LIST_ADD(&runs->runs, err);
        rc = added ? 0 : ERR_MEMORY;
    }
    if (added)
        *added = run;
    else
        record_release(run_fields, &run);
    return rc == ERR_FORMAT ? 0 : rc; // skip a bad record
}

int live_runs(struct ledger *ledger, struct runs *out, struct err *err)
{
    return ledger_running(ledger, NULL, add_running, out, err);
}

// ---- the page of one run

static void row(struct buf *out, const char *what, const char *class, const char *value,
                const char *known)
{
    if (!value || !*value)
        return;
    buf_adds(out, "<tr>");
    html_cell(out, "", what);
    html_cell(out, class, value);
    html_cell(out, "long", known);
    buf_adds(out, "</tr>\n");
}

static void fact(struct buf *out, const char *what, const char *value, const char *known)
{
    row(out, what, "num", value, known);
}

static void show_bar(struct buf *out, const struct run *run)
{
    char share[16];
    if (!run->live.share.known)
        return;
    buf_printf(out, "<p><progress max=\"1\" value=\"%.4f\" aria-label=\"Done\">%s</progress></p>\n",
               run->live.share.v, share_words(run, share));
}

static void show_time(struct buf *out, const struct run *run)
{
    const struct run_live *l = &run->live;
    bool at_most = l->at_most.known && l->at_most.v;
    char share[16], words[SCALE_LABEL], end[DATE_BYTES], steps[64] = "";
    if (run->steps.known && run->total_steps.known)
        snprintf(steps, sizeof steps, "%lld of %lld", (long long)run->steps.v,
                 (long long)run->total_steps.v);
    else if (run->steps.known)
        snprintf(steps, sizeof steps, "%lld", (long long)run->steps.v);
    fact(out, "done", share_words(run, share), "derived");
    fact(out, "steps of the whole training", steps, "measured");
    fact(out, "time so far", time_words(l->elapsed_s, words), "measured");
    fact(out, "time left", time_words(l->left_s, words),
         at_most ? "at most: it stops once the projection is precise enough" : "estimated");
    if (l->left_s.known)
        row(out, "ends", "", date_of(l->at, l->left_s.v, end),
            at_most ? "at the latest" : "estimated");
    fact(out, "the whole training", time_words(run->projection.wall_s, words), "estimated");
}

static void show_money(struct buf *out, const struct run_live *l)
{
    char words[MONEY_BYTES + 8];
    fact(out, "bill so far", usd(l->bill_usd, words), "derived from time and price");
    fact(out, "bill at the end of this run", usd(l->projected_usd, words), "estimated");
    fact(out, "bill for the whole training", usd(l->whole_usd, words), "estimated");
    fact(out, "price per hour", usd(l->usd_per_hour, words), l->offer);
}

static void show_facts(struct buf *out, const struct run *run)
{
    char date[DATE_BYTES];
    static const struct html_column columns[] = {
        {"figure", ""}, {"value", "num"}, {"source", "long"}};
    html_begin_table(out, "Progress");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    show_time(out, run);
    show_money(out, &run->live);
    row(out, "runs on", "", run_place(run), "");
    row(out, "started", "", date_of(run->started, 0, date), "");
    row(out, "last update", "", date_of(run->live.at, 0, date), "");
    html_end_table(out);
}

static int refresh_s(const struct run *run)
{
    double s = run->live.elapsed_s.known ? run->live.elapsed_s.v / WRITTEN_PARTS : 0;
    return s < REFRESH_LEAST_S ? REFRESH_LEAST_S : s > REFRESH_MOST_S ? REFRESH_MOST_S : (int)s;
}

static void show(struct buf *out, const struct request *request, const struct run *run,
                 const struct page *page)
{
    struct buf path = {0};
    frame_begin_live(out, request, name_of(run), refresh_s(run));
    html_paragraph(out, "mute", run->id);
    html_paragraph(out, "", "This run is in progress. The page reloads itself until it has ended.");
    show_bar(out, run);
    show_facts(out, run);
    if (!run->live.offer)
        html_paragraph(
            out, "mute",
            "The price of this machine is not known: name its offer with 'fare run --offer'.");
    buf_adds(&path, "/runs/");
    markup_address(&path, run->id);
    frame_json_link(out, request, buf_str(&path));
    buf_drop(out, &path);
    for (size_t i = 0; i < page->plots.count; i++)
        html_plot(out, &page->plots.items[i], 2, i);
    frame_end(out);
}

struct live_page {
    const struct request *request;
    struct answer *answer;
    bool found;
};

static int show_one(void *arg, const char *id, const char *text, struct err *err)
{
    struct live_page *live = arg;
    struct run run = {0};
    struct page page = {0};
    int rc = read_running(text, &run, err);
    live->found = rc == 0 && run.id && strcmp(run.id, id) == 0;
    if (live->found && live->request->json)
        rc = record_to_text(run_fields, &run, &live->answer->text, err);
    else if (live->found)
        rc = page_plots(&run, &page, err);
    if (rc == 0 && live->found && !live->request->json)
        show(&live->answer->text, live->request, &run, &page);
    record_release(page_fields, &page);
    record_release(run_fields, &run);
    return rc == ERR_FORMAT ? 0 : rc;
}

int live_run(const struct request *request, struct answer *answer, bool *found, struct err *err)
{
    struct live_page page = {.request = request, .answer = answer};
    struct ledger *ledger = NULL;
    int rc = site_ledger(request->site, &ledger, err);
    if (rc == 0)
        rc = ledger_running(ledger, request->rest, show_one, &page, err);
    *found = page.found;
    site_give_back(request->site, ledger, rc != 0);
    return rc;
}
