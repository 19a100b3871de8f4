// SPDX-License-Identifier: Apache-2.0
// Who spent what: bills summed by user, host, project, offer or month, beside invoices; budgets.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/html.h"
#include "render/markup.h"
#include "render/part.h"
#include "view/spending.h"
#include "serve/request.h"
#include "advise/spend/budget.h"

enum { ROWS_MOST = 500 };

static void say_budget(struct buf *out, const struct budget_state *state)
{
    struct buf words = {0};
    budget_words(state, &words);
    if (words.len > 0)
        words.data[0] = 'B';
    html_paragraph(out, "", buf_str(&words));
    buf_drop(out, &words);
}

int spend_warnings(const struct request *request, struct ledger *ledger, struct buf *out,
                   struct err *err)
{
    const struct budget_whose everybody = {0};
    struct budgets budgets = {0};
    struct market *market;
    int rc = request_market(request, &market, err);
    if (rc == 0)
        rc = budget_states(ledger, market, &everybody, &budgets, err);
    for (size_t i = 0; i < budgets.budgets.count && rc == 0; i++) {
        const struct budget_state *state = &budgets.budgets.items[i];
        if (state->share.v >= BUDGET_LOW || state->suspect)
            say_budget(out, state);
    }
    record_release(budgets_fields, &budgets);
    return rc;
}

// ---- the page

void form_spend(struct buf *out, const struct request *request)
{
    buf_adds(out, "<form action=\"/spend\" method=\"get\" aria-label=\"Sums\">\n");
    frame_field(out, request, "by", "By", "project,month");
    frame_field(out, request, "since", "Since", "2026-11-01");
    frame_field(out, request, "user", "User", "ann");
    frame_field(out, request, "host", "Host", "node-1");
    frame_field(out, request, "workload", "Workload", "cnn");
    frame_field(out, request, "label", "Label", "key=value");
    frame_field(out, request, "currency", "Currency", "EUR");
    buf_adds(out, "<button>Show</button>\n</form>\n");
}

// A bar to scale; the total has none.
static void bar_cell(struct buf *out, const struct spending *s, const struct spending_row *row,
                     bool total)
{
    double most = 0;
    for (size_t i = 0; i < s->rows.count && i < ROWS_MOST; i++)
        most = fmax(most, money_real(s->rows.items[i].usd).v);
    buf_adds(out, "<td class=\"more\">");
    if (row->usd.known && !total)
        part_bar(out, &(struct part_interval){.value = money_real(row->usd).v, .low = 1}, most,
                 NULL);
    buf_adds(out, "</td>");
}

static void show_row(struct buf *out, const struct spending *s, const struct spending_row *row,
                     const enum spend_key *keys, bool total)
{
    char hours[32];
    snprintf(hours, sizeof hours, "%.2f", row->gpu_hours.v);
    buf_adds(out, "<tr>");
    for (size_t k = 0; k < s->by.count; k++) {
        const char *value = spend_value(row, keys[k]);
        html_cell(out, "long",
                  total                      ? (k == 0 ? "total" : "")
                  : value                    ? value
                  : keys[k] == SPEND_PROJECT ? "(no project)"
                                             : "(unknown)");
    }
    html_cell(out, "num", row->usd.known ? spending_amount(row->usd).s : "unknown");
    bar_cell(out, s, row, total);
    if (s->local_currency)
        html_cell(out, "num", spending_amount_in(row->local, s->local_currency).s);
    if (s->charges.known) {
        html_cell(out, "num", spending_amount(row->invoiced_usd).s);
        html_cell(out, "num", spending_amount(row->difference_usd).s);
    }
    frame_count_cell(out, "num", row->runs.v);
    frame_count_cell(out, "num more", row->unknown.v);
    html_cell(out, "num", spending_time(row->time_s.v).s);
    html_cell(out, "num more", hours);
    buf_adds(out, "</tr>\n");
}

