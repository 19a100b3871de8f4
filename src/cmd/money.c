// SPDX-License-Identifier: Apache-2.0
#include "cmd/money.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/quote_job.h"
#include "advise/verdict_words.h"
#include "base/clock.h"
#include "base/money.h"
#include "cmd/table.h"
#include "advise/estimate/rates.h"
#include "view/page.h"

#define KEPT      3  // rows of each workload; bills of each training
#define ESTIMATES 20 // of a user's own training

// The last of them, since prices that cannot be come last.
static bool is_impossible(const struct bill *bills, size_t count)
{
    return count > 0 && bill_price_doubtful(&bills[count - 1]);
}

// The few that are printed: of estimates `most` with a GPU and a quarter as many without, the one
// that ends first and the first that can lead. `fare quote` has them all.
static int choose_few(const struct quote *all, size_t most, struct quote *few, struct err *err)
{
    const struct bill *soonest = verdict_of_quote(all).estimated[VERDICT_TIME].winner.bill;
    size_t gpus = most, cpus = most / 4, count = 0;
    bool firm = false;
    struct bill *kept = calloc(all->estimates.count + 1, sizeof *kept);
    if (!kept)
        return err_memory(err);
    for (size_t i = 0; i < all->estimates.count; i++) {
        const struct bill *bill = &all->estimates.items[i];
        size_t *left = bill->gpu ? &gpus : &cpus;
        if (*left == 0 && bill != soonest && (firm || !verdict_can_lead(bill)))
            continue;
        *left -= *left > 0;
        kept[count++] = *bill;
        firm |= verdict_can_lead(bill) && !quote_doubt(bill);
    }
    while (is_impossible(kept, count))
        count--;
    *few = *all;
    few->estimates.items = kept;
    few->estimates.count = count;
    if (few->bills.count > KEPT)
        few->bills.count = KEPT;
    while (is_impossible(few->bills.items, few->bills.count))
        few->bills.count--;
    if (few->misfits.count > QUOTE_MISFITS)
        few->misfits.count = QUOTE_MISFITS;
    few->others.count = 0;
    return 0;
}

static int quote_one(struct quote_job *job, const struct run *run, struct ledger *ledger,
                     struct err *err)
{
    int rc = run->workload ? quote_load_like(job, run, ledger, err)
                           : quote_load_run(job, run, ledger, err);
    out_complain(buf_str(&job->says));
    if (rc == 0)
        rc = quote_assemble(job, err);
    if (rc == 0)
        rc = text_set(&job->quote.run, run->id, err);
    return rc;
}

int money_make(struct money *money, struct report *report, struct ledger *ledger,
               struct market *market, const char *currency, struct err *err)
{
    size_t count = report->runs.count;
    money->jobs = calloc(count + 1, sizeof *money->jobs);
    int rc = money->jobs ? 0 : err_memory(err);
    report->quotes.known = true;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct run *run = &report->runs.items[i];
        struct bill_time time;
        if (!bill_time_of(run, &time))
            continue;
        const struct quote_job ask = {.ask = {.market = market,
                                              .max_age = QUOTE_MAX_AGE,
                                              .wishes.currency = currency,
                                              .estimates = true,
                                              .most_estimates = PAGE_ESTIMATES,
                                              .most_misfits = PAGE_MISFITS / count}};
        struct quote_job *job = &money->jobs[money->count];
        struct err why = {0};
        *job = ask;
        rc = quote_one(job, run, ledger, &why);
        if (rc == ERR_IO || rc == ERR_TIMEOUT) { // no ledger: other runs tell nothing then
            out_complain(why.text);
            ledger = NULL;
            why = (struct err){0};
            quote_release(job);
            *job = ask;
            rc = quote_one(job, run, NULL, &why);
        }
        if (rc != 0) {
            quote_release(job);
            return err_pass(err, rc, &why);
        }
        money->count++;
        struct quote *few = LIST_ADD(&report->quotes, err);
        rc = few ? choose_few(&job->quote, run->workload ? KEPT : ESTIMATES, few, err) : ERR_MEMORY;
    }
    return rc;
}

