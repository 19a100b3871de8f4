// SPDX-License-Identifier: Apache-2.0
// One bill, line by line; of a spot machine also its interruptions, and ways to do it side by side.
#include <string.h>

#include "advise/verdict_words.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/bill.h"
#include "record/run.h"
#include "view/quote.h"

// ---- the lines

// "0.90 USD for an hour, seen 2026-11-01; the time is that of run ... on g5.xlarge, measured". A
// time that was given stands in the title.
static void say_price(struct doc *doc, const struct bill *b)
{
    struct buf text = {0};
    buf_printf(&text, "%s%s %s for %s%s%s", b->price_estimated.v ? "estimated: " : "",
               money_exact(b->rate).s, b->currency, units_period(b->per_s.v),
               !b->price_own.v ? ", seen "
               : b->price_date ? ", your own rate since "
                               : ", your own rate",
               b->price_date ? b->price_date : "");
    if (b->price_old.v)
        buf_printf(&text, " (OLD: %s)", units_count(b->price_age_days.v, "day").s);
    if (strcmp(b->basis, RUN_GIVEN) != 0 && !b->model.layout) // which the title says
        buf_printf(&text, "; the time is %s run %s on %s%s%s%s",
                   b->certainty ? "estimated from" : "that of", b->run,
                   b->machine ? verdict_article(b->machine) : "",
                   b->machine ? b->machine : "an unknown machine", b->certainty ? "" : ", ",
                   b->certainty ? "" : b->basis);
    doc_say(doc, DOC_PLAIN, doc_take(doc, &text));
    if (b->words)
        doc_say(doc, DOC_PLAIN, doc_text(doc, "Billing: %s", b->words));
    doc_say(doc, DOC_PLAIN, b->exchange);
}

static void add_line(struct doc *doc, enum doc_style style, const char *what, const char *assumed,
                     const char *how, const char *amount)
{
    doc_row(doc, style);
    doc_cell(
        doc, COLUMN("part", .least = 20),
        (struct cell){.text = what, .sub = assumed ? doc_text(doc, "assumed: %s", assumed) : NULL});
    doc_cell(doc, COLUMN("how much", .priority = 1), cell_text(how ? how : ""));
    doc_cell(doc, COLUMN("USD"), (struct cell){.kind = CELL_AMOUNT, .text = amount});
}

static void add_lines(struct doc *doc, const struct bill *b)
{
    char time[48], local[MONEY_BYTES];
    doc_table(doc, b->offer);
    for (size_t i = 0; i < b->items.count; i++) {
        const struct bill_item *item = &b->items.items[i];
        if (b->before_credit.known && i + 1 == b->items.count) // the last is the credit
            add_line(doc, DOC_NORMAL, "before credit", NULL, NULL, money_exact(b->before_credit).s);
        add_line(doc, DOC_NORMAL, item->what, item->assumed, item->how,
                 money_exact(item->amount).s);
    }
    bill_time_words(b, time, sizeof time);
    add_line(doc, DOC_TOTAL, "total, without tax", NULL, time,
             doc_text(doc, "%s%s", bill_mark(b), money_exact(b->total).s));
    if (b->local_total.known) {
        money_short_in(b->local_total.nano, b->local_currency, local);
        add_line(doc, DOC_NORMAL, doc_text(doc, "the same in %s", b->local_currency), NULL, NULL,
                 doc_text(doc, "%s%s", bill_mark(b), local));
    }
}

// What the total leaves open.
static void say_total(struct doc *doc, const struct bill *b)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    bill_amount(b, amount, interval);
    if (*interval && !b->spot.never_ends.v)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc, "%s USD %s.", interval,
                         b->spot.replays.known ? "in 80 % of the replays"
                         : b->low_s.known      ? "at the ends of the time's interval"
                                               : "at the best and the worst time of day to start"));
    if (b->waiting.known)
        doc_say(
            doc, DOC_PLAIN,
            doc_text(doc, "Your waiting, not in the total: %s USD.", money_brief(b->waiting).s));
    if (b->tariff_assumed.v && b->by_hours.known)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc,
                         "This provider's rules are unknown. Assumed: per second; started hours "
                         "would cost %s USD.",
                         money_brief(b->by_hours).s));
    else if (b->tariff_assumed.v)
        doc_say(doc, DOC_PLAIN, "This provider's rules are unknown: the rule above is assumed.");
    if (b->basis && strcmp(b->basis, "assumed") == 0)
        doc_say(doc, DOC_PLAIN,
                "The time was measured on another machine; this one is assumed to take as long.");
    if (bill_time_is_bound(b))
        doc_say(doc, DOC_PLAIN,
                doc_text(doc, "≥: nobody measured it there; the time is %s.", b->class));
    else if (b->model.layout)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc,
                         "The time is %s: %s tokens/s with %s, %s on each GPU. --explain %s shows "
                         "how it comes about.",
                         b->certainty, units_number(b->model.tokens_per_s.v).s, b->model.layout,
                         view_memory(doc, b).text, b->offer));
    else if (b->certainty && b->run)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc,
                         "Nobody measured it there: the time is %s. 'fare quote %s --explain %s' "
                         "shows how it comes about.",
                         b->certainty, b->run, b->offer));
}

void view_explained(struct doc *doc, const char *lines)
{
    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1)
        doc_say(doc, DOC_PLAIN, doc_text(doc, "%.*s", (int)(end - lines), lines));
}

// ---- interruptions

// "1 min 41 s (boot 1 min 41 s)"
static void add_time(struct buf *text, const char *before, double seconds, const char *from)
{
    char words[48];
    clock_words((int64_t)(seconds * 1e9), words, sizeof words);
    buf_printf(text, "%s%s", before, words);
    if (from)
        buf_printf(text, " (%s)", from);
}

