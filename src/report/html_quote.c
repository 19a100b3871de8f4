// SPDX-License-Identifier: Apache-2.0
// The cost by offer: a table of the training asked for, measured and estimated rows in one order,
// one of other trainings, and the offers left out.
#include "report/html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "report/markup.h"

enum { BILLS_SHOWN = 15 };

#define NBSP "\u00a0" // no-break space

// "estimated ±20 %, in time only at the middle of the interval"
static void add_basis(struct buf *out, const struct bill *b)
{
    const struct {
        const char *wish, *missed, *at_the_middle;
    } wishes[] = {{b->deadline, "late", "in time"}, {b->budget, "over budget", "within budget"}};
    buf_adds(out, b->certainty ? b->certainty : b->basis ? b->basis : "");
    if (b->spot.never_ends.v)
        buf_adds(out, ", never ends");
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        if (!wishes[i].wish || strcmp(wishes[i].wish, "met") == 0)
            continue;
        if (strcmp(wishes[i].wish, "missed") == 0)
            buf_printf(out, ", %s", wishes[i].missed);
        else
            buf_printf(out, ", %s only at the middle of the interval", wishes[i].at_the_middle);
    }
}

static void bill_row(struct buf *out, const struct quote *quote, const struct bill *b, bool other)
{
    struct buf whose = {0}, basis = {0};
    char time[48], startup[48] = "", gpus[96] = "";
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES], seen[64], year[24] = "";
    char cost[MONEY_BYTES + MONEY_INTERVAL_BYTES + BILL_LOCAL_BYTES + 4], local[BILL_LOCAL_BYTES];
    clock_words((int64_t)(b->time_s.v * 1e9), time, sizeof time);
    if (b->startup_s.v > 0)
        clock_words((int64_t)(b->startup_s.v * 1e9), startup, sizeof startup);
    if (b->gpu && b->gpus.known)
        snprintf(gpus, sizeof gpus, "%g" NBSP "×" NBSP "%.60s", b->gpus.v, b->gpu);
    if (b->year.known)
        snprintf(year, sizeof year, "%lld", (long long)b->year.v);
    bill_amount(b, amount, interval);
    bill_local(b, local);
    snprintf(cost, sizeof cost, "%s%s%s%s%s", amount, *interval ? " (" : "", interval,
             *interval ? ")" : "", local);
    snprintf(seen, sizeof seen, "%.10s%s", b->price_date ? b->price_date : "",
             b->price_old.v ? ", OLD" : "");
    buf_adds(out, "<tr>");
    html_cell(out, "long", b->offer);
    html_cell(out, "num", time);
    html_cell(out, "num", startup);
    html_cell(out, "num", cost);
    add_basis(&basis, b);
    html_cell(out, "", buf_str(&basis));
    html_cell(out, "", gpus);
    html_cell(out, "", other ? b->variant : b->framework);
    if (!other)
        html_cell(out, "num", year);
    html_cell(out, "", seen);
    if (b->certainty)
        buf_adds(&whose, "from ");
    advice_whose(quote, b, &whose);
    html_cell(out, "long", buf_str(&whose));
    buf_adds(out, "</tr>\n");
    buf_drop(out, &whose);
    buf_drop(out, &basis);
}

