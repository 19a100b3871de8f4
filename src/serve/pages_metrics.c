// SPDX-License-Identifier: Apache-2.0
// All runs as metrics, for a program that polls every few seconds. Reading 100,000 runs takes half
// a second, so the result is cached until the ledger changes, and for a minute at most, since
// prices change too. Running runs are read each time.
#include <string.h>

#include "base/clock.h"
#include "view/spending.h"
#include "view/tables.h"
#include "serve/request.h"
#include "advise/spend/budget.h"

static bool copy_cached(struct site *site, const struct buf *stamp, struct buf *out)
{
    pthread_mutex_lock(&site->lock);
    bool same = site->metrics.len > 0 && clock_now_ns() - site->metrics_ns < 60 * NS_PER_S &&
                strcmp(buf_str(&site->metrics_stamp), buf_str(stamp)) == 0;
    if (same)
        buf_add(out, buf_str(&site->metrics), site->metrics.len);
    pthread_mutex_unlock(&site->lock);
    return same;
}

static void cache(struct site *site, const struct buf *stamp, const struct buf *text)
{
    pthread_mutex_lock(&site->lock);
    buf_reset(&site->metrics);
    buf_reset(&site->metrics_stamp);
    buf_add(&site->metrics, buf_str(text), text->len);
    buf_add(&site->metrics_stamp, buf_str(stamp), stamp->len);
    if (site->metrics.failed || site->metrics_stamp.failed) // render again next time
        buf_release(&site->metrics);
    site->metrics_ns = clock_now_ns();
    pthread_mutex_unlock(&site->lock);
}

static int add_run(void *arg, const char *id, const char *text, struct err *err)
{
    (void)id;
    return comparing_add(arg, text, strlen(text), err);
}

// This month's runs and the budgets.
static int add_team(struct ledger *ledger, struct market *market, struct buf *out, struct err *err)
{
    static const enum spend_key by_project[] = {SPEND_PROJECT}, by_host[] = {SPEND_HOST};
    const struct spend_options projects = {.keys = by_project, .key_count = 1};
    const struct spend_options hosts = {.keys = by_host, .key_count = 1};
    const struct budget_whose everybody = {0};
    SCOPED(spending_release) struct spending month = {0}, places = {0};
    SCOPED(budgets_release) struct budgets budgets = {0};
    char since[CLOCK_ISO_BYTES] = "";
    int64_t first_s = 0;
    if (clock_month(clock_date_s(), 0, &first_s))
        clock_iso(first_s, since);
    const struct ledger_filter filter = {.since = since};
    TRY(spend_sum(ledger, market, &filter, &projects, &month, err));
    TRY(spend_sum(ledger, market, &filter, &hosts, &places, err));
    TRY(budget_states(ledger, market, &everybody, &budgets, err));
    spending_openmetrics(out, &month, &places, &budgets);
    return 0;
}

static int make(const struct request *request, struct ledger *ledger, struct buf *out,
                struct err *err)
{
    struct compare_options options = {0};
    const struct ledger_filter heads = {.heads = true};
    struct comparing *comparing = NULL;
    SCOPED(page_release) struct page page = {0};
    TRY(request_market(request, &options.pricing.market, err));
    int rc = comparing_new(&comparing, &options, err);
    if (rc == 0)
        rc = ledger_each(ledger, &heads, add_run, comparing, err);
    if (rc == 0)
        rc = comparing_finish(comparing, &page.compare, err);
    if (rc == 0)
        page_openmetrics(out, &page);
    if (rc == 0)
        rc = add_team(ledger, options.pricing.market, out, err);
    comparing_free(comparing);
    return rc == 0 ? buf_check(out, err) : rc;
}

int page_metrics(const struct request *request, struct answer *answer, struct err *err)
{
    struct site *site = request->site;
    struct ledger *ledger;
    SCOPED(buf_release) struct buf stamp = {0};
    SCOPED(runs_release) struct runs running = {0};
    TRY(request_ledger(request, &ledger, err));
    TRY(ledger_stamp(ledger, &stamp, err));
    if (!copy_cached(site, &stamp, &answer->text)) {
        TRY(make(request, ledger, &answer->text, err));
        cache(site, &stamp, &answer->text);
    }
    TRY(live_runs(ledger, &running, err));
    running_openmetrics(&answer->text, running.runs.items, running.runs.count);
    answer->type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    return 0;
}
