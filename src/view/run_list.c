// SPDX-License-Identifier: Apache-2.0
#include "view/run_list.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "bill/bill.h"
#include "record/mask.h"
#include "record/read.h"
#include "render/markup.h"
#include "render/part.h"
#include "render/scale.h"

enum { SPARKS_MOST = 32 };

struct record_part run_list_part = {
    .of = run_fields,
    .members = "id started name workload framework engine machine.name machine.gpu "
               "machine.instance_type machine.cpu ended spent.usd full taints batch step_ms "
               "test_accuracy quality.metric quality.value phases steady projection use.gpus "
               "step_plot_ms"};

// ---- rows

static void time_tip(struct run_list_time *t, const char *words)
{
    char low[SCALE_LABEL], high[SCALE_LABEL];
    if (t->low_s > t->high_s) {
        snprintf(t->tip, sizeof t->tip, "%s", words);
        return;
    }
    scale_words("s", t->low_s, low);
    scale_words("s", t->high_s, high);
    snprintf(t->tip, sizeof t->tip, "%s, 95 %%: %s to %s", words, low, high);
}

static bool times_of(const struct run *run, struct run_list_time *out)
{
    struct bill_time time;
    if (!bill_time_of(run, &time) || time.total_ns <= 0)
        return false;
    bool known = time.low_ns > 0 && time.high_ns >= time.low_ns;
    *out = (struct run_list_time){.s = (double)time.total_ns / 1e9,
                                  .low_s = known ? (double)time.low_ns / 1e9 : 1,
                                  .high_s = known ? (double)time.high_ns / 1e9 : 0,
                                  .projected = strcmp(time.basis, "projected") == 0};
    return true;
}

// The figure, and below it a drawing, for which a phone has no room.
static void time_cell(struct run_list *list, const struct run *run)
{
    struct buf *out = &list->rows;
    struct run_list_time t;
    char words[SCALE_LABEL] = "";
    bool known = times_of(run, &t);
    if (known) {
        scale_words("s", t.s, words);
        time_tip(&t, words);
    }
    markup_in(out, "<td class=\"num\">", words, "");
    if (known) {
        t.at = out->len;
        list->times[list->time_count++] = t;
    }
    buf_adds(out, "</td>");
}

// As many points as the drawing can show; every second, third ... of a longer list.
static void draw_steps(struct buf *out, const struct run *run)
{
    double shown[SPARKS_MOST];
    size_t count = run->step_plot_ms.count, step = (count + SPARKS_MOST - 1) / SPARKS_MOST, n = 0;
    for (size_t i = 0; i < count; i += step)
        shown[n++] = run->step_plot_ms.items[i];
    part_sparkline(out, shown, n, "step times over the run");
}

static void steps_cell(struct buf *out, const struct run *run)
{
    struct maybe_real ms = run->steady.step_ms.known ? run->steady.step_ms : run->step_ms;
    markup_in(out, "<td class=\"num more\">", ms.known ? units_step(ms.v).s : "", "");
    if (run->step_plot_ms.count > 1) {
        buf_adds(out, "<span class=\"wide\">");
        draw_steps(out, run);
        buf_adds(out, "</span>");
    }
    buf_adds(out, "</td>");
}

// The name and the state, and below them what tells runs of one name apart: on a phone, which has
// no column for it, also when they were started. The id is in the link.
static void name_cell(struct run_list *list, const struct run *run, const char *started)
{
    struct buf *out = &list->rows;
    bool command = run->framework && strcmp(run->framework, "command") == 0;
    const char *const pieces[] = {run_place(run), command ? NULL : run->framework};
    struct buf below = {0};
    buf_adds(out, "<td class=\"long\"><a href=\"");
    list->link(out, run->id ? run->id : "");
    markup_in(out, "\">", run->name ? run->name : run->workload ? run->workload : "a run", "</a>");
    if (run->name && run->workload && strcmp(run->name, run->workload) != 0)
        markup_in(out, " (", run->workload, ")");
    buf_addc(out, ' ');
    part_state(out, run->ended);
    if (run->taints.count > 0) {
        buf_addc(out, ' ');
        part_chip(out, PART_WAIT, "noisy");
    }
    if (run->batch.known)
        buf_printf(&below, "batch %lld", (long long)run->batch.v);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (pieces[i] && *pieces[i])
            buf_printf(&below, "%s%s", below.len ? ", " : "", pieces[i]);
    markup_in(out, "<span class=\"id\">", buf_str(&below), "</span>");
    markup_in(out, "<span class=\"id narrow\">", started, "</span></td>");
    buf_drop(out, &below);
}