static void bill_table(struct buf *out, const struct quote *quote, const struct quote *shown,
                       bool other)
{
    static const struct html_column columns[] = {
        {"offer", "long"},  {"time", "num"}, {"start-up", "num"}, {"USD (interval)", "num"},
        {"basis", ""},      {"GPUs", ""},    {"with", ""},        {"year", "num"},
        {"price seen", ""}, {"run", "long"}};
    static const struct html_column other_columns[] = {
        {"offer", "long"},         {"time", "num"},    {"start-up", "num"},
        {"USD (interval)", "num"}, {"basis", ""},      {"GPUs", ""},
        {"training", ""},          {"price seen", ""}, {"run", "long"}};
    const struct bill **rows = quote_rows(shown, NULL);
    size_t count = shown->bills.count;
    out->failed |= !rows;
    if (!other && shown->estimated.known)
        count += (size_t)shown->estimated.v;
    if (!rows || !rows[0]) {
        free(rows);
        return;
    }
    html_begin_table(out, other ? "Other trainings" : quote->workload);
    if (other)
        html_table_head(out, other_columns, sizeof other_columns / sizeof *other_columns);
    else
        html_table_head(out, columns, sizeof columns / sizeof *columns);
    bool at_least = false, replayed = false;
    for (size_t i = 0; rows[i] && i < BILLS_SHOWN; i++) {
        bill_row(out, quote, rows[i], other);
        at_least |= rows[i]->spot.lower_bound.v;
        replayed |= rows[i]->spot.method != NULL;
    }
    html_end_table(out);
    if (at_least)
        html_paragraph(out, "mute",
                       "≥: how often this spot machine is taken away is unknown; the bill if it "
                       "never is.");
    if (replayed)
        html_paragraph(out, "mute",
                       "Bills and times of other spot machines are means with interruptions.");
    if (rows[0]->local_currency && rows[0]->exchange)
        html_paragraph(out, "mute", rows[0]->exchange);
    if (count > BILLS_SHOWN)
        buf_printf(out, "<p>%zu more: fare quote --all lists them.</p>\n", count - BILLS_SHOWN);
    free(rows);
}

// Each reason with its number and an example; the offers one by one, folded.
static void left_out(struct buf *out, const struct quote *quote)
{
    if (quote->left_out.count == 0)
        return;
    html_paragraph(out, "", "Left out:");
    buf_adds(out, "<ul>\n");
    for (size_t i = 0; i < quote->left_out.count; i++) {
        const struct quote_left_out *l = &quote->left_out.items[i];
        struct buf text = {0};
        buf_printf(&text, "%s: %s, such as %s: %s", units_count(l->count.v, "offer").s, l->reason,
                   l->examples.items[0], l->why);
        markup_in(out, "<li>", buf_str(&text), "</li>\n");
        buf_drop(out, &text);
    }
    buf_adds(out, "</ul>\n");
    if (quote->misfits.count == 0)
        return;
    static const struct html_column columns[] = {{"offer", "long"}, {"why", "long"}};
    buf_adds(out, "<details><summary>Offers left out, one by one</summary>\n");
    html_begin_table(out, "Offers left out");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < quote->misfits.count; i++) {
        buf_adds(out, "<tr>");
        html_cell(out, "long", quote->misfits.items[i].offer);
        html_cell(out, "long", quote->misfits.items[i].why);
        buf_adds(out, "</tr>\n");
    }
    html_end_table(out);
    buf_adds(out, "</details>\n");
}

void html_quote(struct buf *out, const struct quote *quote, int level)
{
    const struct quote others = {.bills = {quote->others.items, quote->others.count, true}};
    bool rows = quote->bills.count + quote->estimates.count > 0;
    html_heading(out, level, quote->workload);
    for (size_t i = 0; i < quote->advice.count; i++)
        html_paragraph(out, "", quote->advice.items[i]);
    if (!rows && quote->advice.count == 0)
        html_paragraph(out, "", "No known offer fits.");
    bill_table(out, quote, quote, false);
    if (quote->estimates.count > 0)
        html_paragraph(out, "mute",
                       "Rows that are estimated or rough have no run on such a machine: time and "
                       "cost are estimates, and their interval holds with 90 %.");
    left_out(out, quote);
    if (quote->others.count == 0)
        return;
    struct buf heading = {0};
    buf_printf(&heading, "Other trainings of %s, not comparable with the one %s", quote->workload,
               rows ? "above" : "asked for");
    html_heading(out, level + 1, buf_str(&heading));
    out->failed |= heading.failed;
    buf_release(&heading);
    bill_table(out, quote, &others, true);
}