void money_release(struct money *money, struct report *report)
{
    for (size_t i = 0; i < report->quotes.count; i++) {
        free(report->quotes.items[i].estimates.items);
        report->quotes.items[i] = (struct quote){0};
    }
    for (size_t i = 0; i < money->count; i++)
        quote_release(&money->jobs[i]);
    free(money->jobs);
}

// ---- for people

static const struct run *run_of(const struct report *report, const struct quote *quote)
{
    for (size_t i = 0; i < report->runs.count; i++)
        if (report->runs.items[i].id && strcmp(report->runs.items[i].id, quote->run) == 0)
            return &report->runs.items[i];
    return NULL;
}

static void add_machine(struct table *table, const struct bill *b)
{
    char there[48], amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES], cost[MONEY_BYTES + 1];
    bill_time_words(b, there, sizeof there);
    bill_amount(b, amount, interval);
    snprintf(cost, sizeof cost, "%s%s", amount, b->price_old.v ? "*" : "");
    char local[MONEY_BYTES + 4] = "";
    if (b->local_total.known) {
        money_short_in(b->local_total.nano, b->local_currency, amount);
        snprintf(local, sizeof local, "%s%s", bill_mark(b), amount);
    }
    const char *const cells[] = {b->offer, there, cost,
                                 interval, local, b->certainty ? b->certainty : ""};
    table_row(table, OUT_PLAIN, cells, NULL);
}

// Of a workload a few: those with a run, and the cheapest by estimate if it is cheaper.
static void add_machines(struct out *out, struct table *table, const struct quote *q, bool few)
{
    const struct bill **rows = quote_rows(q, NULL);
    size_t estimates = few && q->bills.count > 0 ? 1 : SIZE_MAX, most = few ? KEPT : SIZE_MAX;
    out->text.failed |= !rows;
    for (size_t i = 0; rows && rows[i] && most > 0; i++) {
        if (rows[i]->certainty && estimates == 0)
            continue;
        estimates -= rows[i]->certainty != NULL;
        add_machine(table, rows[i]);
        most--;
    }
    free(rows);
}

static void show_quote(struct out *out, const struct report *report, const struct quote *q,
                       struct market *market, const struct power_given *given)
{
    static const struct table_column heads[] = {
        {"rented", TABLE_LEFT, 0, 30}, {"time", TABLE_RIGHT}, {"USD", TABLE_POINT},
        {"interval", TABLE_LEFT, 2},   {"", TABLE_POINT},     {"certainty", TABLE_LEFT, 1}};
    enum { COLUMNS = sizeof heads / sizeof *heads, LOCAL = 4 };
    struct table_column columns[COLUMNS];
    struct table table = {.columns = columns, .count = COLUMNS, .indent = 2};
    const struct run *run = run_of(report, q);
    struct bill_time time;
    char here[48];
    struct power power;
    struct buf line = {0};
    if (!run || !bill_time_of(run, &time))
        return;
    memcpy(columns, heads, sizeof columns);
    const struct bill *first = q->bills.count > 0 ? q->bills.items : q->estimates.items;
    if (first && first->local_currency)
        columns[LOCAL].head = first->local_currency;
    for (size_t i = 0; run->workload && i < table.count; i++)
        columns[i].head = NULL; // a few rows of each
    clock_words(time.total_ns, here, sizeof here);
    if (power_of_run(market, run, given, &power, NULL) != 0)
        power = (struct power){.mw = -1};
    const char *rate = run_label(run, "price_per_hour_usd");
    buf_printf(&line, "%s here, ", here);
    if (rate)
        buf_printf(&line, "at %s USD an hour", rate);
    if (!rate || given->busy_mw >= 0 || given->kwh >= 0) {
        buf_printf(&line, "%spower ", rate ? ", " : "");
        power_words(&power, time.total_ns, given->kwh, &line);
    }
    out_row(out, q->workload, "%s%s", buf_str(&line),
            q->bills.count > 0 ? "" : "; not measured elsewhere");
    buf_drop(&out->text, &line);
    if (q->bills.count + q->estimates.count == 0)
        return;
    add_machines(out, &table, q, run->workload != NULL);
    table_print(&table, out);
}

