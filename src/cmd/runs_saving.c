// SPDX-License-Identifier: Apache-2.0
// The page of a run whose job was saved: all its starts, on all machines.
#include <stdio.h>

#include "base/clock.h"
#include "base/units.h"
#include "cmd/runs.h"
#include "cmd/table.h"

static struct units_text seconds(struct maybe_real s)
{
    struct units_text out = {"-"};
    if (s.known && s.v < 9e9)
        clock_words((int64_t)(s.v * 1e9), out.s, sizeof out.s);
    return out;
}

static void print_totals(struct out *out, const struct run_saving *s)
{
    struct buf facts = {0};
    out_part(&facts, "in %s", s->place);
    if (s->every_s.known)
        out_part(&facts, "every %s (%s)", seconds(s->every_s).s,
                 s->every_from ? s->every_from : "");
    if (s->between_s.known && s->between_from)
        out_part(&facts, "one interruption in %s (%s)", seconds(s->between_s).s, s->between_from);
    out_part(&facts, "%s", units_count((int64_t)s->attempts.count, "start").s);
    out_part(&facts, "%lld interruption%s", (long long)s->interruptions.v,
             s->interruptions.v == 1 ? "" : "s");
    out_part(&facts, "%s of work lost", seconds(s->lost_s).s);
    out_parts(out, "Saved", &facts);
    if (s->usd.known && s->unpriced.known)
        out_part(&facts, "%s USD for %lld of %zu starts", money_exact(s->usd).s,
                 (long long)s->attempts.count - (long long)s->unpriced.v, s->attempts.count);
    else if (s->usd.known)
        out_part(&facts, "%s USD for all starts together (%s)", money_exact(s->usd).s,
                 seconds(s->wall_s).s);
    if (s->on_demand_usd.known)
        out_part(&facts, "%s USD on demand%s%s, without the work lost",
                 money_exact(s->on_demand_usd).s, s->on_demand_seen ? " at a price of " : "",
                 s->on_demand_seen ? s->on_demand_seen : "");
    if (s->usd.known && s->unpriced.known)
        out_part(&facts, "the cost of the other%s is unknown", s->unpriced.v == 1 ? "" : "s");
    out_parts(out, "Bill", &facts);
}

static void print_row(struct table *table, const struct run_attempt *a)
{
    char number[24], steps[64] = "-";
    snprintf(number, sizeof number, "%lld", (long long)a->epoch.v);
    if (a->saved_step.known)
        snprintf(steps, sizeof steps, "%lld to %lld",
                 (long long)(a->from_step.known ? a->from_step.v : 0), (long long)a->saved_step.v);
    const struct money_words usd = money_exact(a->usd);
    const struct units_text wall = seconds(a->wall_s), lost = seconds(a->lost_s);
    const char *const cells[] = {
        number, a->started ? a->started : "-", a->machine ? a->machine : "-",
        wall.s, a->ended ? a->ended : "-",     steps,
        lost.s, *usd.s ? usd.s : "-"};
    table_row(table, OUT_PLAIN, cells, NULL);
}

void runs_saving(struct out *out, const struct run *run)
{
    const struct run_saving *s = &run->saving;
    if (!s->place)
        return;
    print_totals(out, s);
    const struct table_column columns[] = {
        {"start", TABLE_RIGHT},   {"began", TABLE_LEFT, 4}, {"machine", TABLE_LEFT, 5},
        {"time", TABLE_RIGHT},    {"ended", TABLE_LEFT},    {"steps saved", TABLE_LEFT, 3},
        {"lost", TABLE_RIGHT, 2}, {"USD", TABLE_RIGHT, 1},
    };
    struct table table = TABLE(columns);
    for (size_t i = 0; i < s->attempts.count; i++)
        print_row(&table, &s->attempts.items[i]);
    table_print(&table, out);
}
