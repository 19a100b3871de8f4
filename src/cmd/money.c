// SPDX-License-Identifier: Apache-2.0
#include "cmd/money.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/tree.h"
#include "cmd/quote.h"

#define KEPT   3  // bills of each workload
#define OTHERS 52 // columns of the table beside the offer

// How many samples it trained on; 0: unknown.
static int64_t rows_of(const struct run *run)
{
    int64_t rows = run->data.train_samples.known ? run->data.train_samples.v : 0;
    for (size_t i = 0; rows == 0 && i < run->labels.count; i++)
        if (run->labels.items[i].key && strcmp(run->labels.items[i].key, "data_rows") == 0 &&
            !text_int(run->labels.items[i].value, &rows))
            rows = 0;
    return rows;
}

// A training on more data takes longer: not what was sampled here.
static void drop_other_data(struct quote_job *job, const struct run *run)
{
    size_t kept = 0;
    int64_t rows = rows_of(run);
    for (size_t i = 0; i < job->evidence_count; i++) {
        int64_t theirs = rows_of(job->evidence[i].run);
        if (rows == 0 || theirs == 0 || theirs == rows)
            job->evidence[kept++] = job->evidence[i];
    }
    job->ask.evidence_count = kept;
}

static int quote_one(const struct run *run, const char *ledger, struct quote *out, struct err *err)
{
    struct quote_job job = {.asked = false};
    struct err why = {0};
    job.ask.boot_ns = -1;
    job.ask.max_age = QUOTE_MAX_AGE;
    int rc = quote_load(&job, run->workload, ledger, &why);
    if (rc != 0 &&
        rc != ERR_MEMORY) { // a ledger that is locked or gone: what is published is there
        quote_release(&job);
        job = (struct quote_job){.ask = {.boot_ns = -1, .max_age = QUOTE_MAX_AGE}};
        rc = quote_load(&job, run->workload, "", err);
    } else if (rc != 0) {
        err_memory(err);
    }
    if (rc == 0)
        drop_other_data(&job, run);
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

static void show_row(struct out *out, const struct report *report, const struct quote *q,
                     int64_t kwh)
{
    const struct run *run = run_of(report, q);
    struct bill_time time;
    char here[48], power[48], cost[MONEY_BYTES + 2];
    if (!run || !bill_time_of(run, -1, &time))
        return;
    clock_words(time.total_ns, here, sizeof here);
    power_words(run, time.total_ns, kwh, power, sizeof power);
    out_cell(out, 8, q->workload);
    out_cell_right(out, 11, here);
    out_printf(out, "  ");
    out_cell(out, 8, power);
    if (q->bills.count == 0) {
        out_printf(out, "not measured elsewhere with this data\n");
        return;
    }
    const struct bill *b = &q->bills.items[0];
    char there[48];
    char exact[MONEY_BYTES];
    money_short(bill_total(b), exact);
    snprintf(cost, sizeof cost, "%s%s", exact, b->price_old.v ? "*" : "");
    clock_words((int64_t)(b->time_s.v * 1e9), there, sizeof there);
    char name[120]; // the region is in `fare quote`
    snprintf(name, sizeof name, "%s/%s%s%s", b->provider, b->name,
             strcmp(b->kind, "on-demand") == 0 ? "" : ":",
             strcmp(b->kind, "on-demand") == 0 ? "" : b->kind);
    out_cell(out, out->width - OTHERS, name);
    out_cell_right(out, 11, there);
    out_cell_right(out, 9, cost);
    out_printf(out, "\n");
}

static void say_verdict(struct out *out, const struct report *report)
{
    int64_t here_ns = 0, there_ns = 0, sum = 0;
    size_t count = 0;
    bool old = false;
    for (size_t i = 0; i < report->quotes.count; i++) {
        const struct quote *q = &report->quotes.items[i];
        const struct run *run = run_of(report, q);
        struct bill_time time;
        if (q->bills.count == 0 || !run || !bill_time_of(run, -1, &time))
            continue;
        here_ns += time.total_ns;
        there_ns += (int64_t)(q->bills.items[0].time_s.v * 1e9);
        sum += bill_total(&q->bills.items[0]);
        old |= q->bills.items[0].price_old.known && q->bills.items[0].price_old.v;
        count++;
    }
    char here[48], there[48], cost[MONEY_BYTES], text[400];
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
            "%zu of them were measured on machines to rent too: %s here, %s there for %s USD in "
            "all, so renting is %.1f times as %s.%s 'fare quote WORKLOAD' has the bills, whose "
            "runs they are and how old the prices; 'fare prices update' gets new ones.",
            count, here, there, cost,
            here_ns > there_ns ? (double)here_ns / (double)there_ns
                               : (double)there_ns / (double)here_ns,
            here_ns > there_ns ? "fast" : "slow", old ? " Prices with a * are OLD." : "");
    out_wrap(out, 0, text);
}

void money_show(struct out *out, const struct report *report, int64_t kwh)
{
    if (report->quotes.count == 0)
        return;
    out_printf(out, "\n");
    out_cell(out, 8, "whole");
    out_cell_right(out, 11, "here");
    out_printf(out, "  ");
    out_cell(out, 8, "power");
    out_cell(out, out->width - OTHERS, "cheapest of those measured");
    out_cell_right(out, 11, "there");
    out_cell_right(out, 9, "USD");
    out_printf(out, "\n");
    for (size_t i = 0; i < report->quotes.count; i++)
        show_row(out, report, &report->quotes.items[i], kwh);
    out_printf(out, "\n");
    say_verdict(out, report);
}
