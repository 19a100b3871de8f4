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
#include "report/part.h"

enum { BILLS_SHOWN = 15 };

#define NBSP "\u00a0" // no-break space

// "estimated ±20 %", and what it misses.
static void basis_cell(struct buf *out, const struct bill *b)
{
    const struct {
        const char *wish, *missed, *at_the_middle;
    } wishes[] = {{b->deadline, "late", "in time only at the middle of the interval"},
                  {b->budget, "over budget", "within budget only at the middle of the interval"}};
    buf_adds(out, "<td>");
    part_chip(out, b->certainty ? PART_PLAIN : PART_NOTE,
              b->certainty ? b->certainty
              : b->basis   ? b->basis
                           : "unknown");
    if (b->spot.never_ends.v) {
        buf_addc(out, ' ');
        part_chip(out, PART_BAD, "never ends");
    }
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        if (!wishes[i].wish || strcmp(wishes[i].wish, "met") == 0)
            continue;
        buf_addc(out, ' ');
        if (strcmp(wishes[i].wish, "missed") == 0)
            part_chip(out, PART_BAD, wishes[i].missed);
        else
            markup_in(out, "<span class=\"id\">", wishes[i].at_the_middle, "</span>");
    }
    buf_adds(out, "</td>");
}

// The text, and below it what is known besides.
static void two_lines(struct buf *out, const char *class, const char *text, const char *below)
{
    buf_printf(out, "<td class=\"%s\">", class);
    markup_text(out, text);
    if (below && *below)
        markup_in(out, "<span class=\"id\">", below, "</span>");
    buf_adds(out, "</td>");
}

// "1 × H200, with fare, 2026; a": of another training, which one; then the letter of the run that
// gives the time.
static void offer_cell(struct buf *out, const struct bill *b, bool other, size_t source)
{
    struct buf below = {0};
    if (b->gpu && b->gpus.known)
        buf_printf(&below, "%g" NBSP "×" NBSP "%s", b->gpus.v, b->gpu);
    if (other && b->variant)
        buf_printf(&below, "%s%s", below.len ? ", " : "", b->variant);
    if (!other && b->framework)
        buf_printf(&below, "%swith %s", below.len ? ", " : "", b->framework);
    if (!other && b->year.known)
        buf_printf(&below, "%s%lld", below.len ? ", " : "", (long long)b->year.v);
    buf_printf(&below, "%s%c", below.len ? "; " : "", (char)('a' + source));
    two_lines(out, "long", b->offer, buf_str(&below));
    buf_drop(out, &below);
}

static void price_cell(struct buf *out, const struct bill *b, bool mark)
{
    struct buf seen = {0};
    buf_printf(&seen, "%.10s", b->price_date ? b->price_date : "");
    part_seen(out, buf_str(&seen), mark && b->price_old.v);
    buf_drop(out, &seen);
}

static double usd_of(const char *amount, double otherwise)
{
    int64_t nano;
    return amount && money_parse(amount, &nano, NULL) == 0 ? (double)nano / MONEY_UNIT : otherwise;
}

static void bill_row(struct buf *out, const struct bill *b, bool other, size_t source, double most,
                     bool mark)
{
    char time[48], startup[64] = "", words[48];
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    char cost[MONEY_BYTES + MONEY_INTERVAL_BYTES + BILL_LOCAL_BYTES + 4], local[BILL_LOCAL_BYTES];
    clock_words((int64_t)(b->time_s.v * 1e9), time, sizeof time);
    if (b->startup_s.v > 0) {
        clock_words((int64_t)(b->startup_s.v * 1e9), words, sizeof words);
        snprintf(startup, sizeof startup, "start-up %s", words);
    }
    bill_amount(b, amount, interval);
    bill_local(b, local);
    snprintf(cost, sizeof cost, "%s%s%s%s%s", amount, *interval ? " (" : "", interval,
             *interval ? ")" : "", local);
    const struct part_interval figure = {.value = (double)bill_total(b) / MONEY_UNIT,
                                         .low = usd_of(b->low, 1),
                                         .high = usd_of(b->high, 0),
                                         .estimated = b->certainty != NULL};
    buf_adds(out, "<tr>");
    offer_cell(out, b, other, source);
    two_lines(out, "num", time, startup);
    html_cell(out, "num", cost);
    buf_adds(out, "<td>");
    part_bar(out, &figure, most, cost);
    buf_adds(out, "</td>");
    basis_cell(out, b);
    price_cell(out, b, mark);
    buf_adds(out, "</tr>\n");
}

