// SPDX-License-Identifier: Apache-2.0
// What a scheduled task costs, for people.
#include "cmd/cron.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"

#define MONTH_S (30 * 86400.0)

// Cents; three figures of what is less than one.
static void cents(const char *amount, char out[MONEY_BYTES])
{
    int64_t nano;
    if (!amount || money_parse(amount, &nano, NULL) != 0)
        snprintf(out, MONEY_BYTES, "unknown");
    else if (nano != 0 && nano < MONEY_UNIT / 200 && nano > -MONEY_UNIT / 200)
        money_short(nano, out);
    else
        money_rounded(nano, 2, MONEY_HALF_UP, out);
}

// Columns of a text with '×' and its like in it, each one column.
static int columns_of(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static void row(struct out *out, const char *name, const char *what, const char *amount,
                const char *free_amount, enum out_style style)
{
    enum { NAME = 11, AMOUNTS = 24, MOST = 42 };
    int room = out->width - NAME - 1 - AMOUNTS;
    room = room > MOST ? MOST : room;
    bool below = columns_of(what) > room; // a narrow terminal: on a line of its own
    int pad = room - (below ? 0 : columns_of(what));
    out_styled(out, style, "%-*s %s%*s %10s %12s", NAME, name, below ? "" : what, pad > 0 ? pad : 0,
               "", amount, free_amount);
    out_printf(out, "\n");
    if (below)
        out_wrap(out, 2, what);
}

static void head(struct out *out, const struct schedule_record *r)
{
    char up[32], charged[32];
    clock_words((int64_t)(r->up_s.v * 1e9), up, sizeof up);
    clock_words((int64_t)(r->charged_s.v * 1e9), charged, sizeof charged);
    out_row(out, "Schedule", "%s: %.6g start%s in %s%s, in UTC", r->schedule, r->starts.v,
            r->starts.v == 1 ? "" : "s", strcmp(r->month, "30 days") == 0 ? "a month of " : "",
            r->month);
    out_row(out, "Up", "%s each time, charged as %s", up, charged);
    out_row(out, "Offer", "%s, %s USD an hour (%s)", r->offer, r->rate_per_hour, r->rate_source);
    out_row(out, "Rule", "%s%s", r->rule_assumed.v ? "ASSUMED: " : "", r->rule);
    out_printf(out, "\n");
}

// "From 10 tasks on (14 with the free allowances), one machine for all of them is cheaper: ..."
static void cheaper_words(const struct schedule_record *r, const struct schedule_alternative *a,
                          struct buf *text)
{
    if (a->cheaper_from_tasks.known && a->cheaper_from_tasks.v == 1)
        buf_adds(text, "From the first task on");
    else if (a->cheaper_from_tasks.known)
        buf_printf(text, "From %lld tasks on", (long long)a->cheaper_from_tasks.v);
    else
        buf_adds(text, "For no number of tasks");
    if (a->cheaper_from_tasks_with_allowances.known)
        buf_printf(text, " (%lld with what is free)",
                   (long long)a->cheaper_from_tasks_with_allowances.v);
    buf_printf(text, " one machine for all of them is cheaper: %s.", a->name);
    double work_s = (double)a->cheaper_from_tasks.v * r->starts.v * r->up_s.v;
    if (a->cheaper_from_tasks.known && work_s > MONTH_S)
        buf_printf(text,
                   " But those have %.0f hours of work a month: about %.0f of them would run on it "
                   "at the same time.",
                   work_s / 3600, ceil(work_s / MONTH_S));
}

static void alternatives(struct out *out, const struct schedule_record *r)
{
    for (size_t i = 0; i < r->always_up.count; i++) {
        const struct schedule_alternative *a = &r->always_up.items[i];
        char amount[MONEY_BYTES], with[MONEY_BYTES];
        cents(a->amount, amount);
        cents(a->with_allowances, with);
        row(out, i == 0 ? "always up" : "", a->name, amount, with, OUT_PLAIN);
    }
    out_printf(out, "\n");
    for (size_t i = 0; i < r->always_up.count; i++) {
        const struct schedule_alternative *a = &r->always_up.items[i];
        struct buf text = {0};
        cheaper_words(r, a, &text);
        out_wrap(out, 0, buf_str(&text));
        out->text.failed |= text.failed;
        buf_release(&text);
    }
}

void cron_text(struct out *out, const struct schedule_record *r)
{
    char amount[MONEY_BYTES], with[MONEY_BYTES], tasks[48];
    head(out, r);
    snprintf(tasks, sizeof tasks, "%s", units_count(r->tasks.v, "task").s);
    row(out, "USD a month", tasks, "paid", "with free", OUT_BOLD);
    for (size_t i = 0; i < r->items.count; i++) {
        const struct schedule_item *item = &r->items.items[i];
        cents(item->amount, amount);
        cents(item->with_allowances, with);
        row(out, item->name, item->what ? item->what : "", amount, with, OUT_PLAIN);
    }
    cents(r->total, amount);
    cents(r->total_with_allowances, with);
    row(out, "total", "", amount, with, OUT_BOLD);
    alternatives(out, r);
    for (size_t i = 0; i < r->notes.count; i++)
        out_wrap(out, 0, r->notes.items[i]);
}
