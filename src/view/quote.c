// SPDX-License-Identifier: Apache-2.0
// The cost by offer: a table of the training asked for, measured and estimated rows in one order,
// one of other trainings, and the offers left out.
#include "view/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "advise/estimate/rates.h"
#include "bill/bill.h"
#include "view/html.h"

enum { BILLS_SHOWN = 15 };

#define NBSP "\u00a0" // no-break space

static void say_aside(struct doc *doc, const char *text)
{
    doc_say(doc, DOC_ASIDE, text);
}

// "estimated ±20 %", and what it misses.
static void basis_chips(struct cell *cell, const struct bill *b)
{
    const char *late = b->deadline && strcmp(b->deadline, "met") != 0 ? b->deadline : NULL;
    const char *dear = b->budget && strcmp(b->budget, "met") != 0 ? b->budget : NULL;
    const bool misses = late && strcmp(late, "missed") == 0;
    const bool exceeds = dear && strcmp(dear, "missed") == 0;
    const struct chip chips[] = {
        {b->certainty ? PART_PLAIN : PART_NOTE, b->certainty ? b->certainty
                                                : b->basis   ? b->basis
                                                             : "unknown"},
        {PART_BAD, b->spot.never_ends.v ? "never ends" : NULL},
        {PART_WAIT, quote_doubt(b)},
        {misses ? PART_BAD : PART_WAIT, !late    ? NULL
                                        : misses ? "late"
                                                 : "perhaps late"},
        {exceeds ? PART_BAD : PART_WAIT, !dear     ? NULL
                                         : exceeds ? "over budget"
                                                   : "perhaps over budget"},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (chips[i].text)
            cell->chips[n++] = chips[i];
}

// Facts that all rows share are stated once, below the table.
struct common {
    bool run;       // one run gives all times: no letters
    bool framework; // and year
    size_t old, rows;
};

// The chips, then "1 × H200, with fare, 2026, run a": of another training, which one; then the
// letter of the run that gives the time.
static struct cell offer_cell(struct doc *doc, const struct bill *b, bool other,
                              const struct common *common, size_t source)
{
    struct buf below = {0};
    struct cell cell = {.kind = CELL_OFFER, .text = b->offer};
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
    basis_chips(&cell, b);
    cell.sub = doc_take(doc, &below);
    return cell;
}

static struct cell time_cell(struct doc *doc, const struct bill *b)
{
    char time[48], startup[48];
    bill_time_words(b, time, sizeof time);
    clock_words((int64_t)(b->startup_s.v * 1e9), startup, sizeof startup);
    return (struct cell){.kind = CELL_TIME,
                         .text = doc_text(doc, "%s", time),
                         .sub = b->startup_s.v > 0 ? doc_text(doc, "start-up %s", startup) : NULL};
}

static struct cell cost_cell(struct doc *doc, const struct bill *b)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    const bool bound = bill_is_bound(b);
    struct cell cell = {.kind = CELL_AMOUNT,
                        .amount = some_money(bill_total(b)),
                        .mark = bill_mark(b),
                        .text = b->spot.never_ends.v ? "never ends" : NULL,
                        .currency = b->local_currency,
                        .local = b->local_total};
    bill_amount(b, amount, interval);
    if (bound) { // "from 0.12": no end is known
        cell.text = doc_text(doc, "%s", amount);
        cell.sub = *interval ? doc_text(doc, "%s", interval) : NULL;
    } else {
        cell.least = b->low;
        cell.most = b->high;
    }
    return cell;
}

static struct cell bar_cell(struct doc *doc, const struct bill *b)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    bill_amount(b, amount, interval);
    return (struct cell){.kind = CELL_BAR,
                         .text = doc_text(doc, "%s", amount),
                         .amount = some_money(bill_total(b)),
                         .bar = {.value = (double)bill_total(b) / MONEY_UNIT,
                                 .low = b->low.known ? money_real(b->low).v : 1,
                                 .high = money_real(b->high).v,
                                 .startup = bill_share(b, BILL_STARTUP),
                                 .idle = bill_share(b, BILL_IDLE),
                                 .estimated = b->certainty != NULL}};
}

