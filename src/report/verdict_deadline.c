// SPDX-License-Identifier: Apache-2.0
// The answer to a deadline, for each workload: the cheapest machine that meets it, or the fastest.
#include <string.h>

#include "base/money.h"
#include "report/verdict.h"

struct done { // among the rows of a workload: the cheapest in time, the fastest, and the fastest
              // of those that are noisy or stopped
    const struct compare_row *cheapest, *fastest, *unsure;
    bool bounds; // some are spot machines whose interruptions are unknown
};

static bool cheaper(const struct compare_row *a, const struct compare_row *b)
{
    if (a->cost.nano_usd.known != b->cost.nano_usd.known)
        return a->cost.nano_usd.known;
    return a->cost.nano_usd.known ? a->cost.nano_usd.v < b->cost.nano_usd.v
                                  : a->time_s.value.v < b->time_s.value.v;
}

static void find_done(const struct compare_workload *w, double deadline_s, struct done *done)
{
    *done = (struct done){0};
    for (size_t i = 0; i < w->rows.count; i++) {
        const struct compare_row *row = &w->rows.items[i];
        done->bounds |= row->cost.lower_bound.v;
        if (!row->time_s.value.known || row->cost.lower_bound.v)
            continue;
        if (!compare_can_win(row)) {
            if (!done->unsure || row->time_s.value.v < done->unsure->time_s.value.v)
                done->unsure = row;
            continue;
        }
        double longest = row->time_s.high.known ? row->time_s.high.v : row->time_s.value.v;
        if (longest <= deadline_s && (!done->cheapest || cheaper(row, done->cheapest)))
            done->cheapest = row;
        if (!done->fastest || row->time_s.value.v < done->fastest->time_s.value.v)
            done->fastest = row;
    }
}

// "k80 + tensorflow, 1.64 USD in 2 h 10 min"
static void add_row_words(struct buf *out, const struct compare_row *row)
{
    char cost[MONEY_BYTES] = "";
    verdict_label(row, out);
    if (row->cost.nano_usd.known)
        money_short(row->cost.nano_usd.v, cost);
    buf_printf(out, ", %s%s ", cost, *cost ? " USD in" : "in");
    verdict_time(out, row->time_s.value.v);
}

static void deadline_of_rows(struct buf *out, const struct compare_workload *w, double deadline_s)
{
    struct done done;
    find_done(w, deadline_s, &done);
    buf_adds(out, "Within ");
    verdict_time(out, deadline_s);
    if (done.cheapest) {
        buf_printf(out, " the %s is ",
                   done.cheapest->cost.nano_usd.known ? "cheapest" : "fastest, at prices unknown,");
        add_row_words(out, done.cheapest);
    } else if (done.fastest) {
        bool nearly = done.fastest->time_s.value.v <= deadline_s;
        buf_printf(out, " none of them %s; the fastest is ",
                   nearly ? "is sure to finish" : "finishes");
        add_row_words(out, done.fastest);
    } else if (done.unsure) {
        buf_adds(out, " nothing is sure to finish: all runs are noisy or stopped; the fastest is ");
        add_row_words(out, done.unsure);
    } else {
        buf_printf(out, " nothing is known to finish: %s",
                   done.bounds ? "how often the spot machines are taken away is unknown"
                               : "no run's time is known");
    }
    buf_adds(out, ".");
}

// Bills answer, as in `fare quote`; without any, or with prices given by the user, the machines of
// the runs do, unless they are late and there are estimates.
static bool rows_answer(const struct page_ask *ask, const struct page *page,
                        const struct compare_workload *w, size_t quote)
{
    struct done done;
    if (quote == page->quotes.count || verdict_priced(ask))
        return true;
    find_done(w, (double)ask->wishes.deadline_ns.v / 1e9, &done);
    const struct quote *q = &page->quotes.items[quote];
    if (q->bills.count > 0 || (q->estimates.count > 0 && !done.cheapest))
        return false;
    for (size_t i = 0; i < w->rows.count; i++)
        if (w->rows.items[i].cost.nano_usd.known)
            return true;
    return false;
}

// Without the id of the run whose time it is.
static void deadline_of_bills(const struct quote_job *job, int64_t deadline_ns,
                              const struct quote *quote, struct buf *out)
{
    struct quote anonymous = *quote;
    anonymous.run = NULL;
    advice_deadline(&job->ask, deadline_ns, &anonymous, out);
}

static int say_deadline(const struct page_ask *ask, struct page *page, const struct quote_job *jobs,
                        const struct compare_workload *w, struct err *err)
{
    struct buf text = {0};
    int64_t deadline_ns = ask->wishes.deadline_ns.v;
    size_t at = 0;
    while (at < page->quotes.count && strcmp(page->quotes.items[at].workload, w->workload) != 0)
        at++;
    if (page->compare.workloads.count > 1)
        buf_printf(&text, "%s: ", w->workload);
    size_t start = text.len;
    if (rows_answer(ask, page, w, at))
        deadline_of_rows(&text, w, (double)deadline_ns / 1e9);
    else
        deadline_of_bills(&jobs[at], deadline_ns, &page->quotes.items[at], &text);
    if (start > 0 && text.len > start)
        text.data[start] = 'w'; // "mlp: within"
    return texts_take(&page->verdict, &text, err);
}

int verdict_deadlines(const struct page_ask *ask, struct page *page, const struct quote_job *jobs,
                      struct err *err)
{
    for (size_t i = 0; i < page->compare.workloads.count; i++)
        TRY(say_deadline(ask, page, jobs, &page->compare.workloads.items[i], err));
    return 0;
}