// Keeps the cheapest of both kinds, in their order: rough estimates of cheap machines must not push
// out all machines with a run.
static void choose_rows(const struct bill **rows)
{
    enum { WITH_A_RUN = 8 };
    size_t with = 0, kept = 0, measured = 0, estimated = 0;
    for (size_t i = 0; rows[i]; i++)
        with += !rows[i]->certainty;
    with = with < WITH_A_RUN ? with : WITH_A_RUN;
    size_t others = 0;
    for (size_t i = 0; rows[i]; i++)
        others += rows[i]->certainty != NULL;
    if (others < BILLS_SHOWN - with)
        with = BILLS_SHOWN - others;
    for (size_t i = 0; rows[i]; i++) {
        bool keeps = rows[i]->certainty ? estimated < BILLS_SHOWN - with : measured < with;
        measured += !rows[i]->certainty;
        estimated += rows[i]->certainty != NULL;
        if (keeps)
            rows[kept++] = rows[i];
    }
    rows[kept] = NULL;
}

static bool same_run(const struct bill *a, const struct bill *b)
{
    return strcmp(a->run ? a->run : "", b->run ? b->run : "") == 0;
}

// The number of the run that gives row `i` its time, in the order of the rows; `*first`: no row
// before it has the same.
static size_t source_of(const struct bill **rows, size_t i, bool *first)
{
    size_t number = 0;
    *first = true;
    for (size_t k = 0; k < i; k++) {
        bool new_one = true;
        for (size_t m = 0; m < k; m++)
            new_one &= !same_run(rows[m], rows[k]);
        if (same_run(rows[k], rows[i])) {
            *first = false;
            return number;
        }
        number += new_one;
    }
    return number;
}

// Below the table: the runs whose letters stand in the rows.
static void sources(struct buf *out, const struct quote *quote, const struct bill **rows)
{
    buf_adds(out, "<ul class=\"mute\">\n");
    for (size_t i = 0; rows[i]; i++) {
        bool first;
        size_t number = source_of(rows, i, &first);
        struct buf text = {0};
        if (!first)
            continue;
        buf_printf(&text, "%c: the time of ", (char)('a' + number));
        advice_whose(quote, rows[i], &text);
        markup_in(out, "<li>", buf_str(&text), "</li>\n");
        buf_drop(out, &text);
    }
    buf_adds(out, "</ul>\n");
}

// The dearest of those shown: the end of the bars' scale. Intervals may go on beyond it.
static double dearest(const struct bill **rows)
{
    double most = 0;
    for (size_t i = 0; rows[i]; i++) {
        double usd = (double)bill_total(rows[i]) / MONEY_UNIT;
        most = usd * 1.5 > most ? usd * 1.5 : most;
    }
    return most;
}

static void table_notes(struct buf *out, const struct quote *quote, const struct bill **rows)
{
    bool at_least = false, replayed = false;
    for (size_t i = 0; rows[i]; i++) {
        at_least |= rows[i]->spot.lower_bound.v;
        replayed |= rows[i]->spot.method != NULL;
    }
    sources(out, quote, rows);
    if (at_least)
        html_paragraph(out, "mute",
                       "≥: how often this spot machine is taken away is unknown; the bill if it "
                       "never is.");
    if (replayed)
        html_paragraph(out, "mute",
                       "Bills and times of other spot machines are means with interruptions.");
    if (rows[0]->local_currency && rows[0]->exchange)
        html_paragraph(out, "mute", rows[0]->exchange);
}

static void bill_table(struct buf *out, const struct quote *quote, const struct quote *shown,
                       bool other)
{
    static const struct html_column columns[] = {{"offer", "long"}, {"time", "num"},
                                                 {"USD", "num"},    {"to scale", ""},
                                                 {"basis", ""},     {"price seen", "num"}};
    const struct bill **rows = quote_rows(shown, NULL);
    size_t count = shown->bills.count;
    out->failed |= !rows;
    if (!other && shown->estimated.known)
        count += (size_t)shown->estimated.v;
    if (!rows || !rows[0]) {
        free(rows);
        return;
    }
    choose_rows(rows);
    double most = dearest(rows);
    size_t old = 0, all = 0;
    for (; rows[all]; all++)
        old += rows[all]->price_old.v;
    html_begin_table(out, other ? "Other trainings" : quote->workload);
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; rows[i]; i++) {
        bool first;
        bill_row(out, rows[i], other, source_of(rows, i, &first), most, old < all);
    }
    html_end_table(out);
    part_seen_note(out, old, all);
    table_notes(out, quote, rows);
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
