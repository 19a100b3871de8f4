// SPDX-License-Identifier: Apache-2.0
// The lists of a site: the overview, the comparisons, and the runs page by page.
//
// Pages of runs are numbered from the oldest on, so that a new run changes the newest page only.
#include <stdio.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/units.h"
#include "record/read.h"
#include "view/results.h"
#include "view/html.h"
#include "render/markup.h"
#include "render/part.h"
#include "render/scale.h"
#include "view/site_job.h"

enum { PER_PAGE = RUN_LIST_ROWS / 2, LATEST = 10, TRAININGS = 20, CHOICES = 6 };

// ---- rows

static void link_here(struct buf *out, const char *id)
{
    char name[SITE_NAME_BYTES];
    site_name(id, name);
    buf_printf(out, "runs/%s.html", name);
}

static void link_below(struct buf *out, const char *id)
{
    buf_adds(out, "../");
    link_here(out, id);
}

static int read_run(struct site_job *job, size_t number, struct buf *text, struct run *run,
                    struct err *err)
{
    TRY(site_record(job, &job->runs[number], text, err));
    return record_from_text(record_part(&run_list_part), buf_str(text), text->len, run, err);
}

int site_rows(struct site_job *job, const size_t *numbers, size_t count, bool below,
              struct buf *out, struct err *err)
{
    struct run_list list = {.link = below ? link_below : link_here};
    SCOPED(buf_release) struct buf text = {0};
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct run run = {0};
        rc = read_run(job, numbers[i], &text, &run, err);
        if (rc == 0)
            run_list_add(&list, &run);
        record_release(record_part(&run_list_part), &run);
    }
    if (rc == 0)
        run_list_show(out, &list);
    buf_release(&list.rows);
    return rc;
}

// ---- lists of runs

// Of page `number`, from 1, the oldest: its first run and their number.
static size_t page_first(const struct site_job *job, size_t number, size_t pages, size_t *count)
{
    size_t before = (number - 1) * PER_PAGE; // runs that are older
    *count = number == pages ? job->run_count - before : PER_PAGE;
    return job->run_count - before - *count;
}

static void page_path(size_t number, size_t pages, const char *ending, char out[64])
{
    if (number == pages)
        snprintf(out, 64, "runs.%s", ending);
    else
        snprintf(out, 64, "runs-%zu.%s", number, ending);
}

static void page_link(struct buf *out, size_t number, size_t pages, const char *words)
{
    char path[64];
    page_path(number, pages, "html", path);
    buf_printf(out, "<li><a href=\"%s\">%s</a></li>\n", path, words);
}

static int list_html(struct site_job *job, size_t number, size_t pages, struct buf *out,
                     struct err *err)
{
    size_t numbers[RUN_LIST_ROWS], count, first = page_first(job, number, pages, &count);
    char title[96], json[64];
    for (size_t i = 0; i < count; i++)
        numbers[i] = first + i;
    if (pages == 1)
        snprintf(title, sizeof title, "%s", units_count((int64_t)count, "run").s);
    else if (number == pages)
        snprintf(title, sizeof title, "The newest %zu of %zu runs", count, job->run_count);
    else // stays true when there are more
        snprintf(title, sizeof title, "Runs %zu to %zu, counted from the oldest",
                 (number - 1) * PER_PAGE + 1, number * PER_PAGE);
    site_begin(out, "", "runs.html", title);
    TRY(site_rows(job, numbers, count, false, out, err));
    if (pages > 1) {
        buf_adds(out, "<nav aria-label=\"More runs\"><ul>\n");
        if (number < pages)
            page_link(out, number + 1, pages, "Newer");
        if (number > 1)
            page_link(out, number - 1, pages, "Older");
        if (number < pages)
            page_link(out, pages, pages, "The newest");
        if (number > 1)
            page_link(out, 1, pages, "The oldest");
        buf_adds(out, "</ul></nav>\n");
    }
    page_path(number, pages, "json", json);
    site_json_link(out, json);
    site_end(out, NULL, false);
    return 0;
}

