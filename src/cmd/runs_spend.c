// SPDX-License-Identifier: Apache-2.0
// runs: who spent what, and budgets.
#include <string.h>

#include "base/money.h"
#include "cmd/runs.h"
#include "bill/market.h"
#include "view/spending.h"
#include "advise/spend/budget.h"
#include "advise/spend/spend.h"

const char *const runs_formats[] = {"table", "csv", "md", "json", NULL};

int runs_spending(const struct cmd_call *call, struct ledger *ledger,
                  const struct ledger_filter *filter, struct err *err)
{
    const struct runs_options *o = call->options;
    struct out *out = call->out;
    enum spend_key keys[SPEND_KEYS];
    size_t count = 0;
    const char *format;
    SCOPED(spending_release) struct spending spending = {0};
    SCOPED(doc_release) struct doc doc = {0};
    TRY(value_format(o->common.json, o->format, "table", &format, err));
    TRY(local_check(call->desk->market, o->currency, err));
    TRY(spend_keys_parse(o->by, keys, &count, err));
    const struct spend_options options = {
        .keys = keys, .key_count = count, .currency = o->currency};
    int rc = spend_sum(ledger, call->desk->market, filter, &options, &spending, err);
    bool shown = strcmp(format, "md") == 0 || strcmp(format, "table") == 0;
    if (rc == 0 && shown)
        view_spending(&doc, &spending, SIZE_MAX);
    if (rc != 0)
        ;
    else if (strcmp(format, "json") == 0)
        rc = out_record(out, spending_fields, &spending, err);
    else if (!shown)
        spending_csv(&out->text, &spending);
    else if (strcmp(format, "md") == 0)
        doc_markdown(&out->text, &doc, 2);
    else if (spending.rows.count == 0 && !spending.charges.known)
        out_wrap(out, 0, "No such runs in the ledger: nothing was spent.");
    else
        out_doc(out, &doc);
    return rc;
}

void runs_invoiced(struct doc *doc, const struct spending_row *i)
{
    const int64_t difference = i->difference_usd.nano;
    struct buf words = {0};
    char text[MONEY_BYTES];
    if (!i->invoiced_usd.known)
        return;
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
    doc_fact(doc, "Invoiced", doc_take(doc, &words));
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

int runs_budgets(const struct cmd_call *call, struct err *err)
{
    const struct runs_options *o = call->options;
    struct ledger *ledger;
    struct market *market = call->desk->market;
    SCOPED(budgets_release) struct budgets budgets = {0};
    const struct budget_whose everybody = {0};
    const char *format;
    TRY(value_format(o->common.json, o->format, "table", &format, err));
    if (strcmp(format, "table") != 0 && strcmp(format, "json") != 0)
        return err_set(err, ERR_USAGE, "budgets are printed as a table or as JSON");
    TRY(local_check(market, o->currency, err));
    TRY(runs_open(call->desk, o->budget.count > 0, &ledger, err));
    for (size_t i = 0; i < o->budget.count; i++)
        TRY(change_budget(ledger, market, o->budget.items[i], o->currency, err));
    TRY(budget_states(ledger, market, &everybody, &budgets, err));
    if (strcmp(format, "json") == 0)
        TRY(out_record(call->out, budgets_fields, &budgets, err));
    else if (budgets.budgets.count == 0)
        out_wrap(call->out, 0,
                 "No budgets in the ledger. 'fare runs --budget project:NAME=300/month' sets one.");
    else {
        SCOPED(doc_release) struct doc doc = {0};
        view_budgets(&doc, &budgets, SIZE_MAX);
        out_doc(call->out, &doc);
    }
    return 0;
}
