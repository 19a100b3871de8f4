// SPDX-License-Identifier: Apache-2.0
// prices: what a spot price did, on the page of an offer.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "cmd/prices.h"
#include "cmd/table.h"

static const char *amount(struct maybe_money price, char out[MONEY_BYTES])
{
    if (!price.known)
        return "-";
    money_short(price.nano, out);
    return out;
}

static const char *length(int64_t seconds, char out[32])
{
    if (seconds <= 0)
        return "never";
    clock_words(seconds * NS_PER_S, out, 32);
    return out;
}

static int64_t time_of(const char *iso)
{
    int64_t at_s = 0;
    return iso && clock_parse(iso, &at_s) ? at_s : 0;
}

// ---- the price over time

static void draw_zone(struct out *out, const struct spot_zone *zone, int name_columns, double low,
                      double high)
{
    struct buf line = {0};
    for (size_t i = 0; i < zone->plot.count; i++)
        out_block(&line, high > low ? (zone->plot.items[i] - low) / (high - low) : 0, out->unicode);
    out_printf(out, "%-*s %s\n", name_columns, zone->zone, buf_str(&line));
    out->text.failed |= line.failed;
    buf_release(&line);
}

// All zones to the same scale.
static void draw(struct out *out, const struct spot_prices *s)
{
    double low = HUGE_VAL, high = 0;
    int name_columns = 0;
    for (size_t k = 0; k < s->zones.count; k++) {
        const struct spot_zone *zone = &s->zones.items[k];
        int width = out_columns(zone->zone);
        name_columns = width > name_columns ? width : name_columns;
        for (size_t i = 0; i < zone->plot.count; i++) {
            low = fmin(low, zone->plot.items[i]);
            high = fmax(high, zone->plot.items[i]);
        }
    }
    char column[32], least[MONEY_BYTES], most[MONEY_BYTES];
    size_t points = s->zones.items[0].plot.count;
    int64_t all_s = time_of(s->plot_until) - time_of(s->plot_from);
    struct buf bottom = {0}, top = {0};
    out_block(&bottom, 0, out->unicode);
    out_block(&top, 1, out->unicode);
    money_short((int64_t)(low * 1e9 + 0.5), least);
    money_short((int64_t)(high * 1e9 + 0.5), most);
    out_printf(out, "\n");
    out_wrapf(out, 0,
              "Price from %.10s to %.10s, one column for %s: %s is %s and %s is %s USD an hour.",
              s->plot_from, s->plot_until, length(points ? all_s / (int64_t)points : 0, column),
              buf_str(&bottom), least, buf_str(&top), most);
    buf_release(&bottom);
    buf_release(&top);
    for (size_t k = 0; k < s->zones.count; k++)
        draw_zone(out, &s->zones.items[k], name_columns, low, high);
}

// ---- figures

static void figures(struct out *out, const struct spot_prices *s)
{
    static const struct table_column columns[] = {
        {"zone", TABLE_LEFT},       {"last", TABLE_POINT},       {"10 %", TABLE_POINT},
        {"50 %", TABLE_POINT},      {"90 %", TABLE_POINT},       {"a day", TABLE_POINT, 1},
        {"steady", TABLE_RIGHT, 2}, {"longest", TABLE_RIGHT, 3},
    };
    struct table table = TABLE(columns);
    char under[MONEY_BYTES];
    out_printf(out, "\n");
    for (size_t k = 0; k < s->zones.count; k++) {
        const struct spot_zone *z = &s->zones.items[k];
        char last[MONEY_BYTES], p10[MONEY_BYTES], p50[MONEY_BYTES], p90[MONEY_BYTES];
        char changes[24], steady[32], longest[32];
        snprintf(changes, sizeof changes, "%.1f", z->changes_per_day.v);
        const char *const cells[] = {z->zone,
                                     amount(z->price, last),
                                     amount(z->p10, p10),
                                     amount(z->p50, p50),
                                     amount(z->p90, p90),
                                     changes,
                                     length(z->steady_s.v, steady),
                                     length(z->longest_under_s.v, longest)};
        table_row(&table, OUT_PLAIN, cells, NULL);
    }
    table_print(&table, out);
    bool given = strcmp(s->under_is, "--max-price") == 0;
    bool demand = strcmp(s->under_is, "on-demand") == 0 && s->on_demand_seen;
    out_wrapf(
        out, 0,
        "10, 50, 90 %%: at or below this price for that share of the time. a day: changes a "
        "day. steady: time since the last change. longest: longest time at or below %s USD%s%s.",
        amount(s->under, under),
        given    ? ""
        : demand ? ", the on-demand price, seen "
                 : ", the lowest median",
        demand ? s->on_demand_seen : "");
}