static void cost_cell(struct buf *out, const struct run *run)
{
    html_cell(out, "num", money_brief(run->spent.usd).s);
}

void run_list_add(struct run_list *list, const struct run *run)
{
    struct buf *out = &list->rows;
    char quality[RUN_QUALITY_BYTES], started[20] = "";
    if (list->count == RUN_LIST_ROWS)
        return;
    list->count++;
    run_quality_words(run, quality);
    if (run->started)
        snprintf(started, sizeof started, "%.10s%s%.5s", run->started,
                 strlen(run->started) > 11 ? " " : "",
                 strlen(run->started) > 11 ? run->started + 11 : "");
    buf_adds(out, "<tr>");
    if (list->boxes) {
        markup_in(out, "<td><input type=\"checkbox\" name=\"run\" value=\"", run->id,
                  "\" aria-label=\"Compare ");
        markup_in(out, "", run->id, "\"></td>");
    }
    name_cell(list, run, started);
    time_cell(list, run);
    cost_cell(out, run);
    steps_cell(out, run);
    html_cell(out, "num more", quality);
    html_cell(out, "num more", started);
    buf_adds(out, "</tr>\n");
}

// ---- rows that were made before

// A table by the record's hash; a newer row takes the place of another.
enum { ROWS_MADE = 1024, ROW_BYTES_MOST = 2048 };

struct made_row {
    uint64_t hash; // of the record, and what else the row depends on
    size_t record_len;
    char *html;
    size_t len;
    bool timed;
    struct run_list_time time; // `at` counts from the start of the row
};

struct run_rows {
    pthread_mutex_t lock;
    struct made_row rows[ROWS_MADE];
};

int run_rows_new(struct run_rows **out, struct err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return err_memory(err);
    pthread_mutex_init(&(*out)->lock, NULL);
    return 0;
}

void run_rows_free(struct run_rows *rows)
{
    if (!rows)
        return;
    for (size_t i = 0; i < ROWS_MADE; i++)
        free(rows->rows[i].html);
    pthread_mutex_destroy(&rows->lock);
    free(rows);
}

// Eight bytes at a time: a page has fifty records of a kilobyte or two.
static uint64_t hash_of(const char *text, size_t len, bool boxes)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ (len << 1 | boxes), word;
    for (; len >= sizeof word; text += sizeof word, len -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, text, len);
    hash = (hash ^ word) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 29;
}

static bool add_made(struct run_list *list, uint64_t hash, size_t record_len)
{
    struct made_row *row = &list->made->rows[hash % ROWS_MADE];
    pthread_mutex_lock(&list->made->lock);
    bool found = row->html && row->hash == hash && row->record_len == record_len;
    if (found && row->timed) {
        struct run_list_time *t = &list->times[list->time_count++];
        *t = row->time;
        t->at += list->rows.len;
    }
    if (found)
        buf_add(&list->rows, row->html, row->len);
    pthread_mutex_unlock(&list->made->lock);
    list->count += found;
    return found;
}

// Without memory, or if it is long, the row is made again the next time.
static void keep_made(struct run_list *list, uint64_t hash, size_t record_len, size_t start,
                      size_t times)
{
    struct made_row *row = &list->made->rows[hash % ROWS_MADE];
    size_t len = list->rows.failed ? 0 : list->rows.len - start;
    char *html = len > 0 && len <= ROW_BYTES_MOST ? malloc(len) : NULL;
    if (!html)
        return;
    memcpy(html, list->rows.data + start, len);
    struct made_row made = {hash, record_len, html, len, list->time_count > times, {.at = 0}};
    if (made.timed) {
        made.time = list->times[times];
        made.time.at -= start;
    }
    pthread_mutex_lock(&list->made->lock);
    char *old = row->html;
    *row = made;
    pthread_mutex_unlock(&list->made->lock);
    free(old);
}

