// SPDX-License-Identifier: Apache-2.0
// Titles of panels that say the result. Each is made from the panel's own points, so that it cannot
// differ from what is drawn.
#include "view/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/bill.h"
#include "render/markup.h"
#include "render/part.h"
#include "render/scale.h"
#include "view/draft.h"
#include "view/html.h"

// Appends to the panel's title: "cnn" becomes "cnn: $0.061 to $4.10".
static void say(struct draft *d, const char *result)
{
    draft_print(d, &d->panel->title, "%s: %s", d->panel->title ? d->panel->title : "", result);
}

static const struct plot_point *last_of(const struct plot_series *series)
{
    for (size_t i = series->points.count; i-- > 0;)
        if (series->points.items[i].y.known)
            return &series->points.items[i];
    return NULL;
}

static void words_of(const struct plot_axis *axis, double value, char out[SCALE_LABEL])
{
    scale_words(axis->unit ? axis->unit : "", value, out);
}

void result_range(struct draft *d)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    char from[SCALE_LABEL], to[SCALE_LABEL], text[2 * SCALE_LABEL + 8];
    if (d->panel->series.count == 0)
        return;
    const struct plot_series *bars = &d->panel->series.items[0];
    for (size_t i = 0; i < bars->points.count; i++)
        if (bars->points.items[i].y.known) {
            low = fmin(low, bars->points.items[i].y.v);
            high = fmax(high, bars->points.items[i].y.v);
        }
    if (!(low <= high))
        return;
    words_of(&d->panel->y, low, from);
    words_of(&d->panel->y, high, to);
    if (strcmp(from, to) == 0)
        snprintf(text, sizeof text, "%s", from);
    else
        snprintf(text, sizeof text, "%s to %s", from, to);
    say(d, text);
}

// Not all that there is may be drawn, so the end of the range is not said.
void result_from(struct draft *d, const char *least, bool bound)
{
    char text[SCALE_LABEL + 16];
    snprintf(text, sizeof text, "%s %s", bound ? "at least" : "from", least);
    say(d, text);
}

// ---- relative to the base

struct ratios {
    size_t count;
    double low, high;
    const struct plot_point *last;
};

static struct ratios ratios_of(const struct plot_series *series)
{
    struct ratios r = {0, HUGE_VAL, -HUGE_VAL, NULL};
    for (size_t i = 0; i < series->points.count; i++) {
        const struct plot_point *p = &series->points.items[i];
        if (!p->y.known || p->marked.v)
            continue;
        r.count++;
        r.low = fmin(r.low, p->y.v);
        r.high = fmax(r.high, p->y.v);
        r.last = p;
    }
    return r;
}

static bool could_be_chance(const struct plot_point *p)
{
    return p->y_low.known && p->y_high.known && p->y_low.v <= 1 && p->y_high.v >= 1;
}

// "2.46 times the time", "0.41 of the time"
static void ratio_words(double ratio, const char *noun, char *out, size_t size)
{
    snprintf(out, size, "%s %s the %s", units_number(ratio).s, ratio < 1 ? "of" : "times", noun);
}

static void say_one(struct draft *d, const struct ratios *time, const struct ratios *cost)
{
    char text[320], first[64] = "", second[64] = "";
    bool times = !could_be_chance(time->last);
    bool costs = cost->count == 1 && !could_be_chance(cost->last);
    const char *name = time->last->label ? time->last->label : "the other";
    if (times)
        ratio_words(time->low, "time", first, sizeof first);
    if (costs)
        ratio_words(cost->low, "cost", second, sizeof second);
    if (times || costs)
        snprintf(text, sizeof text, "%.120s takes %s%s%s of the base", name, first,
                 times && costs ? " and " : "", second);
    else
        snprintf(text, sizeof text, "%.120s and the base cannot be told apart", name);
    say(d, text);
}

// "0.5 to 2.1", or "1" where both ends are written alike.
static void range_words(const struct ratios *r, char *out, size_t size)
{
    char low[24], high[24];
    snprintf(low, sizeof low, "%s", units_number(r->low).s);
    snprintf(high, sizeof high, "%s", units_number(r->high).s);
    if (strcmp(low, high) == 0)
        snprintf(out, size, "%s", low);
    else
        snprintf(out, size, "%s to %s", low, high);
}

void result_relative(struct draft *d)
{
    char text[160];
    if (d->panel->series.count == 0)
        return;
    struct ratios time = ratios_of(&d->panel->series.items[0]), cost = {0};
    if (d->panel->series.count > 1)
        cost = ratios_of(&d->panel->series.items[1]);
    if (time.count == 1) {
        say_one(d, &time, &cost);
    } else if (time.count > 1 && time.low < time.high) {
        range_words(&time, text, sizeof text);
        size_t len = strlen(text);
        len += (size_t)snprintf(text + len, sizeof text - len, " times the base's time");
        if (cost.count > 1) {
            len += (size_t)snprintf(text + len, sizeof text - len, ", ");
            range_words(&cost, text + len, sizeof text - len);
            len = strlen(text);
            snprintf(text + len, sizeof text - len, " times its cost");
        }
        say(d, text);
    }
}

// ---- time against cost

