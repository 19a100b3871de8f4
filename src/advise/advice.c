// SPDX-License-Identifier: Apache-2.0
#include "advise/advice.h"

#include <string.h>

#include "advise/advice_parts.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"

#define FRONTIER 5 // at most this many are named

// ---- marks

static int mark(char **member, enum verdict_keeps keeps, struct err *err)
{
    return text_set(member,
                    keeps == VERDICT_KEEPS      ? "met"
                    : keeps == VERDICT_MAY_KEEP ? "met at the middle"
                                                : "missed",
                    err);
}

static int mark_all(const struct advice_wishes *w, struct bill *bills, size_t count,
                    struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct bill *b = &bills[i];
        if (w->deadline_ns.known)
            TRY(mark(&b->deadline, verdict_in_time(b, (double)w->deadline_ns.v / 1e9), err));
        if (w->budget.known)
            TRY(mark(&b->budget, verdict_within(b, w->budget.v), err));
    }
    return 0;
}

static int mark_quote(const struct advice_wishes *w, struct quote *quote, struct err *err)
{
    TRY(mark_all(w, quote->bills.items, quote->bills.count, err));
    return mark_all(w, quote->estimates.items, quote->estimates.count, err);
}

// ---- sentences

void advice_whose(const struct quote *quote, const struct bill *bill, struct buf *out)
{
    bool other = quote->run && bill->run && strcmp(quote->run, bill->run) != 0;
    buf_printf(out, "%s %s", other ? "another run," : "run", bill->run ? bill->run : "unknown");
    if (bill->batch.known)
        buf_printf(out, " (batch %lld%s%s)", (long long)bill->batch.v, bill->data ? ", " : "",
                   bill->data ? bill->data : "");
    else if (bill->data)
        buf_printf(out, " (%s)", bill->data);
}

// The bills that no other beats in both time and cost, of those that are no lower bounds. Bills are
// sorted, cheapest first.
static int say_frontier(struct quote *quote, struct err *err)
{
    struct buf text = {0};
    double best = 0;
    size_t count = 0;
    bool bounds = false;
    for (size_t i = 0; i < quote->bills.count; i++)
        bounds |= bill_is_bound(&quote->bills.items[i]);
    for (size_t i = 0; i < quote->bills.count; i++) {
        const struct bill *b = &quote->bills.items[i];
        if (!verdict_can_lead(b) || !verdict_on_frontier(&best, b->time_s.v))
            continue;
        if (count++ < FRONTIER) {
            if (count > 1)
                buf_adds(&text, "; ");
            else
                buf_printf(&text, "%sothing is both faster and cheaper%s than: ",
                           bounds ? "Apart from lower bounds (≥), n" : "N",
                           b->waiting.known ? ", with your waiting," : "");
            verdict_add_bill(&text, NULL, "", b);
        }
    }
    if (count > FRONTIER)
        buf_printf(&text, "; and %zu more", count - FRONTIER);
    buf_adds(&text, ".");
    if (count > 1)
        return texts_take(&quote->advice, &text, err);
    int rc = buf_check(&text, err);
    buf_release(&text);
    return rc;
}

const char *advice_machine(const struct quote_ask *ask)
{
    const struct run_machine *m = &ask->evidence[0].run->machine;
    return m->instance_type ? m->instance_type : m->name ? m->name : m->gpu ? m->gpu : m->cpu;
}

void advice_add_machine(struct buf *out, const struct quote_ask *ask)
{
    const char *name = ask->asked ? advice_machine(ask) : NULL;
    if (run_given(ask->evidence[0].run)) {
        buf_adds(out, advice_machine(ask));
        return;
    }
    buf_adds(out, ask->asked ? "the machine measured" : "the machines measured");
    if (name)
        buf_printf(out, " (%s)", name);
}

static int say_credits(const struct advice_wishes *w, struct quote *quote, struct err *err)
{
    bool any = false;
    for (size_t i = 0; i < quote->bills.count && !any; i++)
        any = quote->bills.items[i].before_credit.known;
    if (!any)
        return 0;
    struct buf text = {0};
    buf_printf(&text, "Your credits are taken off each bill%s.",
               w->runs > 1 || w->use_ns_a_month > 0 || w->buy
                   ? ", but not off the cost of several runs, of months or of buying"
                   : "");
    return texts_take(&quote->advice, &text, err);
}

// Without an offer, only the time on the measured machine is known.
static void deadline_without_offers(const struct quote_ask *ask, double deadline_s, struct buf *out)
{
    struct bill_time time;
    buf_adds(out, "Within ");
    verdict_add_time(out, deadline_s);
    if (!quote_base(ask, &time)) {
        buf_adds(out, " nothing is known to finish: no run's time is known.");
        return;
    }
    bool done = (double)(time.high_ns > 0 ? time.high_ns : time.total_ns) <= deadline_s * 1e9;
    buf_printf(out, " no offer in the book is known to finish%s ", done ? ", but" : "; on");
    advice_add_machine(out, ask);
    buf_adds(out, done ? " does: it takes " : " it takes ");
    verdict_add_time(out, (double)time.total_ns / 1e9);
    buf_adds(out, ".");
}

