// SPDX-License-Identifier: Apache-2.0
// What became of measurements elsewhere: the tasks, a sweep's bill, the comparison.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "advise/compare.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/market.h"
#include "cmd/fleet.h"
#include "cmd/runs.h"
#include "cmd/out.h"
#include "fleet/dispatch.h"
#include "record/read.h"
#include "view/compare.h"

// ==== while it runs ====
// Measurements elsewhere while they go on: a line for each change; on a terminal also a table of
// the places, redrawn in place. All of it goes to stderr.

enum { ROWS_MOST = 16 };
#define TELL_NS (60 * NS_PER_S) // between two lines of totals where there is no terminal

void fleet_live_begin(struct fleet_live *live, const struct places *places)
{
    const char *kind = getenv("TERM");
    *live = (struct fleet_live){.places = places, .told_ns = clock_now_ns()};
    live->terminal = isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0;
}

static void clear(struct fleet_live *live)
{
    if (live->drawn > 0)
        fprintf(stderr, "\x1b[%dA\r\x1b[J", live->drawn);
    live->drawn = 0;
}

void fleet_live_says(void *arg, const char *line)
{
    struct fleet_live *live = arg;
    clear(live);
    out_complain(line);
}

static int rows_of_terminal(void)
{
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 8)
        return ROWS_MOST;
    return size.ws_row - 4 < ROWS_MOST ? size.ws_row - 4 : ROWS_MOST;
}

// Places with something to show come first; the rest is counted.
static bool is_busy(const struct site_view *view)
{
    return view->task || view->problem || strcmp(view->doing, "idle") != 0;
}

static void add_row(struct table *table, const struct site_view *view)
{
    char time[24] = "", price[40] = "";
    if (view->since_ns > 0)
        clock_words((clock_now_ns() - view->since_ns) / NS_PER_S * NS_PER_S, time, sizeof time);
    if (view->place->hour_nano >= 0) {
        char amount[MONEY_BYTES];
        money_short(view->place->hour_nano, amount);
        snprintf(price, sizeof price, "%s USD/h", amount);
    }
    const char *cells[] = {view->place->name, view->doing, time, price,
                           view->problem ? view->problem
                           : view->task  ? view->task->name
                                         : ""};
    table_row(table, view->problem ? OUT_YELLOW : OUT_PLAIN, cells, NULL);
}

static void draw_table(struct fleet_live *live, const struct dispatcher *d)
{
    static const struct table_column columns[] = {{NULL, TABLE_LEFT, 0, 12},
                                                  {NULL, TABLE_LEFT, 0, 0},
                                                  {NULL, TABLE_RIGHT, 1, 0},
                                                  {NULL, TABLE_RIGHT, 2, 0},
                                                  {NULL, TABLE_LEFT, 3, 8}};
    struct table table = TABLE(columns);
    struct out out;
    struct buf totals = {0};
    int most = rows_of_terminal(), shown = 0;
    size_t busy = 0;
    out_init(&out, NULL);
    out.fd = STDERR_FILENO;
    for (size_t i = 0; i < dispatcher_sites(d); i++) {
        struct site_view view;
        dispatcher_site(d, i, &view);
        busy += is_busy(&view);
        if (is_busy(&view) && shown < most) {
            add_row(&table, &view);
            shown++;
        }
    }
    table_print(&table, &out);
    if (busy > (size_t)shown)
        out_printf(&out, "and %zu more\n", busy - (size_t)shown);
    fleet_totals(dispatcher_dispatch(d), live->places, &totals);
    out_styled(&out, OUT_BOLD, "%s", buf_str(&totals));
    out_printf(&out, "\n");
    clear(live);
    for (const char *p = buf_str(&out.text); (p = strchr(p, '\n')) != NULL; p++)
        live->drawn++;
    struct err ignored = {0};
    if (out_write(&out, &ignored) != 0)
        live->terminal = false;
    buf_release(&totals);
    out_release(&out);
}

void fleet_live_draw(void *arg, const struct dispatcher *d)
{
    struct fleet_live *live = arg;
    int64_t now = clock_now_ns();
    if (live->terminal) {
        draw_table(live, d);
    } else if (now - live->told_ns >= TELL_NS) {
        SCOPED(buf_release) struct buf totals = {0};
        live->told_ns = now;
        fleet_totals(dispatcher_dispatch(d), live->places, &totals);
        out_complain(buf_str(&totals));
    }
}

