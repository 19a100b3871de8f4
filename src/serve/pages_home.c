// SPDX-License-Identifier: Apache-2.0
// The overview: what is running, what this month costs, the latest runs, the cheapest and the
// fastest machine for each training, machines with findings. With parameters it is the list of
// runs, whose address it was.
#include <stdlib.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/units.h"
#include "record/read.h"
#include "view/results.h"
#include "render/markup.h"
#include "render/part.h"
#include "serve/board.h"

enum { LATEST = 10, FINDINGS = 5, AGAIN_S = 2 };

// The newest runs, and each machine once with what disturbed its latest noisy run.
struct latest {
    struct run_list table;
    char *places[FINDINGS];
    size_t place_count;
    struct buf findings;
};

static int add_finding(struct latest *latest, const struct run *run, struct err *err)
{
    const char *place = run_place(run) ? run_place(run) : "an unknown machine";
    struct buf *out = &latest->findings;
    if (run->taints.count == 0 || latest->place_count == FINDINGS)
        return 0;
    for (size_t i = 0; i < latest->place_count; i++)
        if (strcmp(latest->places[i], place) == 0)
            return 0;
    latest->places[latest->place_count] = text_copy(place, err);
    if (!latest->places[latest->place_count])
        return ERR_MEMORY;
    latest->place_count++;
    markup_in(out, "<li>", place, ": ");
    markup_in(out, "", run->taints.items[0], " (<a href=\"/runs/");
    markup_address(out, run->id ? run->id : "");
    markup_in(out, "\">", run->name ? run->name : "run", "</a>)</li>\n");
    return 0;
}

static int add_latest(void *arg, const char *id, const char *text, struct err *err)
{
    struct latest *latest = arg;
    struct run run = {0};
    (void)id;
    int rc = record_from_checked(record_part(&run_list_part), text, strlen(text), &run, err);
    if (rc == 0 && latest->table.count < LATEST)
        run_list_add(&latest->table, &run);
    if (rc == 0)
        rc = add_finding(latest, &run, err);
    record_release(record_part(&run_list_part), &run);
    return rc;
}

static void latest_release(struct latest *latest)
{
    for (size_t i = 0; i < latest->place_count; i++)
        free(latest->places[i]);
    buf_release(&latest->table.rows);
    buf_release(&latest->findings);
}

// What the title's figures are.
static void month_note(struct buf *out, const struct board_figures *f)
{
    struct buf text = {0};
    if (f->month_runs > 0 && *f->month_usd)
        buf_adds(&text, "Runs since the first of the month, UTC, by the providers' rules, without "
                        "tax");
    else if (f->month_runs > 0)
        buf_adds(&text, "No price is known for the machines of this month's runs");
    else
        buf_adds(&text, "No run was started since the first of the month, UTC");
    if (*f->month_usd && f->month_unknown > 0)
        buf_printf(&text, "; %s at an unknown price not counted",
                   units_count(f->month_unknown, "run").s);
    buf_addc(&text, '.');
    html_paragraph(out, "mute", buf_str(&text));
    buf_drop(out, &text);
}

static void show_left(struct buf *out, struct latest *latest, const struct board_figures *f)
{
    html_heading(out, 2, "Latest runs");
    run_list_show(out, &latest->table);
    buf_adds(out, "<p><a href=\"/runs\">All runs</a></p>\n");
    if (f->spend.len > 0) {
        html_heading(out, 2, "Spent this month");
        buf_add(out, buf_str(&f->spend), f->spend.len);
    }
    if (f->moved.len > 0) {
        html_heading(out, 2, "Prices that moved");
        buf_add(out, buf_str(&f->moved), f->moved.len);
        buf_adds(out, "<p><a href=\"/prices\">All prices</a></p>\n");
    }
}

static void show_right(struct buf *out, const struct latest *latest, const struct board_figures *f,
                       bool made)
{
    if (f->machines.len > 0 || !made)
        html_heading(out, 2, verdict_heading);
    if (!made)
        html_paragraph(out, "mute", "Being computed; this page reloads itself.");
    if (f->machines.len > 0)
        html_choices_table(out, &f->machines);
    if (latest->findings.len > 0) {
        html_heading(out, 2, "Machines with findings");
        buf_printf(out, "<ul>\n%s</ul>\n", buf_str(&latest->findings));
    }
}

static void show_all(struct buf *out, struct latest *latest, const struct buf *live,
                     const struct buf *warnings, const struct board_figures *f, bool made)
{
    if (made)
        month_note(out, f);
    buf_add(out, buf_str(warnings), warnings->len);
    buf_adds(out, "<div class=\"cols\">\n<div>\n");
    buf_add(out, buf_str(live), live->len);
    show_left(out, latest, f);
    buf_adds(out, "</div>\n<div>\n");
    show_right(out, latest, f, made);
    buf_adds(out, "</div>\n</div>\n");
}

// The title says the result.
static void title_of(const struct latest *latest, const struct board_figures *f, bool made,
                     struct buf *out)
{
    if (latest->table.count == 0)
        buf_adds(out, "No runs yet");
    else if (!made)
        buf_adds(out, "Runs and costs");
    else {
        frame_count(out, f->month_runs);
        buf_printf(out, " run%s this month", f->month_runs == 1 ? "" : "s");
        if (*f->month_usd)
            buf_printf(out, " cost %s%s USD", f->month_unknown > 0 ? "at least " : "",
                       f->month_usd);
    }
}

// What to do next.
static void show_empty(struct buf *out)
{
    part_empty(out,
               "This measures a small training on this machine, in a few seconds:", "fare run mlp");
    part_empty(out, "This tells what your own training will cost, from a sample of it:",
               "fare -- python train.py");
    buf_adds(out, "<p>Until then: <a href=\"/prices\">what GPUs cost</a>, and <a "
                  "href=\"/quote?run=cnn\">what a published training costs</a> on them.</p>\n");
}

static void show(struct buf *out, const struct request *request, struct latest *latest,
                 const struct buf *live, const struct buf *warnings)
{
    struct board_figures f;
    struct buf title = {0};
    bool made = board_figures(request->site->board, &f);
    bool empty = latest->table.count == 0 && live->len == 0;
    title_of(latest, &f, made, &title);
    frame_begin_live(out, request, buf_str(&title), made || empty ? 0 : AGAIN_S);
    if (empty)
        show_empty(out);
    else
        show_all(out, latest, live, warnings, &f, made);
    frame_end(out);
    buf_drop(out, &title);
    buf_drop(out, &f.spend);
    buf_drop(out, &f.machines);
    buf_drop(out, &f.moved);
}

int page_home(const struct request *request, struct answer *answer, struct err *err)
{
    static const struct ledger_filter newest = {.limit = 50, .heads = true};
    struct ledger *ledger;
    SCOPED(latest_release) struct latest latest = {.table = {.link = list_run_link}};
    SCOPED(buf_release) struct buf live = {0}, warnings = {0};
    if (request->query_count > 0)
        return page_list(request, answer, err);
    TRY(request_ledger(request, &ledger, err));
    TRY(live_list(request, ledger, &live, err));
    TRY(spend_warnings(request, ledger, &warnings, err));
    TRY(ledger_each(ledger, &newest, add_latest, &latest, err));
    TRY(buf_check(&live, err));
    TRY(buf_check(&warnings, err));
    TRY(buf_check(&latest.findings, err));
    show(&answer->text, request, &latest, &live, &warnings);
    return 0;
}
