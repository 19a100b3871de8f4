// SPDX-License-Identifier: Apache-2.0
// The cost of a scheduled task, for people.
#include "cmd/cron.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "cmd/table.h"

static void short_amount(struct maybe_money amount, const char *currency, char out[MONEY_BYTES])
{
    if (amount.known)
        money_short_in(amount.nano, currency, out);
    else
        snprintf(out, MONEY_BYTES, "unknown");
}

static void add_row(struct table *table, enum out_style style, const char *name, const char *what,
                    const char *currency, struct maybe_money amount, struct maybe_money with_free)
{
    char paid[MONEY_BYTES], with[MONEY_BYTES];
    short_amount(amount, currency, paid);
    short_amount(with_free, currency, with);
    const char *const cells[] = {name, what ? what : "", paid, with};
    table_row(table, style, cells, NULL);
}

static void head(struct out *out, const struct schedule_record *r)
{
    char up[32], charged[32];
    clock_words((int64_t)(r->up_s.v * 1e9), up, sizeof up);
    clock_words((int64_t)(r->charged_s.v * 1e9), charged, sizeof charged);
    out_row(out, "Schedule", "%s: %.6g start%s in %s%s, in %s", r->schedule, r->starts.v,
            r->starts.v == 1 ? "" : "s", strcmp(r->month, "30 days") == 0 ? "a month of " : "",
            r->month, r->time_zone);
    out_row(out, "Up", "%s each time, charged as %s", up, charged);
    if (r->up_source)
        out_row(out, "", "%s", r->up_source);
    out_row(out, "Offer", "%s, %s USD an hour (%s)", r->offer, money_exact(r->rate_per_hour).s,
            r->rate_source);
    out_row(out, "Rule", "%s%s", r->rule_assumed.v ? "ASSUMED: " : "", r->rule);
    out_printf(out, "\n");
}

static bool never_cheaper(const struct schedule_alternative *a)
{
    return !a->cheaper_from_tasks.known && !a->cheaper_from_tasks_with_allowances.known;
}

// "10 to 120": no more than one machine can run.
static void range_words(int64_t from, int64_t most, struct buf *text)
{
    buf_printf(text, from < most ? "%lld to %lld" : "%lld", (long long)from, (long long)most);
}

// "For 10 to 120 tasks (14 to 120 with the free allowances) one machine ... is cheaper: ..."
static void cheaper_words(const struct schedule_alternative *a, int64_t most, struct buf *text)
{
    struct maybe_int paid = a->cheaper_from_tasks, with = a->cheaper_from_tasks_with_allowances;
    buf_adds(text, paid.known ? "For " : "Only with the free allowances and for ");
    range_words(paid.known ? paid.v : with.v, most, text);
    buf_adds(text, most > 1 ? " tasks" : " task");
    if (paid.known && with.known && with.v != paid.v) {
        buf_adds(text, " (");
        range_words(with.v, most, text);
        buf_adds(text, " with the free allowances)");
    } else if (paid.known && !with.known) {
        buf_adds(text, " (never with the free allowances)");
    }
    buf_printf(text, " one machine that runs them one after the other is cheaper: %s.", a->name);
}

// The alternatives that no number of tasks makes cheaper, in one sentence.
static void say_never(struct out *out, const struct schedule_record *r)
{
    struct buf names = {0};
    size_t never = 0;
    for (size_t i = 0; i < r->always_up.count; i++) {
        const struct schedule_alternative *a = &r->always_up.items[i];
        if (never_cheaper(a))
            buf_printf(&names, "%s%s", never++ > 0 ? "; " : "", a->name);
    }
    out->text.failed |= names.failed;
    if (never == r->always_up.count && never > 0)
        out_wrap(out, 0, "One machine for all tasks is never cheaper.");
    else if (never > 0)
        out_wrapf(out, 0, "Never cheaper, for any number of tasks: %s.", buf_str(&names));
    buf_release(&names);
}

static void alternatives(struct out *out, const struct schedule_record *r)
{
    int64_t tasks = r->tasks.v, most = r->machine_tasks.v;
    bool limited = tasks > most;
    for (size_t i = 0; i < r->always_up.count; i++) {
        const struct schedule_alternative *a = &r->always_up.items[i];
        struct buf text = {0};
        limited |= !a->cheaper_from_tasks.known;
        if (never_cheaper(a))
            continue;
        cheaper_words(a, most, &text);
        out_wrap_take(out, 0, &text);
    }
    say_never(out, r);
    if (!limited || r->always_up.count == 0)
        return;
    struct buf need = {0};
    if (tasks > most)
        buf_printf(&need, ": %lld need %lld", (long long)tasks,
                   (long long)((tasks + most - 1) / most));
    out->text.failed |= need.failed;
    out_wrapf(out, 0, "One machine can run at most %s of this kind before they start again%s.",
              units_count(most, "task").s, buf_str(&need));
    buf_release(&need);
}

void cron_text(struct out *out, const struct schedule_record *r)
{
    const struct units_text tasks = units_count(r->tasks.v, "task");
    const struct table_column columns[] = {{"USD a month", TABLE_LEFT},
                                           {tasks.s, TABLE_LEFT, 1, 0, ""},
                                           {"paid", TABLE_POINT},
                                           {"with free", TABLE_POINT}};
    struct table table = TABLE(columns);
    head(out, r);
    for (size_t i = 0; i < r->items.count; i++) {
        const struct schedule_item *item = &r->items.items[i];
        add_row(&table, OUT_PLAIN, item->name, item->what, "USD", item->amount,
                item->with_allowances);
    }
    add_row(&table, OUT_BOLD, "total", "", "USD", r->total, r->total_with_allowances);
    if (r->local_currency)
        add_row(&table, OUT_PLAIN, r->local_currency, "the total in this currency",
                r->local_currency, r->local_total, r->local_total_with_allowances);
    for (size_t i = 0; i < r->always_up.count; i++) {
        const struct schedule_alternative *a = &r->always_up.items[i];
        add_row(&table, OUT_PLAIN, i == 0 ? "always up" : "", a->name, "USD", a->amount,
                a->with_allowances);
    }
    table_print(&table, out);
    out_printf(out, "\n");
    alternatives(out, r);
    if (r->own_power.known)
        out_wrapf(out, 0, "On a machine of your own: %s USD of electricity a month (%s).",
                  money_brief(r->own_power).s, r->own_power_how);
    for (size_t i = 0; i < r->notes.count; i++)
        out_wrap(out, 0, r->notes.items[i]);
}