int run_list_record(struct run_list *list, const char *text, struct err *err)
{
    size_t len = strlen(text), start = list->rows.len, times = list->time_count;
    uint64_t hash = list->made ? hash_of(text, len, list->boxes) : 0;
    SCOPED(buf_release) struct buf masked = {0};
    struct run run = {0};
    if (list->count == RUN_LIST_ROWS || (list->made && add_made(list, hash, len)))
        return 0;
    int rc = mask_stored(text, &masked, err);
    if (rc == 0)
        rc = record_from_checked(record_part(&run_list_part),
                                 masked.len > 0 ? buf_str(&masked) : text,
                                 masked.len > 0 ? masked.len : len, &run, err);
    if (rc == 0)
        run_list_add(list, &run);
    if (rc == 0 && list->made)
        keep_made(list, hash, len, start, times);
    record_release(record_part(&run_list_part), &run);
    return rc;
}

// ---- the head

// `word`: the order that the column's link asks for; "": none.
static void head_cell(struct buf *out, const struct run_list *list, const char *class,
                      const char *name, const char *word)
{
    const char *now = *word ? list->order : NULL;
    bool up = now && strcmp(now, word) == 0;
    bool down = now && *now == '-' && strcmp(now + 1, word) == 0;
    char other[24];
    buf_printf(out, "<th scope=\"col\"%s%s%s%s>", *class ? " class=\"" : "", class,
               *class ? "\"" : "",
               up     ? " aria-sort=\"ascending\""
               : down ? " aria-sort=\"descending\""
                      : "");
    if (list->sort_link && *word) {
        snprintf(other, sizeof other, "%s%s", up ? "-" : "", word);
        buf_adds(out, "<a href=\"");
        list->sort_link(out, list->sort_arg, other);
        buf_printf(out, "\">%s%s</a>", name, up ? " ↑" : down ? " ↓" : "");
    } else {
        buf_adds(out, name);
    }
    buf_adds(out, "</th>");
}

static void list_columns(struct buf *out, const struct run_list *list)
{
    buf_adds(out, "<thead><tr>");
    if (list->boxes)
        head_cell(out, list, "", "<abbr title=\"compare\">✓</abbr>", "");
    head_cell(out, list, "long", "run", "name");
    head_cell(out, list, "num", "whole training", "time");
    head_cell(out, list, "num", "spent, USD", "");
    head_cell(out, list, "num more", "step time", "step");
    head_cell(out, list, "num more", "quality", "");
    head_cell(out, list, "num more", "started", "started");
    buf_adds(out, "</tr></thead>\n<tbody>\n");
}

static void draw_time(struct buf *out, const struct run_list_time *t, double least, double most)
{
    buf_adds(out, "<span class=\"wide\">");
    part_whisker(out,
                 &(struct part_interval){
                     .value = t->s, .low = t->low_s, .high = t->high_s, .estimated = t->projected},
                 least, most, t->tip);
    buf_adds(out, "</span>");
}

void run_list_show(struct buf *out, struct run_list *list)
{
    double least = 0, most = 0;
    size_t at = 0;
    for (size_t i = 0; i < list->time_count; i++) {
        const struct run_list_time *t = &list->times[i];
        double low = t->low_s <= t->high_s ? t->low_s : t->s;
        double high = t->high_s > t->s ? t->high_s : t->s;
        least = i == 0 || low < least ? low : least;
        most = high > most ? high : most;
    }
    html_begin_table(out, "Runs");
    list_columns(out, list);
    for (size_t i = 0; i < list->time_count && !list->rows.failed; i++) {
        buf_add(out, buf_str(&list->rows) + at, list->times[i].at - at);
        draw_time(out, &list->times[i], least, most);
        at = list->times[i].at;
    }
    if (!list->rows.failed)
        buf_add(out, buf_str(&list->rows) + at, list->rows.len - at);
    html_end_table(out);
    html_paragraph(out, "mute wide",
                   "Below the times: their 95 % intervals on a logarithmic scale, hollow if "
                   "projected, and the step times over the run.");
    buf_drop(out, &list->rows);
}
