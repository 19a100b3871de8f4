// SPDX-License-Identifier: Apache-2.0
// The cost by offer: a table of the training asked for, measured and estimated rows in one order,
// one of other trainings, and the offers left out.
#include "view/html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "advise/estimate/rates.h"
#include "bill/bill.h"
#include "render/markup.h"
#include "render/part.h"

enum { BILLS_SHOWN = 15 };

#define NBSP "\u00a0" // no-break space

// "estimated ±20 %", and what it misses.
static void basis_chips(struct buf *out, const struct bill *b)
{
    const struct {
        const char *wish, *missed, *perhaps;
    } wishes[] = {{b->deadline, "late", "perhaps late"},
                  {b->budget, "over budget", "perhaps over budget"}};
    part_chip(out, b->certainty ? PART_PLAIN : PART_NOTE,
              b->certainty ? b->certainty
              : b->basis   ? b->basis
                           : "unknown");
    if (b->spot.never_ends.v) {
        buf_addc(out, ' ');
        part_chip(out, PART_BAD, "never ends");
    }
    if (quote_doubt(b)) {
        buf_addc(out, ' ');
        part_chip(out, PART_WAIT, quote_doubt(b));
    }
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        if (!wishes[i].wish || strcmp(wishes[i].wish, "met") == 0)
            continue;
        buf_addc(out, ' ');
        bool missed = strcmp(wishes[i].wish, "missed") == 0;
        part_chip(out, missed ? PART_BAD : PART_WAIT,
                  missed ? wishes[i].missed : wishes[i].perhaps);
    }
}

// The text, and below it what is known besides.
static void two_lines(struct buf *out, const char *class, const char *text, const char *below)
{
    buf_printf(out, "<td class=\"%s\">", class);
    markup_text(out, text);
    if (below && *below) {
        buf_adds(out, "<span class=\"id\">");
        markup_words(out, below);
        buf_adds(out, "</span>");
    }
    buf_adds(out, "</td>");
}

// Facts that all rows share are stated once, below the table.
struct common {
    bool run;       // one run gives all times: no letters
    bool framework; // and year
    size_t old, rows;
};

// The chips, then "1 × H200, with fare, 2026, run a": of another training, which one; then the
// letter of the run that gives the time.
static void offer_cell(struct buf *out, const struct bill *b, bool other,
                       const struct common *common, size_t source)
{
    struct buf below = {0};
    if (b->gpu && b->gpus.known)
        buf_printf(&below, "%g" NBSP "×" NBSP "%s", b->gpus.v, b->gpu);
    if (other && b->variant)
        buf_printf(&below, "%s%s", below.len ? ", " : "", b->variant);
    if (!other && !common->framework && b->framework)
        buf_printf(&below, "%swith %s", below.len ? ", " : "", b->framework);
    if (!other && !common->framework && b->year.known)
        buf_printf(&below, "%s%lld", below.len ? ", " : "", (long long)b->year.v);
    if (!common->run)
        buf_printf(&below, "%srun" NBSP "%c", below.len ? ", " : "", (char)('a' + source));
    buf_adds(out, "<td class=\"long\">");
    html_offer(out, b->offer);
    buf_adds(out, "<span class=\"id\">");
    basis_chips(out, b);
    markup_in(out, below.len ? " " : "", buf_str(&below), "</span></td>");
    buf_drop(out, &below);
}

static void price_cell(struct buf *out, const struct bill *b, bool mark)
{
    struct buf seen = {0};
    buf_printf(&seen, "%.10s", b->price_date ? b->price_date : "");
    part_seen(out, buf_str(&seen), mark && b->price_old.v);
    buf_drop(out, &seen);
}

