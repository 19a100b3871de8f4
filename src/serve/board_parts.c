// SPDX-License-Identifier: Apache-2.0
#include "serve/board_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/quote_job.h"
#include "base/clock.h"
#include "base/money.h"
#include "report/choices.h"
#include "report/html.h"
#include "report/markup.h"
#include "report/moved.h"
#include "report/part.h"
#include "report/spending.h"
#include "spend/spend.h"

// ---- counts

// The place of a value; that of all others if it is empty, too long, or one too many.
static size_t place_of(struct board_values *values, const char *value)
{
    size_t i = 0;
    if (!*value || strlen(value) >= BOARD_VALUE_BYTES)
        return BOARD_VALUES;
    while (i < values->count && strcmp(values->items[i], value) != 0)
        i++;
    if (i == values->count && i < BOARD_VALUES)
        snprintf(values->items[values->count++], BOARD_VALUE_BYTES, "%s", value);
    return i;
}

static int add_count(void *arg, const struct ledger_kind *kind, int64_t count, struct err *err)
{
    struct board_facets *f = arg;
    (void)err;
    size_t known = f->values[BOARD_TRAINING].count;
    size_t training = place_of(&f->values[BOARD_TRAINING], kind->training);
    size_t framework = place_of(&f->values[BOARD_FRAMEWORK], kind->framework);
    size_t ended = place_of(&f->values[BOARD_ENDED], kind->ended);
    if (training == known && training < BOARD_VALUES)
        f->named[training] = kind->named;
    else if (training < known && f->named[training] != kind->named)
        training = BOARD_VALUES; // a name like a workload's: its link would be another's
    f->runs[training][framework][ended] += count;
    return 0;
}

int board_count(struct ledger *ledger, struct board_facets *out, struct err *err)
{
    return ledger_counts(ledger, add_count, out, err);
}

// ---- this month

static void show_spend(const struct spending *month, const char *since, struct buf *out)
{
    enum { PROJECTS = 6 };
    static const struct html_column columns[] = {
        {"project", "long"}, {"USD", "num"}, {"to scale", ""}, {"runs", "num"}};
    static const char *const others[] = {"user", "host", "offer"};
    double most = 0;
    for (size_t i = 0; i < month->rows.count; i++)
        most = fmax(most, money_real(month->rows.items[i].usd).v);
    html_begin_table(out, "Spending of this month by project");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < month->rows.count && i < PROJECTS; i++) {
        const struct spending_row *row = &month->rows.items[i];
        buf_adds(out, "<tr>");
        html_cell(out, "long", row->project ? row->project : "(no project)");
        html_cell(out, "num", row->usd.known ? spending_amount(row->usd).s : "unknown");
        buf_adds(out, "<td>");
        if (row->usd.known)
            part_bar(out, &(struct part_interval){.value = money_real(row->usd).v, .low = 1}, most,
                     NULL);
        buf_adds(out, "</td>");
        frame_count_cell(out, "num", row->runs.v);
        buf_adds(out, "</tr>\n");
    }
    html_end_table(out);
    buf_adds(out, "<p>The same by");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        buf_printf(out, "%s <a href=\"/spend?by=%s&amp;since=%.10s\">%s</a>", i ? " or" : "",
                   others[i], since, others[i]);
    buf_adds(out, "</p>\n");
}

int board_spend(struct ledger *ledger, struct market *market, struct board_figures *out,
                struct err *err)
{
    static const enum spend_key keys[] = {SPEND_PROJECT};
    const struct spend_options options = {.keys = keys, .key_count = 1};
    struct spending month = {0};
    char since[CLOCK_ISO_BYTES] = "";
    int64_t first_s = 0;
    if (clock_month(clock_date_s(), 0, &first_s))
        clock_iso(first_s, since);
    const struct ledger_filter filter = {.since = since};
    int rc = spend_sum(ledger, market, &filter, &options, &month, err);
    if (rc == 0) {
        out->month_runs = month.total.runs.v;
        out->month_unknown = month.total.unknown.v;
        if (month.total.usd.known)
            snprintf(out->month_usd, sizeof out->month_usd, "%s",
                     spending_amount(month.total.usd).s);
        if (month.total.usd.known)
            show_spend(&month, since, &out->spend);
    }
    record_release(spending_fields, &month);
    return rc;
}

// ---- the cheapest and the fastest machine

static void show_training(struct buf *out, const char *name, const struct quote *quote)
{
    struct buf link = {0};
    buf_adds(&link, "/quote?run=");
    markup_address(&link, name);
    html_choices(out, name, buf_str(&link), quote);
    buf_drop(out, &link);
}

// A training whose quote cannot be made (no time is known) is left out.
static int add_training(struct ledger *ledger, struct market *market, const char *name,
                        struct buf *out, struct err *err)
{
    struct err why = {0};
    struct quote_job job = {.asked = !quote_is_workload(name)};
    job.ask.market = market;
    job.ask.max_age = QUOTE_MAX_AGE;
    job.ask.estimates = true;
    int rc = quote_load(&job, name, ledger, &why);
    if (rc == 0)
        rc = quote_assemble(&job, &why);
    if (rc == 0)
        show_training(out, name, &job.quote);
    quote_release(&job);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

int board_machines(struct board *board, struct ledger *ledger, struct market *market,
                   const struct board_facets *facets, struct buf *out, struct err *err)
{
    enum { TRAININGS = 6 };
    const struct board_values *names = &facets->values[BOARD_TRAINING];
    int rc = 0;
    for (size_t i = 0; i < names->count && i < TRAININGS && rc == 0 && !board_stops(board); i++)
        rc = add_training(ledger, market, names->items[i], out, err);
    return rc;
}

// ---- prices that moved

int board_moved(struct market *market, struct buf *out, struct err *err)
{
    struct moved moved;
    struct err why = {0};
    int rc = moved_find(market, &moved, &why);
    if (rc == 0)
        html_moved(out, &moved, "/gpu?name=", "/offer?name=");
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}
