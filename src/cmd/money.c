// SPDX-License-Identifier: Apache-2.0
#include "cmd/money.h"

#include <stdio.h>
#include <string.h>

#include "advise/quote_job.h"
#include "base/clock.h"
#include "base/money.h"
#include "cmd/table.h"

#define KEPT 3 // bills of each workload

static int quote_one(const struct run *run, const char *ledger, struct quote *out, struct err *err)
{
    struct quote_job job = {.asked = false};
    int rc = quote_load_like(&job, run, ledger, err);
    out_complain(buf_str(&job.says));
    job.ask.boot_ns = -1;
    job.ask.max_age = QUOTE_MAX_AGE;
    if (rc == 0)
        rc = quote_open(&job, NULL, err);
    if (rc == 0)
        rc = quote_make(&job.ask, &job.quote, err);
    if (rc == 0)
        rc = text_set(&job.quote.workload, run->workload, err);
    if (rc == 0)
        rc = text_set(&job.quote.run, run->id, err);
    if (rc == 0)
        rc = text_set(&job.quote.rule, "paid", err);
    if (rc == 0) { // the cheapest are enough here; `fare quote` has them all
        while (job.quote.bills.count > KEPT)
            record_release(bill_fields, &job.quote.bills.items[--job.quote.bills.count]);
        *out = job.quote;
        memset(&job.quote, 0, sizeof job.quote);
    }
    quote_release(&job);
    return rc;
}

int money_make(struct report *report, const char *ledger, struct err *err)
{
    int rc = 0;
    report->quotes.known = true;
    for (size_t i = 0; rc == 0 && i < report->runs.count; i++) {
        struct bill_time time;
        if (!bill_time_of(&report->runs.items[i], -1, &time))
            continue;
        struct quote *quote = LIST_ADD(&report->quotes, err);
        rc = quote ? quote_one(&report->runs.items[i], ledger, quote, err) : ERR_MEMORY;
    }
    return rc;
}

// ---- for people

static const struct run *run_of(const struct report *report, const struct quote *quote)
{
    for (size_t i = 0; i < report->runs.count; i++)
        if (report->runs.items[i].id && strcmp(report->runs.items[i].id, quote->run) == 0)
            return &report->runs.items[i];
    return NULL;
}

// The energy of the whole training, from what the sample took; below 0: nothing measures it here.
static double joules(const struct run *run, int64_t total_ns)
{
    const struct run_use *use = &run->use;
    bool known = use->cpu_energy_j.known || use->gpu_energy_j.known;
    double seen_s = (double)run->phases.wall_ns.v / 1e9;
    if (!known || seen_s <= 0)
        return -1;
    return ((use->cpu_energy_j.known ? use->cpu_energy_j.v : 0) +
            (use->gpu_energy_j.known ? use->gpu_energy_j.v : 0)) /
           seen_s * ((double)total_ns / 1e9);
}

static void power_words(const struct run *run, int64_t total_ns, int64_t kwh, char *out,
                        size_t size)
{
    double j = joules(run, total_ns);
    int64_t cost = 0;
    char text[MONEY_BYTES];
    if (j < 0)
        snprintf(out, size, "unknown");
    else if (kwh < 0 || j > 9e9 ||
             money_scale(kwh, (int64_t)(j * 1e3), INT64_C(3600000000), MONEY_HALF_EVEN, &cost,
                         NULL) != 0)
        snprintf(out, size, "%.3g kWh", j / 3.6e6);
    else {
        money_short(cost, text);
        snprintf(out, size, "%s USD", text);
    }
}

