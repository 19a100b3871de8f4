// SPDX-License-Identifier: Apache-2.0
// runs: how far off estimates for measured runs would have been.
#include <math.h>
#include <stdio.h>

#include "cmd/runs.h"
#include "cmd/out.h"

struct looking {
    struct run_history history;
    struct estimate_tables *tables;
    struct past *past;
};

static int look(struct looking *l, struct ledger *ledger, struct market *market,
                const struct ledger_filter *which, const char *first, struct err *err)
{
    const struct published *all;
    TRY(run_history_load(&l->history, ledger, which, first, err));
    TRY(market_published(market, &all, err));
    TRY(run_history_lend(&l->history, all, err));
    TRY(estimate_tables_open(&l->tables, err));
    return past_open(&l->past, &l->history, market, l->tables, err);
}

static void release(struct looking *l)
{
    past_close(l->past);
    estimate_tables_close(l->tables);
    run_history_release(&l->history);
}

int runs_past(struct ledger *ledger, struct market *market, const char *text, const char *id,
              struct past_estimate *out, struct err *err)
{
    SCOPED(release) struct looking l = {0};
    TRY(look(&l, ledger, market, NULL, text, err));
    return past_find(l.past, id, out, err);
}

// ---- in words

static void error_words(const struct past_estimate *p, char out[40])
{
    double percent = fabs(p->error.v) * 100;
    snprintf(out, 40, "%.0f %%%s", percent,
             percent < 0.5    ? ""
             : p->error.v < 0 ? " too low"
                              : " too high");
}

void runs_estimated(struct doc *doc, const struct past_estimate *p)
{
    SCOPED(buf_release) struct buf id = {0};
    char error[40], more[40] = "";
    if (!p->from)
        return;
    error_words(p, error);
    runs_short_id(p->from, &id);
    if (p->sources.v > 1)
        snprintf(more, sizeof more, " and %lld more", (long long)p->sources.v - 1);
    doc_fact(doc, "Estimated",
             doc_text(doc, "from run %s on %s%s: %s of training (%s to %s), %s; %s its interval",
                      buf_str(&id), p->source ? p->source : "?", more, units_time(p->time_s.v).s,
                      units_time(p->low_s.v).s, units_time(p->high_s.v).s, error,
                      p->within.v ? "within" : "outside"));
    doc->failed |= id.failed;
}

static void print_table(struct out *out, const struct past_summary *all)
{
    static const struct table_column columns[] = {
        {"run", TABLE_LEFT, 0, 14},     {"on", TABLE_LEFT, 1, 8},  {"from", TABLE_LEFT, 2, 8},
        {"estimated", TABLE_RIGHT},     {"measured", TABLE_RIGHT}, {"error", TABLE_RIGHT},
        {"in its interval", TABLE_LEFT}};
    struct table table = TABLE(columns);
    SCOPED(buf_release) struct buf id = {0};
    for (size_t i = 0; i < all->estimates.count; i++) {
        const struct past_estimate *p = &all->estimates.items[i];
        const struct units_text time = units_time(p->time_s.v),
                                measured = units_time(p->measured_s.v);
        char error[40];
        runs_short_id(p->run, &id);
        snprintf(error, sizeof error, "%+.0f %%", p->error.v * 100);
        const char *const cells[] = {buf_str(&id),
                                     p->machine,
                                     p->source,
                                     time.s,
                                     measured.s,
                                     error,
                                     p->within.v ? "yes" : "no"};
        table_row(&table, OUT_PLAIN, cells, NULL);
    }
    table_print(&table, out);
    out->text.failed |= id.failed;
}

int runs_estimates(const struct cmd_call *call, struct ledger *ledger,
                   const struct ledger_filter *which, struct err *err)
{
    const struct cmd_common *common = call->options;
    struct out *out = call->out;
    SCOPED(release) struct looking l = {0};
    struct past_summary all = {0};
    int rc = look(&l, ledger, call->desk->market, which, NULL, err);
    if (rc == 0)
        rc = past_list(l.past, &all, err);
    if (rc == 0 && common->json) {
        rc = out_record(out, past_summary_fields, &all, err);
    } else if (rc == 0 && all.count.v == 0) {
        out_wrap(out, 0,
                 "No training among these runs was measured on two devices, one of them a "
                 "GPU: there is no estimate to check.");
    } else if (rc == 0) {
        print_table(out, &all);
        out_wrapf(out, 0,
                  "%s of training times, each from your other runs: %.0f %% off in the median, "
                  "%lld within the 90 %% interval.",
                  units_count(all.count.v, "estimate").s, all.median_error.v * 100,
                  (long long)all.within.v);
    }
    record_release(past_summary_fields, &all);
    return rc;
}