static void show_sums(struct buf *out, const struct spending *s, const enum spend_key *keys)
{
    struct html_column columns[SPEND_KEYS + 9];
    size_t n = 0;
    for (size_t k = 0; k < s->by.count; k++)
        columns[n++] = (struct html_column){s->by.items[k], "long"};
    columns[n++] = (struct html_column){s->charges.known ? "predicted USD" : "USD", "num"};
    columns[n++] = (struct html_column){"to scale", "more"};
    if (s->local_currency)
        columns[n++] = (struct html_column){s->local_currency, "num"};
    if (s->charges.known) {
        columns[n++] = (struct html_column){"invoiced USD", "num"};
        columns[n++] = (struct html_column){"difference", "num"};
    }
    columns[n++] = (struct html_column){"runs", "num"};
    columns[n++] = (struct html_column){"of unknown cost", "num more"};
    columns[n++] = (struct html_column){"time", "num"};
    columns[n++] = (struct html_column){"GPU-hours", "num more"};
    html_begin_table(out, "Sums of bills");
    html_table_head(out, columns, n);
    for (size_t i = 0; i < s->rows.count && i < ROWS_MOST; i++)
        show_row(out, s, &s->rows.items[i], keys, false);
    if (s->rows.count > 1)
        show_row(out, s, &s->total, keys, true);
    html_end_table(out);
    if (s->rows.count > ROWS_MOST)
        html_paragraph(out, "mute", "Only the first 500 rows are shown; the JSON has them all.");
}

static void show_unmatched(struct buf *out, const struct spending *s)
{
    static const struct html_column columns[] = {{"resource", "long"}, {"provider", ""},
                                                 {"category", ""},     {"lines", "num"},
                                                 {"USD", "num"},       {"what", "long"}};
    if (s->unmatched.count == 0)
        return;
    html_heading(out, 2, "Charged, but for no run");
    html_begin_table(out, "Lines of invoices that belong to no run");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->unmatched.count; i++) {
        const struct spending_charge *c = &s->unmatched.items[i];
        char lines[24];
        snprintf(lines, sizeof lines, "%lld", (long long)c->lines.v);
        buf_adds(out, "<tr>");
        html_cell(out, "long", c->resource ? c->resource : "(none)");
        html_cell(out, "", c->provider);
        html_cell(out, "", c->category);
        html_cell(out, "num", lines);
        html_cell(out, "num", spending_amount(c->usd).s);
        html_cell(out, "long", c->what);
        buf_adds(out, "</tr>\n");
    }
    html_end_table(out);
}

static void say_suspects(struct buf *out, const struct budgets *budgets)
{
    for (size_t i = 0; i < budgets->budgets.count && i < ROWS_MOST; i++)
        if (budgets->budgets.items[i].suspect)
            say_budget(out, &budgets->budgets.items[i]);
}

static void show_budgets(struct buf *out, const struct budgets *budgets)
{
    static const struct html_column columns[] = {
        {"budget", "long"}, {"period", ""},  {"amount", "num"},    {"spent", "num"},
        {"share", "num"},   {"left", "num"}, {"projected", "num"}, {"currency", ""}};
    if (budgets->budgets.count == 0)
        return;
    html_heading(out, 2, "Budgets");
    html_begin_table(out, "Budgets");
    html_table_head(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < budgets->budgets.count && i < ROWS_MOST; i++) {
        const struct budget_state *b = &budgets->budgets.items[i];
        struct buf whose = {0};
        char share[32];
        buf_printf(&whose, "%s%s%s", b->kind, b->name ? " " : "", b->name ? b->name : "");
        snprintf(share, sizeof share, "%.0f %%%s", b->share.v * 100,
                 b->share.v >= 1 ? ", exceeded" : "");
        buf_adds(out, "<tr>");
        html_cell(out, "long", buf_str(&whose));
        html_cell(out, "", b->period);
        html_cell(out, "num", spending_amount_in(b->amount, b->currency).s);
        html_cell(out, "num", spending_amount_in(b->spent, b->currency).s);
        html_cell(out, "num", share);
        html_cell(out, "num", spending_amount_in(b->left, b->currency).s);
        html_cell(out, "num", spending_amount_in(b->projected, b->currency).s);
        html_cell(out, "", b->currency);
        buf_adds(out, "</tr>\n");
        buf_drop(out, &whose);
    }
    html_end_table(out);
    html_paragraph(out, "mute", "Projected: at the end of the period, at the rate so far.");
    say_suspects(out, budgets);
}