void fleet_live_end(struct fleet_live *live)
{
    clear(live);
    fflush(stderr);
}

// ==== when it has ended ====

enum { TASKS_SHOWN = 60 };

void fleet_totals(const struct dispatch *d, const struct places *places, struct buf *out)
{
    struct state_counts counts;
    struct collect_bill bill;
    char amount[MONEY_BYTES];
    state_count(d, &counts);
    collect_bill(d, places, &bill);
    buf_printf(out, "%zu waiting, %zu running, %zu done, %zu failed", counts.of[TASK_WAITING],
               counts.of[TASK_STARTING] + counts.of[TASK_RUNNING], counts.of[TASK_DONE],
               counts.of[TASK_FAILED]);
    if (counts.of[TASK_CANCELLED] > 0)
        buf_printf(out, ", %zu cancelled", counts.of[TASK_CANCELLED]);
    if (bill.so_far < 0)
        return;
    money_short(bill.so_far, amount);
    buf_printf(out, "; %s USD so far", amount);
    if (bill.projected > bill.so_far) {
        money_short(bill.projected, amount);
        buf_printf(out, ", about %s USD in all", amount);
    }
}

// ---- the tasks

// "98.20 %", or "loss 0.31" of its first record.
static void add_result(const struct task *task, struct ledger *ledger, struct buf *out)
{
    struct buf text = {0};
    struct run run = {0};
    struct err why = {0};
    if (task->now.records.count == 0 ||
        ledger_find(ledger, task->now.records.items[0], &text, &why) != 0)
        goto out;
    if (record_from_text(run_fields, buf_str(&text), text.len, &run, &why) == 0) {
        char quality[RUN_QUALITY_BYTES];
        run_quality_words(&run, quality);
        buf_adds(out, quality);
        if (!*quality && run.last_loss.known)
            buf_printf(out, "loss %.4g",
                       run.latest_loss.known ? run.latest_loss.v : run.last_loss.v);
        if (!*quality && !run.last_loss.known && run.step_ms.known)
            buf_printf(out, "%s a step", units_step(run.step_ms.v).s);
    }
out:
    record_release(run_fields, &run);
    buf_release(&text);
}

static void add_task(struct table *table, const struct task *task, struct ledger *ledger)
{
    SCOPED(buf_release) struct buf result = {0}, id = {0};
    const struct money_words cost = money_brief(task->now.cost);
    enum task_state state = task_state(task);
    add_result(task, ledger, &result);
    if (task->now.records.count > 0)
        runs_short_id(task->now.records.items[0], &id);
    const char *cells[] = {
        task->name,         task->now.place ? task->now.place : task->bound ? task->bound : "-",
        task_states[state], task->now.run_s.known ? units_time(task->now.run_s.v).s : "",
        buf_str(&result),   cost.s,
        buf_str(&id)};
    enum out_style style = state == TASK_FAILED ? OUT_RED : OUT_PLAIN;
    table_row(table, style, cells, state == TASK_FAILED ? task->now.problem : NULL);
}

static void print_tasks(struct out *out, const struct dispatch *d, struct ledger *ledger)
{
    static const struct table_column columns[] = {
        {"task", TABLE_LEFT, 0, 0},  {"on", TABLE_LEFT, 1, 10},     {"state", TABLE_LEFT, 0, 0},
        {"time", TABLE_RIGHT, 2, 0}, {"result", TABLE_RIGHT, 3, 0}, {"USD", TABLE_POINT, 4, 0},
        {"run", TABLE_LEFT, 5, 0}};
    struct table table = TABLE(columns);
    size_t left_out = 0, shown = 0;
    for (size_t i = 0; i < d->tasks.count; i++) {
        const struct task *task = &d->tasks.items[i];
        if (shown >= TASKS_SHOWN) {
            left_out++;
            continue;
        }
        if (d->tasks.count > TASKS_SHOWN && task_state(task) == TASK_DONE) {
            left_out++; // failures are what matters
            continue;
        }
        add_task(&table, task, ledger);
        shown++;
    }
    if (shown > 0)
        table_print(&table, out);
    if (left_out > 0)
        out_printf(out, "%zu more; all of them: fare runs --label dispatch=%s\n", left_out, d->id);
}

// ---- a sweep's bill

struct tally { // of one place
    size_t count;
    double sum_s;
    int64_t nano_usd; // -1: not known of all
};

