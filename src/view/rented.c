// SPDX-License-Identifier: Apache-2.0
// The end of bare `fare`: trainings of this machine on machines that can be rented.
#include <string.h>

#include "advise/answer.h"
#include "advise/verdict_words.h"
#include "base/clock.h"
#include "bill/bill.h"
#include "bill/power.h"
#include "view/quote.h"

static const struct run *run_of(const struct report *report, const struct quote *quote)
{
    for (size_t i = 0; i < report->runs.count; i++)
        if (report->runs.items[i].id && strcmp(report->runs.items[i].id, quote->run) == 0)
            return &report->runs.items[i];
    return NULL;
}

// "train: 4 min 05 s here (3 min 50 s to 4 min 30 s), power 0.01 kWh (...)"
static void say_here(struct doc *doc, const struct quote *q, const struct run *run,
                     struct market *market, const struct power_given *given)
{
    struct bill_time time;
    struct power power;
    struct buf line = {0};
    char here[48], low[48], high[48];
    const char *rate = run ? run_label(run, "price_per_hour_usd") : NULL;
    if (!run || !bill_time_of(run, &time))
        return;
    clock_words(time.total_ns, here, sizeof here);
    buf_printf(&line, "%s: %s here", q->workload, here);
    if (time.low_ns < time.total_ns && time.high_ns > time.total_ns) {
        clock_words(time.low_ns, low, sizeof low);
        clock_words(time.high_ns, high, sizeof high);
        buf_printf(&line, " (%s to %s)", low, high);
    }
    if (rate)
        buf_printf(&line, ", at %s USD an hour", rate);
    if (power_of_run(market, run, given, &power, NULL) == 0 && power.mw >= 0 &&
        (!rate || given->busy_mw >= 0 || given->kwh >= 0)) {
        buf_adds(&line, ", power ");
        power_words(&power, time.total_ns, given->kwh, &line);
    }
    doc_heading(doc, 0, doc_take(doc, &line));
}

static void say_answer(struct doc *doc, const struct report *report, bool made)
{
    const struct quote *first = report->quotes.items;
    struct buf text = {0};
    if (report->quotes.count > 1)
        verdict_say_sum(first, report->quotes.count, &text);
    else
        verdict_say_brief(first, &text);
    doc_say(doc, DOC_VERDICT, doc_take(doc, &text));
    if (made)
        doc_say(doc, DOC_ASIDE,
                "The data here is generated, with as many and as large samples as the real set: it "
                "gives the time, not the accuracy.");
}

// What to do next.
static void say_next(struct doc *doc, const struct report *report, bool any)
{
    const bool command = report->runs.count == 1 && !report->runs.items[0].workload;
    const bool priced = command && run_label(&report->runs.items[0], "price_per_hour_usd") != NULL;
    if (any && !command)
        doc_say(doc, DOC_HINT, "'fare quote WORKLOAD' shows more machines and their bills.");
    if (!any && command && !priced)
        doc_say(doc, DOC_HINT,
                "This training was not measured on a rented machine. If this machine is one, name "
                "its offer: 'fare quote last --offer PROVIDER/NAME'.");
    if (!any && command)
        doc_say(doc, DOC_HINT,
                doc_text(doc,
                         "To price it on %s machine, run the same command there, and bring its "
                         "record here: 'fare runs export' there, 'fare runs import' here.",
                         priced ? "another" : "a rented"));
    else if (!any)
        doc_say(doc, DOC_HINT, "'fare runs import' takes records from others.");
}

// Of one training the short answer; of several a line each: here, and on the machine that leads.
// How many times as fast that is, a time tells that nothing else slowed down.
static void add_lines(struct doc *doc, const struct report *report)
{
    bool noisy = false;
    doc_table(doc, "Machines to rent");
    for (size_t i = 0; i < report->quotes.count; i++) {
        const struct quote *q = &report->quotes.items[i];
        const struct verdict_quote v = verdict_of_quote(q);
        const struct run *run = run_of(report, q);
        const struct bill *b = v.lowest;
        struct bill_time here;
        if (!run || !bill_time_of(run, &here))
            continue;
        const double here_s = (double)here.total_ns / 1e9;
        noisy |= run->taints.count > 0;
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("training"), cell_text(q->workload));
        doc_cell(doc, COLUMN("here"), cell_number(CELL_TIME, some_real(here_s)));
        doc_cell(doc, COLUMN("to rent"), b ? view_gpu(doc, b) : cell_text(""));
        doc_cell(doc, COLUMN("machine", .least = 16),
                 (struct cell){CELL_OFFER, .text = b ? view_machine(doc, b) : "",
                               .sub = b ? b->offer : NULL});
        doc_cell(doc, COLUMN("time"), b ? view_time(doc, b) : (struct cell){.kind = CELL_TIME});
        doc_cell(doc, COLUMN("times as fast", .brief = "faster"),
                 (struct cell){.kind = CELL_NUMBER,
                               .value = b && b->time_s.v > 0 && !bill_time_is_bound(b) &&
                                                run->taints.count == 0
                                            ? some_real(here_s / b->time_s.v)
                                            : (struct maybe_real){0}});
        doc_cell(doc, COLUMN("USD"), b ? view_price(doc, b) : (struct cell){.kind = CELL_AMOUNT});
    }
    if (noisy)
        doc_say(doc, DOC_ASIDE,
                "Where a sample was noisy, its time here is not compared with that of a rented "
                "machine: measure again while nothing else runs.");
}

void view_rented(struct doc *doc, const struct report *report, struct market *market,
                 const struct power_given *power)
{
    const bool several = report->quotes.count > 1;
    bool made = false, any = false;
    if (report->quotes.count == 0)
        return;
    if (several)
        doc_heading(doc, 0, "The whole training, here and on rented machines");
    for (size_t i = 0; i < report->quotes.count; i++) {
        const struct run *run = run_of(report, &report->quotes.items[i]);
        if (!several)
            say_here(doc, &report->quotes.items[i], run, market, power);
        made |= run && run->data.made.v;
        any |= quote_count(&report->quotes.items[i]) > 0;
    }
    say_answer(doc, report, made && any);
    if (several)
        add_lines(doc, report);
    else if (any)
        view_answer(doc, report->quotes.items, run_of(report, report->quotes.items), ANSWER_ROWS,
                    "fare quote last", false);
    say_next(doc, report, any);
}
