// SPDX-License-Identifier: Apache-2.0
// The verdict at the top of a report: the fastest, the cheapest, and the answer to a deadline.
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "report/draft.h"

static void add_time(struct buf *out, double seconds)
{
    char words[48];
    clock_words(seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX, words, sizeof words);
    buf_adds(out, words);
}

static const char *or_unknown(const char *text, const char *unknown)
{
    return text ? text : unknown;
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

// One run by itself.
static int say_run(struct page *page, const struct page_run *run, struct err *err)
{
    struct buf text = {0};
    const char *what = or_unknown(run->workload, or_unknown(run->name, "the run"));
    buf_printf(&text, "The whole training of %s on %s", what,
               or_unknown(run->machine, "an unknown machine"));
    if (run->time_s.known) {
        buf_adds(&text, " takes ");
        add_time(&text, run->time_s.v);
    } else {
        buf_adds(&text, " takes an unknown time: the run ended too early to project it");
    }
    if (run->low_s.known && run->high_s.known) {
        buf_adds(&text, " (95 %: ");
        add_time(&text, run->low_s.v);
        buf_adds(&text, " to ");
        add_time(&text, run->high_s.v);
        buf_adds(&text, ")");
    }
    buf_printf(&text, "%s%s.", run->basis ? ", " : "", or_unknown(run->basis, ""));
    return texts_take(&page->verdict, &text, err);
}

static int say_many(struct page *page, struct err *err)
{
    const struct page_run *least = NULL, *most = NULL;
    struct buf text = {0};
    for (size_t i = 0; i < page->runs.count; i++) {
        const struct page_run *run = &page->runs.items[i];
        if (!run->time_s.known)
            continue;
        least = !least || run->time_s.v < least->time_s.v ? run : least;
        most = !most || run->time_s.v > most->time_s.v ? run : most;
    }
    buf_printf(&text, "%zu runs were measured", page->runs.count);
    // Of one workload they are different trainings, or the comparison would have said more.
    if (least && !same(least->workload, most->workload)) {
        buf_printf(&text, "; whole trainings take from ");
        add_time(&text, least->time_s.v);
        buf_printf(&text, " (%s on %s) to ", or_unknown(least->workload, "a command"),
                   or_unknown(least->machine, "an unknown machine"));
        add_time(&text, most->time_s.v);
        buf_printf(&text, " (%s on %s)", or_unknown(most->workload, "a command"),
                   or_unknown(most->machine, "an unknown machine"));
    }
    buf_adds(&text, ".");
    return texts_take(&page->verdict, &text, err);
}

// The cheapest place of one workload; without a run asked for, also whose time it is.
static void say_cheapest(struct buf *text, const struct quote *quote)
{
    buf_adds(text, quote->advice.items[0]);
    if (quote->run || quote->bills.count == 0)
        return;
    buf_adds(text, " That is the time of ");
    advice_whose(quote, &quote->bills.items[0], text);
    buf_adds(text, ".");
}

struct sum { // of the cheapest place of each workload
    double seconds;
    int64_t nano_usd;
    size_t count;
};

static bool add_bill(struct sum *sum, const struct bill *bill)
{
    sum->count++;
    sum->seconds += bill->time_s.v;
    return money_add(sum->nano_usd, bill_total(bill), &sum->nano_usd, NULL) == 0;
}

static void say_estimates(struct buf *text, const struct sum *sum)
{
    char cost[MONEY_BYTES];
    money_short(sum->nano_usd, cost);
    buf_printf(text, " %zu %s only estimates there: about ", sum->count,
               sum->count == 1 ? "has" : "have");
    add_time(text, sum->seconds);
    buf_printf(text, " and %s USD on the cheapest.", cost);
}

// The cheapest place of each workload, in one sentence.
static void say_sum(struct page *page, struct buf *text)
{
    struct sum measured = {0}, estimated = {0};
    size_t all = page->quotes.count;
    char cost[MONEY_BYTES];
    for (size_t i = 0; i < all; i++) {
        const struct quote *q = &page->quotes.items[i];
        bool fits = true; // or is beyond all money
        if (q->bills.count > 0 && !q->bills.items[0].price_impossible.v)
            fits = add_bill(&measured, &q->bills.items[0]);
        else if (q->estimates.count > 0 && !q->estimates.items[0].price_impossible.v)
            fits = add_bill(&estimated, &q->estimates.items[0]);
        if (!fits)
            return;
    }
    if (measured.count == 0)
        buf_printf(text, "No offer in the book is known to be the same as the machines measured%s.",
                   estimated.count == 0 ? ", so there is no price" : "");
    else if (measured.count == all)
        buf_printf(text, "All %zu workloads were", all);
    else
        buf_printf(text, "%zu of the %zu workloads %s", measured.count, all,
                   measured.count == 1 ? "was" : "were");
    if (measured.count > 0) {
        money_short(measured.nano_usd, cost);
        buf_adds(text, " measured on machines for rent, by these runs or others: on the cheapest "
                       "of each, whole trainings take ");
        add_time(text, measured.seconds);
        buf_printf(text, " and cost %s USD in all.", cost);
    }
    if (estimated.count > 0)
        say_estimates(text, &estimated);
}

static int say_quotes(struct page *page, struct err *err)
{
    struct buf text = {0};
    if (page->quotes.count == 1 && page->quotes.items[0].advice.count > 0)
        say_cheapest(&text, &page->quotes.items[0]);
    else if (page->quotes.count > 0)
        say_sum(page, &text);
    return texts_take(&page->verdict, &text, err);
}

// ---- the deadline

struct done { // among the rows of a workload: the cheapest in time, and the fastest
    const struct compare_row *cheapest, *fastest;
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
        if (!row->time_s.value.known || !compare_can_win(row))
            continue;
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
    compare_label(row, out);
    if (row->cost.nano_usd.known)
        money_short(row->cost.nano_usd.v, cost);
    buf_printf(out, ", %s%s ", cost, *cost ? " USD in" : "in");
    add_time(out, row->time_s.value.v);
}

static void deadline_of_rows(struct buf *out, const struct compare_workload *w, double deadline_s)
{
    struct done done;
    find_done(w, deadline_s, &done);
    buf_adds(out, "Within ");
    add_time(out, deadline_s);
    if (done.cheapest) {
        buf_printf(out, " the %s is ",
                   done.cheapest->cost.nano_usd.known ? "cheapest" : "fastest, at prices unknown,");
        add_row_words(out, done.cheapest);
    } else if (done.fastest) {
        bool nearly = done.fastest->time_s.value.v <= deadline_s;
        buf_printf(out, " none of them %s; the fastest is ",
                   nearly ? "is sure to finish" : "finishes");
        add_row_words(out, done.fastest);
    } else {
        buf_adds(out, " nothing is known to finish: no run's time is known");
    }
    buf_adds(out, ".");
}

// Whether the user gave prices.
static bool said(const struct page_ask *ask)
{
    return ask->pricing.price_count + ask->pricing.offer_count > 0;
}

// Bills answer, as in `fare quote`; without any, or with prices given by the user, the machines of
// the runs do.
static bool rows_answer(const struct page_ask *ask, const struct page *page,
                        const struct compare_workload *w, size_t quote)
{
    if (quote == page->quotes.count || said(ask))
        return true;
    if (page->quotes.items[quote].bills.count > 0)
        return false;
    for (size_t i = 0; i < w->rows.count; i++)
        if (w->rows.items[i].cost.nano_usd.known)
            return true;
    return false;
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
        advice_deadline(&jobs[at].ask, deadline_ns, &page->quotes.items[at], &text);
    if (start > 0 && text.len > start)
        text.data[start] = 'w'; // "mlp: within"
    return texts_take(&page->verdict, &text, err);
}

// ---- together

// Whether renting costs less than every machine of the runs.
static bool rent_is_cheaper(const struct page *page)
{
    const struct compare *c = &page->compare;
    if (page->quotes.count != 1 || page->quotes.items[0].bills.count == 0 ||
        c->workloads.count != 1)
        return false;
    if (page->quotes.items[0].bills.items[0].price_impossible.v)
        return false;
    int64_t rent = bill_total(&page->quotes.items[0].bills.items[0]);
    for (size_t i = 0; i < c->workloads.items[0].rows.count; i++) {
        const struct compare_row *row = &c->workloads.items[0].rows.items[i];
        if (compare_can_win(row) && row->cost.nano_usd.known && row->cost.nano_usd.v <= rent)
            return false;
    }
    return true;
}

// The comparison's sentences. If renting is cheaper than its cheapest row, the quote instead.
static int say_compared(const struct page_ask *ask, struct page *page, char *const *items,
                        size_t count, struct err *err)
{
    for (size_t i = 0; i < count && i < 2; i++) {
        bool cheapest = strncmp(items[i], "Cheapest: ", 10) == 0;
        if (cheapest && !said(ask) && rent_is_cheaper(page))
            TRY(say_quotes(page, err));
        else
            TRY(texts_add(&page->verdict, items[i], err));
    }
    return 0;
}

static int say_two(const struct page_ask *ask, struct page *page, struct err *err)
{
    const struct compare *c = &page->compare;
    char *const *items = c->sentences.items;
    size_t count = c->sentences.count;
    if (count == 0 && c->workloads.count == 1) {
        items = c->workloads.items[0].sentences.items;
        count = c->workloads.items[0].sentences.count;
    }
    TRY(say_compared(ask, page, items, count, err));
    if (count == 0)
        TRY(page->runs.count == 1 ? say_run(page, &page->runs.items[0], err) : say_many(page, err));
    if (page->verdict.count < 2)
        TRY(say_quotes(page, err));
    return 0;
}

int page_verdict(const struct page_ask *ask, struct page *page, const struct quote_job *jobs,
                 struct err *err)
{
    struct buf text = {0};
    if (page->runs.count == 0) {
        buf_adds(&text, "There are no runs to report on.");
        return texts_take(&page->verdict, &text, err);
    }
    int rc = say_two(ask, page, err);
    for (size_t i = 0; i < page->compare.workloads.count && ask->wishes.deadline_ns.known; i++)
        if (rc == 0)
            rc = say_deadline(ask, page, jobs, &page->compare.workloads.items[i], err);
    return rc;
}