// Without the lists of samples and epochs, which the runs' own files have.
static int list_json(struct site_job *job, size_t number, size_t pages, struct buf *out,
                     struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    size_t count, first = page_first(job, number, pages, &count);
    int rc = 0;
    buf_adds(out, "{\"schema\":\"" RUNS_SCHEMA "\",\"runs\":[");
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct run run = {0};
        rc = read_run(job, first + i, &text, &run, err);
        buf_adds(out, i ? ",\n" : "\n");
        if (rc == 0)
            rc = record_to_line(record_part(&run_list_part), &run, out, err);
        record_release(record_part(&run_list_part), &run);
    }
    buf_adds(out, "\n]}\n");
    return rc;
}

int site_lists(struct site_job *job, struct err *err)
{
    size_t pages = job->run_count > RUN_LIST_ROWS ? job->run_count / PER_PAGE : 1;
    for (size_t number = 1; number <= pages; number++) {
        SCOPED(buf_release) struct buf html = {0}, json = {0};
        char path[64];
        TRY(list_html(job, number, pages, &html, err));
        page_path(number, pages, "html", path);
        TRY(site_put(job, path, &html, err));
        TRY(list_json(job, number, pages, &json, err));
        page_path(number, pages, "json", path);
        TRY(site_put(job, path, &json, err));
    }
    return 0;
}

// ---- trainings

static void training_link(struct buf *out, const struct site_job *job,
                          const struct site_training *t)
{
    if (t->compared)
        buf_printf(out, "compare/%s.html", t->name);
    else
        buf_printf(out, "runs/%s.html", job->runs[t->newest].name);
}

static void training_rows(struct buf *out, const struct site_job *job, size_t most)
{
    static const struct html_column columns[] = {
        {"training", ""}, {"fastest run", "long"}, {"lowest cost of a run, or to rent", "long"}};
    html_begin_table(out, "Trainings");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < job->training_count && i < most; i++) {
        const struct site_training *t = &job->trainings[i];
        buf_adds(out, "<tr><td><a href=\"");
        training_link(out, job, t);
        markup_in(out, "\">", t->title, "</a>");
        markup_in(out, "<span class=\"id\">", units_count((int64_t)t->runs, "run").s,
                  "</span></td>");
        html_cell(out, "long", *t->fastest ? t->fastest : "unknown");
        html_cell(out, "long", *t->lowest ? t->lowest : "unknown");
        buf_adds(out, "</tr>\n");
    }
    html_end_table(out);
}

static void show_comparisons(struct buf *out, const struct site_job *job, const struct page *page)
{
    struct buf left_out = {0};
    char title[96];
    snprintf(title, sizeof title, "%s compared",
             units_count((int64_t)job->training_count, "training").s);
    site_begin(out, "", "compare.html", title);
    html_verdict(out, page);
    training_rows(out, job, SITE_COMPARED_MOST);
    if (job->training_count > SITE_COMPARED_MOST)
        buf_printf(out,
                   "<p>The %d trainings with the most runs; those of %zu others are in the <a "
                   "href=\"runs.html\">lists</a>.</p>\n",
                   SITE_COMPARED_MOST, job->training_count - SITE_COMPARED_MOST);
    html_means(out, &page->means, 2);
    for (size_t i = 0; i < page->plots.count; i++)
        if (strcmp(page->plots.items[i].kind, "relative") == 0)
            html_plot_within(out, &page->plots.items[i], 2, i, SITE_PLOTS_UNTIL, &left_out);
    html_left_out(out, &left_out);
    site_json_link(out, "compare.json");
    site_end(out, page, false);
}

// ---- the overview

// When the runs were, and how long they took.
static void when(struct buf *out, const struct site_job *job)
{
    char wall[SCALE_LABEL];
    const char *oldest = "", *newest = job->runs[0].started; // some have no date
    struct buf text = {0};
    for (size_t i = job->run_count; i-- > 0 && !*oldest;)
        oldest = job->runs[i].started;
    scale_words("s", (double)job->wall_ns / 1e9, wall);
    if (*oldest && strncmp(oldest, newest, 10) != 0)
        buf_printf(&text, "%.10s to %.10s", oldest, newest);
    else
        buf_printf(&text, "%.10s", newest);
    if (job->wall_ns > 0)
        buf_printf(&text, "%s%s in all, measured or published", text.len ? "; " : "", wall);
    html_paragraph(out, "mute", buf_str(&text));
    buf_drop(out, &text);
}

