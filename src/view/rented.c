// SPDX-License-Identifier: Apache-2.0
// The end of bare `fare`: trainings of this machine on machines that can be rented.
#include <stdlib.h>
#include <string.h>

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

// "4 min 05 s here, power 0.01 kWh (...)"
static void add_here(struct doc *doc, const struct quote *q, const struct run *run,
                     struct market *market, const struct power_given *given)
{
    struct bill_time time;
    struct power power;
    struct buf line = {0};
    char here[48];
    const char *rate = run ? run_label(run, "price_per_hour_usd") : NULL;
    if (!run || !bill_time_of(run, &time))
        return;
    clock_words(time.total_ns, here, sizeof here);
    if (power_of_run(market, run, given, &power, NULL) != 0)
        power = (struct power){.mw = -1};
    buf_printf(&line, "%s here", here);
    if (rate)
        buf_printf(&line, ", at %s USD an hour", rate);
    if (!rate || given->busy_mw >= 0 || given->kwh >= 0) {
        buf_adds(&line, ", power ");
        power_words(&power, time.total_ns, given->kwh, &line);
    }
    buf_adds(&line, q->bills.count > 0 ? "" : "; not measured elsewhere");
    doc_fact(doc, q->workload, doc_take(doc, &line));
}

static void say_answer(struct doc *doc, const struct report *report, bool made)
{
    const struct quote *first = report->quotes.items;
    struct buf text = {0}, estimate = {0};
    if (report->quotes.count > 1) {
        verdict_say_sum(first, report->quotes.count, &text);
    } else {
        verdict_say_bills(first, &text);
        verdict_say_estimate(first, &estimate);
    }
    doc_say(doc, DOC_VERDICT, doc_take(doc, &text));
    doc_say(doc, DOC_VERDICT, doc_take(doc, &estimate));
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
    if (any)
        doc_say(doc, DOC_HINT,
                doc_text(doc,
                         "'fare quote %s' shows more machines, their bills, runs and prices; 'fare "
                         "prices update' gets new prices.",
                         command ? "last" : "WORKLOAD"));
    else if (command && !priced)
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

void view_rented(struct doc *doc, const struct report *report, struct market *market,
                 const struct power_given *power)
{
    const bool several = report->runs.count > 1;
    struct bill_notes notes = {0};
    bool made = false, any = false;
    if (report->quotes.count == 0)
        return;
    doc_heading(doc, 0, "The whole training, here and on rented machines");
    for (size_t i = 0; i < report->quotes.count; i++) {
        const struct run *run = run_of(report, &report->quotes.items[i]);
        add_here(doc, &report->quotes.items[i], run, market, power);
        made |= run && run->data.made.v;
        any |= quote_count(&report->quotes.items[i]) > 0;
    }
    say_answer(doc, report, made && any);
    if (any)
        doc_table(doc, "Machines to rent");
    for (size_t i = 0; i < report->quotes.count; i++) {
        const struct quote *q = &report->quotes.items[i];
        SCOPED(free_pointer) const struct bill **rows = quote_rows(q, NULL);
        doc->failed |= !rows;
        if (rows)
            view_bill_rows(doc, &(struct bill_rows){q, rows, .training = several}, &notes);
    }
    view_bill_notes(doc, &notes);
    say_next(doc, report, any);
}