static bool is_old(const struct bill *bills, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bills[i].price_old.v)
            return true;
    return false;
}

static void say_memory(struct out *out, const struct quote *q)
{
    bool unknown = false, unsure = false;
    for (size_t i = 0; i < q->estimates.count; i++) {
        const char *fit = q->estimates.items[i].gpu_memory;
        unknown |= fit && strcmp(fit, "unknown") == 0;
        unsure |= fit && strcmp(fit, "unsure") == 0;
    }
    if (unknown)
        out_wrap(out, 0, MEMORY_UNKNOWN);
    if (unsure)
        out_wrap(out, 0, MEMORY_UNSURE);
}

// A user's own training: estimates, and the machine that would settle it.
static void say_estimated(struct out *out, const struct quote *q)
{
    say_memory(out, q);
    bool old =
        is_old(q->estimates.items, q->estimates.count) || is_old(q->bills.items, q->bills.count);
    bool rough = strcmp(q->estimates.items[0].basis, "rough") == 0;
    const struct bill *cheap = verdict_of_quote(q).estimated[VERDICT_COST].winner.bill,
                      *with = NULL;
    for (size_t i = 0; i < q->estimates.count && !with; i++)
        if (q->estimates.items[i].gpu && verdict_can_lead(&q->estimates.items[i]))
            with = &q->estimates.items[i];
    bool also = cheap && with && with != cheap;
    size_t gpu = 0; // the first with one
    while (gpu < q->estimates.count && !q->estimates.items[gpu].gpu)
        gpu++;
    bool other = gpu > 0 && gpu < q->estimates.count;
    if (bill_time_is_bound(&q->estimates.items[other ? gpu : 0])) {
        out_wrapf(out, 0,
                  "%s%s To know a time, rent that machine for a minute and run the same command "
                  "there, for example %s. 'fare quote last' shows all %lld rows, --explain OFFER "
                  "how one comes about.",
                  verdict_from_cpu, old ? " Prices with a * are OLD." : "",
                  q->estimates.items[other ? gpu : 0].offer, (long long)q->estimated.v);
        return;
    }
    out_wrapf(out, 0,
              "%s; their intervals hold with 90 %%%s.%s To know one exactly, rent that "
              "machine for a minute and run the same command there%s%s%s%s%s%s. 'fare quote last' "
              "shows all %lld estimates, --explain OFFER how one comes about.",
              q->bills.count > 0 ? "Rows with a certainty are estimates" : "These are estimates",
              rough ? ", and rough ones are orders of magnitude" : "",
              old ? " Prices with a * are OLD." : "", cheap ? ": the " : ", for example ",
              cheap ? verdict_called(cheap, VERDICT_COST) : "", cheap ? " is " : "",
              (cheap ? cheap : q->estimates.items)->offer, also ? ", with a GPU " : "",
              also ? with->offer : "", (long long)q->estimated.v);
}

