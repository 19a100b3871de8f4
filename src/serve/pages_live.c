// SPDX-License-Identifier: Apache-2.0
// Running runs: in the list, and each on its page, which reloads itself until the run has ended and
// then shows the finished run at the same address.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "record/read.h"
#include "view/html.h"
#include "render/markup.h"
#include "render/part.h"
#include "render/scale.h"
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
static const char *usd(struct maybe_money amount, char out[MONEY_BYTES + 8])
{
    if (!amount.known)
        return "";
    snprintf(out, MONEY_BYTES + 8, "%s USD", money_brief(amount).s);
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

// How far it is, as a figure and as a bar, for which a phone has no room.
static void share_cell(struct buf *out, const struct run *run)
{
    char share[16];
    markup_in(out, "<td class=\"num\">", share_words(run, share), "");
    if (run->live.share.known)
        buf_printf(out,
                   "<span class=\"wide\"><progress max=\"1\" value=\"%.4f\" "
                   "aria-hidden=\"true\"></progress></span>",
                   run->live.share.v);
    buf_adds(out, "</td>");
}

static void list_row(struct buf *out, const struct run *run)
{
    char left[SCALE_LABEL], money[MONEY_BYTES + 8], more[MONEY_BYTES + 8], date[DATE_BYTES];
    struct buf href = {0};
    list_run_link(&href, run->id);
    buf_adds(out, "<tr>");
    html_run(out, &(struct html_run){.href = buf_str(&href),
                                     .name = name_of(run),
                                     .machine = run_place(run),
                                     .framework = run->framework});
    share_cell(out, run);
    html_cell(out, "num", time_words(run->live.left_s, left));
    html_cell(out, "num", usd(run->live.bill_usd, money));
    html_cell(out, "num more", usd(run->live.projected_usd, more));
    html_cell(out, "num more", date_of(run->started, 0, date));
    buf_adds(out, "</tr>\n");
    buf_drop(out, &href);
}

static void list_begin(struct buf *out)
{
    static const struct html_column columns[] = {{"run", "long"},
                                                 {"done", "num"},
                                                 {"time left", "num"},
                                                 {"bill so far", "num"},
                                                 {"bill at the end", "num more"},
                                                 {"started", "num more"}};
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
    SCOPED(run_release) struct run run = {0};
    int rc = read_running(text, &run, err);
    if (rc == 0 && run.id && strcmp(run.id, id) == 0) {
        if (list->count++ == 0 && !list->json)
            list_begin(list->out);
        if (list->json)
            rc = list_json(&run, list, err);
        else
            list_row(list->out, &run);
    }
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

static void show_bar(struct buf *out, const struct run *run)
{
    if (run->live.share.known)
        buf_printf(out,
                   "<p><progress max=\"1\" value=\"%.4f\" aria-label=\"Done\"></progress></p>\n",
                   run->live.share.v);
}

// "24 min 10 s", below it when that is.
static void left_stat(struct buf *out, const struct run_live *l)
{
    bool at_most = l->at_most.known && l->at_most.v;
    char words[SCALE_LABEL], end[DATE_BYTES], sub[DATE_BYTES + 120] = "nothing says how far it is";
    if (l->left_s.known)
        snprintf(sub, sizeof sub, "%s %s%s", at_most ? "at most, until" : "estimated, until",
                 date_of(l->at, l->left_s.v, end),
                 at_most ? ": it stops once the projection is precise enough" : "");
    part_stat(out, "time left", time_words(l->left_s, words), sub);
}

static void steps_stat(struct buf *out, const struct run *run)
{
    char steps[64] = "", words[SCALE_LABEL];
    struct buf sub = {0};
    if (run->steps.known && run->total_steps.known)
        snprintf(steps, sizeof steps, "%lld of %lld", (long long)run->steps.v,
                 (long long)run->total_steps.v);
    else if (run->steps.known)
        snprintf(steps, sizeof steps, "%lld", (long long)run->steps.v);
    if (run->live.elapsed_s.known)
        buf_printf(&sub, "in %s", time_words(run->live.elapsed_s, words));
    if (run->projection.wall_s.known)
        buf_printf(&sub, "%sthe whole training: %s, estimated", sub.len ? "; " : "",
                   time_words(run->projection.wall_s, words));
    part_stat(out, "steps", steps, buf_str(&sub));
    buf_drop(out, &sub);
}

static void money_stats(struct buf *out, const struct run_live *l)
{
    char words[MONEY_BYTES + 8], rate[MONEY_BYTES + 8], whole[MONEY_BYTES + 8];
    struct buf sub = {0};
    if (l->offer)
        buf_adds(&sub, l->offer);
    else if (*usd(l->usd_per_hour, rate))
        buf_printf(&sub, "at %s an hour", rate);
    else
        buf_adds(&sub, "the price of this machine is not known: name its offer with --offer");
    part_stat(out, "bill so far", usd(l->bill_usd, words), buf_str(&sub));
    buf_reset(&sub);
    buf_adds(&sub, "estimated");
    if (*usd(l->whole_usd, whole))
        buf_printf(&sub, "; the whole training: %s", whole);
    if (l->bill_usd.known)
        part_stat(out, "bill at the end", usd(l->projected_usd, words), buf_str(&sub));
    buf_drop(out, &sub);
}

static void show_figures(struct buf *out, const struct run *run)
{
    char date[DATE_BYTES];
    buf_adds(out, "<p>");
    part_state(out, run->ended);
    markup_in(out, " <span class=\"mute\">", run->id, "</span></p>\n");
    show_bar(out, run);
    part_stats_begin(out);
    left_stat(out, &run->live);
    money_stats(out, &run->live);
    steps_stat(out, run);
    part_stats_end(out);
    buf_adds(out, "<p class=\"mute\">");
    if (run_place(run))
        markup_in(out, "On ", run_place(run), ". ");
    markup_in(out, "As of ", date_of(run->live.at, 0, date),
              "; this page reloads itself until the run has ended.</p>\n");
}

// "resnet: 12 % done, 24 min left": what one looks for in a row of tabs.
static void title_of(const struct run *run, struct buf *out)
{
    char share[16], left[SCALE_LABEL];
    buf_adds(out, name_of(run));
    if (*share_words(run, share))
        buf_printf(out, ": %s done", share);
    if (*time_words(run->live.left_s, left))
        buf_printf(out, ", %s left", left);
}

static int refresh_s(const struct run *run)
{
    double s = run->live.elapsed_s.known ? run->live.elapsed_s.v / WRITTEN_PARTS : 0;
    return s < REFRESH_LEAST_S ? REFRESH_LEAST_S : s > REFRESH_MOST_S ? REFRESH_MOST_S : (int)s;
}

static void show(struct buf *out, const struct request *request, const struct run *run,
                 const struct page *page)
{
    struct buf path = {0}, title = {0};
    title_of(run, &title);
    frame_begin_live(out, request, buf_str(&title), refresh_s(run));
    show_figures(out, run);
    html_one_plots(out, page);
    list_run_link(&path, run->id);
    frame_json_link(out, request, buf_str(&path));
    frame_end(out);
    buf_drop(out, &path);
    buf_drop(out, &title);
}

struct live_page {
    const struct request *request;
    struct answer *answer;
    bool found;
};

static int show_one(void *arg, const char *id, const char *text, struct err *err)
{
    struct live_page *live = arg;
    SCOPED(run_release) struct run run = {0};
    SCOPED(page_release) struct page page = {0};
    int rc = read_running(text, &run, err);
    live->found = rc == 0 && run.id && strcmp(run.id, id) == 0;
    if (live->found && live->request->json)
        rc = record_to_text(run_fields, &run, &live->answer->text, err);
    else if (live->found)
        rc = page_plots(&run, &page, err);
    if (rc == 0 && live->found && !live->request->json)
        show(&live->answer->text, live->request, &run, &page);
    return rc == ERR_FORMAT ? 0 : rc;
}

int live_run(const struct request *request, struct answer *answer, bool *found, struct err *err)
{
    struct live_page page = {.request = request, .answer = answer};
    struct ledger *ledger;
    TRY(request_ledger(request, &ledger, err));
    TRY(ledger_running(ledger, request->rest, show_one, &page, err));
    *found = page.found;
    return 0;
}
