// SPDX-License-Identifier: Apache-2.0
// The cost by offer: a table of the training asked for, and one of others.
#include "report/html.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/money.h"

enum { BILLS_SHOWN = 15 };

#define NBSP "\u00a0" // no-break space

static void bill_row(struct buf *out, const struct quote *quote, const struct bill *b, bool other)
{
    struct buf whose = {0};
    char time[48], startup[48] = "", gpus[96] = "", cost[MONEY_BYTES + MONEY_INTERVAL_BYTES + 4];
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES], seen[64], year[24] = "";
    clock_words((int64_t)(b->time_s.v * 1e9), time, sizeof time);
    if (b->startup_s.v > 0)
        clock_words((int64_t)(b->startup_s.v * 1e9), startup, sizeof startup);
    if (b->gpu && b->gpus.known)
        snprintf(gpus, sizeof gpus, "%g" NBSP "×" NBSP "%.60s", b->gpus.v, b->gpu);
    if (b->year.known)
        snprintf(year, sizeof year, "%lld", (long long)b->year.v);
    bill_amount(b, amount, interval);
    snprintf(cost, sizeof cost, *interval ? "%s (%s)" : "%s", amount, interval);
    snprintf(seen, sizeof seen, "%.10s%s", b->price_date ? b->price_date : "",
             b->price_old.v ? ", OLD" : "");
    buf_adds(out, "<tr>");
    html_cell(out, "long", b->offer);
    html_cell(out, "num", time);
    html_cell(out, "num", startup);
    html_cell(out, "num", cost);
    html_cell(out, "", gpus);
    html_cell(out, "", other ? b->variant : b->framework);
    if (!other)
        html_cell(out, "num", year);
    html_cell(out, "", seen);
    html_cell(out, "", b->basis);
    advice_whose(quote, b, &whose);
    html_cell(out, "long", buf_str(&whose));
    buf_adds(out, "</tr>\n");
    out->failed |= whose.failed;
    buf_release(&whose);
}

static void bill_table(struct buf *out, const struct quote *quote, bool other)
{
    static const struct html_column columns[] = {
        {"offer", "long"}, {"time", "num"}, {"start-up", "num"}, {"USD (interval)", "num"},
        {"GPUs", ""},      {"with", ""},    {"year", "num"},     {"price seen", ""},
        {"basis", ""},     {"run", "long"}};
    static const struct html_column other_columns[] = {
        {"offer", "long"},         {"time", "num"}, {"start-up", "num"},
        {"USD (interval)", "num"}, {"GPUs", ""},    {"training", ""},
        {"price seen", ""},        {"basis", ""},   {"run", "long"}};
    const struct bill *bills = other ? quote->others.items : quote->bills.items;
    size_t count = other ? quote->others.count : quote->bills.count;
    if (count == 0)
        return;
    html_begin_table(out, other ? "Other trainings" : quote->workload);
    if (other)
        html_table_head(out, other_columns, sizeof other_columns / sizeof *other_columns);
    else
        html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count && i < BILLS_SHOWN; i++)
        bill_row(out, quote, &bills[i], other);
    html_end_table(out);
    if (count > BILLS_SHOWN)
        buf_printf(out, "<p>%zu more: fare quote --all lists them.</p>\n", count - BILLS_SHOWN);
}

void html_quote(struct buf *out, const struct quote *quote, int level)
{
    html_heading(out, level, quote->workload);
    for (size_t i = 0; i < quote->advice.count; i++)
        html_paragraph(out, "", quote->advice.items[i]);
    if (quote->bills.count == 0 && quote->advice.count == 0)
        html_paragraph(out, "", "No known offer fits.");
    bill_table(out, quote, false);
    if (quote->others.count == 0)
        return;
    struct buf heading = {0};
    buf_printf(&heading, "Other trainings of %s, not comparable with the one %s", quote->workload,
               quote->bills.count > 0 ? "above" : "asked for");
    html_heading(out, level + 1, buf_str(&heading));
    out->failed |= heading.failed;
    buf_release(&heading);
    bill_table(out, quote, true);
}