static void tally(const struct dispatch *d, const char *place, struct tally *out)
{
    *out = (struct tally){0};
    for (size_t i = 0; i < d->tasks.count; i++) {
        const struct task *task = &d->tasks.items[i];
        if (task_state(task) != TASK_DONE || !task->now.run_s.known || !task->now.place ||
            strcmp(task->now.place, place) != 0)
            continue;
        const struct maybe_money cost = task->now.cost;
        out->count++;
        out->sum_s += task->now.run_s.v;
        out->nano_usd = cost.known && out->nano_usd >= 0 ? out->nano_usd + cost.nano : -1;
    }
}

// ", 0.43 USD"; nothing if it is unknown.
static struct short_text usd(int64_t nano_usd)
{
    char text[MONEY_BYTES];
    if (nano_usd < 0)
        return short_text("%s", "");
    money_short(nano_usd, text);
    return short_text(", %s USD", text);
}

// All of it as it was, against one machine in a row: the fastest of those that took part.
static void print_bill(struct out *out, const struct dispatch *d, const struct places *places)
{
    const struct place *fastest = NULL;
    struct tally best = {0};
    size_t used = 0, done = 0;
    double last_s = 0;
    int64_t total = 0;
    for (size_t i = 0; i < places->count; i++) {
        struct tally t;
        tally(d, places->items[i].name, &t);
        used += t.count > 0;
        total = total >= 0 && t.nano_usd >= 0 ? total + t.nano_usd : -1;
        done += t.count;
        if (t.count > 0 &&
            (!fastest || t.sum_s / (double)t.count < best.sum_s / (double)best.count)) {
            fastest = &places->items[i];
            best = t;
        }
    }
    for (size_t i = 0; i < d->tasks.count; i++) {
        const struct task_now *now = &d->tasks.items[i].now;
        if (now->queue_s.known && now->run_s.known)
            last_s = fmax(last_s, now->queue_s.v + now->run_s.v);
    }
    if (!fastest || done < 2)
        return;
    double row_s = best.sum_s / (double)best.count * (double)done;
    out_wrapf(out, 0, "%zu settings on %zu machine%s: %s%s.", done, used, used == 1 ? "" : "s",
              units_time(last_s).s, usd(total).s);
    if (used > 1)
        out_wrapf(out, 0,
                  "One after the other on %s alone, the fastest of them: %s%s (derived from the "
                  "mean of %s there).",
                  fastest->name, units_time(row_s).s, usd(collect_cost(fastest, row_s)).s,
                  units_count((int64_t)best.count, "run").s);
}

// ---- the comparison

static int print_comparison(struct out *out, const struct dispatch *d, struct ledger *ledger,
                            struct market *market, struct err *err)
{
    struct comparing *comparing = NULL;
    struct compare compare = {0};
    size_t added = 0;
    struct compare_options options = {.pricing = {.market = market}};
    int rc = comparing_new(&comparing, &options, err);
    for (size_t i = 0; rc == 0 && i < d->tasks.count; i++)
        for (size_t k = 0; rc == 0 && k < d->tasks.items[i].now.records.count; k++) {
            SCOPED(buf_release) struct buf text = {0};
            rc = ledger_find(ledger, d->tasks.items[i].now.records.items[k], &text, err);
            if (rc == 0)
                rc = comparing_add(comparing, buf_str(&text), text.len, err);
            added += rc == 0;
        }
    if (rc == 0 && added > 1)
        rc = comparing_finish(comparing, &compare, err);
    if (rc == 0 && added > 1 && compare.runs.v > 0) {
        SCOPED(doc_release) struct doc doc = {0};
        view_compare(&doc, &compare);
        out_printf(out, "\n");
        out_doc(out, &doc);
    }
    record_release(compare_fields, &compare);
    comparing_free(comparing);
    return rc;
}

int fleet_text(struct out *out, const struct dispatch *d, const struct places *places,
               struct ledger *ledger, struct err *err)
{
    struct buf totals = {0};
    bool sweep = d->tasks.count > 0 && d->tasks.items[0].settings.count > 0;
    print_tasks(out, d, ledger);
    fleet_totals(d, places, &totals);
    buf_adds(&totals, ".");
    out_wrap_take(out, 0, &totals);
    if (sweep)
        print_bill(out, d, places);
    return sweep || d->tasks.count > TASKS_SHOWN
               ? 0
               : print_comparison(out, d, ledger, places->market, err);
}