#define COLUMN(...)                                                                                \
    &(const struct doc_column)                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static void bill_row(struct doc *doc, const struct bill *b, bool other, const struct common *common,
                     size_t source)
{
    const bool mark = common->old < common->rows && b->price_old.v;
    doc_row(doc, DOC_NORMAL);
    doc_cell(doc, COLUMN("offer"), offer_cell(doc, b, other, common, source));
    doc_cell(doc, COLUMN("time"), time_cell(doc, b));
    doc_cell(doc, COLUMN("USD"), cost_cell(doc, b));
    doc_cell(doc, COLUMN("to scale", .priority = 1), bar_cell(doc, b));
    doc_cell(doc, COLUMN("price seen", .priority = 1),
             (struct cell){.kind = CELL_DATE,
                           .text = b->price_date
                                       ? doc_text(doc, "%.10s%s", b->price_date, mark ? "†" : "")
                                       : NULL});
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
static void sources(struct doc *doc, const struct quote *quote, const struct bill **rows,
                    const struct common *common)
{
    for (size_t i = 0; rows[i] && (i == 0 || !common->run); i++) {
        struct buf text = {0};
        bool first;
        size_t number = source_of(rows, i, &first);
        if (!first)
            continue;
        if (common->run)
            buf_adds(&text, "Times are those of ");
        else
            buf_printf(&text, "%c: ", (char)('a' + number));
        add_source(quote, rows[i], common, &text);
        buf_adds(&text, common->run ? "." : "");
        (common->run ? say_aside : doc_item)(doc, doc_take(doc, &text));
    }
}

#define AT_LEAST                                                                                   \
    "≥: a lower bound, and so is its time: how often this spot machine is taken away is unknown."
void html_at_least(struct buf *out)
{
    html_paragraph(out, "mute", AT_LEAST);
}

static void table_notes(struct doc *doc, const struct bill **rows)
{
    bool at_least = false, from_cpu = false, replayed = false, pale = false, apart = false,
         memory = false;
    for (size_t i = 0; rows[i]; i++) {
        apart |= i > 0 && bill_total(rows[i]) < bill_total(rows[i - 1]);
        at_least |= rows[i]->spot.lower_bound.v;
        from_cpu |= bill_time_is_bound(rows[i]);
        replayed |= rows[i]->spot.method != NULL;
        memory |= rows[i]->gpu_memory && strcmp(rows[i]->gpu_memory, "unknown") == 0;
        pale |= bill_share(rows[i], BILL_STARTUP) + bill_share(rows[i], BILL_IDLE) > 0;
    }
    if (pale)
        doc_say(doc, DOC_DRAWN,
                "Pale parts of a bar are start-up, at its left end, and idle time up to the end of "
                "what is charged, at its right end.");
    if (apart)
        say_aside(
            doc, "The lowest bill first, with exceptions: bills with an unknown part or a doubtful "
                 "price come last, a bill under an assumed rule stands where one by started hours "
                 "would, and an estimate comes after measured bills that it overlaps.");
    if (replayed)
        say_aside(doc, "Bills and times of other spot machines are means with interruptions.");
    if (memory)
        say_aside(doc, MEMORY_UNKNOWN);
    if (from_cpu)
        say_aside(doc, verdict_from_cpu);
    if (at_least)
        say_aside(doc, AT_LEAST);
    if (rows[0]->local_currency)
        say_aside(doc, rows[0]->exchange);
}

static void bill_table(struct doc *doc, const struct quote *quote, const struct quote *shown,
                       bool other)
{
    const struct bill **rows = quote_rows(shown, NULL);
    size_t count = shown->bills.count;
    doc->failed |= !rows;
    if (!other && shown->estimated.known)
        count += (size_t)shown->estimated.v;
    if (!rows || !rows[0]) {
        free(rows);
        return;
    }
    choose_rows(rows, verdict_of_quote(shown).fastest);
    struct common common = common_of(rows);
    doc_table(doc, other ? "Other trainings" : quote->workload);
    for (size_t i = 0; rows[i]; i++) {
        bool first;
        bill_row(doc, rows[i], other, &common, source_of(rows, i, &first));
    }
    if (common.old > 0)
        say_aside(doc,
                  doc_text(doc, "%s " PART_SEEN_OLD "; 'fare prices update' fetches newer ones.",
                           common.old == common.rows ? "All of these prices were" : "†"));
    sources(doc, quote, rows, &common);
    table_notes(doc, rows);
    if (count > common.rows)
        say_aside(doc,
                  doc_text(doc,
                           "The lowest bills and the fastest machine with a run, and the lowest "
                           "estimates; machines with more GPUs that are no faster are left out. "
                           "'fare quote %s --all' lists all %zu.",
                           quote->run        ? quote->run
                           : quote->workload ? quote->workload
                                             : "RUN",
                           count));
    free(rows);
}

// The reasons with their numbers and an example; folded if there are offers to look at.
static void left_out(struct doc *doc, const struct quote *quote)
{
    bool rows = quote->bills.count + quote->estimates.count > 0;
    int64_t all = 0;
    if (quote->left_out.count == 0)
        return;
    for (size_t i = 0; i < quote->left_out.count; i++)
        all += quote->left_out.items[i].count.v;
    if (rows)
        doc_fold(doc, doc_text(doc, "%s left out, and why", units_count(all, "offer").s));
    for (size_t i = 0; i < quote->left_out.count; i++) {
        const struct quote_left_out *l = &quote->left_out.items[i];
        doc_item(doc, doc_text(doc, "%s: %s, such as %s: %s", units_count(l->count.v, "offer").s,
                               l->reason, l->examples.items[0], l->why));
    }
    if (!rows)
        doc_fold(doc, doc_text(doc, "%s left out, one by one", units_count(all, "offer").s));
    doc_table(doc, "Offers left out");
    for (size_t i = 0; i < quote->misfits.count; i++) {
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("offer"), cell_text(quote->misfits.items[i].offer));
        doc_cell(doc, COLUMN("why"), cell_text(quote->misfits.items[i].why));
    }
    doc_unfold(doc);
}