static void list_inputs(struct doc *doc, const struct bill_spot *s)
{
    SCOPED(buf_release) struct buf checkpoint = {0}, notice = {0};
    if (s->prices) // with a method the number of replays is said of the interruptions
        doc_item(doc, s->method ? doc_text(doc, "price: %s", s->prices)
                                : doc_text(doc, "price: %s; replayed %lld times", s->prices,
                                           (long long)s->replays.v));
    if (!s->method)
        return;
    doc_item(doc, doc_text(doc, "interruptions: %s; %s %lld times", s->hazard_words, s->method,
                           (long long)s->replays.v));
    add_time(&checkpoint, "a checkpoint after every ", s->interval_s.v, NULL);
    add_time(&checkpoint, " of work takes ", s->checkpoint_s.v, s->checkpoint_from);
    add_time(&checkpoint, "; each further machine starts in ", s->restart_s.v, s->restart_from);
    doc_item(doc, doc_take(doc, &checkpoint));
    if (s->notice_s.v > 0)
        add_time(&notice, "", s->notice_s.v, s->notice_from);
    else
        buf_printf(&notice, "%s%s%s%s", s->notice_s.known ? "none" : "unknown",
                   s->notice_from ? " (" : "", s->notice_from ? s->notice_from : "",
                   s->notice_from ? ")" : "");
    doc_item(doc, doc_text(doc, "notice before it is taken away: %s", buf_str(&notice)));
    doc->failed |= notice.failed;
}

static struct cell amount(struct maybe_money usd)
{
    return (struct cell){.kind = CELL_AMOUNT, .amount = usd};
}

static void add_way(struct doc *doc, const struct spot_row *r)
{
    struct cell mean = amount(r->mean);
    mean.text = r->unfinished.known && !r->mean.known ? "never ends" : NULL;
    mean.mark = r->lower_bound.v ? "≥" : NULL;
    doc_row(doc, DOC_NORMAL);
    doc_cell(doc, COLUMN("way", .least = 18), cell_text(r->what));
    doc_cell(doc, COLUMN("interval", .priority = 5), cell_number(CELL_TIME, r->interval_s));
    doc_cell(doc, COLUMN("USD"), mean);
    doc_cell(doc, COLUMN("10 %", .priority = 3), amount(r->low));
    doc_cell(doc, COLUMN("50 %", .priority = 4), amount(r->middle));
    doc_cell(doc, COLUMN("90 %", .priority = 2), amount(r->high));
    doc_cell(doc, COLUMN("ends 10 %", .priority = 4), cell_number(CELL_TIME, r->low_s));
    doc_cell(doc, COLUMN("ends 50 %"), cell_number(CELL_TIME, r->middle_s));
    doc_cell(doc, COLUMN("ends 90 %", .priority = 1), cell_number(CELL_TIME, r->high_s));
    doc_cell(doc, COLUMN("taken", .priority = 6),
             (struct cell){.kind = CELL_NUMBER,
                           .text = r->interruptions.known
                                       ? doc_text(doc, "%.1f", r->interruptions.v)
                                       : NULL});
}

static void say_way(struct doc *doc, const struct spot_row *r)
{
    struct buf best = {0};
    if (r->interval_s.known && strcmp(r->way, SPOT_BEST) == 0) {
        add_time(&best, "The best interval by replay: a checkpoint after every ", r->interval_s.v,
                 NULL);
        buf_adds(&best, " of work.");
    }
    doc_say(doc, DOC_PLAIN, doc_take(doc, &best));
    if (r->unfinished.v > 0 && r->mean.known)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc, "%s: %.0f %% take more than 20 times the uninterrupted time.%s",
                         r->what, 100 * r->unfinished.v,
                         r->lower_bound.v ? " Some were given up: ≥ is a lower bound." : ""));
}

static void say_ways(struct doc *doc, const struct bill_spot *s)
{
    bool policies = false, fall_back = false;
    const struct spot_row *demand = NULL; // all of them have one price
    doc_say(doc, DOC_PLAIN,
            "10, 50, 90 %: that share of the replays costs no more, and has ended by then. The "
            "first amount is the mean.");
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct spot_row *r = &s->rows.items[i];
        demand = r->price_date ? r : demand;
        policies |= strcmp(r->way, SPOT_POLICY) == 0;
        fall_back |= r->deadline_kept.v;
        say_way(doc, r);
    }
    if (demand && demand->price_old.v)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc, "The price on demand is OLD: last seen %s, %s ago.",
                         demand->price_date, units_count(demand->price_age_days.v, "day").s));
    else if (demand)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc, "The price on demand was last seen %s.", demand->price_date));
    if (fall_back)
        doc_say(doc, DOC_PLAIN,
                "The deadline is always kept with fall-back to on-demand machines.");
    if (policies)
        doc_say(doc, DOC_PLAIN,
                "The policies are replayed on the second half of the trace; 'planned' knows the "
                "first half. Their bills are rates × time. 'best possible' knows the future: "
                "nobody can do better.");
}

void view_bill(struct doc *doc, const struct bill *b)
{
    const struct bill_spot *s = &b->spot;
    doc_heading(doc, 1, b->offer);
    say_price(doc, b);
    add_lines(doc, b);
    say_total(doc, b);
    for (size_t i = 0; i < b->notes.count; i++)
        doc_item(doc, b->notes.items[i]);
    list_inputs(doc, s);
    if (s->rows.count == 0)
        return;
    doc_table(doc, "Ways to do it on spot machines");
    for (size_t i = 0; i < s->rows.count; i++)
        add_way(doc, &s->rows.items[i]);
    say_ways(doc, s);
}