static void bill_row(struct buf *out, const struct bill *b, bool other, const struct common *common,
                     size_t source, double most)
{
    char time[48], startup[64] = "", words[48];
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    char cost[MONEY_BYTES + BILL_LOCAL_BYTES], local[BILL_LOCAL_BYTES];
    bill_time_words(b, time, sizeof time);
    if (b->startup_s.v > 0) {
        clock_words((int64_t)(b->startup_s.v * 1e9), words, sizeof words);
        snprintf(startup, sizeof startup, "start-up %s", words);
    }
    bill_amount(b, amount, interval);
    bill_local(b, local);
    snprintf(cost, sizeof cost, "%s%s", amount, local);
    const struct part_interval figure = {.value = (double)bill_total(b) / MONEY_UNIT,
                                         .low = b->low.known ? money_real(b->low).v : 1,
                                         .high = money_real(b->high).v,
                                         .startup = bill_share(b, BILL_STARTUP),
                                         .idle = bill_share(b, BILL_IDLE),
                                         .estimated = b->certainty != NULL};
    buf_adds(out, "<tr>");
    offer_cell(out, b, other, common, source);
    two_lines(out, "num", time, startup);
    two_lines(out, "num", cost, interval);
    buf_adds(out, "<td class=\"more\">");
    part_bar(out, &figure, most, cost);
    buf_adds(out, "</td>");
    price_cell(out, b, common->old < common->rows);
    buf_adds(out, "</tr>\n");
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

// Whether a row before it is a machine of the same provider with fewer of the same GPUs that is as
// fast: paying for GPUs that stay idle is no choice.
static bool is_more_of(const struct bill **rows, size_t count, const struct bill *b)
{
    for (size_t i = 0; i < count; i++) {
        const struct bill *a = rows[i];
        if (a->gpu && b->gpu && strcmp(a->gpu, b->gpu) == 0 && a->provider && b->provider &&
            strcmp(a->provider, b->provider) == 0 && same_text(a->kind, b->kind) &&
            a->gpus.v < b->gpus.v && a->time_s.v <= b->time_s.v && bill_total(a) <= bill_total(b))
            return true;
    }
    return false;
}

// Keeps the cheapest of both kinds and the fastest with a run, in their order: rough estimates of
// cheap machines must not push out all machines with a run.
static void choose_rows(const struct bill **rows, const struct bill *fastest)
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
        if (is_more_of(rows, kept, rows[i]))
            continue;
        bool keeps = rows[i]->certainty ? estimated < BILLS_SHOWN - with : measured < with;
        measured += !rows[i]->certainty;
        estimated += rows[i]->certainty != NULL;
        if (keeps || rows[i] == fastest)
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

static struct common common_of(const struct bill **rows)
{
    struct common c = {.run = true, .framework = true};
    for (; rows[c.rows]; c.rows++) {
        const struct bill *b = rows[c.rows];
        c.old += b->price_old.v;
        c.run &= same_run(rows[0], b);
        c.framework &= same_text(rows[0]->framework, b->framework) && rows[0]->year.v == b->year.v;
    }
    return c;
}

// "run 2026... (batch 32, cifar10), with fare, 2026"
static void add_source(const struct quote *quote, const struct bill *bill,
                       const struct common *common, struct buf *out)
{
    advice_whose(quote, bill, out);
    if (common->framework && bill->framework)
        buf_printf(out, ", with %s", bill->framework);
    if (common->framework && bill->year.known)
        buf_printf(out, ", %lld", (long long)bill->year.v);
}

// Below the table: the run that gives the times; of several, those whose letters stand in the rows.
static void sources(struct buf *out, const struct quote *quote, const struct bill **rows,
                    const struct common *common)
{
    struct buf text = {0};
    if (common->run) {
        buf_adds(&text, "Times are those of ");
        add_source(quote, rows[0], common, &text);
        buf_addc(&text, '.');
        html_paragraph(out, "mute", buf_str(&text));
        buf_drop(out, &text);
        return;
    }
    buf_adds(out, "<ul class=\"mute\">\n");
    for (size_t i = 0; rows[i]; i++) {
        bool first;
        size_t number = source_of(rows, i, &first);
        if (!first)
            continue;
        buf_printf(&text, "%c: ", (char)('a' + number));
        add_source(quote, rows[i], common, &text);
        html_item(out, buf_str(&text));
        buf_drop(out, &text);
        text = (struct buf){0};
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

void html_at_least(struct buf *out)
{
    html_paragraph(
        out, "mute",
        "≥: a lower bound, and so is its time: how often this spot machine is taken away "
        "is unknown.");
}

static void table_notes(struct buf *out, const struct quote *quote, const struct bill **rows,
                        const struct common *common)
{
    bool at_least = false, from_cpu = false, replayed = false, pale = false, apart = false,
         memory = false;
    struct buf text = {0};
    for (size_t i = 0; rows[i]; i++) {
        apart |= i > 0 && bill_total(rows[i]) < bill_total(rows[i - 1]);
        at_least |= rows[i]->spot.lower_bound.v;
        from_cpu |= bill_time_is_bound(rows[i]);
        replayed |= rows[i]->spot.method != NULL;
        memory |= rows[i]->gpu_memory && strcmp(rows[i]->gpu_memory, "unknown") == 0;
        pale |= bill_share(rows[i], BILL_STARTUP) + bill_share(rows[i], BILL_IDLE) > 0;
    }
    sources(out, quote, rows, common);
    if (pale)
        html_paragraph(out, "mute more",
                       "Pale parts of a bar are start-up, at its left end, and idle time up to the "
                       "end of what is charged, at its right end.");
    if (apart)
        buf_adds(&text,
                 "The lowest bill first, with exceptions: bills with an unknown part or a doubtful "
                 "price "
                 "come last, a bill under an assumed rule stands where one by started hours would, "
                 "and an estimate comes after measured bills that it overlaps. ");
    if (replayed)
        buf_adds(&text, "Bills and times of other spot machines are means with interruptions. ");
    if (text.len > 0)
        html_paragraph(out, "mute", buf_str(&text));
    buf_drop(out, &text);
    if (memory)
        html_paragraph(out, "mute", MEMORY_UNKNOWN);
    if (from_cpu)
        html_paragraph(out, "mute", verdict_from_cpu);
    if (at_least)
        html_at_least(out);
    if (rows[0]->local_currency && rows[0]->exchange)
        html_paragraph(out, "mute", rows[0]->exchange);
}

static void bill_table(struct buf *out, const struct quote *quote, const struct quote *shown,
                       bool other)
{
    static const struct html_column columns[] = {{"offer", "long"},
                                                 {"time", "num"},
                                                 {"USD", "num"},
                                                 {"to scale", "more"},
                                                 {"price seen", "num more"}};
    const struct bill **rows = quote_rows(shown, NULL);
    size_t count = shown->bills.count;
    out->failed |= !rows;
    if (!other && shown->estimated.known)
        count += (size_t)shown->estimated.v;
    if (!rows || !rows[0]) {
        free(rows);
        return;
    }
    choose_rows(rows, verdict_of_quote(shown).fastest);
    double most = dearest(rows);
    struct common common = common_of(rows);
    html_begin_table(out, other ? "Other trainings" : quote->workload);
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; rows[i]; i++) {
        bool first;
        bill_row(out, rows[i], other, &common, source_of(rows, i, &first), most);
    }
    html_end_table(out);
    part_seen_note(out, common.old, common.rows);
    table_notes(out, quote, rows, &common);
    if (count > common.rows) {
        struct buf all = {0};
        buf_printf(&all, "fare quote %s ",
                   quote->run        ? quote->run
                   : quote->workload ? quote->workload
                                     : "RUN");
        markup_in(out,
                  "<p class=\"mute\">The lowest bills and the fastest machine with a run, and the "
                  "lowest estimates; machines "
                  "with more GPUs that are no faster are left out. <code>",
                  buf_str(&all), "<span class=\"opt\">--all</span></code>");
        buf_printf(out, " lists all %zu.</p>\n", count);
        buf_drop(out, &all);
    }
    free(rows);
}

// The offers left out, one by one.
static void misfits(struct buf *out, const struct quote *quote)
{
    static const struct html_column columns[] = {{"offer", "long"}, {"why", "long"}};
    if (quote->misfits.count == 0)
        return;
    html_begin_table(out, "Offers left out");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < quote->misfits.count; i++) {
        buf_adds(out, "<tr>");
        html_cell(out, "long", quote->misfits.items[i].offer);
        html_cell(out, "long", quote->misfits.items[i].why);
        buf_adds(out, "</tr>\n");
    }
    html_end_table(out);
}

// The reasons with their numbers and an example; folded if there are offers to look at.
static void left_out(struct buf *out, const struct quote *quote)
{
    bool rows = quote->bills.count + quote->estimates.count > 0;
    struct buf summary = {0};
    int64_t all = 0;
    if (quote->left_out.count == 0)
        return;
    for (size_t i = 0; i < quote->left_out.count; i++)
        all += quote->left_out.items[i].count.v;
    buf_printf(&summary, "<details><summary>%s left out%s</summary>\n", units_count(all, "offer").s,
               rows ? ", and why" : ", one by one");
    if (rows)
        buf_adds(out, buf_str(&summary));
    buf_adds(out, "<ul>\n");
    for (size_t i = 0; i < quote->left_out.count; i++) {
        const struct quote_left_out *l = &quote->left_out.items[i];
        struct buf text = {0};
        buf_printf(&text, "%s: %s, such as %s: %s", units_count(l->count.v, "offer").s, l->reason,
                   l->examples.items[0], l->why);
        html_item(out, buf_str(&text));
        buf_drop(out, &text);
    }
    buf_adds(out, "</ul>\n");
    if (!rows)
        buf_adds(out, buf_str(&summary));
    misfits(out, quote);
    buf_adds(out, "</details>\n");
    buf_drop(out, &summary);
}

// Other trainings, folded: they answer another question.
static void other_trainings(struct buf *out, const struct quote *quote, bool rows)
{
    const struct quote others = {.bills = {quote->others.items, quote->others.count, true}};
    struct buf heading = {0};
    if (quote->others.count == 0)
        return;
    buf_printf(&heading, "Other trainings of %s, not comparable with the one %s", quote->workload,
               rows ? "above" : "asked for");
    markup_in(out, "<details><summary>", buf_str(&heading), "</summary>\n");
    bill_table(out, quote, &others, true);
    buf_adds(out, "</details>\n");
    buf_drop(out, &heading);
}

void html_bills(struct buf *out, const struct quote *quote)
{
    bool rows = quote->bills.count + quote->estimates.count > 0;
    bill_table(out, quote, quote, false);
    if (quote->estimates.count > 0)
        html_paragraph(
            out, "mute",
            "Rows that are estimated or rough have no run on such a machine: time and "
            "cost are estimates, and their interval holds with 90 %. ± or × is how far "
            "the training's time may be off; the interval of a bill has start-up and the "
            "billing rule in it too.");
    left_out(out, quote);
    other_trainings(out, quote, rows);
}

static bool is_said(const struct page *page, const char *sentence)
{
    for (size_t i = 0; page && i < page->verdict.count; i++)
        if (strcmp(page->verdict.items[i], sentence) == 0)
            return true;
    return false;
}

void html_advice(struct buf *out, const struct quote *quote, const struct page *said)
{
    struct buf text = {0};
    for (size_t i = 0; i < quote->advice.count; i++)
        if (strncmp(quote->advice.items[i], "Nothing is both ", 16) != 0 && // the plot shows them
            !is_said(said, quote->advice.items[i]))
            html_paragraph(&text, "", quote->advice.items[i]);
    if (quote->bills.count + quote->estimates.count + quote->advice.count == 0)
        html_paragraph(&text, "", "No known offer fits.");
    if (text.len > 0)
        buf_printf(out, "<div class=\"verdict\">\n%s</div>\n", buf_str(&text));
    buf_drop(out, &text);
}

void html_quote(struct buf *out, const struct quote *quote, const struct page *said, int level)
{
    html_heading(out, level, quote->workload);
    html_advice(out, quote, said);
    html_bills(out, quote);
}
