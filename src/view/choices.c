// SPDX-License-Identifier: Apache-2.0
#include "view/choices.h"

#include <stdio.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/clock.h"
#include "base/money.h"
#include "bill/bill.h"
#include "view/html.h"
#include "render/markup.h"
#include "render/part.h"
#include "view/spending.h"

enum { CHOICES = 4 };

static const struct html_column columns[] = {
    {"offer", "long"}, {"time", "num"}, {"USD", "num"}, {"to scale", "more"}};

struct choice {
    const char *what;
    const struct bill *bill;
};

// Adds a bill that stands for something: one that is chosen already gets that name too.
static void choose(struct choice choices[CHOICES], size_t *count, enum verdict_measure measure,
                   const struct bill *bill)
{
    for (size_t i = 0; bill && i < *count; i++)
        if (choices[i].bill == bill)
            return;
    if (bill)
        choices[(*count)++] = (struct choice){verdict_called(bill, measure), bill};
}

static size_t choices_of(const struct verdict_quote *q, struct choice choices[CHOICES])
{
    size_t count = 0;
    for (int m = 0; m < VERDICT_MEASURES; m++)
        choose(choices, &count, m, q->with_run[m].winner.bill);
    for (int m = 0; m < VERDICT_MEASURES; m++)
        choose(choices, &count, m, q->estimated[m].winner.bill);
    if (count == 0)
        choose(choices, &count, VERDICT_COST, q->lowest);
    return count;
}

static void choice_row(struct buf *out, const struct choice *choice, double most)
{
    const struct bill *b = choice->bill;
    char time[48], amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    bill_time_words(b, time, sizeof time);
    bill_amount(b, amount, interval);
    const struct part_interval figure = {.value = (double)bill_total(b) / MONEY_UNIT,
                                         .low = b->low.known ? money_real(b->low).v : 1,
                                         .high = money_real(b->high).v,
                                         .estimated = b->certainty != NULL};
    buf_adds(out, "<tr>");
    buf_adds(out, "<td class=\"long\">");
    html_offer(out, b->offer);
    buf_adds(out, "<span class=\"id\">");
    part_chip(out, b->certainty ? PART_PLAIN : PART_NOTE, b->certainty ? b->certainty : b->basis);
    if (quote_doubt(b)) {
        buf_addc(out, ' ');
        part_chip(out, PART_WAIT, quote_doubt(b));
    }
    markup_in(out, " ", choice->what, "</span></td>");
    html_cell(out, "num", time);
    markup_in(out, "<td class=\"num\">", amount, "<span class=\"id\">");
    markup_words(out, interval);
    buf_adds(out, "</span></td>");
    buf_adds(out, "<td class=\"more\">");
    part_bar(out, &figure, most, NULL);
    buf_adds(out, "</td></tr>\n");
}

// "cnn: from 0.061 USD, or in 45.6 s": of the machine that leads, and of the fastest.
static void choices_head(struct buf *out, const char *name, const char *link,
                         const struct verdict_quote *q)
{
    const struct bill *cheap = q->lowest, *fast = q->soonest ? q->soonest : cheap;
    char from[MONEY_BYTES], time[48], interval[MONEY_INTERVAL_BYTES];
    bill_amount(cheap, from, interval);
    bool exact = !bill_is_bound(cheap);
    clock_words((int64_t)(fast->time_s.v * 1e9), time, sizeof time);
    buf_printf(out, "<tr><th scope=\"rowgroup\" colspan=\"%zu\"><a href=\"%s\">",
               sizeof columns / sizeof *columns, link);
    markup_in(out, "", name, "</a>");
    buf_printf(out, ": %s%s USD", exact ? "from " : "", from);
    if (fast != cheap)
        buf_printf(out, ", or in %s", time);
    buf_adds(out, "</th></tr>\n");
}

void html_choices(struct buf *out, const char *name, const char *link, const struct quote *quote)
{
    struct choice choices[CHOICES];
    const struct verdict_quote q = verdict_of_quote(quote);
    size_t count = choices_of(&q, choices);
    double most = 0;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        double usd = (double)bill_total(choices[i].bill) / MONEY_UNIT * 1.25;
        most = usd > most ? usd : most;
    }
    buf_adds(out, "<tbody>\n");
    choices_head(out, name, link, &q);
    for (size_t i = 0; i < count; i++)
        choice_row(out, &choices[i], most);
    buf_adds(out, "</tbody>\n");
}

void html_choices_table(struct buf *out, const struct buf *groups)
{
    html_begin_table(out, verdict_heading);
    buf_adds(out, "<thead><tr>");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        buf_printf(out, "<th scope=\"col\" class=\"%s\">%s</th>", columns[i].class,
                   columns[i].name);
    buf_adds(out, "</tr></thead>\n");
    buf_add(out, buf_str(groups), groups->len);
    buf_adds(out, "</table></div>\n");
    html_paragraph(
        out, "mute",
        "Whole trainings, with the machine's start-up. Below an amount: its interval. "
        "Estimated and rough: no run on such a machine; ± or × is how far the training's "
        "time may be off, with 90 %.");
    if (strstr(buf_str(groups), "≥"))
        html_at_least(out);
}