static const char *link_of(const struct site_job *job, const struct quote *quote, struct buf *out)
{
    for (size_t i = 0; i < job->training_count; i++)
        if (quote->workload && strcmp(job->trainings[i].title, quote->workload) == 0)
            training_link(out, job, &job->trainings[i]);
    return out->len > 0 ? buf_str(out) : "compare.html";
}

static void show_choices(struct buf *out, const struct site_job *job, const struct page *page)
{
    struct buf text = {0};
    for (size_t i = 0; i < page->quotes.count && i < CHOICES; i++) {
        const struct quote *quote = &page->quotes.items[i];
        struct buf link = {0};
        html_choices(&text, quote->workload ? quote->workload : "command",
                     link_of(job, quote, &link), quote);
        buf_drop(out, &link);
    }
    if (text.len > 0) {
        html_heading(out, 2, verdict_heading);
        html_choices_table(out, &text);
    }
    buf_drop(out, &text);
}

static int show_overview(struct buf *out, struct site_job *job, const struct page *page,
                         struct err *err)
{
    size_t numbers[LATEST], count = 0;
    struct buf title = {0};
    for (; count < LATEST && count < job->run_count; count++)
        numbers[count] = count;
    buf_adds(&title, units_count((int64_t)job->run_count, "run").s);
    buf_printf(&title, " of %s", units_count((int64_t)job->training_count, "training").s);
    if (job->machines.count > 0)
        buf_printf(&title, " on %s", units_count((int64_t)job->machines.count, "machine").s);
    site_begin(out, "", "index.html", buf_str(&title));
    buf_drop(out, &title);
    when(out, job);
    html_verdict(out, page);
    buf_adds(out, "<div class=\"cols\">\n<div>\n");
    html_heading(out, 2, "Trainings");
    training_rows(out, job, TRAININGS);
    buf_adds(out, "<p><a href=\"compare.html\">All comparisons</a></p>\n");
    html_heading(out, 2, "Latest runs");
    TRY(site_rows(job, numbers, count, false, out, err));
    buf_adds(out, "<p><a href=\"runs.html\">All runs</a></p>\n</div>\n<div>\n");
    show_choices(out, job, page);
    html_heading(out, 2, "Use these runs");
    html_paragraph(out, "",
                   "This reads them into your own ledger, to compare them with your runs "
                   "and to price them:");
    part_command(out, "fare runs import ADDRESS-OF-THIS-PAGE");
    buf_adds(out, "</div>\n</div>\n");
    site_json_link(out, "index.json");
    site_end(out, page, false);
    return buf_check(out, err);
}

static int put_json(struct site_job *job, const char *path, const struct field *fields,
                    const void *record, struct err *err)
{
    SCOPED(buf_release) struct buf json = {0};
    TRY(record_to_text(fields, record, &json, err));
    buf_addc(&json, '\n');
    return site_put(job, path, &json, err);
}

int site_overview(struct site_job *job, struct err *err)
{
    SCOPED(page_release) struct page page = {0};
    SCOPED(buf_release) struct buf html = {0}, comparisons = {0};
    TRY(site_page_make(job, job->ask->page.market, NULL, SIZE_MAX, &page, err));
    show_comparisons(&comparisons, job, &page);
    TRY(show_overview(&html, job, &page, err));
    TRY(site_put(job, "compare.html", &comparisons, err));
    TRY(put_json(job, "compare.json", compare_fields, &page.compare, err));
    TRY(site_put(job, "index.html", &html, err));
    struct page light = page; // costs and plots are beside the comparisons and runs
    memset(&light.quotes, 0, sizeof light.quotes);
    memset(&light.plots, 0, sizeof light.plots);
    return put_json(job, "index.json", page_fields, &light, err);
}