// Other trainings, folded: they answer another question.
static void other_trainings(struct doc *doc, const struct quote *quote, bool rows)
{
    const struct quote others = {.bills = {quote->others.items, quote->others.count, true}};
    if (quote->others.count == 0)
        return;
    doc_fold(doc, doc_text(doc, "Other trainings of %s, not comparable with the one %s",
                           quote->workload, rows ? "above" : "asked for"));
    bill_table(doc, quote, &others, true);
    doc_unfold(doc);
}

void view_bills(struct doc *doc, const struct quote *quote)
{
    bool rows = quote->bills.count + quote->estimates.count > 0;
    bill_table(doc, quote, quote, false);
    if (quote->estimates.count > 0)
        say_aside(
            doc,
            "Rows that are estimated or rough have no run on such a machine: time and cost are "
            "estimates, and their interval holds with 90 %. ± or × is how far the training's "
            "time may be off; the interval of a bill has start-up and the billing rule in it "
            "too.");
    left_out(doc, quote);
    other_trainings(doc, quote, rows);
}

void html_bills(struct buf *out, const struct quote *quote)
{
    struct doc doc = {0};
    view_bills(&doc, quote);
    doc_html(out, &doc, 3);
    doc_release(&doc);
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
    struct doc doc = {0};
    for (size_t i = 0; i < quote->advice.count; i++)
        if (strncmp(quote->advice.items[i], "Nothing is both ", 16) != 0 && // the plot shows them
            !is_said(said, quote->advice.items[i]))
            doc_say(&doc, DOC_VERDICT, quote->advice.items[i]);
    if (quote->bills.count + quote->estimates.count + quote->advice.count == 0)
        doc_say(&doc, DOC_VERDICT, "No known offer fits.");
    doc_html(out, &doc, 3);
    doc_release(&doc);
}

void html_quote(struct buf *out, const struct quote *quote, const struct page *said, int level)
{
    html_heading(out, level, quote->workload);
    html_advice(out, quote, said);
    html_bills(out, quote);
}