static void say_verdict(struct out *out, const struct report *report)
{
    int64_t here_ns = 0, there_ns = 0, sum = 0;
    size_t count = 0;
    bool old = false, made = false, estimates = false, bound = false;
    for (size_t i = 0; i < report->quotes.count; i++) {
        const struct quote *q = &report->quotes.items[i];
        const struct run *run = run_of(report, q);
        struct bill_time time;
        estimates |= q->estimates.count > 0;
        const struct verdict cost = verdict_of_bills(q->bills.items, q->bills.count, VERDICT_COST);
        const struct bill *bill = cost.winner.bill ? cost.winner.bill : cost.bound.bill;
        if (!bill || !run || !bill_time_of(run, &time))
            continue;
        here_ns += time.total_ns;
        there_ns += (int64_t)(bill->time_s.v * 1e9);
        sum += bill_total(bill);
        made |= run->data.made.known && run->data.made.v;
        old |= bill->price_old.known && bill->price_old.v;
        bound |= bill_is_bound(bill);
        count++;
    }
    char here[48], there[48], cost[MONEY_BYTES], speed[64], which[40], text[600];
    clock_words(here_ns, here, sizeof here);
    clock_words(there_ns, there, sizeof there);
    money_short(sum, cost);
    double ratio = there_ns > 0 ? (double)here_ns / (double)there_ns : 1;
    if (ratio > 0.95 && ratio < 1.05)
        snprintf(speed, sizeof speed, "about as fast");
    else
        snprintf(speed, sizeof speed, "%.1f times as %s", ratio > 1 ? ratio : 1 / ratio,
                 ratio > 1 ? "fast" : "slow");
    const char *marks = estimates ? " Rows with a ± or × are estimates." : "";
    bool priced =
        report->runs.count == 1 && run_label(&report->runs.items[0], "price_per_hour_usd") != NULL;
    bool command = report->runs.count == 1 && !report->runs.items[0].workload;
    if (count > 0 && command)
        snprintf(which, sizeof which, "The time of this command is");
    else
        snprintf(which, sizeof which, "The time%s of %zu of them %s", count == 1 ? "" : "s", count,
                 count == 1 ? "is" : "are");
    if (count == 0 && command && estimates) {
        say_estimated(out, &report->quotes.items[0]);
        return;
    }
    if (count == 0 && command)
        snprintf(text, sizeof text,
                 "%sTo price it on %smachine, run the same command there, and bring its record "
                 "here: 'fare runs export' there, 'fare runs import' here.",
                 priced ? ""
                        : "This training was not measured on a rented machine. If this machine is "
                          "one, name its offer: 'fare quote last --offer PROVIDER/NAME'. ",
                 priced ? "another " : "a rented ");
    else if (count == 0)
        snprintf(text, sizeof text,
                 "There is no run of these on a rented machine. 'fare runs import' takes records "
                 "from others.%s",
                 marks);
    else
        snprintf(
            text, sizeof text,
            "%s also known for machines that can be rented: %s here, %s%s there, start-up "
            "included, for %s%s USD in all; %srenting is %s.%s%s%s 'fare quote %s' shows the "
            "bills, their runs and the age of the prices; 'fare prices update' gets new ones.",
            which, here, bound ? "at least " : "", there, bound ? "≥" : "", cost,
            bound ? "if it is never interrupted, " : "", speed,
            made
                ? " The data here is generated, with as many and as large samples as the real set: "
                  "it gives the time, not the accuracy."
                : "",
            old ? " Prices with a * are OLD." : "", marks, command ? "last" : "WORKLOAD");
    out_wrap(out, 0, text);
    if (command && estimates)
        say_estimated(out, &report->quotes.items[0]);
}

// The exchange rates of the rows, each once.
static void say_exchange(struct out *out, const struct report *report)
{
    const char *said = "";
    for (size_t i = 0; i < report->quotes.count; i++) {
        const struct quote *q = &report->quotes.items[i];
        const struct bill *first = q->bills.count > 0       ? q->bills.items
                                   : q->estimates.count > 0 ? q->estimates.items
                                                            : NULL;
        if (!first || !first->local_total.known || strcmp(said, first->exchange) == 0)
            continue;
        said = first->exchange;
        out_wrapf(out, 0, "%s.", said);
    }
}

void money_show(struct out *out, const struct report *report, struct market *market,
                const struct power_given *power)
{
    if (report->quotes.count == 0)
        return;
    out_printf(out, "\n");
    bool estimates = false;
    for (size_t i = 0; i < report->quotes.count; i++)
        estimates |= report->quotes.items[i].estimates.count > 0;
    out_wrapf(out, 0, "The whole training, here and on rented machines%s: time, USD",
              estimates ? "" : " it was measured on");
    for (size_t i = 0; i < report->quotes.count; i++)
        show_quote(out, report, &report->quotes.items[i], market, power);
    out_printf(out, "\n");
    say_verdict(out, report);
    say_exchange(out, report);
}
