// SPDX-License-Identifier: Apache-2.0
// runs: who spent what, and budgets.
#include <stdio.h>
#include <string.h>

#include "base/money.h"
#include "cmd/runs.h"
#include "cmd/table.h"
#include "bill/price.h"
#include "view/spending.h"
#include "advise/spend/budget.h"
#include "advise/spend/spend.h"

const char *const runs_formats[] = {"table", "csv", "md", "json", NULL};

// ---- sums

enum { FIGURES = 8 };

struct head {
    struct table_column columns[SPEND_KEYS + FIGURES];
    size_t count;
};

static void add_column(struct head *head, struct table_column column)
{
    head->columns[head->count++] = column;
}

static void make_head(const struct spending *s, struct head *head)
{
    bool predicted = s->charges.known;
    for (size_t k = 0; k < s->by.count; k++)
        add_column(head, (struct table_column){s->by.items[k], TABLE_LEFT, 0, 10});
    add_column(head, (struct table_column){"runs", TABLE_RIGHT});
    add_column(head, (struct table_column){"unknown", TABLE_RIGHT, 1});
    add_column(head, (struct table_column){"time", TABLE_RIGHT, 3});
    add_column(head, (struct table_column){"GPU-hours", TABLE_RIGHT, 2});
    add_column(head, (struct table_column){predicted ? "predicted USD" : "USD", TABLE_POINT});
    add_column(head,
               (struct table_column){s->local_currency ? s->local_currency : "", TABLE_POINT});
    add_column(head, (struct table_column){"invoiced", TABLE_POINT});
    add_column(head, (struct table_column){"difference", TABLE_POINT});
}

static void add_row(struct table *table, const struct spending *s, const enum spend_key *keys,
                    const struct spending_row *row, bool total)
{
    const char *cells[SPEND_KEYS + FIGURES];
    char runs[24], unknown[24] = "-", hours[32] = "-";
    const struct spending_text time = spending_time(row->time_s.v), usd = spending_amount(row->usd),
                               local = spending_amount_in(row->local, s->local_currency),
                               invoiced = spending_amount(row->invoiced_usd),
                               difference = spending_amount(row->difference_usd);
    size_t n = 0;
    snprintf(runs, sizeof runs, "%lld", (long long)row->runs.v);
    if (row->unknown.v > 0)
        snprintf(unknown, sizeof unknown, "%lld", (long long)row->unknown.v);
    if (row->gpu_hours.v > 0)
        snprintf(hours, sizeof hours, row->gpu_hours.v < 10 ? "%.2f" : "%.1f", row->gpu_hours.v);
    for (size_t k = 0; k < s->by.count; k++) {
        const char *value = spend_value(row, keys[k]);
        cells[n++] = total ? (k == 0 ? "total" : "") : value ? value : "(unknown)";
    }
    cells[n++] = runs;
    cells[n++] = unknown;
    cells[n++] = time.s;
    cells[n++] = hours;
    cells[n++] = row->usd.known ? usd.s : "unknown";
    cells[n++] = s->local_currency ? local.s : "-";
    cells[n++] = invoiced.s;
    cells[n++] = difference.s;
    table_row(table, total ? OUT_BOLD : OUT_PLAIN, cells, NULL);
}

static void say_invoices(struct out *out, const struct spending *s)
{
    if (!s->charges.known)
        return;
    const struct maybe_money effective = s->total.effective_usd;
    out_wrapf(out, 0, "Invoices have %s over %s USD; %lld of them, over %s USD, belong to no run%s",
              units_count(s->charges.v, "line").s, spending_amount(s->charges_usd).s,
              (long long)s->unmatched_charges.v, spending_amount(s->unmatched_usd).s,
              s->unmatched.count > 0 ? ":" : ".");
    static const struct table_column columns[] = {
        {"resource", TABLE_LEFT, 0, 12}, {"provider", TABLE_LEFT, 1}, {"category", TABLE_LEFT, 2},
        {"lines", TABLE_RIGHT},          {"USD", TABLE_POINT},        {"what", TABLE_LEFT, 3, 12}};
    struct table table = TABLE(columns);
    table.indent = 2;
    for (size_t i = 0; i < s->unmatched.count; i++) {
        const struct spending_charge *c = &s->unmatched.items[i];
        char lines[24];
        const struct spending_text usd = spending_amount(c->usd);
        snprintf(lines, sizeof lines, "%lld", (long long)c->lines.v);
        const char *const cells[] = {c->resource ? c->resource : "(none)",
                                     c->provider ? c->provider : "-",
                                     c->category ? c->category : "-",
                                     lines,
                                     usd.s,
                                     c->what ? c->what : "-"};
        table_row(&table, OUT_PLAIN, cells, NULL);
    }
    table_print(&table, out);
    if (s->missing.v > 0)
        out_wrapf(out, 0, "On no invoice that covers their time: %s%s%s%s.",
                  units_count(s->missing.v, "run").s, s->missing_usd.known ? " over " : "",
                  s->missing_usd.known ? spending_amount(s->missing_usd).s : "",
                  s->missing_usd.known ? " USD, predicted" : "");
    if (effective.known && s->total.invoiced_usd.known &&
        effective.nano != s->total.invoiced_usd.nano)
        out_wrapf(out, 0,
                  "With commitments spread over their use the invoices charge %s USD for the runs.",
                  spending_amount(effective).s);
}