// "12.40 USD for 31 runs": the title says the result.
static void title_of(const struct spending *s, struct buf *out)
{
    int64_t known = s->total.runs.v - s->total.unknown.v;
    if (s->rows.count == 0)
        buf_adds(out, "Nothing was spent");
    else if (s->total.usd.known)
        buf_printf(out, "%s USD for ", spending_amount(s->total.usd).s);
    if (s->rows.count == 0)
        return;
    frame_count(out, s->total.usd.known ? known : s->total.runs.v);
    if (s->total.usd.known && s->total.unknown.v > 0) {
        buf_adds(out, " of ");
        frame_count(out, s->total.runs.v);
        buf_adds(out, " runs");
        return;
    }
    buf_printf(out, " run%s%s", (s->total.usd.known ? known : s->total.runs.v) == 1 ? "" : "s",
               s->total.usd.known ? "" : " of unknown cost");
}

static void show(struct buf *out, const struct request *request, const struct spending *s,
                 const struct budgets *budgets, const enum spend_key *keys)
{
    struct buf words = {0}, title = {0};
    title_of(s, &title);
    frame_begin(out, request, buf_str(&title));
    buf_drop(out, &title);
    form_spend(out, request);
    if (s->rows.count == 0 && request->query_count > 0)
        part_empty(out, "No such runs in the ledger. Leave out a filter to see more.", NULL);
    else if (s->rows.count == 0)
        part_empty(out,
                   "No runs in the ledger yet. A run knows its bill if its offer is named, or its "
                   "price:",
                   "fare run --label price_per_hour_usd=2.50 --project bert -- python train.py");
    else
        show_sums(out, s, keys);
    if (s->total.unknown.v > s->total.out_of_range.v)
        html_paragraph(out, "mute",
                       "Runs of unknown cost are not in the sums: no price is known for their "
                       "machines.");
    spending_remarks(s, &words);
    if (words.len > 0)
        html_paragraph(out, "mute", buf_str(&words));
    buf_reset(&words);
    if (s->charges.known) {
        buf_printf(&words,
                   "Invoices have %lld lines over %s USD; %lld of them, over %s USD, belong to no "
                   "run. %lld runs are on no invoice that covers their time.",
                   (long long)s->charges.v, spending_amount(s->charges_usd).s,
                   (long long)s->unmatched_charges.v, spending_amount(s->unmatched_usd).s,
                   (long long)s->missing.v);
        html_paragraph(out, "", buf_str(&words));
    }
    buf_drop(out, &words);
    show_budgets(out, budgets);
    show_unmatched(out, s);
    frame_json_link(out, request, "/spend");
    frame_end(out);
}

int page_spend(const struct request *request, struct answer *answer, struct err *err)
{
    const char *by = request_value(request, "by"), *label = request_value(request, "label");
    enum spend_key keys[SPEND_KEYS];
    size_t count = 0;
    struct ledger *ledger;
    struct market *market;
    struct spending spending = {0};
    struct budgets budgets = {0};
    const struct budget_whose everybody = {0};
    TRY(spend_keys_parse(by ? by : "project", keys, &count, err));
    const struct spend_options options = {
        .keys = keys, .key_count = count, .currency = request_value(request, "currency")};
    const struct ledger_filter filter = {.since = request_value(request, "since"),
                                         .user = request_value(request, "user"),
                                         .host = request_value(request, "host"),
                                         .workload = request_value(request, "workload"),
                                         .labels = &label,
                                         .label_count = label ? 1 : 0};
    int rc = request_ledger(request, &ledger, err);
    if (rc == 0)
        rc = request_market(request, &market, err);
    if (rc == 0)
        rc = spend_sum(ledger, market, &filter, &options, &spending, err);
    if (rc == 0 && !request->json)
        rc = budget_states(ledger, market, &everybody, &budgets, err);
    if (rc == 0 && request->json)
        rc = record_to_text(spending_fields, &spending, &answer->text, err);
    else if (rc == 0)
        show(&answer->text, request, &spending, &budgets, keys);
    record_release(spending_fields, &spending);
    record_release(budgets_fields, &budgets);
    return rc;
}
