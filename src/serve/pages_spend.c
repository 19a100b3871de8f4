// SPDX-License-Identifier: Apache-2.0
// Who spent what: bills summed by user, host, project, offer or month, beside invoices; budgets.
#include "render/part.h"
#include "view/spending.h"
#include "serve/request.h"
#include "advise/spend/budget.h"

enum { ROWS_MOST = 500 };

int spend_warnings(const struct request *request, struct ledger *ledger, struct buf *out,
                   struct err *err)
{
    const struct budget_whose everybody = {0};
    SCOPED(budgets_release) struct budgets budgets = {0};
    SCOPED(doc_release) struct doc doc = {0};
    struct market *market;
    int rc = request_market(request, &market, err);
    if (rc == 0)
        rc = budget_states(ledger, market, &everybody, &budgets, err);
    for (size_t i = 0; i < budgets.budgets.count && rc == 0; i++) {
        const struct budget_state *state = &budgets.budgets.items[i];
        if (state->share.v >= BUDGET_LOW || state->suspect)
            view_budget(&doc, state);
    }
    doc_html(out, &doc, 2);
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
                 const struct budgets *budgets)
{
    struct buf title = {0};
    SCOPED(doc_release) struct doc doc = {0};
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
    view_spending(&doc, s, ROWS_MOST);
    if (budgets->budgets.count > 0)
        doc_heading(&doc, 0, "Budgets");
    view_budgets(&doc, budgets, ROWS_MOST);
    doc_html(out, &doc, 2);
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
    SCOPED(spending_release) struct spending spending = {0};
    SCOPED(budgets_release) struct budgets budgets = {0};
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
    TRY(request_ledger(request, &ledger, err));
    TRY(request_market(request, &market, err));
    TRY(spend_sum(ledger, market, &filter, &options, &spending, err));
    if (!request->json)
        TRY(budget_states(ledger, market, &everybody, &budgets, err));
    if (request->json)
        TRY(record_to_text(spending_fields, &spending, &answer->text, err));
    else
        show(&answer->text, request, &spending, &budgets);
    return 0;
}
