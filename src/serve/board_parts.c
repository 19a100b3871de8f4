// SPDX-License-Identifier: Apache-2.0
#include "serve/board_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/quote_job.h"
#include "base/clock.h"
#include "base/money.h"
#include "report/html.h"
#include "report/markup.h"
#include "report/part.h"
#include "report/spending.h"
#include "spend/spend.h"

// ---- counts

static int add_count(void *arg, const char *value, int64_t count, struct err *err)
{
    struct board_counts *counts = arg;
    (void)err;
    if (!*value || strlen(value) >= BOARD_VALUE_BYTES || counts->count == BOARD_VALUES)
        return 0;
    struct board_count *c = &counts->items[counts->count++];
    snprintf(c->value, sizeof c->value, "%s", value);
    c->runs = count;
    return 0;
}

int board_count(struct ledger *ledger, struct board_facets *out, struct err *err)
{
    TRY(ledger_counts(ledger, LEDGER_WORKLOAD, BOARD_VALUES + 1, add_count, &out->workloads, err));
    TRY(ledger_counts(ledger, LEDGER_FRAMEWORK, BOARD_VALUES + 1, add_count, &out->frameworks,
                      err));
    return ledger_counts(ledger, LEDGER_ENDED, BOARD_VALUES + 1, add_count, &out->ended, err);
}

// ---- this month

static double usd_of(const char *amount, double otherwise)
{
    int64_t nano;
    return amount && money_parse(amount, &nano, NULL) == 0 ? (double)nano / MONEY_UNIT : otherwise;
}

static void show_spend(const struct spending *month, struct buf *out)
{
    enum { PROJECTS = 6 };
    static const struct html_column columns[] = {
        {"project", "long"}, {"USD", "num"}, {"to scale", ""}, {"runs", "num"}};
    double most = 0;
    for (size_t i = 0; i < month->rows.count; i++)
        most =
            usd_of(month->rows.items[i].usd, 0) > most ? usd_of(month->rows.items[i].usd, 0) : most;
    html_begin_table(out, "Spending of this month by project");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < month->rows.count && i < PROJECTS; i++) {
        const struct spending_row *row = &month->rows.items[i];
        char runs[24];
        snprintf(runs, sizeof runs, "%lld", (long long)row->runs.v);
        buf_adds(out, "<tr>");
        html_cell(out, "long", row->project ? row->project : "(no project)");
        html_cell(out, "num", row->usd ? spending_amount(row->usd).s : "unknown");
        buf_adds(out, "<td>");
        if (row->usd)
            part_bar(out, &(struct part_interval){usd_of(row->usd, 0), 1, 0, false}, most, NULL);
        buf_adds(out, "</td>");
        html_cell(out, "num", runs);
        buf_adds(out, "</tr>\n");
    }
    html_end_table(out);
}

int board_spend(struct site *site, struct ledger *ledger, struct board_figures *out,
                struct err *err)
{
    static const enum spend_key keys[] = {SPEND_PROJECT};
    const struct spend_options options = {.keys = keys, .key_count = 1, .book = site->options.book};
    struct spending month = {0};
    char since[CLOCK_ISO_BYTES] = "";
    int64_t first_s = 0;
    if (clock_month(clock_date_s(), 0, &first_s))
        clock_iso(first_s, since);
    const struct ledger_filter filter = {.since = since};
    int rc = spend_sum(ledger, &filter, &options, &month, err);
    if (rc == 0) {
        out->month_runs = month.total.runs.v;
        if (month.total.usd)
            snprintf(out->month_usd, sizeof out->month_usd, "%s",
                     spending_amount(month.total.usd).s);
        if (month.total.usd)
            show_spend(&month, &out->spend);
    }
    record_release(spending_fields, &month);
    return rc;
}

// ---- the cheapest and the fastest machine

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
                                         .low = usd_of(b->low, 1),
                                         .high = usd_of(b->high, 0),
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
static void training_head(struct buf *out, const char *name, const struct choice *choices,
                          size_t count)
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
    buf_adds(out, "<h3><a href=\"/quote?run=");
    frame_escape(out, name);
    markup_in(out, "\">", name, "</a> costs ");
    if (strcmp(from, to) == 0)
        buf_printf(out, "%s USD</h3>\n", from);
    else
        buf_printf(out, "%s to %s USD</h3>\n", from, to);
}

static void show_training(struct buf *out, const char *name, const struct quote *quote)
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
    training_head(out, name, choices, count);
    html_begin_table(out, name);
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++)
        choice_row(out, &choices[i], most);
    html_end_table(out);
    buf_adds(out, "</section>\n");
}

// A training whose quote cannot be made (no time is known) is left out.
static int add_training(struct site *site, struct market *market, const char *name, struct buf *out,
                        struct err *err)
{
    struct err why = {0};
    struct quote_job job = {.asked = !quote_is_workload(name)};
    job.ask.market = market;
    job.ask.max_age = QUOTE_MAX_AGE;
    job.ask.estimates = true;
    int rc = quote_load(&job, name, site->options.ledger, &why);
    if (rc == 0)
        rc = quote_assemble(&job, &why);
    if (rc == 0)
        show_training(out, name, &job.quote);
    quote_release(&job);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

int board_machines(struct site *site, struct ledger *ledger, struct buf *out, struct err *err)
{
    enum { TRAININGS = 6 };
    struct board_counts names = {0};
    struct market *market = NULL;
    int rc = ledger_counts(ledger, LEDGER_TRAINING, TRAININGS, add_count, &names, err);
    if (rc == 0)
        rc = market_open(&market, site->options.book, NULL, err);
    for (size_t i = 0; i < names.count && rc == 0 && !board_stops(site->board); i++)
        rc = add_training(site, market, names.items[i].value, out, err);
    market_close(market);
    return rc;
}