// The points that nothing beats: marked ones, or else estimates.
static size_t unbeaten(const struct plot_panel *panel, bool estimates,
                       const struct plot_point **cheapest, const struct plot_point **fastest)
{
    size_t count = 0;
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &panel->series.items[s].points.items[i];
            if (!p->x.known || !p->y.known || !(estimates ? p->estimated.v : p->marked.v))
                continue;
            *cheapest = count == 0 ? p : *cheapest; // points stand in their order
            *fastest = count == 0 || p->x.v < (*fastest)->x.v ? p : *fastest;
            count++;
        }
    return count;
}

void result_frontier(struct draft *d)
{
    const struct plot_point *cheap = NULL, *fast = NULL;
    char usd[2][SCALE_LABEL], time[2][SCALE_LABEL], text[240];
    bool measured = unbeaten(d->panel, false, &cheap, &fast) > 0;
    if (!measured && unbeaten(d->panel, true, &cheap, &fast) == 0)
        return;
    words_of(&d->panel->y, cheap->y.v, usd[0]);
    words_of(&d->panel->x, cheap->x.v, time[0]);
    words_of(&d->panel->y, fast->y.v, usd[1]);
    words_of(&d->panel->x, fast->x.v, time[1]);
    if (cheap->x.v == fast->x.v)
        snprintf(text, sizeof text, "%s in %s%s", usd[0], time[0], measured ? "" : ", by estimate");
    else
        snprintf(text, sizeof text, "%s in %s, or %s in %s%s", usd[0], time[0], usd[1], time[1],
                 measured ? "" : ", by estimate");
    say(d, text);
}

// ---- lines

void result_ends(struct draft *d, bool highest)
{
    const struct plot_series *best = NULL;
    double best_end = 0, other_end = 0;
    size_t count = 0;
    char first[SCALE_LABEL], last[SCALE_LABEL], text[320];
    for (size_t s = 0; s < d->panel->series.count; s++) {
        const struct plot_point *end = last_of(&d->panel->series.items[s]);
        if (!end)
            continue;
        bool better = count == 0 || (highest ? end->y.v > best_end : end->y.v < best_end);
        bool worse = count == 0 || (highest ? end->y.v < other_end : end->y.v > other_end);
        best = better ? &d->panel->series.items[s] : best;
        best_end = better ? end->y.v : best_end;
        other_end = worse ? end->y.v : other_end;
        count++;
    }
    if (!best)
        return;
    words_of(&d->panel->y, best_end, first);
    words_of(&d->panel->y, other_end, last);
    if (count == 1)
        snprintf(text, sizeof text, "ends at %s", first);
    else if (strcmp(first, last) == 0)
        snprintf(text, sizeof text, "%s end at %s", count == 2 ? "both" : "all", first);
    else
        snprintf(text, sizeof text, "%.120s ends %s, at %s; the %s ends at %s",
                 best->name ? best->name : "one", highest ? "highest" : "lowest", first,
                 highest ? "lowest" : "highest", last);
    say(d, text);
}

// The highest point of all lines.
static const struct plot_point *top_of(const struct plot_panel *panel)
{
    const struct plot_point *top = NULL;
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &panel->series.items[s].points.items[i];
            if (p->y.known && (!top || p->y.v > top->y.v))
                top = p;
        }
    return top;
}

void result_batch(struct draft *d)
{
    char rate[SCALE_LABEL], text[120];
    const struct plot_point *top = top_of(d->panel);
    if (!top)
        return;
    words_of(&d->panel->y, top->y.v, rate);
    snprintf(text, sizeof text, "%s at most, with batch %.0f", rate, top->x.v);
    say(d, text);
}

void result_gpus(struct draft *d)
{
    char text[120];
    const struct plot_point *top = top_of(d->panel);
    if (!top)
        return;
    snprintf(text, sizeof text, "%.0f GPUs are %s times as fast as one", top->x.v,
             units_number(top->y.v).s);
    say(d, text);
}

enum { CHOICES = 4 };

static const struct html_column columns[] = {
    {"offer", "long"}, {"time", "num"}, {"USD", "num"}, {"to scale", "more"}};

struct bill_choice {
    const char *what;
    const struct bill *bill;
};

// Adds a bill that stands for something: one that is chosen already gets that name too.
static void add_choice(struct bill_choice choices[CHOICES], size_t *count,
                       enum verdict_measure measure, const struct bill *bill)
{
    for (size_t i = 0; bill && i < *count; i++)
        if (choices[i].bill == bill)
            return;
    if (bill)
        choices[(*count)++] = (struct bill_choice){verdict_called(bill, measure), bill};
}

static size_t choices_of(const struct verdict_quote *q, struct bill_choice choices[CHOICES])
{
    size_t count = 0;
    for (int m = 0; m < VERDICT_MEASURES; m++)
        add_choice(choices, &count, m, q->with_run[m].winner.bill);
    for (int m = 0; m < VERDICT_MEASURES; m++)
        add_choice(choices, &count, m, q->estimated[m].winner.bill);
    if (count == 0)
        add_choice(choices, &count, VERDICT_COST, q->lowest);
    return count;
}

static void choice_row(struct buf *out, const struct bill_choice *choice, double most)
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
    struct bill_choice choices[CHOICES];
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