// ---- the price to count on

static const struct spot_zone *zone_called(const struct spot_prices *s, const char *name)
{
    for (size_t k = 0; name && k < s->zones.count; k++)
        if (strcmp(s->zones.items[k].zone, name) == 0)
            return &s->zones.items[k];
    return NULL;
}

static double above_percent(const struct spot_zone *zone)
{
    const int64_t then = zone->count_on_then.nano;
    if (then <= 0 || !zone->count_on_highest.known)
        return 0;
    return 100.0 * (double)(zone->count_on_highest.nano - then) / (double)then;
}

static void tested(struct buf *text, const struct spot_prices *s)
{
    const struct spot_zone *then = zone_called(s, s->chosen_then);
    const struct spot_zone *later = zone_called(s, s->cheapest_later);
    char price[MONEY_BYTES], highest[MONEY_BYTES];
    if (!then || !later) {
        buf_adds(text, " The history is too short to test that: it needs two weeks.");
        return;
    }
    buf_printf(text,
               " Tested: its first half said %s%s%s, and in the second half the price there was at "
               "or below that for %.0f %% of the time",
               amount(then->count_on_then, price), s->zones.count > 1 ? " in " : "",
               s->zones.count > 1 ? then->zone : "", 100 * then->count_on_held.v);
    double above = above_percent(then);
    if (above > 0)
        buf_printf(text, ", and at most %s (%.0f %% above)",
                   amount(then->count_on_highest, highest), above);
    if (then == later)
        buf_adds(text, s->zones.count > 1 ? "; it still had the lowest price." : ".");
    else
        buf_printf(text, "; the lowest then was that of %s, at %s.", later->zone,
                   amount(later->count_on_later, price));
}

static void count_on(struct out *out, const struct spot_prices *s)
{
    const struct spot_zone *best = zone_called(s, s->count_on_zone);
    char price[MONEY_BYTES], seen[32];
    struct buf text = {0};
    if (!best)
        return;
    buf_printf(&text, "Count on %s USD an hour%s%s: at or below it for 90 %% of %s.",
               amount(best->count_on, price), s->zones.count > 1 ? " in " : "",
               s->zones.count > 1 ? best->zone : "", length(best->seen_s.v, seen));
    tested(&text, s);
    out_printf(out, "\n");
    out_wrap_take(out, 0, &text);
}

bool prices_spot_tells(const struct spot_prices *s)
{
    for (size_t k = 0; k < s->zones.count; k++)
        if (!s->zones.items[k].daily.v || s->zones.items[k].changes.v > 0)
            return true;
    return false;
}

void prices_spot(struct out *out, const struct spot_prices *s)
{
    draw(out, s);
    figures(out, s);
    count_on(out, s);
    if (s->zones.items[0].daily.v)
        out_wrap(out, 0,
                 "From prices of days: the book does not have every change. 'fare prices import' "
                 "reads AWS's spot price history.");
    else
        out_wrapf(out, 0, "Every change: %s.", s->source);
}

size_t prices_spot_columns(const struct out *out)
{
    enum { ZONE = 17 };
    int columns = out->width - ZONE;
    return columns < PRICES_SPOT_POINTS ? (size_t)columns : PRICES_SPOT_POINTS; // width >= 40
}