static void add_machine(struct table *table, const struct bill *b)
{
    char there[48], amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES], cost[MONEY_BYTES + 1];
    int64_t low = 0, high = 0, total = bill_total(b);
    bool known = b->low && b->high && money_parse(b->low, &low, NULL) == 0 &&
                 money_parse(b->high, &high, NULL) == 0;
    clock_words((int64_t)(b->time_s.v * 1e9), there, sizeof there);
    money_interval(total, known ? low : total, known ? high : total, amount, interval);
    snprintf(cost, sizeof cost, "%s%s", amount, b->price_old.v ? "*" : "");
    const char *const cells[] = {b->offer, there, cost, interval};
    table_row(table, OUT_PLAIN, cells, NULL);
}

static void show_quote(struct out *out, const struct report *report, const struct quote *q,
                       int64_t kwh)
{
    static const struct table_column columns[] = {
        {NULL, TABLE_LEFT, 0, 30}, {NULL, TABLE_RIGHT}, {NULL, TABLE_POINT}, {NULL, TABLE_LEFT, 1}};
    struct table table = {.columns = columns, .count = 4, .indent = 2};
    const struct run *run = run_of(report, q);
    struct bill_time time;
    char here[48], power[48], line[160];
    if (!run || !bill_time_of(run, -1, &time))
        return;
    clock_words(time.total_ns, here, sizeof here);
    power_words(run, time.total_ns, kwh, power, sizeof power);
    snprintf(line, sizeof line, "%s here, power %s%s", here, power,
             q->bills.count > 0 ? "" : "; not measured elsewhere with this data");
    out_row(out, q->workload, "%s", line);
    for (size_t i = 0; i < q->bills.count; i++)
        add_machine(&table, &q->bills.items[i]);
    table_print(&table, out);
}

static void say_verdict(struct out *out, const struct report *report)
{
    int64_t here_ns = 0, there_ns = 0, sum = 0;
    size_t count = 0;
    bool old = false, made = false;
    for (size_t i = 0; i < report->quotes.count; i++) {
        const struct quote *q = &report->quotes.items[i];
        const struct run *run = run_of(report, q);
        struct bill_time time;
        if (q->bills.count == 0 || !run || !bill_time_of(run, -1, &time))
            continue;
        here_ns += time.total_ns;
        there_ns += (int64_t)(q->bills.items[0].time_s.v * 1e9);
        sum += bill_total(&q->bills.items[0]);
        made |= run->data.made.known && run->data.made.v;
        old |= q->bills.items[0].price_old.known && q->bills.items[0].price_old.v;
        count++;
    }
    char here[48], there[48], cost[MONEY_BYTES], text[600];
    clock_words(here_ns, here, sizeof here);
    clock_words(there_ns, there, sizeof there);
    money_short(sum, cost);
    if (count == 0)
        snprintf(text, sizeof text,
                 "None of these was measured on a machine to rent yet: 'fare runs import' takes "
                 "records from others.");
    else
        snprintf(
            text, sizeof text,
            "%zu of them %s measured on machines to rent too: %s here, %s there for %s USD in "
            "all, so renting is %.1f times as %s.%s%s 'fare quote WORKLOAD' has the bills, whose "
            "runs they are and how old the prices; 'fare prices update' gets new ones.",
            count, count == 1 ? "was" : "were", here, there, cost,
            here_ns > there_ns ? (double)here_ns / (double)there_ns
                               : (double)there_ns / (double)here_ns,
            here_ns > there_ns ? "fast" : "slow",
            made ? " Here samples are made, as many and as large as the real ones there: that "
                   "tells the time, not the accuracy."
                 : "",
            old ? " Prices with a * are OLD." : "");
    out_wrap(out, 0, text);
}

void money_show(struct out *out, const struct report *report, int64_t kwh)
{
    if (report->quotes.count == 0)
        return;
    out_printf(out, "\n");
    out_wrap(out, 0,
             "The whole training, here and on the cheapest machines to rent on which it was "
             "measured: time, USD");
    for (size_t i = 0; i < report->quotes.count; i++)
        show_quote(out, report, &report->quotes.items[i], kwh);
    out_printf(out, "\n");
    say_verdict(out, report);
}