static void print_spending(struct out *out, const struct spending *s, const enum spend_key *keys)
{
    struct head head = {.count = 0};
    make_head(s, &head);
    struct table table = {.columns = head.columns, .count = head.count};
    for (size_t i = 0; i < s->rows.count; i++)
        add_row(&table, s, keys, &s->rows.items[i], false);
    if (s->rows.count > 1)
        add_row(&table, s, keys, &s->total, true);
    table_print(&table, out);
    int64_t unpriced = s->total.unknown.v - s->total.out_of_range.v;
    if (unpriced > 0)
        out_wrapf(out, 0,
                  "The cost of %s is unknown, and not in the sums: no price is known for %s.",
                  units_count(unpriced, "run").s, unpriced == 1 ? "its machine" : "their machines");
    struct buf words = {0};
    spending_remarks(s, &words);
    if (words.len > 0)
        out_wrap(out, 0, buf_str(&words));
    buf_release(&words);
    say_invoices(out, s);
}

int runs_spending(const struct cmd_call *call, struct ledger *ledger,
                  const struct ledger_filter *filter, struct err *err)
{
    const struct runs_options *o = call->options;
    struct out *out = call->out;
    enum spend_key keys[SPEND_KEYS];
    size_t count = 0;
    const char *format;
    struct spending spending = {0};
    TRY(value_format(o->common.json, o->format, "table", &format, err));
    TRY(local_check(call->desk->market, o->currency, err));
    TRY(spend_keys_parse(o->by, keys, &count, err));
    const struct spend_options options = {
        .keys = keys, .key_count = count, .currency = o->currency};
    int rc = spend_sum(ledger, call->desk->market, filter, &options, &spending, err);
    if (rc != 0)
        ;
    else if (strcmp(format, "json") == 0)
        rc = out_record(out, spending_fields, &spending, err);
    else if (strcmp(format, "csv") == 0)
        spending_csv(&out->text, &spending);
    else if (strcmp(format, "md") == 0)
        spending_markdown(&out->text, &spending);
    else if (spending.rows.count == 0 && !spending.charges.known)
        out_wrap(out, 0, "No such runs in the ledger: nothing was spent.");
    else
        print_spending(out, &spending, keys);
    record_release(spending_fields, &spending);
    return rc;
}

void runs_bill_rows(struct out *out, const struct run *run, const struct spending_row *i)
{
    const struct run_spent *spent = &run->spent;
    const int64_t difference = i->difference_usd.nano;
    if (spent->usd.known && !run->saving.usd.known && spent->usd_per_hour.known && spent->from)
        out_row(out, "Bill", "%s USD, derived from %s USD an hour (%s)",
                spending_amount(spent->usd).s, spending_amount(spent->usd_per_hour).s, spent->from);
    else if (spent->usd.known && !run->saving.usd.known)
        out_row(out, "Bill", "%s USD", spending_amount(spent->usd).s);
    if (!i->invoiced_usd.known)
        return;
    struct buf words = {0};
    char text[MONEY_BYTES];
    buf_printf(&words, "%s USD", spending_amount(i->invoiced_usd).s);
    if (!i->difference_usd.known) {
        buf_adds(&words, "; its predicted cost is unknown");
    } else if (difference == 0) {
        buf_adds(&words, ", as predicted");
    } else {
        money_short(difference < 0 ? -difference : difference, text);
        buf_printf(&words, ", %s %s than the predicted %s", text, difference < 0 ? "less" : "more",
                   spending_amount(i->predicted_usd).s);
    }
    out_row(out, "Invoiced", "%s", buf_str(&words));
    buf_drop(&out->text, &words);
}

// ---- budgets