void advice_deadline(const struct quote_ask *ask, int64_t deadline_ns, const struct quote *quote,
                     struct buf *out)
{
    if (quote_count(quote) == 0)
        deadline_without_offers(ask, (double)deadline_ns / 1e9, out);
    else
        verdict_say_deadline(quote, (double)deadline_ns / 1e9, out);
}

static int say_limits(const struct quote_ask *ask, const struct advice_wishes *w,
                      struct quote *quote, struct err *err)
{
    struct buf deadline = {0}, budget = {0};
    if (w->deadline_ns.known)
        advice_deadline(ask, w->deadline_ns.v, quote, &deadline);
    if (w->budget.known && quote_count(quote) > 0)
        verdict_say_budget(quote, w->budget.v, &budget);
    int rc = texts_take(&quote->advice, &deadline, err);
    if (rc == 0)
        rc = texts_take(&quote->advice, &budget, err);
    buf_release(&budget);
    return rc;
}

// Says that there is no offer, and why, if that is known.
static int say_nothing(const struct quote_ask *ask, const struct advice_wishes *w,
                       struct quote *quote, struct err *err)
{
    struct bill_time time;
    struct buf text = {0};
    bool some = ask->gpu || ask->provider || ask->region || ask->kind;
    if (ask->offer || (quote->misfits.count > 0 && quote->not_measured.v == 0)) // it has reasons
        return w->buy ? advice_buy(ask, w, quote, err) : advice_power(ask, w, quote, err);
    if (quote->outdated) {
        buf_printf(&text, "The price of %s, which %s ", quote->outdated,
                   quote->given ? "has" : "is the same as");
        advice_add_machine(&text, ask);
        buf_printf(&text, ", was last seen %s ago: too old to count.",
                   units_count(quote->outdated_days.v, "day").s);
        TRY(texts_take(&quote->advice, &text, err));
    } else if (quote_base(ask, &time)) {
        buf_printf(&text, "No offer in the book%s %s ", some ? " of those asked for" : "",
                   quote->given ? "has" : "is known to be the same as");
        advice_add_machine(&text, ask);
        buf_adds(&text, ".");
        TRY(texts_take(&quote->advice, &text, err));
    }
    TRY(say_limits(ask, w, quote, err));
    return w->buy ? advice_buy(ask, w, quote, err) : advice_power(ask, w, quote, err);
}

static int advise(const struct quote_ask *ask, const struct advice_wishes *w, struct quote *quote,
                  struct err *err)
{
    if (quote->bills.count + quote->estimates.count == 0)
        return say_nothing(ask, w, quote, err);
    if (quote->bills.count > 2)
        TRY(say_frontier(quote, err));
    TRY(say_limits(ask, w, quote, err));
    TRY(advice_several(ask, w, quote, err));
    if (w->buy)
        TRY(advice_buy(ask, w, quote, err));
    else
        TRY(advice_power(ask, w, quote, err));
    return say_credits(w, quote, err);
}

// Copies bills whose price can be; their members stay the quote's.
static size_t copy_possible(const struct bill *bills, size_t count, struct bill *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!bill_price_doubtful(&bills[i]))
            out[kept++] = bills[i];
    return kept;
}

static int say_verdict(struct quote *quote, struct err *err)
{
    struct buf bills = {0}, estimate = {0};
    verdict_say_bills(quote, &bills);
    verdict_say_estimate(quote, &estimate);
    int rc = texts_take(&quote->advice, &bills, err);
    if (rc == 0)
        rc = texts_take(&quote->advice, &estimate, err);
    buf_release(&estimate);
    return rc;
}

// No sentence names an offer whose price cannot be.
int advice_make(const struct quote_ask *ask, const struct advice_wishes *w, struct quote *quote,
                struct err *err)
{
    size_t measured = quote->bills.count, all = measured + quote->estimates.count;
    TRY(mark_quote(w, quote, err));
    TRY(say_verdict(quote, err));
    struct quote view = *quote;
    struct bill *copies = calloc(all + 1, sizeof *copies);
    if (!copies)
        return err_memory(err);
    view.bills.items = copies;
    view.bills.count = copy_possible(quote->bills.items, measured, copies);
    view.estimates.items = copies + view.bills.count;
    view.estimates.count =
        copy_possible(quote->estimates.items, quote->estimates.count, view.estimates.items);
    bool impossible = all > 0 && view.bills.count + view.estimates.count == 0;
    int rc = impossible ? 0 : advise(ask, w, &view, err);
    quote->advice = view.advice;
    free(copies);
    return rc;
}
