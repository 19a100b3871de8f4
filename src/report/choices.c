// SPDX-License-Identifier: Apache-2.0
#include "report/choices.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "market/bill.h"
#include "report/html.h"
#include "report/markup.h"
#include "report/part.h"
#include "report/spending.h"

enum { CHOICES = 4 };

struct choice {
    const char *what;
    const struct bill *bill;
};

// Adds a bill that stands for something: one that is chosen already gets that name too.
static void choose(struct choice choices[CHOICES], size_t *count, const char *what,
                   const struct bill *bill)
{
    for (size_t i = 0; bill && i < *count; i++)
        if (choices[i].bill == bill)
            return;
    if (bill)
        choices[(*count)++] = (struct choice){what, bill};
}

static const struct bill *best(const struct bill *bills, size_t count, bool fastest)
{
    const struct bill *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct bill *b = &bills[i];
        if (bill_doubtful(b) || !b->time_s.known)
            continue;
        bool better =
            !found || (fastest ? b->time_s.v < found->time_s.v : bill_total(b) < bill_total(found));
        found = better ? b : found;
    }
    return found;
}

static size_t choices_of(const struct quote *q, struct choice choices[CHOICES])
{
    size_t count = 0;
    choose(choices, &count, "cheapest with a run", best(q->bills.items, q->bills.count, false));
    choose(choices, &count, "fastest with a run", best(q->bills.items, q->bills.count, true));
    choose(choices, &count, "cheapest by estimate",
           best(q->estimates.items, q->estimates.count, false));
    choose(choices, &count, "fastest by estimate",
           best(q->estimates.items, q->estimates.count, true));
    return count;
}

static void choice_row(struct buf *out, const struct choice *choice, double most)
{
    const struct bill *b = choice->bill;
    char time[48], amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    char cost[MONEY_BYTES + MONEY_INTERVAL_BYTES + 4];
    clock_words((int64_t)(b->time_s.v * 1e9), time, sizeof time);
    bill_amount(b, amount, interval);
    snprintf(cost, sizeof cost, "%s%s%s%s", amount, *interval ? " (" : "", interval,
             *interval ? ")" : "");
    const struct part_interval figure = {.value = (double)bill_total(b) / MONEY_UNIT,
                                         .low = spending_usd(b->low, 1),
                                         .high = spending_usd(b->high, 0),
                                         .estimated = b->certainty != NULL};
    buf_adds(out, "<tr>");
    markup_in(out, "<td class=\"long\">", b->offer, "");
    markup_in(out, "<span class=\"id\">", choice->what, "</span></td>");
    html_cell(out, "num", time);
    html_cell(out, "num", cost);
    buf_adds(out, "<td>");
    part_bar(out, &figure, most, cost);
    buf_adds(out, "</td><td>");
    part_chip(out, b->certainty ? PART_PLAIN : PART_NOTE, b->certainty ? b->certainty : b->basis);
    buf_adds(out, "</td></tr>\n");
}

// "cnn costs 0.061 to 4.10 USD": the title says the result.
static void choices_head(struct buf *out, const char *name, const char *link,
                         const struct choice *choices, size_t count)
{
    const struct bill *low = choices[0].bill, *high = low;
    char from[MONEY_BYTES], to[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    for (size_t i = 1; i < count; i++) {
        const struct bill *b = choices[i].bill;
        low = bill_total(b) < bill_total(low) ? b : low;
        high = bill_total(b) > bill_total(high) ? b : high;
    }
    bill_amount(low, from, interval);
    bill_amount(high, to, interval);
    buf_printf(out, "<h3><a href=\"%s\">", link);
    markup_in(out, "", name, "</a> costs ");
    if (strcmp(from, to) == 0)
        buf_printf(out, "%s USD</h3>\n", from);
    else
        buf_printf(out, "%s to %s USD</h3>\n", from, to);
}

void html_choices(struct buf *out, const char *name, const char *link, const struct quote *quote)
{
    static const struct html_column columns[] = {
        {"offer", "long"}, {"time", "num"}, {"USD", "num"}, {"to scale", ""}, {"basis", ""}};
    struct choice choices[CHOICES];
    size_t count = choices_of(quote, choices);
    double most = 0;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        double usd = (double)bill_total(choices[i].bill) / MONEY_UNIT * 1.25;
        most = usd > most ? usd : most;
    }
    buf_adds(out, "<section>\n");
    choices_head(out, name, link, choices, count);
    html_begin_table(out, name);
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++)
        choice_row(out, &choices[i], most);
    html_end_table(out);
    buf_adds(out, "</section>\n");
}