static int change_budget(struct ledger *ledger, struct market *market, const char *text,
                         const char *currency, struct err *err)
{
    struct budget_word word;
    int64_t removed = 0;
    TRY(budget_parse(text, currency, &word, err));
    if (!word.removes) {
        TRY(local_check(market, word.budget.currency, err));
        return ledger_budget_set(ledger, &word.budget, err);
    }
    TRY(ledger_budget_remove(ledger, word.budget.kind, word.budget.name, word.period, &removed,
                             err));
    if (removed > 0)
        return 0;
    err_set(err, ERR_MISSING, "there is no such budget: %s%s%s", word.budget.kind,
            *word.budget.name ? ":" : "", word.budget.name);
    return err_hint(err, "'fare runs --budgets' lists them");
}

static void print_budgets(struct out *out, const struct budgets *budgets)
{
    static const struct table_column columns[] = {
        {"budget", TABLE_LEFT, 0, 14}, {"period", TABLE_LEFT},      {"amount", TABLE_POINT},
        {"spent", TABLE_POINT},        {"share", TABLE_RIGHT},      {"left", TABLE_POINT, 2},
        {"projected", TABLE_POINT},    {"currency", TABLE_LEFT, 3}, {"unknown", TABLE_RIGHT, 1}};
    struct table table = TABLE(columns);
    const struct budget_state *suspect = NULL;
    int64_t corrected = 0;
    for (size_t i = 0; i < budgets->budgets.count; i++) {
        const struct budget_state *b = &budgets->budgets.items[i];
        struct buf whose = {0};
        char share[32], unknown[24] = "-";
        const struct spending_text amount = spending_amount_in(b->amount, b->currency),
                                   spent = spending_amount_in(b->spent, b->currency),
                                   left = spending_amount_in(b->left, b->currency),
                                   projected = spending_amount_in(b->projected, b->currency);
        bool all = strcmp(b->kind, "all") == 0;
        buf_printf(&whose, "%s%s%s", all ? "all" : b->kind, all ? "" : ":",
                   all       ? ""
                   : b->name ? b->name
                             : "(each)");
        snprintf(share, sizeof share, "%.0f %%", b->share.v * 100);
        if (b->unknown.v > 0)
            snprintf(unknown, sizeof unknown, "%lld", (long long)b->unknown.v);
        const char *const cells[] = {buf_str(&whose), b->period,   amount.s,    spent.s, share,
                                     left.s,          projected.s, b->currency, unknown};
        table_row(&table,
                  b->share.v >= 1            ? OUT_RED
                  : b->share.v >= BUDGET_LOW ? OUT_YELLOW
                                             : OUT_PLAIN,
                  cells, NULL);
        buf_drop(&table.rows, &whose);
        if (b->suspect)
            suspect = b;
        corrected = b->corrected.v > corrected ? b->corrected.v : corrected;
    }
    table_print(&table, out);
    out_wrap(out, 0, "'projected' is the amount at the end of the period, at the rate so far.");
    if (corrected > 0)
        out_wrapf(out, 0, "Up to %s in a budget had a false cost, which was computed again.",
                  units_count(corrected, "run").s);
    if (suspect) {
        struct buf words = {0};
        budget_words(suspect, &words);
        if (words.len > 0)
            words.data[0] = 'B';
        out_wrapf(out, 0, "%s.", buf_str(&words));
        buf_release(&words);
    }
}

int runs_budgets(const struct cmd_call *call, struct err *err)
{
    const struct runs_options *o = call->options;
    struct ledger *ledger;
    struct market *market = call->desk->market;
    struct budgets budgets = {0};
    const struct budget_whose everybody = {0};
    const char *format;
    TRY(value_format(o->common.json, o->format, "table", &format, err));
    if (strcmp(format, "table") != 0 && strcmp(format, "json") != 0)
        return err_set(err, ERR_USAGE, "budgets are printed as a table or as JSON");
    TRY(local_check(market, o->currency, err));
    int rc = runs_open(call->desk, o->budget.count > 0, &ledger, err);
    for (size_t i = 0; i < o->budget.count && rc == 0; i++)
        rc = change_budget(ledger, market, o->budget.items[i], o->currency, err);
    if (rc == 0)
        rc = budget_states(ledger, market, &everybody, &budgets, err);
    if (rc == 0 && strcmp(format, "json") == 0)
        rc = out_record(call->out, budgets_fields, &budgets, err);
    else if (rc == 0 && budgets.budgets.count == 0)
        out_wrap(call->out, 0,
                 "No budgets in the ledger. 'fare runs --budget project:NAME=300/month' sets one.");
    else if (rc == 0)
        print_budgets(call->out, &budgets);
    record_release(budgets_fields, &budgets);
    return rc;
}
